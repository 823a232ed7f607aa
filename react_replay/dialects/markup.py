"""What leaks from a model's own template into its text: think blocks, special tokens, calls as tokens.

Text in, clean text and recovered calls out. A reply without such marks passes through untouched.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from react_replay.messages import Flag, ToolCall

__all__ = ["Cleaned", "clean_reply"]

_MARKS = ("<think", "</think", "<|", "<｜", "<‖", "<tool_call", "<function=", "[TOOL_CALLS]")
_THINK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([^\n<`]*+)(?:<｜tool▁sep｜>)?(.*?)"
    r"(?:<｜tool▁call▁end｜>|\Z)",
    re.S,
)
_KIMI = re.compile(
    r"<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>(.*?)(?:<\|tool_call_end\|>|\Z)", re.S
)
_HERMES = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.S)
_TOKEN = re.compile(r"<[|｜‖][^<>\n]{0,60}+>?|</?tool_call>")
_BLOCKS = (
    re.compile(r"<｜tool▁calls▁begin｜>.*\Z", re.S),
    re.compile(r"<\|tool_calls_section_begin\|>.*\Z", re.S),
)
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The text as a person would read it, the calls that hid in it, and what was odd."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    flags: tuple[str, ...] = ()


def clean_reply(text: str) -> Cleaned:
    """A reply without think blocks and special tokens; whole calls written as tokens are recovered."""
    if not any(mark in text for mark in _MARKS):
        return Cleaned(text)
    if "</think" in text or "<think" in text:
        text = _without_thinking(text)
    calls: list[ToolCall] = []
    for pattern in (_DEEPSEEK, _KIMI):
        for found in pattern.finditer(text):
            call = _call(found[1], found[2])
            if call is not None:
                calls.append(call)
    for found in _HERMES.finditer(text):
        call = _hermes_call(found[1])
        if call is not None:
            calls.append(call)
    bare = text
    for pattern in (*_BLOCKS, _HERMES):
        bare = pattern.sub("", bare)
    bare = _TOKEN.sub("", bare)
    odd = bare != text
    return Cleaned(bare.strip() if odd else bare, tuple(calls), (Flag.LEAKED_MARKUP,) if odd else ())


def _without_thinking(text: str) -> str:
    whole = text
    end = text.rfind("</think")
    if end >= 0:
        close = text.find(">", end)
        text = text[close + 1 :] if close >= 0 else ""
    elif (begin := text.find("<think")) >= 0:  # thinking that never ended
        text = text[:begin]
    if text.strip():
        return text.lstrip("\r\n ")
    # A whole turn inside the block: what it says is all there is.
    return re.sub(r"</?think(?:ing)?>", "", whole).strip()


def _call(name: str, payload: str) -> ToolCall | None:
    name = name.strip().removeprefix("functions.")
    name = re.sub(r":\d+\Z", "", name)
    begin, end = payload.find("{"), payload.rfind("}")
    if not name or begin < 0 or end < begin:
        return None
    try:
        arguments = json.loads(payload[begin : end + 1], strict=False)
    except (ValueError, RecursionError, MemoryError):
        return None
    return ToolCall(name=name, arguments=arguments) if isinstance(arguments, dict) else None


def _hermes_call(payload: str) -> ToolCall | None:
    try:
        entry = json.loads(payload, strict=False)
    except (ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    arguments: Any = next((entry[name] for name in _ARGUMENTS if name in entry), {})
    return ToolCall(name=entry["name"], arguments=arguments) if isinstance(arguments, dict) else None
