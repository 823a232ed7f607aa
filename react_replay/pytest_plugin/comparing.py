"""Why two `RunResult`s are not equal, in the lines that pytest shows under a failed assert. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["explain_runs"]

MOST = 10
WIDTH = 60  # characters of a text that are shown around its first difference
_ABSENT = object()


def explain_runs(left: object, right: object) -> list[str] | None:
    """The lines for `left == right`; None unless both are runs."""
    module = sys.modules.get("react_replay.result")  # who has a result has imported its class
    if module is None or not isinstance(left, module.RunResult) or not isinstance(right, module.RunResult):
        return None
    found = list(_differences(left, right, ""))
    count = f"{len(found)} difference{'s' if len(found) > 1 else ''}"
    lines = ["RunResult == RunResult", f"{count}, left != right:"]
    for path, ours, theirs in found[:MOST]:
        lines.extend(_shown(path, ours, theirs))
    if len(found) > MOST:
        lines.append(f"... and {len(found) - MOST} more")
    if left.to_dict() == right.to_dict():
        lines.append("What to_dict() shows of them is equal: compare result.to_dict()")
    return lines


def _differences(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every path at which two values differ, as deep as it can be said; fields in their order."""
    if left == right:
        return
    if is_dataclass(left) and type(left) is type(right):
        for field in fields(left):
            if field.compare:
                inner = f"{path}.{field.name}" if path else field.name
                yield from _differences(getattr(left, field.name), getattr(right, field.name), inner)
    elif isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in dict.fromkeys((*left, *right)):
            yield from _differences(left.get(name, _ABSENT), right.get(name, _ABSENT), f"{path}.{name}")
    elif _listed(left) and _listed(right):
        for place in range(max(len(left), len(right))):
            ours = left[place] if place < len(left) else _ABSENT
            theirs = right[place] if place < len(right) else _ABSENT
            yield from _differences(ours, theirs, f"{path}[{place}]")
    else:
        yield path, left, right


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _shown(path: str, left: Any, right: Any) -> Iterator[str]:
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > WIDTH:
        pairs = enumerate(zip(left, right, strict=False))
        at = next((place for place, (a, b) in pairs if a != b), min(len(left), len(right)))
        yield f"  {path}, from character {at}:"
        yield f"    {_around(left, at)}"
        yield f"    {_around(right, at)}"
    else:
        yield f"  {path}: {_value(left)} != {_value(right)}"


def _around(text: str, at: int) -> str:
    start, end = max(at - WIDTH // 3, 0), at + WIDTH
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"


def _value(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    shown = repr(value)
    return shown if len(shown) <= 2 * WIDTH else f"{shown[: 2 * WIDTH]}..."
