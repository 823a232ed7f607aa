"""Reading a native call's `arguments`: what is beyond doubt is read and flagged, the rest is an error.

One function over text. A call runs only from complete JSON; nothing here ever completes a cut value.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from react_replay.messages import Flag

__all__ = ["Arguments", "dump_arguments", "excerpt", "read_arguments"]


class Arguments(NamedTuple):
    """The object that was read, `text` as the history keeps it (always a JSON object), and what was odd.

    `error` is for the model and says why the call must not run; `cut` is True where the text stops short.
    """

    value: dict[str, Any]
    text: str
    flags: tuple[str, ...] = ()
    error: str = ""
    cut: bool = False


class _NotANumber(ValueError):
    """NaN or Infinity, which Python's reader takes and JSON does not know."""


def _refuse_constant(name: str) -> Any:
    raise _NotANumber(name)


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)
# Raw line breaks inside a string are what models send most; their meaning is not in doubt.
_LENIENT = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)
_EMPTY = frozenset({"", "null", '""', "{}", "None"})


def dump_arguments(value: dict[str, Any]) -> str:
    """The one spelling in which we write arguments: compact enough to read, non-ASCII unescaped."""
    return json.dumps(value, ensure_ascii=False)


def excerpt(text: str, limit: int = 120) -> str:
    """`text` quoted for an error message, escaped and cut."""
    return ascii(text if len(text) <= limit else text[:limit] + "...")


def read_arguments(raw: Any) -> Arguments:
    """Read what stands in `function.arguments`. Never raises."""
    if raw is None:
        return Arguments({}, "{}")
    if isinstance(raw, dict):
        return _own_spelling(raw, ())
    if not isinstance(raw, str):
        try:
            return _explain(json.dumps(raw))  # in the words that a stream of the same would get
        except (TypeError, ValueError, RecursionError):
            return _unreadable(f"arguments must be a JSON object, got {type(raw).__name__}")
    text = raw.strip()
    if text in _EMPTY:
        return Arguments({}, "{}")
    if text[0] != "{":
        return _read_wrapped(text)
    try:
        value, end = _STRICT.raw_decode(text)
    except (ValueError, RecursionError, MemoryError):
        return _read_lenient(text, ())
    if end == len(text):
        if "\\u" in text and _has_surrogate(value):
            return _own_spelling(value, ())
        return Arguments(value, raw if _encodable(raw) else _replaced(raw))
    return _read_lenient(text, ())


def _read_wrapped(text: str) -> Arguments:
    """Arguments that do not begin with a brace: JSON in a string, in a fence, or no object at all."""
    if text[0] == '"':
        try:
            inner = _LENIENT.decode(text)
        except (ValueError, RecursionError, MemoryError):
            return _explain(text)
        if isinstance(inner, str) and inner.strip().startswith("{"):
            return _read_lenient(inner.strip(), (Flag.DOUBLE_ENCODED,))
        if isinstance(inner, str) and inner.strip() in _EMPTY:
            return Arguments({}, "{}", (Flag.DOUBLE_ENCODED,))
        return _unreadable("arguments must be a JSON object, got a string")
    for prefix in ("```json", "```", "json"):
        if text.startswith(prefix):
            rest = text[len(prefix) :].strip()
            rest = rest.removesuffix("```").rstrip() if prefix[0] == "`" else rest
            if rest.startswith("{"):
                return _read_lenient(rest, (Flag.REPAIRED,))
    return _explain(text)


def _read_lenient(text: str, flags: tuple[str, ...]) -> Arguments:
    # `{}` before the real object is what some servers stream as the first piece.
    body = text[2:].lstrip() if text.startswith("{}") and text[2:].lstrip().startswith("{") else text
    if body is not text:
        flags = (*flags, Flag.REPAIRED)
    try:
        value, end = _LENIENT.raw_decode(body)
    except (ValueError, RecursionError, MemoryError):
        return _explain(body)
    rest = body[end:].strip()
    if rest.strip("}] \t\r\n"):
        return _unreadable(
            f"arguments must be one JSON object; after it stands {excerpt(rest, 60)} at character {end}"
        )
    if rest or "\n" in body or "\t" in body or "\r" in body:
        flags = (*flags, Flag.REPAIRED) if rest or not _is_strict(body) else flags
    return _own_spelling(value, flags)


def _is_strict(text: str) -> bool:
    try:
        _STRICT.decode(text)
    except (ValueError, RecursionError, MemoryError):
        return False
    return True


def _explain(text: str) -> Arguments:
    try:
        value = _LENIENT.decode(text)
    except json.JSONDecodeError as error:
        # A reader that stopped at the very end met a value that was never finished.
        cut = _stops_short(text, error)
        cause = "the JSON breaks off" if cut else error.msg
        return _unreadable(
            f"arguments are not valid JSON: {cause} at line {error.lineno} column {error.colno} "
            f"(character {error.pos}) of {excerpt(text)}",
            cut=cut,
        )
    except _NotANumber as error:
        return _unreadable(f"arguments are not valid JSON: {error} is no JSON number")
    except (RecursionError, MemoryError):
        return _unreadable("arguments are nested too deeply to read")
    except ValueError as error:  # a number of more digits than Python converts
        return _unreadable(f"arguments are not valid JSON: {error}")
    kind = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return _unreadable(f"arguments must be a JSON object, got {kind.get(type(value), 'a number')}")


# What is left behind the place of the error where a literal, a number or an escape breaks off.
_cut_value = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|\.|[eE][+-]?|u[0-9a-fA-F]{0,4})\Z")


def _stops_short(text: str, error: json.JSONDecodeError) -> bool:
    if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
        return True
    rest = text[error.pos : error.pos + 6]
    return _cut_value.match(rest) is not None


def _unreadable(reason: str, *, cut: bool = False) -> Arguments:
    return Arguments({}, "{}", (), reason, cut)


def _own_spelling(value: dict[str, Any], flags: tuple[str, ...]) -> Arguments:
    try:
        text = dump_arguments(value)
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return _unreadable(f"arguments are not a JSON object: {type(error).__name__}: {error}")
    return Arguments(value, text if _encodable(text) else _replaced(text), flags)


def _has_surrogate(value: Any) -> bool:
    return not _encodable(json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _replaced(text: str) -> str:
    # A lone surrogate cannot be sent; the tool still gets what the model wrote.
    return text.encode("utf-8", "replace").decode()
