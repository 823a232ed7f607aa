"""What may reach a file: headers by allow-list, URLs without keys, and no key-shaped string at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from react_replay.errors import CassetteError

__all__ = ["refuse_secrets", "request_headers", "response_headers", "safe_url"]

_REQUEST = frozenset({"accept", "content-type"})
# content-encoding must go, since bodies are kept decoded; content-length would be wrong.
_RESPONSE = frozenset({"content-type", "retry-after", "x-request-id"})
_QUERY = frozenset({"api-version", "beta", "deployment", "model", "version"})
_KEY_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|gh[pousr]_[A-Za-z0-9]{36,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|Bearer\s+[A-Za-z0-9._-]{20,})"
)


def request_headers(headers: Mapping[str, str]) -> dict[str, list[str]]:
    return _allowed(headers, _REQUEST)


def response_headers(headers: Mapping[str, str]) -> dict[str, list[str]]:
    return _allowed(headers, _RESPONSE)


def _allowed(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, list[str]]:
    return {name.lower(): [value] for name, value in sorted(headers.items()) if name.lower() in names}


def safe_url(url: str) -> str:
    """The URL without user, password, fragment, and query parameters that may be keys."""
    parts = urlsplit(url)
    query = [(k, v) for k, v in parse_qsl(parts.query) if k.lower() in _QUERY]
    host = parts.netloc.rsplit("@", 1)[-1]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(query), ""))


def refuse_secrets(path: Path, document: Any, secrets: Sequence[str] = ()) -> None:
    """Raise `CassetteError` where a document holds a key: one of `secrets`, or something key-shaped."""
    known = [secret for secret in secrets if len(secret) >= 8]
    for place, text in _texts(document, ""):
        found = _KEY_SHAPES.search(text)
        if found or any(secret in text for secret in known):
            shape = f" ({found.group()[:6]}...)" if found else ""
            raise CassetteError(
                f"the recording for {path} holds what looks like a key{shape} at {place}; nothing was "
                "written. Take it out of the prompt or the tool's result, and record again",
                path=str(path),
            )


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, bytes):
        yield place, value.decode("utf-8", "replace")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, f"{place}.{name}" if place else str(name))
    elif isinstance(value, Sequence):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]")
