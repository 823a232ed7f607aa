"""Recorded exchanges as vcrpy's YAML that a person can review, written so that nothing is ever lost.

An own emitter: libyaml's escapes every non-ASCII character, or leaves the block style for one emoji.
A file is loaded back, by vcrpy too, before it takes the place of another.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from react_replay.cassettes.allowed import request_headers, response_headers, safe_url
from react_replay.cassettes.layouts import delta
from react_replay.cassettes.reading import METADATA
from react_replay.cassettes.redact import refuse_secrets
from react_replay.errors import CassetteError, ConfigurationError, did_you_mean
from react_replay.wire import Exchange

__all__ = ["LAYOUTS", "check_layout", "document_of", "interaction_of", "render", "save", "write_document"]

LAYOUTS = ("full", "delta")
"""How a request is kept: whole, as vcrpy reads it, or as the earlier one that it continues and the rest."""

# What YAML calls unprintable, and what would end a line inside a block.
_SPECIAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"
    "|[\U0001fffe\U0001ffff\U0002fffe-\U0002ffff\U0010fffe\U0010ffff]"
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*\Z")
_RESERVED = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"])


def interaction_of(exchange: Exchange) -> dict[str, Any]:
    """An exchange in vcrpy's layout. Headers pass by allow-list; a JSON body is indented if lossless."""
    body = b"".join(exchange.chunks)
    response: dict[str, Any] = {
        "body": {"string": _readable(body)},
        "headers": response_headers(exchange.response_headers),
        "status": {"code": exchange.status, "message": exchange.reason},
    }
    if len(exchange.chunks) > 1:
        response[METADATA] = {"chunks": [len(chunk) for chunk in exchange.chunks]}
    return {
        "request": {
            "body": _readable(exchange.request_body),
            "headers": request_headers(exchange.request_headers),
            "method": exchange.method,
            "uri": safe_url(exchange.url),
        },
        "response": response,
    }


def _readable(body: bytes) -> str | bytes:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    if text[:1] not in ("{", "["):
        return text
    try:
        value = json.loads(text)
        same = text.strip() in _spellings(value, text)
    except (ValueError, RecursionError):
        return text
    if not same:  # indenting would change a number's spelling, or lose a repeated key
        return text
    return _SPECIAL.sub(lambda found: _json_escape(found.group()), _indented(value, "\n"))


def _spellings(value: Any, text: str) -> Iterator[str]:
    """How clients spell a JSON value, what `text` looks like first: most bodies cost one of them."""
    spaced, ascii_only = '": ' in text[:400], text.isascii()
    for separators in ((", ", ": "), (",", ":")) if spaced else ((",", ":"), (", ", ": ")):
        for plain in (ascii_only, not ascii_only):
            yield json.dumps(value, ensure_ascii=plain, separators=separators)
    for plain in (True, False):
        yield json.dumps(value, ensure_ascii=plain, indent=2)


def _indented(value: Any, line: str) -> str:
    """`json.dumps(value, ensure_ascii=False, indent=2)` of what was parsed, whose own way there is slow."""
    if isinstance(value, str):
        return encode_basestring(value)
    inner = line + "  "
    if isinstance(value, dict) and value:
        members = [
            f"{inner}{encode_basestring(name)}: {_indented(item, inner)}" for name, item in value.items()
        ]
        return "{" + ",".join(members) + line + "}"
    if isinstance(value, list) and value:
        return "[" + ",".join([inner + _indented(item, inner) for item in value]) + line + "]"
    return json.dumps(value)


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def render(document: Mapping[str, Any]) -> str:
    """A document of mappings, lists, texts, bytes, numbers, booleans and None as block YAML."""
    return "".join(_block(document, 0)).lstrip("\n") + "\n"


def _block(value: Any, depth: int) -> Iterator[str]:
    pad = "\n" + "  " * depth
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield f"{pad}{_scalar(str(key))}:"
            yield from _block(item, depth + 1)
    elif isinstance(value, list) and all(isinstance(item, int) for item in value):
        yield f" {json.dumps(value)}"
    elif isinstance(value, list):
        for item in value:
            inner = "".join(_block(item, depth + 1))
            first = "\n" + "  " * (depth + 1)
            yield f"{pad}- {inner[len(first) :]}" if inner.startswith(first) else f"{pad}-{inner}"
    elif isinstance(value, str) and "\n" in value and _fits_block(value):
        yield " " + _literal(value, depth)
    else:
        yield " " + _scalar(value)


def _fits_block(text: str) -> bool:
    return not _SPECIAL.search(text) and text[0] not in " \t\n" and text.strip("\n") != ""


def _literal(text: str, depth: int) -> str:
    body = text.rstrip("\n")
    trailing = len(text) - len(body)
    chomping = "-" if trailing == 0 else "" if trailing == 1 else "+"
    pad = "  " * depth
    lines = [pad + line if line else "" for line in body.split("\n")]
    return "|" + chomping + "\n" + "\n".join(lines) + "\n" * max(trailing - 1, 0)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        text = json.dumps(value)
        # YAML 1.1 takes 1e-05 for a text: its floats have a point.
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    if isinstance(value, bytes):
        import base64

        return f'!!binary "{base64.b64encode(value).decode()}"'
    if isinstance(value, str):
        if _PLAIN.match(value) and value.lower() not in _RESERVED:
            return value
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: no YAML scalar can hold it
            return _scalar(value.encode("utf-8", "surrogatepass"))
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return '"' + _SPECIAL.sub(lambda found: _yaml_escape(found.group()), quoted) + '"'
    if value == {}:
        return "{}"
    if value == []:
        return "[]"
    raise CassetteError(f"a cassette cannot hold a {type(value).__name__}")


def _yaml_escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def save(
    path: Path,
    interactions: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, Any],
    *,
    layout: str = "full",
    secrets: Sequence[str] = (),
    before_replacing: Callable[[bytes], None] | None = None,
) -> None:
    """Write a cassette: checked, loaded back, synced, then put in place of the old one at once.

    `before_replacing` is told the new file's bytes. Raises `CassetteError`; the old file is then as it was.
    """
    document = document_of(interactions, metadata, layout=layout)
    refuse_secrets(path, document, secrets)
    write_document(path, document, before_replacing=before_replacing)


def check_layout(layout: str) -> None:
    """Raise `ConfigurationError` where `layout` is none of ours."""
    if layout not in LAYOUTS:
        raise ConfigurationError(
            f"unknown layout {layout!r}{did_you_mean(str(layout), LAYOUTS)}; "
            f"the layouts are: {', '.join(LAYOUTS)}"
        )


def document_of(
    interactions: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any], *, layout: str = "full"
) -> dict[str, Any]:
    """A cassette's document in one of our layouts. Raises `ConfigurationError` on another."""
    check_layout(layout)
    head = {name: value for name, value in metadata.items() if name != "layout"}
    if layout == "delta":
        turns = delta.compressed(interactions)
        return {METADATA: {"layout": "delta", **head}, delta.TURNS: turns, "version": 1}
    return {METADATA: head, "interactions": list(interactions), "version": 1}


def write_document(
    path: Path,
    document: Mapping[str, Any],
    *,
    as_json: bool | None = None,
    before_replacing: Callable[[bytes], None] | None = None,
) -> None:
    """`save` for a document as it stands: loaded back, synced, put in place at once. Secrets pass.

    It is JSON where the path ends so, unless `as_json` says otherwise.
    """
    as_json = path.suffix == ".json" if as_json is None else as_json
    text = _as_json(path, document) if as_json else render(document)
    _check_readable(path, document, text, as_json=as_json)
    data = text.encode()
    try:
        path = path.resolve()  # a link stays a link
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            if before_replacing is not None:
                before_replacing(data)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CassetteError(
            f"the cassette {path} cannot be written: {error.strerror or error}", path=str(path)
        ) from error


def _as_json(path: Path, document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    except TypeError as error:
        raise CassetteError(
            f"the recording for {path} holds bytes that are no text, which JSON cannot hold; nothing was "
            "written. Record it into a .yaml file",
            path=str(path),
        ) from error


def _check_readable(path: Path, document: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    from vcr.serialize import deserialize

    if as_json:
        loaded = json.loads(text)
    else:
        import yaml

        loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if loaded != document:
        raise CassetteError(
            f"the recording for {path} is not the same when it is read again; nothing was written",
            path=str(path),
        )
    if delta.TURNS in document:
        return  # the layout that vcrpy refuses
    requests, *_ = deserialize(text, _Loaded(loaded))
    if len(requests) != len(document["interactions"]):
        raise CassetteError(f"vcrpy cannot read the recording for {path}", path=str(path))


class _Loaded:
    """A serializer of vcrpy's for what is loaded already."""

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded

    def deserialize(self, text: str) -> Any:
        return self._loaded
