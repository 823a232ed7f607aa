"""ddtrace's test agent: a file is one exchange, `request` and `response`; a list of those is read as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.cassettes.bodies import body_bytes
from react_replay.cassettes.layouts.parts import flat_headers, mapping_at, only, status_of
from react_replay.wire import Exchange

__all__ = ["NAME", "entries", "exchange"]

NAME = "ddtrace"


def entries(documents: Sequence[Any]) -> Sequence[Any] | None:
    document = only(documents)
    found = document if isinstance(document, list) else [document]
    first = found[0] if found else None
    return found if isinstance(first, Mapping) and {"request", "response"} <= set(first) else None


def exchange(entry: Any) -> Exchange:
    asked, answered = mapping_at(entry, "request"), mapping_at(entry, "response")
    status = answered.get("status", answered.get("status_code", answered.get("code")))
    reason = status.get("message") if isinstance(status, Mapping) else None
    return Exchange(
        url=str(asked.get("url") or asked.get("uri") or ""),
        method=str(asked.get("method") or ""),
        request_headers=flat_headers(asked.get("headers")),
        request_body=body_bytes(asked.get("body")),
        status=status_of(status),
        reason=str(reason or ""),
        response_headers=flat_headers(answered.get("headers")),
        chunks=(body_bytes(answered.get("body")),),
    )
