"""What stands after an action or its label: a JSON object, a fenced block, a bracketed call, free text.

The payload says where it ends. What is read though it was not quite JSON is flagged; a cut value is never
completed. Nothing here raises.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple

from react_replay.messages import Flag

__all__ = ["Payload", "bracketed", "read_json", "unfenced"]


class Payload(NamedTuple):
    """A value, and where its text ends. `error` says why it could not be read; `cut`: it stops short."""

    value: Any
    end: int
    flags: tuple[str, ...] = ()
    error: str = ""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
_QUOTES = str.maketrans({"“": '"', "”": '"', "：": ":", "，": ",", "｛": "{", "｝": "}"})
_READ_ERRORS = (ValueError, RecursionError, MemoryError, SyntaxError, TypeError)
_REPAIR_LIMIT = 20_000


def read_json(text: str, start: int, limit: int, *, strict: bool = False) -> Payload:
    """The JSON value at `start`; `limit` is where the next label stands, for what is no JSON."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return Payload(value, end)
    except _READ_ERRORS as error:
        reason = _reason(error, start)
    broken = text[start:limit].strip()
    if not strict and len(broken) <= _REPAIR_LIMIT:
        for candidate in (broken.translate(_QUOTES), broken.replace("\\n", " ")):
            if candidate != broken and (value := _whole(candidate)) is not None:
                return Payload(value, limit, (Flag.REPAIRED,))
        if (value := _python_dict(broken)) is not None:
            return Payload(value, limit, (Flag.REPAIRED,))
    return Payload(None, limit, (), reason)


def _reason(error: BaseException, start: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos - start} of the input"
    if isinstance(error, (RecursionError, MemoryError)):
        return "it is nested too deeply"
    return str(error)[:120]


def _whole(text: str) -> Any:
    try:
        value, end = _DECODER.raw_decode(text)
    except _READ_ERRORS:
        return None
    return value if not text[end:].strip() else None


def _python_dict(text: str) -> Any:
    """A Python literal of JSON's types, as models write with single quotes; None where it is none."""
    if not text.startswith("{") or text.count("{") + text.count("[") + text.count("(") > 100:
        return None
    try:
        value = ast.literal_eval(text)
        return json.loads(json.dumps(value, allow_nan=False)) if isinstance(value, dict) else None
    except _READ_ERRORS:
        return None


_FENCE = re.compile(r"(?:```|~~~)[ \t]*+[\w+-]*+[ \t]*+\r?\n?")


def unfenced(text: str, start: int) -> tuple[int, int, int] | None:
    """Begin and end of what a fence at `start` holds, and where the fence ends; None where it is none."""
    opening = _FENCE.match(text, start)
    if opening is None:
        return None
    mark = text[start : start + 3]
    closing = text.find("\n" + mark, opening.end() - 1)
    if closing < 0:
        closing = text.find(mark, opening.end())
        if closing < 0:
            return opening.end(), len(text), len(text)
        return opening.end(), closing, closing + 3
    return opening.end(), max(closing, opening.end()), closing + 4


_PAIRS = {"[": "]］", "［": "]］", "(": ")）", "（": ")）", "【": "】", "{": "}"}
_CLOSERS = "]］)）】"
OPENERS = "[［(（【"


def bracketed(text: str, start: int, limit: int, *, lines: bool = False) -> Payload:
    """The text inside the bracket that opens at `start`, inner pairs kept.

    It ends on its line; with `lines` it may go on to `limit`. A bracket that never closes is flagged.
    """
    opener = text[start]
    closers = _PAIRS[opener]
    line_end = text.find("\n", start, limit)
    line_end = limit if line_end < 0 else line_end
    for end in (line_end, limit) if lines or line_end == limit else (line_end,):
        depth = 0
        for position in range(start, end):
            character = text[position]
            if character == opener:
                depth += 1
            elif character in closers:
                depth -= 1
                if depth == 0:
                    return Payload(text[start + 1 : position].strip(), position + 1)
    last = max(text.rfind(closer, start, line_end) for closer in _CLOSERS)
    if last > start and not text[last + 1 : line_end].strip(" \t`*."):
        return Payload(text[start + 1 : last].strip(), last + 1, (Flag.REPAIRED,))
    end = limit if lines else line_end
    return Payload(text[start + 1 : end].strip(), end, (Flag.REPAIRED,), "the bracket is not closed")
