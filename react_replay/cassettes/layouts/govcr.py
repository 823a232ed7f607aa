"""go-vcr's versions 1 and 2 (its releases 1 to 4): `interactions`, with `url`, `code` and bodies as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.cassettes.bodies import body_bytes
from react_replay.cassettes.documents import Unreadable
from react_replay.cassettes.layouts.parts import flat_headers, mapping_at, only, status_of
from react_replay.wire import Exchange

__all__ = ["NAME", "entries", "exchange"]

NAME = "go-vcr"


def entries(documents: Sequence[Any]) -> Sequence[Any] | None:
    document = only(documents)
    if not isinstance(document, Mapping) or not isinstance(document.get("interactions"), list):
        return None
    version = document.get("version", 1)
    if version not in (1, 2):
        raise Unreadable(f"it is in go-vcr's layout, version {str(version)[:40]}; this release reads 1 and 2")
    found: list[Any] = document["interactions"]
    return found


def exchange(entry: Any) -> Exchange:
    asked, answered = mapping_at(entry, "request"), mapping_at(entry, "response")
    code = answered.get("code") or answered.get("status")
    return Exchange(
        url=str(asked.get("url") or ""),
        method=str(asked.get("method") or ""),
        request_headers=flat_headers(asked.get("headers")),
        request_body=body_bytes(asked.get("body")),
        status=status_of(code),
        reason=str(answered.get("status") or "").partition(" ")[2],
        response_headers=flat_headers(answered.get("headers")),
        chunks=(body_bytes(answered.get("body")),),
    )
