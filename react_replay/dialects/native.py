"""The native dialect: tools go out as `tools=`, calls come back as `tool_calls`, results as role `tool`.

Interprets a completion; its reading (arguments, ids, vendor quirks) is `wire`'s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from react_replay.dialects.base import (
    Answer,
    Dialect,
    History,
    Malformed,
    Opening,
    Outcome,
    ToolCalls,
)
from react_replay.messages import Completion, Flag, Message, Observation, ToolCall, ToolSpec
from react_replay.wire import dump_arguments, read_arguments, read_completion

__all__ = ["NativeDialect"]

_TOKENS = re.compile(r"<[｜‖][^<>\n]{1,60}>")
"""Tokens that no text holds by chance; in the middle of a line they are left, and flagged."""


class NativeDialect(Dialect):
    """OpenAI's tool calling, as DeepSeek and most local servers speak it."""

    name = "native"

    def open(self, question: str, *, tools: Sequence[ToolSpec], system: str | None = None) -> Opening:
        messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": question})
        # An empty `tools` is an error to some servers, so it is left out.
        options = {"tools": [tool.to_wire() for tool in tools]} if tools else {}
        return Opening(messages=tuple(messages), options=options)

    def parse(self, completion: Completion, tools: Sequence[ToolSpec] = ()) -> Outcome:
        text = completion.content or ""
        if completion.tool_calls:
            flags: list[str] = []
            names = {tool.name for tool in tools}
            calls = tuple(_named(call, names, flags) for call in completion.tool_calls)
            thought = text.strip() or completion.reasoning
            return ToolCalls(calls=calls, thought=thought, flags=tuple(flags), kept=text)
        if "<" in text or "[TOOL_CALLS]" in text or text.lstrip()[:1] in ("{", "[", "`", "~"):
            outcome = self._without_markup(completion, text, {tool.name for tool in tools})
            if outcome is not None:
                return outcome
        if completion.finish_reason in ("tool_calls", "function_call"):
            return Malformed(
                reason="finish_reason announces tool calls, but the reply holds none",
                thought=text,
                kept=text,
            )
        return Answer(answer=text, thought=completion.reasoning, kept=text)

    def _without_markup(self, completion: Completion, text: str, names: set[str]) -> Outcome | None:
        """A call that the server did not recognise, or text with a template's tokens; None for neither."""
        from react_replay.dialects.leaked import BROKEN_CALL, written_as_json
        from react_replay.dialects.markup import clean_reply

        cleaned = clean_reply(text, names)
        calls = cleaned.calls or tuple(written_as_json(_unfenced(cleaned.text), names))
        thought, flags = completion.reasoning, (Flag.LEAKED_MARKUP,)
        if calls:
            kept = cleaned.text if cleaned.calls else ""
            return ToolCalls(calls=calls, thought=thought or kept, flags=flags, kept=kept)
        if cleaned.broken:
            return Malformed(reason=BROKEN_CALL, thought=thought, flags=flags, kept=text)
        if cleaned.text == text and not _TOKENS.search(text):
            return None
        if not cleaned.text.strip():
            reason = "the reply holds only special tokens of the chat template"
            return Malformed(reason=reason, flags=flags, kept=text)
        return Answer(answer=cleaned.text, thought=thought, flags=flags, kept=cleaned.text)

    def assistant(self, completion: Completion, outcome: Outcome) -> Message:
        message: Message = {"role": "assistant", "content": outcome.kept}
        if completion.reasoning and outcome.calls:
            # DeepSeek's thinking mode wants it back once tools were called, and ignores it otherwise.
            message["reasoning_content"] = completion.reasoning
        if outcome.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name or "unnamed", "arguments": call.written or _spelled(call)},
                }
                for call in outcome.calls
            ]
        return message

    def render(self, observations: Sequence[Observation]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": seen.call.id, "content": seen.text} for seen in observations]

    def pending(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> History:
        kept = tuple(_closed(messages))
        ids = [
            call.get("id") or ""
            for message in kept
            if message.get("role") == "assistant"
            for call in _calls_of(message)
        ]
        end = len(kept)
        while end and kept[end - 1].get("role") == "tool":
            end -= 1
        last = kept[end - 1] if end else {}
        if last.get("role") != "assistant" or not _calls_of(last):
            return History(messages=kept, ids=tuple(ids))
        raw = {"choices": [{"message": last, "finish_reason": "tool_calls"}]}
        completion = read_completion(raw)
        answered = [message.get("tool_call_id") for message in kept[end:]]
        calls = self.parse(completion, tools).calls
        open_calls = tuple(call for call in calls if call.id not in answered)
        return History(messages=kept, ids=tuple(ids), calls=open_calls, completion=completion)

    def mend(self, reason: str) -> Message:
        return {
            "role": "user",
            "content": f"Your last reply could not be used: {reason}. "
            "Call a tool, or write your final answer as plain text.",
        }


def _closed(messages: Sequence[Message]) -> list[Message]:
    """The history with every call answered right behind its turn: no service takes it otherwise.

    A result that stands further down is moved up, one that is nowhere is said to be missing. The calls of
    the last turn are left open, to be run, unless the conversation went on after them.
    """
    starts = [place for place, message in enumerate(messages) if _asks(message)]
    if not starts:
        return list(messages)
    closed = list(messages[: starts[0]])
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
        turn, rest = messages[start], list(messages[start + 1 : end])
        closed.append(turn)
        if end == len(messages) and all(message.get("role") == "tool" for message in rest):
            return closed + rest
        results: dict[Any, list[Message]] = {}
        for message in rest:
            if message.get("role") == "tool":
                results.setdefault(message.get("tool_call_id"), []).append(message)
        asked = [call.get("id") for call in turn["tool_calls"]]
        for identity in asked:
            lost = {"role": "tool", "tool_call_id": identity, "content": "error: this call was not answered"}
            closed.append(results[identity].pop(0) if results.get(identity) else lost)
        left = {id(message) for found in results.values() for message in found}
        closed += [message for message in rest if message.get("role") != "tool" or id(message) in left]
    return closed


def _asks(message: Message) -> bool:
    return message.get("role") == "assistant" and bool(message.get("tool_calls"))


def _named(call: ToolCall, names: set[str], flags: list[str]) -> ToolCall:
    """The call under a known tool's name where only decoration hides it; otherwise as it is."""
    name = call.name
    if name in names or not names:
        return call
    bare = name.split("<|", 1)[0].strip().strip("`\"'")
    for candidate in (bare, bare.removeprefix("functions."), bare.rsplit(".", 1)[-1]):
        if candidate in names:
            flags.append(Flag.RENAMED_TOOL)
            return replace(call, name=candidate)
    return call


def _calls_of(message: Message) -> list[Any]:
    """The calls of a message that a caller may have made: what is no call is none."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _unfenced(text: str) -> str:
    """What a code fence round the whole text holds."""
    from react_replay.dialects.payload import unfenced

    text = text.strip()
    fence = unfenced(text, 0, len(text))
    return text[fence[0] : fence[1]] if fence and fence[2] == len(text) else text


def _spelled(call: ToolCall) -> str:
    """Arguments that came without a spelling of their own: always a JSON object in the history."""
    if isinstance(call.arguments, str):
        return read_arguments(call.arguments).text
    return dump_arguments(call.arguments)
