"""The pieces that layouts share: headers as a flat mapping, a status, a field that must be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from react_replay.cassettes.documents import Unreadable

__all__ = ["flat_headers", "mapping_at", "only", "status_of"]


def mapping_at(entry: Any, name: str) -> Mapping[str, Any]:
    """The mapping under `name`. Raises `Unreadable` where there is none."""
    if not isinstance(entry, Mapping):
        raise Unreadable(f"it must be a mapping, found {type(entry).__name__}")
    if name not in entry:
        raise Unreadable(f"`{name}` is missing")
    value = entry[name]
    if not isinstance(value, Mapping):
        raise Unreadable(f"`{name}` must be a mapping, found {type(value).__name__}")
    return value


def flat_headers(headers: Any) -> dict[str, str]:
    """Headers by lower-case name, from `{name: text}`, `{name: [texts]}` or `[{name:, value:}]`."""
    if isinstance(headers, Mapping):
        return {
            str(name).lower(): ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            for name, value in headers.items()
            if value is not None
        }
    if isinstance(headers, list):
        flat: dict[str, str] = {}
        for pair in headers:
            if isinstance(pair, Mapping) and "name" in pair:
                name, value = str(pair["name"]).lower(), str(pair.get("value", ""))
            elif isinstance(pair, (list, tuple)) and len(pair) == 2:
                name, value = str(pair[0]).lower(), str(pair[1])
            else:
                continue
            flat[name] = f"{flat[name]}, {value}" if name in flat else value
        return flat
    return {}


def status_of(status: Any) -> int:
    """A status from 200, `"200"`, `"200 OK"` or `{code: 200}`. Raises `Unreadable`."""
    if isinstance(status, Mapping):
        status = status.get("code")
    text = str(status).split(" ", 1)[0] if isinstance(status, (int, str)) else ""
    if not (text.isascii() and text.isdecimal() and len(text) == 3):
        raise Unreadable(f"the response's status must be a number such as 200, found {str(status)[:40]!r}")
    return int(text)


def only(documents: Any) -> Any:
    """The one document of a file that must have one; None where it has more."""
    return documents[0] if len(documents) == 1 else None
