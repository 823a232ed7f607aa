"""What leaks from a model's own template into its text: think blocks, special tokens, calls as tokens.

Text in, clean text and recovered calls out. A reply without such marks passes through untouched, and a mark
in the middle of a line is text. Everything is found by plain searches that never go back, so time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from react_replay.dialects.payload import whole_json
from react_replay.messages import Flag, ToolCall

__all__ = ["Cleaned", "clean_reply"]

_MARKS = re.compile(r"</?think|<[|｜‖]|</?tool_call>")
_THINK_OPENS = re.compile(r"^[ \t]*+<think(?:ing)?>", re.M)
_THINK_CLOSES = re.compile(  # for a missing opening tag: what follows is a new line, a label or nothing
    r"</think(?:ing)?>[^\S\n]*+(?=\n|\Z|[*#_`]*+[^\W\d_]++[ \w]{0,20}+[*_`]*+[:：])"
)
_THINK_TAG = re.compile(r"</?think(?:ing)?>")
_BLOCKS = (
    re.compile(r"<｜tool▁calls▁begin｜>.*\Z", re.S),
    re.compile(r"<\|tool_calls_section_begin\|>.*\Z", re.S),
    re.compile(r"^[ \t]*+<tool_call>.*?(?:</tool_call>|\Z)", re.S | re.M),
)
_TOKENS = re.compile(
    r"(?:(?:<\|(?:im_start|start|channel)\|>\w*+|<\|[\w▁./ -]{0,60}+\|?>|<\|\w{0,60}+(?=<[|｜‖]|\s*+\Z)"
    r"|<[｜‖][^<>\n]{0,60}+>?|</?tool_call>)[ \t]*+)++"
)
_ROUNDS = 8
"""Marks inside marks: cleaning is done again until nothing changes, so that what is kept reads the same."""

_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The text as a person would read it, the calls that hid in it, and what was odd.

    With calls, `before` is what stands before the first of them, and `kept` ends where that one ends.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    flags: tuple[str, ...] = ()
    before: str = ""
    kept: str = ""


def clean_reply(text: str) -> Cleaned:
    """A reply without think blocks and special tokens; whole calls written as tokens are recovered."""
    flags: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        if "<" not in text or _MARKS.search(text) is None:
            break
        cleaned = _cleaned(text.strip())
        if cleaned.calls:
            return cleaned
        flags = flags or cleaned.flags
        if cleaned.text == text:
            break
        text = cleaned.text
    return Cleaned(text, flags=flags)


def _cleaned(text: str) -> Cleaned:
    if "think" in text:
        text = _without_thinking(text)
    bare = text
    for block in _BLOCKS:
        bare = block.sub("", bare)
    bare = _without_tokens(bare)
    flags = (Flag.LEAKED_MARKUP,) if bare != text else ()
    if flags:
        bare = bare.strip()
    found = sorted(_calls(text), key=lambda place: place[0])
    if not found:
        return Cleaned(bare, flags=flags)
    start, end, _ = found[0]
    calls = tuple(call for _, _, call in found)
    before = _without_tokens(text[:start]).strip()
    return Cleaned(bare, calls, (Flag.LEAKED_MARKUP,), before, text[:end].strip())


def _without_thinking(text: str) -> str:
    kept: list[str] = []
    position = 0
    while opening := _THINK_OPENS.search(text, position):
        kept.append(text[position : opening.start()])
        closing = text.find("</think", opening.end())
        tag = text.find(">", closing) if closing >= 0 else -1
        position = tag + 1 if tag >= 0 else len(text)  # thinking that never ended
    rest = "".join((*kept, text[position:]))
    stray = 0
    for closing_tag in _THINK_CLOSES.finditer(rest):
        stray = closing_tag.end()
    rest = rest[stray:]
    if rest.strip():
        return rest.lstrip("\r\n ")
    # A whole turn inside the block: what it says is all there is.
    return _THINK_TAG.sub("", text).strip()


def _without_tokens(text: str) -> str:
    """Special tokens at the start or the end of a line are the template's; elsewhere they are text."""

    def outside(found: re.Match[str]) -> str:
        start, end = found.span()
        at_edge = start == 0 or text[start - 1] == "\n" or end == len(text) or text[end] in "\r\n"
        return "" if at_edge else found[0]

    return _TOKENS.sub(outside, text)


def _calls(text: str) -> Iterator[tuple[int, int, ToolCall]]:
    """Where a call written as tokens begins and ends, and what it says; incomplete ones are left out."""
    for begin, end, read in _FORMS:
        start = text.find(begin)
        while start >= 0:
            inside = start + len(begin)
            following = text.find(begin, inside)
            limit = following if following >= 0 else len(text)
            closing = text.find(end, inside, limit)
            call = read(text[inside : closing if closing >= 0 else limit])
            if call is not None:
                yield start, closing + len(end) if closing >= 0 else limit, call
            start = following


def _deepseek_call(body: str) -> ToolCall | None:
    name, _, payload = body.partition("<｜tool▁sep｜>")
    if name.strip() == "function":
        name, _, payload = payload.partition("\n")
    return _call(name, payload)


def _kimi_call(body: str) -> ToolCall | None:
    name, _, payload = body.partition("<|tool_call_argument_begin|>")
    return _call(re.sub(r":\d+\s*\Z", "", name[:200]), payload)


def _hermes_call(body: str) -> ToolCall | None:
    entry = whole_json(body)
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    arguments: Any = next((entry[name] for name in _ARGUMENTS if name in entry), {})
    if isinstance(arguments, str):  # encoded twice
        arguments = whole_json(arguments)
    return ToolCall(name=entry["name"], arguments=arguments) if isinstance(arguments, dict) else None


def _call(name: str, payload: str) -> ToolCall | None:
    name = name.strip().removeprefix("functions.")
    arguments = whole_json(payload[payload.find("{") : payload.rfind("}") + 1])
    return ToolCall(name=name, arguments=arguments) if name and isinstance(arguments, dict) else None


_FORMS: tuple[tuple[str, str, Callable[[str], ToolCall | None]], ...] = (
    ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", _deepseek_call),
    ("<|tool_call_begin|>", "<|tool_call_end|>", _kimi_call),
    ("<tool_call>", "</tool_call>", _hermes_call),
)
