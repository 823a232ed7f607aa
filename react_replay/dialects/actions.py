"""What an action line says: a tool's name, a call in brackets, a JSON blob, or that no tool is meant."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from react_replay.dialects.payload import OPENERS, Payload, bracketed, read_json, unfenced, whole_json
from react_replay.messages import Flag

__all__ = ["FINISH", "Action", "clean_name", "object_reply", "read_action", "spelled"]

FINISH = frozenset({"finish", "final answer", "final_answer", "最终答案", "完成"})
"""Names of an action that is no tool but the end."""

_NAME = re.compile(r"[`*\"'<]*+([^\s`*\"'\[［(（【{<>|｜‖:：,，]++(?: [\w-]++)*+)[`*\"'>]*+[ \t]*+")
_NOTHING = re.compile(
    r"(?:none|n/?a|null|no (?:tool|action|need|further|more))\b|无(?:\b|需)|不需要|不用|没有", re.I
)
_CLOSED = re.compile(r"[ \t\r\n]*+[)）\]］】]")
_ACTION_KEYS = ("action", "tool", "tool_name", "行动")
_NAME_KEYS = ("name", "function")  # say nothing without arguments beside them
_INPUT_KEYS = ("action_input", "input", "arguments", "parameters", "args", "tool_input", "行动输入")
_ANSWER_KEYS = ("final_answer", "answer", "Final Answer", "最终答案")


@dataclass(slots=True, kw_only=True)
class Action:
    """A tool's name, and its payload where the line itself gives one; `nothing`: no tool is meant."""

    name: str = ""
    end: int = 0
    payload: Payload | None = None
    flags: tuple[str, ...] = ()
    error: str = ""
    nothing: bool = False


def read_action(text: str, start: int, limit: int, style: str, *, known: Collection[str]) -> Action:
    """Read what stands behind an action label, up to `limit`, where the next label stands."""
    while start < limit and text[start].isspace():
        start += 1
    fence = unfenced(text, start, limit) if text[start : start + 1] in ("`", "~") else None
    begin = fence[0] if fence else start
    while begin < limit and text[begin].isspace():
        begin += 1
    if text[begin : begin + 1] in ("{", "｛"):
        return _json_action(text, begin, fence[2] if fence else limit, known)
    line_end = text.find("\n", start, limit)
    line_end = limit if line_end < 0 else line_end
    found = _NAME.match(text, start, line_end)
    if found is None:
        return Action(error="the action names no tool")
    written, after = found[1], found.end()
    if _NOTHING.match(written) and written not in known:
        return Action(nothing=True)
    flags: list[str] = []
    name = written if written in known else clean_name(written, known, flags)
    if text[after : after + 1] in OPENERS and after < limit:
        payload = _called(text, after, limit, style, lines=name.casefold() in FINISH)
        end = line_end if payload is None else payload.end
        return Action(name=name, end=end, payload=payload, flags=tuple(flags))
    if style == "bracket":
        return Action(error=f"the action must be written as tool[input], as in {name}[...]")
    if after < line_end and text[after:line_end].strip(" \t\r`*.。"):
        flags.append(Flag.TRAILING_TEXT)
    return Action(name=name, end=line_end, flags=tuple(flags))


def _called(text: str, start: int, limit: int, style: str, *, lines: bool) -> Payload | None:
    """The payload of call syntax: `tool[text]`, `tool("text")`, `tool({...})`; None for `tool()`."""
    inside = start + 1
    while inside < limit and text[inside] in " \t\r\n":
        inside += 1
    if text[inside : inside + 1] == "{":
        last = max(text.rfind(closer, inside, limit) for closer in ")）]］】")
        read = read_json(text, inside, last if last > 0 else limit, strict=style == "bracket")
        closing = None if read.error else _CLOSED.match(text, read.end)
        if style == "bracket":
            if closing:
                return Payload(text[inside : read.end], closing.end())
        elif not read.error:
            return read._replace(end=closing.end() if closing else read.end)
        else:
            return read._replace(error=f"the input is not valid JSON: {read.error}")
    payload = bracketed(text, start, limit, lines=lines)
    value = payload.value
    if style != "bracket":
        if not value and not payload.flags and text[start] in "(（":
            return None
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            payload = payload._replace(value=value[1:-1])
    return payload


def _json_action(text: str, start: int, limit: int, known: Collection[str]) -> Action:
    read = read_json(text, start, limit)
    if read.error:
        return Action(error=f"the action's JSON cannot be read: {read.error}")
    reply = _unwrapped(read.value, known)
    if reply is None:
        return Action(error="the action's JSON names no tool; write its name under `action`")
    end = limit if text[read.end : limit].strip(" \t\r\n`~") == "" else read.end
    if reply["action"] is None:
        payload = Payload(spelled(reply["answer"]), end)
        # A name with a blank is no tool's.
        return Action(name="final answer", end=end, payload=payload, flags=(*read.flags, *reply["flags"]))
    if _NOTHING.match(reply["action"]) and reply["action"] not in known:
        return Action(nothing=True)
    flags: list[str] = [*read.flags, *reply["flags"]]
    name = clean_name(reply["action"], known, flags)
    value = reply["input"]
    payload_given = None if value is None else Payload(value, end)
    return Action(name=name, end=end, payload=payload_given, flags=tuple(flags))


def clean_name(name: str, known: Collection[str], flags: list[str]) -> str:
    """A tool's name without decoration; flagged where that made it a known one."""
    if name in known:
        return name
    bare = name.split("<|", 1)[0].strip(" \t`*\"'.:：")
    bare = bare.removesuffix("()").strip()
    for candidate in (bare, bare.removeprefix("functions.")):
        if candidate in known:
            if candidate != bare or "<|" in name:
                flags.append(Flag.RENAMED_TOOL)
            return candidate
    return bare.removeprefix("functions.") or name


def object_reply(text: str, known: Collection[str] = ()) -> dict[str, Any] | None:
    """A reply that is one JSON object instead of labels: thought, action, input or answer; else None."""
    return _unwrapped(whole_json(text), known)


def spelled(value: Any) -> str:
    """A value as text for a person: a string as it is, anything else as JSON."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _unwrapped(value: Any, known: Collection[str]) -> dict[str, Any] | None:
    """The object itself, or the one inside an outer key, with its keys under our names.

    Either `action` or `answer` is None; where both are given the first in order counts, and is flagged.
    """
    for _ in range(4):
        if not isinstance(value, dict):
            return None
        given = next((value[key] for key in _INPUT_KEYS if key in value), None)
        keys = _ACTION_KEYS if given is None else (*_ACTION_KEYS, *_NAME_KEYS)
        action_key = next((key for key in keys if _says(value.get(key)) and isinstance(value[key], str)), "")
        answer_key = next((key for key in _ANSWER_KEYS if key in value), "")
        answer = value[answer_key] if answer_key else None
        action = value[action_key] if action_key else None
        flags: list[str] = []
        if action is not None and action.casefold() in FINISH and action not in known:
            answer, action = given if given is not None else answer, None
        elif action is not None and _says(answer):
            order = list(value)
            if _NOTHING.match(action) and action not in known:
                action = None
            else:
                flags.append(Flag.AMBIGUOUS)
                action = action if order.index(action_key) < order.index(answer_key) else None
        if action is not None or answer is not None:
            thought = value.get("thought") or value.get("思考") or ""
            if isinstance(given, str) and isinstance(inner := whole_json(given), dict):
                given = inner
                flags.append(Flag.DOUBLE_ENCODED)
            elif given is not None and not isinstance(given, dict):
                given = spelled(given)
            return {
                "thought": spelled(thought),
                "action": action,
                "input": given,
                "answer": None if action is not None else answer,
                "flags": flags,
            }
        if len(value) != 1:
            return None
        value = next(iter(value.values()))
    return None


def _says(value: Any) -> bool:
    """Whether a field holds anything: null and blank text do not."""
    return value is not None and (not isinstance(value, str) or bool(value.strip()))
