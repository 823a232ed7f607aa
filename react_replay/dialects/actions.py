"""What an action line says: a tool's name, a call in brackets, a JSON blob, or that no tool is meant."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from react_replay.dialects.payload import OPENERS, Payload, bracketed, read_json, unfenced
from react_replay.messages import Flag

__all__ = ["Action", "clean_name", "object_reply", "read_action"]

_NAME = re.compile(r"[`*\"'<]*+([^\s`*\"'\[［(（【{<>:：,，]++(?: [\w-]++)*+)[`*\"'>]*+[ \t]*+")
_NOTHING = re.compile(r"(?:none|n/?a|null|no tool|no action|无|不需要|没有)\b", re.I)
_ACTION_KEYS = ("action", "tool", "tool_name", "name", "function", "行动")
_INPUT_KEYS = ("action_input", "input", "arguments", "parameters", "args", "tool_input", "行动输入")
_ANSWER_KEYS = ("final_answer", "answer", "Final Answer", "最终答案")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    fence = unfenced(text, start)
    begin = fence[0] if fence else start
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if text[begin : begin + 1] == "{":
        return _json_action(text, begin, fence[2] if fence else limit, known)
    line_end = text.find("\n", start, limit)
    line_end = limit if line_end < 0 else line_end
    found = _NAME.match(text, start, line_end)
    if found is None:
        return Action(error="the action names no tool")
    if _NOTHING.match(found[1]) and found[1] not in known:
        return Action(nothing=True)
    flags: list[str] = []
    name = clean_name(found[1], known, flags)
    after = found.end()
    if text[after : after + 1] in tuple(OPENERS):
        lines = name.casefold() == "finish"
        payload = _called(text, after, limit, style, lines=lines)
        end = line_end if payload is None else payload.end
        return Action(name=name, end=end, payload=payload, flags=tuple(flags))
    if style == "bracket":
        return Action(
            name=name, end=line_end, error=f"the action must be written as tool[input], as in {name}[...]"
        )
    return Action(name=name, end=line_end, flags=tuple(flags))


def _called(text: str, start: int, limit: int, style: str, *, lines: bool) -> Payload | None:
    """The payload of call syntax: `tool[text]`, `tool("text")`, `tool({...})`; None for `tool()`."""
    inside = start + 1
    while inside < limit and text[inside] in " \t":
        inside += 1
    if style != "bracket" and text[inside : inside + 1] == "{":
        read = read_json(text, inside, limit)
        if not read.error:
            closing = re.compile(r"[ \t]*+[)）\]］】]?+").match(text, read.end)
            return read._replace(end=closing.end() if closing else read.end)
        return read._replace(error=f"the input is not valid JSON: {read.error}")
    payload = bracketed(text, start, limit, lines=lines)
    value = payload.value
    if payload.error and not lines and style != "bracket":
        return payload
    if style != "bracket":
        if not value and text[start] in "(（":
            return None
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
    return payload._replace(value=value, error="")


def _json_action(text: str, start: int, limit: int, known: Collection[str]) -> Action:
    read = read_json(text, start, limit)
    if read.error:
        return Action(error=f"the action's JSON cannot be read: {read.error}")
    reply = _unwrapped(read.value)
    if reply is None or reply.get("action") is None:
        return Action(error="the action's JSON names no tool; write its name under `action`")
    flags: list[str] = list(read.flags)
    name = clean_name(str(reply["action"]), known, flags)
    end = max(read.end, limit) if text[read.end : limit].strip() in ("", "```") else read.end
    value = reply["input"]
    payload = None if value is None else Payload(value if isinstance(value, (dict, str)) else str(value), end)
    return Action(name=name, end=end, payload=payload, flags=tuple(flags))


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


def object_reply(text: str) -> dict[str, Any] | None:
    """A reply that is one JSON object instead of labels: thought, action, input or answer; else None."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text.strip())
    except (ValueError, RecursionError, MemoryError):
        return None
    reply = _unwrapped(value) if not text.strip()[end:].strip() else None
    if reply is None or (reply["action"] is None and reply["answer"] is None):
        return None
    return reply


def _unwrapped(value: Any) -> dict[str, Any] | None:
    """The object itself, or the one inside an outer key, with its keys under our names."""
    for _ in range(4):
        if not isinstance(value, dict):
            return None
        action = next((value[key] for key in _ACTION_KEYS if isinstance(value.get(key), str)), None)
        answer = next((value[key] for key in _ANSWER_KEYS if key in value), None)
        if action is not None or answer is not None:
            given = next((value[key] for key in _INPUT_KEYS if key in value), None)
            if action is not None and action.casefold() in ("final answer", "final_answer", "finish"):
                answer, action = given if given is not None else answer, None
            thought = value.get("thought") or value.get("思考") or ""
            return {"thought": thought, "action": action, "input": given, "answer": answer}
        if len(value) != 1:
            return None
        value = next(iter(value.values()))
    return None
