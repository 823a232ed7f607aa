"""Rust's httpmock: one YAML document an exchange, `when` it was asked so, `then` answer this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.cassettes.bodies import body_bytes
from react_replay.cassettes.layouts.parts import flat_headers, mapping_at, status_of
from react_replay.wire import Exchange

__all__ = ["NAME", "entries", "exchange"]

NAME = "httpmock"


def entries(documents: Sequence[Any]) -> Sequence[Any] | None:
    """Every document counts; an empty one (after a closing `---`) is nothing."""
    found = [document for document in documents if document is not None]
    first = found[0] if found else None
    return found if isinstance(first, Mapping) and "when" in first and "then" in first else None


def exchange(entry: Any) -> Exchange:
    asked, answered = mapping_at(entry, "when"), mapping_at(entry, "then")
    host = asked.get("host")
    place = str(asked.get("path") or "")
    return Exchange(
        url=f"{asked.get('scheme') or 'https'}://{host}{place}" if host else place,
        method=str(asked.get("method") or ""),
        request_headers=flat_headers(asked.get("header")),
        request_body=_body(asked),
        status=status_of(answered.get("status", 200)),
        response_headers=flat_headers(answered.get("header")),
        chunks=(_body(answered),),
    )


def _body(side: Mapping[str, Any]) -> bytes:
    for name in ("body", "json_body"):
        if side.get(name) is not None:
            return body_bytes(side[name])
    if side.get("body_base64") is not None:
        return body_bytes({"base64_string": side["body_base64"]})
    return b""
