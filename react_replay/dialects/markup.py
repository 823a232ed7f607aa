"""What leaks from a model's own template into its text: think blocks, special tokens, calls as tokens.

Text in, clean text and recovered calls out. A reply without such marks passes through untouched, and a mark
in the middle of a line is text. Everything is found by plain searches that never go back, so time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from react_replay.dialects.leaked import leaked_calls
from react_replay.dialects.payload import without_outer_fence
from react_replay.messages import Flag, ToolCall

__all__ = ["Cleaned", "clean_reply"]

_MARKS = re.compile(r"</?think|<[|｜‖]|</?tool_call>|<function|<invoke|\[TOOL_CALLS\]")
_THINK_OPENS = re.compile(r"^[ \t]*+<think(?:ing)?>", re.M)
_THINK_CLOSES = re.compile(  # for a missing opening tag: what follows is a new line, a label or nothing
    r"</think(?:ing)?>[^\S\n]*+(?=\n|\Z|[*#_`]*+[^\W\d_]++[ \w]{0,20}+[*_`]*+[:：])"
)
_THINK_TAG = re.compile(r"</?think(?:ing)?>")
_BLOCKS = (
    re.compile(r"<｜tool▁calls▁begin｜>.*\Z", re.S),
    re.compile(r"<\|tool_calls_section_begin\|>.*\Z", re.S),
    re.compile(r"^[ \t]*+<tool_call>.*?(?:</tool_call>|\Z)", re.S | re.M),
    re.compile(r"<[|｜‖]DSML[|｜‖]\w{1,20}+>\s*+<.*\Z", re.S),
    re.compile(r"^[ \t]*+<[|｜‖]DSML[|｜‖]invoke.*\Z", re.S | re.M),
)
_WRAPPERS = re.compile(r"^[ \t]*+</?function_calls>[ \t]*+$", re.M)
_TOKENS = re.compile(
    r"(?:(?:<\|(?:im_start|start)\|>(?:(?:assistant|user|system|developer|tool)(?![a-z]))?+|<\|channel\|>\w*+"
    r"|<\|[\w▁./ -]{0,60}+\|?>|<\|\w{0,60}+(?=<[|｜‖]|\s*+\Z)"
    r"|<[｜‖][^<>\n]{0,60}+>?|</?tool_call>)[ \t]*+)++"
)
_ROUNDS = 8
"""Marks inside marks: cleaning is done again until nothing changes, so that what is kept reads the same."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The text as a person would read it, the calls that hid in it, and what was odd.

    With calls, `before` is what stands before the first of them, and `kept` ends where that one ends.
    `broken`: a call began in tokens that could not be read.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    flags: tuple[str, ...] = ()
    before: str = ""
    kept: str = ""
    broken: bool = False


def clean_reply(text: str, known: Collection[str] = (), *, fenced: bool = False) -> Cleaned:
    """A reply without think blocks and special tokens; whole calls written as tokens are recovered.

    `known` are the tools' names: what only looks like a call must name one of them. `fenced`: a code fence
    round the whole reply is none of it.
    """
    flags: tuple[str, ...] = ()
    broken = False
    for _ in range(_ROUNDS):
        if _MARKS.search(text) is None:
            break
        text = without_outer_fence(text) if fenced else text.strip()
        cleaned = _cleaned(text, known)
        if cleaned.calls:
            return cleaned
        flags, broken = flags or cleaned.flags, broken or cleaned.broken
        if cleaned.text == text:
            break
        text = cleaned.text
    return Cleaned(text, flags=flags, broken=broken)


def _cleaned(text: str, known: Collection[str]) -> Cleaned:
    if "think" in text:
        text = _without_thinking(text)
    found, broken = leaked_calls(text, known)
    pieces, position = [], 0
    for place in found:
        pieces.append(text[position : max(place.start, position)])
        position = max(place.end, position)
    bare = "".join((*pieces, text[position:]))
    for block in _BLOCKS:
        bare = block.sub("", bare)
    bare = _without_tokens(_WRAPPERS.sub("", bare) if found else bare)
    flags = (Flag.LEAKED_MARKUP,) if bare != text else ()
    if flags:
        bare = bare.strip()
    if not found:
        return Cleaned(bare, flags=flags, broken=broken)
    calls = tuple(place.call for place in found)
    before = _without_tokens(text[: found[0].start]).strip()
    return Cleaned(bare, calls, (Flag.LEAKED_MARKUP,), before, text[: found[0].end].strip())


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
