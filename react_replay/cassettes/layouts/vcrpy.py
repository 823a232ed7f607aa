"""vcrpy's version 1: `interactions` of `request` and `response`, and the dialects of it that are about.

Among them the layout for httpx before vcrpy 5 (`content`, `status_code`), bodies that a serializer kept
parsed (`parsed_body`), and our own: the pieces of a stream under `x_react_replay`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.cassettes.blocks import Entries
from react_replay.cassettes.bodies import body_bytes, json_bytes
from react_replay.cassettes.documents import Unreadable
from react_replay.cassettes.layouts.parts import flat_headers, mapping_at, only, status_of
from react_replay.wire import Exchange

__all__ = ["METADATA", "NAME", "entries", "exchange"]

NAME = "vcrpy"
METADATA = "x_react_replay"
"""The key, of a file and of a response, that holds what vcrpy has no place for."""


def entries(documents: Sequence[Any]) -> Sequence[Any] | None:
    document = only(documents)
    if not isinstance(document, Mapping) or not isinstance(document.get("interactions"), (list, Entries)):
        return None
    found: Sequence[Any] = document["interactions"]
    first = found[0] if found else {}
    asked = first.get("request") if isinstance(first, Mapping) else None
    if isinstance(asked, Mapping) and "url" in asked and "uri" not in asked:
        return None  # go-vcr, which uses the same key
    version = document.get("version", 1)
    if version != 1:
        raise Unreadable(f"its format version is {str(version)[:40]}; this release reads version 1")
    return found


def exchange(entry: Any) -> Exchange:
    asked, answered = mapping_at(entry, "request"), mapping_at(entry, "response")
    if "status_code" in answered:  # vcrpy's layout for httpx before version 5
        status, message, body = answered["status_code"], None, body_bytes(answered.get("content"))
    else:
        if "status" not in answered:
            raise Unreadable("the response's `status` is missing")
        status = answered["status"]
        message = status.get("message") if isinstance(status, Mapping) else None
        body = _body(answered, required=True)
    own = answered.get(METADATA)
    return Exchange(
        url=str(asked.get("uri") or ""),
        method=str(asked.get("method") or ""),
        request_headers=flat_headers(asked.get("headers")),
        request_body=_body(asked),
        status=status_of(status),
        reason=str(message or ""),
        response_headers=flat_headers(answered.get("headers")),
        chunks=_cut(body, own.get("chunks") if isinstance(own, Mapping) else None),
    )


def _body(side: Mapping[str, Any], *, required: bool = False) -> bytes:
    if "parsed_body" in side:
        parsed = side["parsed_body"]
        return b"" if parsed is None else json_bytes(parsed)
    if required and "body" not in side:
        raise Unreadable("the response's `body` is missing")
    return body_bytes(side.get("body"))


def _cut(body: bytes, lengths: Any) -> tuple[bytes, ...]:
    """The body in its recorded pieces where their lengths were kept and still add up."""
    if not isinstance(lengths, list) or not all(type(length) is int and length >= 0 for length in lengths):
        return (body,)
    if sum(lengths) != len(body):
        return (body,)
    pieces, start = [], 0
    for length in lengths:
        pieces.append(body[start : start + length])
        start += length
    return tuple(pieces)
