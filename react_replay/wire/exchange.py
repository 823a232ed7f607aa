"""One HTTP exchange as bytes: what a recorder keeps and a cassette holds. A value; no IO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Exchange"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer. `chunks` are the answer's pieces as they arrived, decoded of gzip."""

    url: str
    request_body: bytes
    chunks: tuple[bytes, ...]
    method: str = "POST"
    request_headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    reason: str = "OK"
    response_headers: Mapping[str, str] = field(default_factory=dict)
