"""Small readings that the checks share. Pure; never raise on any JSON-like value."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from react_replay.dialects.prompts import has_chinese
from react_replay.dialects.scanner import ACTION, INPUT, OBSERVATION, Scanner

__all__ = [
    "arguments_fault",
    "called_name",
    "function_of",
    "has_text",
    "invents_observation",
    "offered_names",
    "quoted",
    "starts_with",
    "text_of",
]


def quoted(value: Any, limit: int = 60) -> str:
    """A value for a sentence: short, and without anything that a terminal obeys."""
    text = value if isinstance(value, str) else _spelt(value)
    text = text if len(text) <= limit else text[:limit] + "..."
    # `repr` keeps what is printable, in any script, and escapes the rest.
    return repr(text) if isinstance(value, str) else text


def _spelt(value: Any) -> str:
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def has_text(content: Any) -> bool:
    """Whether a content says anything: text, or any part that is no empty text."""
    if isinstance(content, list):
        return any(not isinstance(part, Mapping) or part.get("text") != "" for part in content)
    return content is not None and content != ""


def called_name(function: Mapping[str, Any]) -> str:
    name = function.get("name")
    return name if isinstance(name, str) else ""


def arguments_fault(function: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with a call's arguments: a code's ending and half a sentence, or twice nothing.

    The endings: missing, empty, not-text, not-json, not-object.
    """
    arguments = function.get("arguments")
    if arguments is None:
        return "missing", "has no arguments"
    if not isinstance(arguments, str):
        return "not-text", f"has arguments that are a {type(arguments).__name__} and no JSON text"
    if not arguments.strip():
        return "empty", "has an empty text for arguments"
    try:
        value = json.loads(arguments)
    except RecursionError:
        return "not-json", "has arguments that are nested too deeply to read"
    except ValueError as error:
        where = (
            f"{error.msg.removesuffix(' at')} at character {error.pos}"
            if isinstance(error, json.JSONDecodeError)
            else error
        )
        return "not-json", f"has arguments that are no JSON ({where}): {quoted(arguments)}"
    if not isinstance(value, dict):
        kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
        kind = kinds.get(type(value), "a number")
        return "not-object", f"has arguments that are {kind} and no JSON object: {quoted(arguments)}"
    return "", ""


def invents_observation(text: str) -> bool:
    """Whether a text goes on, after its action, with an observation and what it says."""
    if ":" not in text and "：" not in text:
        return False
    acted: set[bool] = set()  # the languages in which an action was written
    for label in _labels().scan(text):
        chinese = has_chinese(text[label.start : label.end])
        if label.kind in (ACTION, INPUT):
            acted.add(chinese)
        elif chinese in acted and text[label.end :].strip(" \t\r\n*_`"):
            return True
    return False


@functools.cache
def _labels() -> Scanner:
    """The labels of the text dialects, as our own parser knows them: none inside a code fence."""
    from react_replay.dialects.labelled import LABELS

    return Scanner({kind: LABELS[kind] for kind in (ACTION, INPUT, OBSERVATION)})


def offered_names(tools: Any) -> frozenset[str]:
    """The names of tools: of a request's `tools` or `functions`, or names as they are."""
    names = set()
    for tool in tools if isinstance(tools, Iterable) and not isinstance(tools, (str, Mapping)) else ():
        if isinstance(tool, str):
            names.add(tool)
        elif isinstance(tool, Mapping):
            inner = next((tool[kind] for kind in ("function", "custom") if kind in tool), tool)
            name = inner.get("name") if isinstance(inner, Mapping) else None
            if isinstance(name, str):
                names.add(name)
        elif isinstance(name := getattr(tool, "name", None), str):
            names.add(name)
    return frozenset(names)


def function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    for kind in ("function", "custom"):
        if isinstance(call.get(kind), Mapping):
            found: Mapping[str, Any] = call[kind]
            return found
    return {}


def starts_with(messages: Sequence[Any], beginning: Sequence[Any]) -> bool:
    """Whether a history continues another one. Never raises, whatever is compared."""
    if len(messages) < len(beginning):
        return False
    try:
        return all(a is b or a == b for a, b in zip(beginning, messages, strict=False))
    except RecursionError:
        return False
