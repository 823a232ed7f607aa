"""Calls that a server left in the text, in the tokens of the model's own chat template.

One form a template: where a call begins, where it ends, and a reader of what stands between. A call is found
only where it is whole; nothing here completes one. Everything is found by plain searches that never go back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

from react_replay.dialects.payload import whole_json
from react_replay.messages import ToolCall

__all__ = ["BROKEN_CALL", "LeakedCall", "leaked_calls", "written_as_json"]

BROKEN_CALL = "a call was written as text, in the tokens of a chat template, and is not whole"
"""What the model is told of one."""

_EDGES = ("", "\n", ">")  # what stands before a call: nothing, another line, another token
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")


class LeakedCall(NamedTuple):
    """A call, and where its text begins and ends."""

    start: int
    end: int
    call: ToolCall


class _Form(NamedTuple):
    """One template's spelling. `tokens`: it begins with a special token, which no text holds by chance."""

    begin: str
    end: str
    read: Callable[[str, bool], list[ToolCall]]
    tokens: bool = True


def leaked_calls(text: str, known: Collection[str] = ()) -> tuple[list[LeakedCall], bool]:
    """The whole calls in a text, in order, and whether some call began that is not whole.

    What only looks like markup must begin a line and, where tools are `known`, name one of them.
    """
    found: list[LeakedCall] = []
    broken = False
    for form in _FORMS:
        for start, end, calls in _spelled(text, form):
            if not form.tokens:
                calls = [call for call in calls if not known or call.name in known]
            found += [LeakedCall(start, end, call) for call in calls]
            broken = broken or (form.tokens and not calls and text[max(start - 1, 0) : start] in _EDGES)
    found.sort(key=lambda place: place.start)
    return found, broken and not found


def _spelled(text: str, form: _Form) -> Iterator[tuple[int, int, list[ToolCall]]]:
    start = text.find(form.begin)
    while start >= 0:
        inside = start + len(form.begin)
        following = text.find(form.begin, inside)
        limit = following if following >= 0 else len(text)
        closing = text.find(form.end, inside, limit) if form.end else limit
        if form.tokens or text[max(start - 1, 0) : start] in _EDGES[:2]:
            closed = closing >= 0
            calls = form.read(text[inside : closing if closed else limit], closed)
            yield start, closing + len(form.end) if closed else limit, calls
        start = following


def written_as_json(text: str, known: Collection[str]) -> list[ToolCall]:
    """The calls that a text is, where it is JSON and nothing else and each names a known tool."""
    value = whole_json(text)
    entries = value if isinstance(value, list) else [value]
    calls = [call for entry in entries for call in _entry(entry)]
    return calls if len(calls) == len(entries) and all(call.name in known for call in calls) else []


def _entry(entry: Any) -> list[ToolCall]:
    """A call from `{"name": ..., "arguments": {...}}`, also where the arguments were encoded twice."""
    if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return []
    key = next((name for name in _ARGUMENTS if name in entry), None)
    return _call(entry["name"], entry[key] if key else {})


def _call(name: str, arguments: Any) -> list[ToolCall]:
    name = name.strip().removeprefix("functions.")
    if isinstance(arguments, str):
        arguments = whole_json(arguments)
    return [ToolCall(name=name, arguments=arguments)] if name and isinstance(arguments, dict) else []


def _object_in(payload: str) -> str:
    return payload[payload.find("{") : payload.rfind("}") + 1]


def _deepseek(body: str, closed: bool) -> list[ToolCall]:
    name, _, payload = body.partition("<｜tool▁sep｜>")
    if name.strip() == "function":
        name, _, payload = payload.partition("\n")
    return _call(name, _object_in(payload))


def _kimi(body: str, closed: bool) -> list[ToolCall]:
    name, _, payload = body.partition("<|tool_call_argument_begin|>")
    return _call(re.sub(r":\d+\s*\Z", "", name[:200]), _object_in(payload))


def _json(body: str, closed: bool) -> list[ToolCall]:
    """Hermes and Qwen: one JSON object with the name in it."""
    return _entry(whole_json(body))


def _llama(body: str, closed: bool) -> list[ToolCall]:
    """The same, up to the next token."""
    return _entry(whole_json(body.partition("<|")[0]))


def _harmony(body: str, closed: bool) -> list[ToolCall]:
    """gpt-oss: `functions.NAME <|constrain|>json<|message|>{...}<|call|>`."""
    head, _, payload = body.partition("<|message|>")
    name = re.split(r"[\s<]", head, maxsplit=1)[0]
    return _call(name, payload.partition("<|")[0])


def _mistral(body: str, closed: bool) -> list[ToolCall]:
    """`[{"name": ..., "arguments": ...}]`, or by newer templates `NAME[ARGS]{...}`."""
    value = whole_json(body)
    if isinstance(value, list):
        calls = [call for entry in value for call in _entry(entry)]
        return calls if len(calls) == len(value) else []
    head, brace, payload = body.partition("{")
    name = head.partition("[")[0]
    return _call(name, brace + payload)


def _function(body: str, closed: bool) -> list[ToolCall]:
    """`NAME>{...}` as Llama has it, or Qwen's `NAME>` with `<parameter=KEY>` elements."""
    name, _, inner = body.partition(">")
    if inner.strip().startswith("{"):
        return _call(name, inner)
    return _call(name, _elements(inner, "<parameter=", "</parameter>")) if closed else []


def _invoke(body: str, closed: bool, *, tag: str) -> list[ToolCall]:
    """DeepSeek's DSML, with or without its token: `name="NAME">` and `<parameter name="KEY">` elements."""
    named = re.match(r'\s*name="([^"<>]*)"\s*>', body)
    if named is None or not closed:
        return []
    return _call(named[1], _elements(body[named.end() :], f"<{tag}parameter name=", f"</{tag}parameter>"))


def _elements(inner: str, begin: str, end: str) -> dict[str, Any] | None:
    """The parameters of a call in markup, as texts unless `string="false"`; None where they are broken."""
    values: dict[str, Any] = {}
    position = 0
    while (start := inner.find(begin, position)) >= 0:
        head_end = inner.find(">", start)
        closing = inner.find(end, head_end) if head_end >= 0 else -1
        if closing < 0 or inner[position:start].strip():
            return None
        key, _, attributes = inner[start + len(begin) : head_end].strip().partition(" ")
        value: Any = inner[head_end + 1 : closing].removeprefix("\n").removesuffix("\n")
        if 'string="false"' in attributes:
            value = whole_json(value)
        values[key.strip("\"'")] = value
        position = closing + len(end)
    return None if inner[position:].strip() else values


_FORMS: tuple[_Form, ...] = (
    _Form("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", _deepseek),
    _Form("<|tool_call_begin|>", "<|tool_call_end|>", _kimi),
    *(
        _Form(f"<{bar}DSML{bar}invoke", f"</{bar}DSML{bar}invoke>", partial(_invoke, tag=f"{bar}DSML{bar}"))
        for bar in ("｜", "‖", "|")
    ),
    _Form("<|python_tag|>", "", _llama),
    _Form("<|channel|>commentary to=", "<|call|>", _harmony),
    _Form("<|start|>assistant to=", "<|call|>", _harmony),
    _Form("<tool_call>", "</tool_call>", _json),
    _Form("[TOOL_CALLS]", "", _mistral, tokens=False),
    _Form("<function=", "</function>", _function, tokens=False),
    _Form("<invoke", "</invoke>", partial(_invoke, tag=""), tokens=False),
)
