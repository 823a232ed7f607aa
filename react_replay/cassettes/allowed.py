"""Which headers and which parts of a URL may reach a file: by allow-list. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

__all__ = ["request_headers", "response_headers", "safe_url"]

_REQUEST = frozenset({"accept", "content-type"})
# content-encoding must go, since bodies are kept decoded; content-length would be wrong.
_RESPONSE = frozenset({"content-type", "retry-after", "x-request-id"})
_QUERY = frozenset({"api-version", "beta", "deployment", "model", "version"})


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
