"""A cassette's file as recorded turns. What cannot be read is an error that says where and why.

Reads vcrpy's layout and the old httpx one inside it, YAML or JSON, with text, binary or gzip bodies.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from react_replay.errors import BackendError, CassetteError, CassetteMissing
from react_replay.messages import Completion, Request
from react_replay.wire import decode_events, fold, read_completion

__all__ = ["METADATA", "Cassette", "Recorded", "read_cassette"]

METADATA = "x_react_replay"
"""The top-level key that holds where a cassette comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One recorded exchange. `request` is None where it is no chat request with a JSON body.

    `number` counts from 1 over the whole file; `chunks` is the answer's body, cut as it arrived.
    """

    number: int
    url: str
    request: Request | None
    status: int
    chunks: tuple[bytes, ...]
    streamed: bool

    def completion(self) -> Completion:
        """The recorded reply. Raises `BackendError` where an error was recorded."""
        if self.streamed and self.status < 400:
            return fold(self.events())
        return read_completion(self._json())

    def events(self) -> list[dict[str, Any]]:
        """The chunks of a recorded stream."""
        return list(decode_events(self.chunks))

    def _json(self) -> dict[str, Any]:
        body = b"".join(self.chunks)
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BackendError(
                f"the recorded answer (status {self.status}) is no JSON: {body[:120]!a}",
                status=self.status,
            ) from error
        if self.status >= 400 and isinstance(parsed, Mapping):
            said = parsed.get("error", parsed)
            said = said.get("message", said) if isinstance(said, Mapping) else said
            raise BackendError(f"HTTP {self.status}: {str(said)[:500]}", status=self.status)
        return parsed if isinstance(parsed, dict) else {"error": f"not an object: {parsed!r}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """A file's recorded exchanges, its provenance, and its document as it was read."""

    path: Path
    recorded: tuple[Recorded, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    interactions: tuple[Mapping[str, Any], ...] = ()


def read_cassette(path: Path) -> Cassette:
    """Read a cassette. Raises `CassetteMissing` or `CassetteError`; never takes it for empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CassetteMissing(f"there is no cassette at {path}", path=str(path)) from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    document = _document(path, data)
    if not isinstance(document, dict) or not isinstance(document.get("interactions"), list):
        found = f"a {type(document).__name__}" if not isinstance(document, dict) else "no such key"
        raise _unreadable(path, f"expected vcrpy's layout, a list under `interactions`; found {found}")
    version = document.get("version", 1)
    if version != 1:
        raise _unreadable(path, f"its format version is {version!r}; this release reads version 1")
    metadata = document.get(METADATA) or {}
    if not isinstance(metadata, Mapping):
        raise _unreadable(path, f"`{METADATA}` must be a mapping, found {type(metadata).__name__}")
    recorded = []
    for number, interaction in enumerate(document["interactions"], 1):
        try:
            recorded.append(_recorded(number, interaction))
        except (KeyError, TypeError, ValueError, AttributeError, zlib.error) as error:
            cause = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else error
            raise _unreadable(path, f"interaction {number} is not readable: {cause}") from error
    return Cassette(
        path=path,
        recorded=tuple(recorded),
        metadata=metadata,
        interactions=tuple(document["interactions"]),
    )


def _unreadable(path: Path, why: str) -> CassetteError:
    return CassetteError(
        f"the cassette {path} cannot be read: {why}. It is left as it is; mend it, or delete it and "
        "record again",
        path=str(path),
    )


def _document(path: Path, data: bytes) -> Any:
    if not data.strip():
        raise _unreadable(path, "it is empty")
    if path.suffix == ".json":
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _unreadable(path, f"it is no JSON: {error}") from error
    import yaml

    try:
        return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _unreadable(path, f"it is no YAML: {' '.join(str(error).split())}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"it is no YAML: {error}") from error


def _recorded(number: int, interaction: Any) -> Recorded:
    asked, answered = interaction["request"], interaction["response"]
    body, status = _answer(answered)
    headers = {str(name).lower(): value for name, value in (answered.get("headers") or {}).items()}
    kind = headers.get("content-type") or ""
    kind = " ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    return Recorded(
        number=number,
        url=str(asked.get("uri") or ""),
        request=_chat_request(_plain_bytes(asked.get("body"))),
        status=status,
        chunks=_cut(body, (answered.get(METADATA) or {}).get("chunks")),
        streamed="event-stream" in kind or body.lstrip()[:5] == b"data:",
    )


def _answer(answered: Mapping[str, Any]) -> tuple[bytes, int]:
    if "status_code" in answered:  # vcrpy's layout for httpx before version 5
        return _plain_bytes(answered.get("content")), int(answered["status_code"])
    body = answered["body"]
    status = answered["status"]
    text = body.get("string") if isinstance(body, Mapping) else body
    return _plain_bytes(text), int(status["code"] if isinstance(status, Mapping) else status)


def _plain_bytes(body: Any) -> bytes:
    if body is None:
        return b""
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
    if data[:2] == b"\x1f\x8b":
        return zlib.decompress(data, zlib.MAX_WBITS | 16)
    return data


def _cut(body: bytes, lengths: Any) -> tuple[bytes, ...]:
    """The body in its recorded pieces where their lengths were kept and still add up."""
    if not isinstance(lengths, list) or sum(lengths) != len(body):
        return (body,)
    pieces, start = [], 0
    for length in lengths:
        pieces.append(body[start : start + length])
        start += length
    return tuple(pieces)


def _chat_request(body: bytes) -> Request | None:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("messages"), list):
        return None
    if not all(isinstance(message, dict) for message in parsed["messages"]):
        return None
    return Request.of(parsed)
