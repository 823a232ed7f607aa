"""Ruby VCR and Python's Betamax: `http_interactions`, bodies under `string` or `base64_string`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.cassettes.bodies import body_bytes
from react_replay.cassettes.layouts.parts import flat_headers, mapping_at, only, status_of
from react_replay.wire import Exchange

__all__ = ["NAME", "entries", "exchange"]

NAME = "Ruby VCR"


def entries(documents: Sequence[Any]) -> Sequence[Any] | None:
    document = only(documents)
    if isinstance(document, Mapping) and isinstance(document.get("http_interactions"), list):
        found: list[Any] = document["http_interactions"]
        return found
    return None


def exchange(entry: Any) -> Exchange:
    asked, answered = mapping_at(entry, "request"), mapping_at(entry, "response")
    status = answered.get("status")
    reason = status.get("message") if isinstance(status, Mapping) else None
    return Exchange(
        url=str(asked.get("uri") or ""),
        method=str(asked.get("method") or "").upper(),
        request_headers=flat_headers(asked.get("headers")),
        request_body=body_bytes(asked.get("body")),
        status=status_of(status),
        reason=str(reason or ""),
        response_headers=flat_headers(answered.get("headers")),
        chunks=(body_bytes(answered.get("body")),),
    )
