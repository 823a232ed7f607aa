"""What is wrong with a recorded answer, choice by choice, beside its request. Pure; never raises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from react_replay.check.answers import Answer, calls_of, fault, message_of
from react_replay.check.calls import (
    arguments_fault,
    called_name,
    has_text,
    invents_observation,
    offered_names,
    quoted,
    text_of,
)
from react_replay.check.codes import Violation

__all__ = ["check_answer"]

_FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")
_CALLS_MAY_END = frozenset({"stop", "tool_calls", "function_call"})
# Each is a model's own markup for a call, followed by what begins one.
_MARKUP = re.compile(
    r"<tool_call>\s*(?:[{<\[]|[\w.-]{1,64}\s*[\n({<])|<\|tool_call(?:_begin)?\|?>|<\|tool_calls_section_begin\|>|<function=\w"
    r"|<function_call>\s*[\w{]|\[TOOL_CALLS\]\s*[\w\[{]|<\|python_tag\|>|<｜tool▁call|<invoke name="
    r"|<\|channel\|>commentary to="
)
_FENCE = re.compile(r"\A\s*```[a-z_]*\s*(.*?)\s*```\s*\Z", re.S)


def check_answer(answer: Answer, options: Mapping[str, Any]) -> Iterator[Violation]:
    """What is wrong with an answer. `options` are its request's, for the tools that it offers."""
    yield from answer.faults
    tools = [
        tool
        for name in ("tools", "functions")
        if isinstance(options.get(name), list)
        for tool in options[name]
    ]
    offered = offered_names(tools)
    for choice in answer.choices:
        yield from _check_choice(choice, offered)
    yield from _check_usage(answer.usage)


def _check_choice(choice: Mapping[str, Any], offered: frozenset[str]) -> Iterator[Violation]:
    message = message_of(choice)
    calls = calls_of(message)
    legacy = message.get("function_call")
    called = bool(message.get("tool_calls")) or isinstance(legacy, Mapping)
    finish = choice.get("finish_reason")
    if not isinstance(finish, str) or not finish:
        yield fault(
            "finish-missing",
            f"finish_reason is {quoted(finish)}; whether the reply is whole is not known, so do not take it "
            "for an answer unseen",
        )
    elif finish not in _FINISHES:
        yield fault(
            "finish-unknown",
            f"finish_reason is {quoted(finish)}, which is none of {', '.join(_FINISHES)}; "
            "decide what it means",
        )
    if called and finish not in _CALLS_MAY_END:
        yield fault(
            "cut-calls",
            f"the answer holds calls, but finish_reason is {quoted(finish)}: the last one may be cut, so run "
            "only what is complete JSON, or raise max_tokens",
        )
    yield from _check_calls(calls, offered)
    said = [function.get("arguments") for _, function in calls]
    if isinstance(legacy, Mapping) and legacy.get("arguments") not in said:  # else the same call once more
        yield from _check_call("the function_call", legacy, offered)
    text = text_of(message.get("content"))
    if called:
        return
    if not has_text(message.get("content")) and not any(message.get(name) for name in ("refusal", "audio")):
        reasoned = message.get("reasoning_content") or message.get("reasoning")
        only = ", only reasoning" if reasoned else ""
        yield fault(
            "empty-answer",
            f"the answer has content {quoted(message.get('content'))} and no calls{only} (finish_reason "
            f"{quoted(finish)}); do not show it as an answer, and raise max_tokens where that cut it",
        )
    elif offered and _is_call_text(text, offered):
        yield fault(
            "call-as-text",
            f"a tool call stands in the content as text: {quoted(text.strip())}; no tool will run, so mend "
            "the server's tool parser or template",
        )
    elif invents_observation(text):
        yield fault(
            "answer-invented-observation",
            "after its action the model wrote an observation itself; cut the reply there, and never send it "
            "back as if a tool had said it",
        )


def _check_calls(calls: list[tuple[Any, Mapping[str, Any]]], offered: frozenset[str]) -> Iterator[Violation]:
    seen = set()
    for identity, function in calls:
        name = quoted(function.get("name"))
        if not isinstance(identity, str) or not identity:
            yield fault(
                "answer-missing-id",
                f"the call of {name} has the id {quoted(identity)}; give it one before it "
                "goes into the history",
            )
        elif identity in seen:
            yield fault(
                "answer-repeated-id",
                f"two calls have the id {quoted(identity)}; give each its own before they go "
                "into the history",
            )
        else:
            seen.add(identity)
        yield from _check_call(f"the call {quoted(identity)}", function, offered)


def _check_call(label: str, function: Mapping[str, Any], offered: frozenset[str]) -> Iterator[Violation]:
    name = called_name(function)
    ending, what = arguments_fault(function)
    if not name.strip() and (ending != "empty" or function.get("name") is None):
        yield fault("answer-missing-name", f"{label} names no tool; tell the model so, and run nothing")
    elif name.strip() and name not in offered:
        tools = quoted(", ".join(sorted(offered)) or "none", 200)
        yield fault(
            "answer-unknown-tool",
            f"{label} is of {quoted(name)}, but the request offers: {tools}; answer it with an error that "
            "lists the tools",
        )
    if ending and ending != "not-text":
        yield fault(
            f"answer-arguments-{ending}",
            f"{label} of {quoted(name)} {what}; do not guess at them: answer with an error that says so",
        )
    elif ending:
        yield fault(
            "answer-arguments-not-json",
            f"{label} of {quoted(name)} {what}; write them as JSON text before they go into the history",
        )


def _is_call_text(text: str, offered: frozenset[str]) -> bool:
    if _MARKUP.search(text):
        return True
    fenced = _FENCE.match(text) if len(text) < 20_000 else None
    body = (fenced[1] if fenced else text).strip()
    if body[:1] not in ("{", "["):
        return False
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    inner = first.get("function")
    first = inner if isinstance(inner, dict) else first
    return first.get("name") in offered and bool({"arguments", "parameters"} & set(first))


def _check_usage(usage: Any) -> Iterator[Violation]:
    if not isinstance(usage, Mapping):
        return
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    prompt, completion, total = counts
    if all(type(count) is int for count in counts) and prompt + completion != total:  # type: ignore[operator]
        yield fault(
            "usage-sum",
            f"usage says {prompt} + {completion} tokens but a total of {total}; some servers leave reasoning "
            "out of the parts, so decide which figure your budget counts",
        )
