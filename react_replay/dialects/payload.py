"""What stands after an action or its label: a JSON object, a fenced block, a bracketed call, free text.

The payload says where it ends. What is read though it was not quite JSON is flagged; a cut value is never
completed. Nothing here raises.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from react_replay.messages import Flag

__all__ = ["OPENERS", "Payload", "bracketed", "read_json", "unfenced", "whole_json", "without_outer_fence"]


class Payload(NamedTuple):
    """A value, and where its text ends. `error` says why it could not be read."""

    value: Any
    end: int
    flags: tuple[str, ...] = ()
    error: str = ""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:20])


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite)
_READ_ERRORS = (ValueError, RecursionError, MemoryError)
_REPAIR_LIMIT = 20_000
_DEPTH = 100


def read_json(text: str, start: int, limit: int, *, strict: bool = False) -> Payload:
    """The JSON value at `start`; `limit` is where the next label stands, for what is no JSON."""
    try:
        value, end = _decoded(text, start)
        return Payload(value, end)
    except _READ_ERRORS as error:
        reason = _reason(error, start)
    if not strict and limit - start <= _REPAIR_LIMIT:
        value = whole_json(_ODD.sub(_mended, text[start:limit]))
        if value is not None:
            return Payload(value, limit, (Flag.REPAIRED,))
    return Payload(None, limit, (), reason)


def _decoded(text: str, start: int) -> tuple[Any, int]:
    """The value at `start`, and its end. Raises `RecursionError` for what others could not write again."""
    value, end = _DECODER.raw_decode(text, start)
    if text.count("{", start, end) + text.count("[", start, end) > _DEPTH:
        level = [value]
        for _ in range(_DEPTH):
            held = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list))]
            level = [child for children in held for child in children]
        if level:
            raise RecursionError
    return value, end


def whole_json(text: str) -> Any:
    """The JSON value that a text is; None where it is none, or more than one."""
    text = text.strip()
    try:
        value, end = _decoded(text, 0)
    except _READ_ERRORS:
        return None
    return value if end == len(text) else None


def _reason(error: BaseException, start: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos - start} of the input"
    if isinstance(error, (RecursionError, MemoryError)):
        return "it is nested too deeply"
    return "a number has too many digits" if "digits" in str(error) else str(error)


# Strings come first, so that nothing in them is touched. Closing quotes are optional to keep it linear.
_ODD = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?+'
    r"|'(?P<single>(?:[^'\\]++|\\.)*+)'?+"
    r"|[“”](?P<curly>[^“”]*+)[“”]?+"
    r"|(?P<comma>,\s*+(?=[}\]]))|(?P<wide>[：，｛｝])|(?P<break>\\[nrt])|\b(?P<word>True|False|None)\b",
    re.S,
)
_SPELLED = {"：": ":", "，": ",", "｛": "{", "｝": "}", "True": "true", "False": "false", "None": "null"}


def _mended(found: re.Match[str]) -> str:
    """JSON for what models write instead: other quotes, fullwidth marks, Python's words, a last comma."""
    kind = found.lastgroup
    if kind in ("wide", "word"):
        return _SPELLED[found[0]]
    if kind in ("single", "curly"):
        inner = found[kind].replace("\\'", "'").replace('\\"', '"')
        return '"' + inner.replace('"', '\\"') + '"'
    return found[0] if kind is None else " "


# A word behind the mark is a language only where its line ends or an object begins: else it is the text.
_FENCE = re.compile(
    r"(`{3,}+|~{3,}+)[ \t]*+(?:[\w+-]*+[ \t]*+(?:\r?\n|\Z|(?=[{｛])))?+",
)


def unfenced(text: str, start: int, limit: int) -> tuple[int, int, int] | None:
    """Begin and end of what a fence at `start` holds, and where the fence ends; None where it is none.

    A fence that never closes ends at `limit`.
    """
    opening = _FENCE.match(text, start)
    if opening is None:
        return None
    mark = opening[1]
    begin = opening.end()
    closing = re.compile(rf"\n[ \t]*+{mark}").search(text, begin - 1)
    if closing is not None:
        return begin, max(closing.start(), begin), closing.end()
    inline = text.find(mark, begin)
    if inline < 0:
        return begin, limit, limit
    while inline > begin and text[inline - 1] in " \t":
        inline -= 1
    return begin, inline, text.find(mark, inline) + len(mark)


def without_outer_fence(text: str) -> str:
    """A reply without blanks round it, nor a code fence in which it stands as a whole."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        fence = unfenced(text, 0, len(text))
        if fence is not None and fence[2] == len(text):
            return text[fence[0] : fence[1]].strip()
    return text


_PAIRS = {"[": "]］", "［": "]］", "(": ")）", "（": ")）", "【": "】"}
_BRACKETS = {
    closers: re.compile(f"[{re.escape(closers)}]|(?P<opener>[{re.escape(openers)}])")
    for openers, closers in (("[［", "]］"), ("(（", ")）"), ("【", "】"))
}
OPENERS = tuple(_PAIRS)


def bracketed(text: str, start: int, limit: int, *, lines: bool = False) -> Payload:
    """The text inside the bracket that opens at `start`, inner pairs kept, up to `limit`.

    One that does not close ends on its line, with `lines` at `limit`, and is flagged; it has an `error`
    where that leaves something behind.
    """
    depth = 0
    for found in _BRACKETS[_PAIRS[text[start]]].finditer(text, start, limit):
        depth += 1 if found["opener"] else -1
        if depth == 0:
            return Payload(text[start + 1 : found.start()].strip(), found.end())
    line_end = text.find("\n", start, limit)
    line_end = limit if line_end < 0 or lines else line_end
    inside = text[start + 1 : line_end].rstrip(" \t\r\n`*.")
    if inside[-1:] in tuple("]］)）】"):  # closed by another kind of bracket
        return Payload(inside[:-1].strip(), line_end, (Flag.REPAIRED,))
    error = "the bracket is not closed" if text[line_end:limit].strip() else ""
    return Payload(text[start + 1 : line_end].strip(), line_end, (Flag.REPAIRED,), error)
