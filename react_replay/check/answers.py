"""What is wrong with one recorded answer, beside the request that it answers. Pure; never raises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from react_replay.cassettes.reading import Recorded
from react_replay.check.calls import (
    arguments_fault,
    called_name,
    has_text,
    invents_observation,
    quoted,
    text_of,
)
from react_replay.check.codes import Violation
from react_replay.check.history import offered_names
from react_replay.errors import BackendError
from react_replay.wire import StreamFold

__all__ = ["Answer", "check_answer", "read_answer"]

_FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")
_CALLS_MAY_END = frozenset({"stop", "tool_calls", "function_call"})
# Each is a model's own markup for a call, followed by what begins one.
_MARKUP = re.compile(
    r"<tool_call>\s*(?:[{<\[]|[\w.-]{1,64}\s*[\n({<])|<\|tool_call(?:_begin)?\|?>|<\|tool_calls_section_begin\|>|<function=\w"
    r"|<function_call>\s*[\w{]|\[TOOL_CALLS\]\s*[\w\[{]|<\|python_tag\|>|<｜tool▁call|<invoke name="
    r"|<\|channel\|>commentary to="
)
_FENCE = re.compile(r"\A\s*```[a-z_]*\s*(.*?)\s*```\s*\Z", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A recorded answer as its choices, a stream folded choice by choice; `faults` stood in the way."""

    choices: tuple[Mapping[str, Any], ...] = ()
    usage: Any = None
    faults: tuple[Violation, ...] = ()
    error: Any = None

    def meaning(self) -> Any:
        """What two answers share if they are the same: words, calls and the calls' ids; not their times."""
        return [
            [
                text_of(message.get("content")),
                message.get("refusal") or "",
                [[identity, called_name(f), f.get("arguments")] for identity, f in calls_of(message)],
            ]
            for message in map(message_of, self.choices)
        ] or [str(self.error)]


def message_of(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, Mapping) else {}


def calls_of(message: Mapping[str, Any]) -> list[tuple[Any, Mapping[str, Any]]]:
    """The calls of a message as id and function; custom tools' calls are left out."""
    found: list[tuple[Any, Mapping[str, Any]]] = []
    entries = message.get("tool_calls")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping):
            found.append((None, {}))
        elif isinstance(entry.get("function"), Mapping):
            found.append((entry.get("id"), entry["function"]))
        elif not isinstance(entry.get("custom"), Mapping):
            found.append((entry.get("id"), entry))
    return found


def read_answer(recorded: Recorded) -> Answer:
    """The answer of an exchange. Never raises: what is in the way is a violation."""
    if recorded.streamed and recorded.status < 400:
        return _read_stream(recorded)
    body = b"".join(recorded.chunks)
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if recorded.status >= 400:
        return Answer(
            error=parsed if parsed is not None else body[:200], faults=_error_body(recorded, parsed)
        )
    if not isinstance(parsed, dict):
        return Answer(
            error=body[:200],
            faults=(
                _fault(
                    "answer-not-json",
                    f"the answer (status {recorded.status}) is no JSON object but "
                    f"{quoted(_decoded(body))}; is "
                    "the endpoint a chat-completions one?",
                ),
            ),
        )
    error = parsed.get("error")
    found = []
    if error:
        found.append(
            _fault(
                "error-under-200",
                f"status {recorded.status} came with an error: {quoted(_said(error), 100)}; a client must "
                "look for `error` before it reads `choices`",
            )
        )
    choices = parsed.get("choices")
    listed = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not listed:
        keys = quoted(", ".join(map(str, parsed)))
        found.append(
            _fault(
                "answer-without-choices", f"the answer has no choices, only the keys {keys}; record it again"
            )
        )
    return Answer(choices=tuple(listed), usage=parsed.get("usage"), error=error, faults=tuple(found))


def _read_stream(recorded: Recorded) -> Answer:
    folds: dict[Any, StreamFold] = {}
    opened: dict[Any, int] = {}
    usage, problem = None, None
    faults: list[Violation] = []
    try:
        for chunk in recorded.events():
            if chunk.get("error"):
                problem = chunk["error"]
                said = quoted(_said(problem), 100)
                faults.append(
                    _fault(
                        "stream-error",
                        f"an error came in the middle of the stream: {said}; a client must not take what "
                        "came before for an answer",
                    )
                )
                continue
            usage = chunk.get("usage") or usage
            choices = chunk.get("choices")
            for choice in choices if isinstance(choices, list) else ():
                if isinstance(choice, Mapping):
                    index = choice.get("index")
                    index = index if isinstance(index, int) else 0
                    faults += _unindexed(choice, index, opened)
                    folds.setdefault(index, StreamFold()).add({"choices": [{**choice, "index": 0}]})
    except BackendError as error:
        faults.append(_fault("stream-unreadable", f"{str(error)[:200]}; the answer is read up to that event"))
    if not folds and not faults:
        faults.append(_fault("answer-without-choices", "the stream has no choices; record it again"))
    return Answer(
        choices=tuple(folds[index].to_dict()["choices"][0] for index in sorted(folds)),
        usage=usage,
        error=problem,
        faults=tuple(faults),
    )


def _unindexed(choice: Mapping[str, Any], index: int, opened: dict[Any, int]) -> Iterator[Violation]:
    delta = choice.get("delta")
    calls = delta.get("tool_calls") if isinstance(delta, Mapping) else None
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        names = call.get("id") or (isinstance(function, Mapping) and function.get("name"))
        if names and not isinstance(call.get("index"), int) and opened.get(index):
            yield _fault(
                "call-without-index",
                f"the stream opens another call (id {quoted(call.get('id'))}) without an index; tell calls "
                "apart by their ids, or they run into one",
            )
        opened[index] = opened.get(index, 0) + 1


def _error_body(recorded: Recorded, parsed: Any) -> tuple[Violation, ...]:
    if isinstance(parsed, dict) and parsed.get("error"):
        return ()
    body = _decoded(b"".join(recorded.chunks))
    return (
        _fault(
            "error-without-object",
            f"the body of the HTTP {recorded.status} error holds no `error` object: "
            f"{quoted(body, 100)}; take "
            "the message from the body as it stands",
        ),
    )


def _decoded(body: bytes) -> str:
    return body[:400].decode("utf-8", "replace")


def _said(error: Any) -> Any:
    return error.get("message", error) if isinstance(error, Mapping) else error


def _fault(code: str, message: str) -> Violation:
    return Violation(code=code, message=message)


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
        yield _fault(
            "finish-missing",
            f"finish_reason is {quoted(finish)}; whether the reply is whole is not known, so do not take it "
            "for an answer unseen",
        )
    elif finish not in _FINISHES:
        yield _fault(
            "finish-unknown",
            f"finish_reason is {quoted(finish)}, which is none of {', '.join(_FINISHES)}; "
            "decide what it means",
        )
    if called and finish not in _CALLS_MAY_END:
        yield _fault(
            "cut-calls",
            f"the answer holds calls, but finish_reason is {quoted(finish)}: the last one may be cut, so run "
            "only what is complete JSON, or raise max_tokens",
        )
    yield from _check_calls(calls, offered)
    if isinstance(legacy, Mapping):
        yield from _check_call("the function_call", legacy, offered)
    text = text_of(message.get("content"))
    if called:
        return
    if not has_text(message.get("content")) and not any(message.get(name) for name in ("refusal", "audio")):
        reasoned = message.get("reasoning_content") or message.get("reasoning")
        only = ", only reasoning" if reasoned else ""
        yield _fault(
            "empty-answer",
            f"the answer has content {quoted(message.get('content'))} and no calls{only} (finish_reason "
            f"{quoted(finish)}); do not show it as an answer, and raise max_tokens where that cut it",
        )
    elif offered and _is_call_text(text, offered):
        yield _fault(
            "call-as-text",
            f"a tool call stands in the content as text: {quoted(text.strip())}; no tool will run, so mend "
            "the server's tool parser or template",
        )
    elif invents_observation(text):
        yield _fault(
            "answer-invented-observation",
            "after its action the model wrote an observation itself; cut the reply there, and never send it "
            "back as if a tool had said it",
        )


def _check_calls(calls: list[tuple[Any, Mapping[str, Any]]], offered: frozenset[str]) -> Iterator[Violation]:
    seen = set()
    for identity, function in calls:
        name = quoted(function.get("name"))
        if not isinstance(identity, str) or not identity:
            yield _fault(
                "answer-missing-id",
                f"the call of {name} has the id {quoted(identity)}; give it one before it "
                "goes into the history",
            )
        elif identity in seen:
            yield _fault(
                "answer-repeated-id",
                f"two calls have the id {quoted(identity)}; give each its own before they go "
                "into the history",
            )
        else:
            seen.add(identity)
        yield from _check_call(f"the call {quoted(identity)}", function, offered)


def _check_call(label: str, function: Mapping[str, Any], offered: frozenset[str]) -> Iterator[Violation]:
    name = called_name(function)
    ending, fault = arguments_fault(function)
    if not name.strip() and (ending != "empty" or function.get("name") is None):
        yield _fault("answer-missing-name", f"{label} names no tool; tell the model so, and run nothing")
    elif name.strip() and name not in offered:
        tools = quoted(", ".join(sorted(offered)) or "none", 200)
        yield _fault(
            "answer-unknown-tool",
            f"{label} is of {quoted(name)}, but the request offers: {tools}; answer it with an error that "
            "lists the tools",
        )
    if ending and ending != "not-text":
        yield _fault(
            f"answer-arguments-{ending}",
            f"{label} of {quoted(name)} {fault}; do not guess at them: answer with an error that says so",
        )
    elif ending:
        yield _fault(
            "answer-arguments-not-json",
            f"{label} of {quoted(name)} {fault}; write them as JSON text before they go into the history",
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
        yield _fault(
            "usage-sum",
            f"usage says {prompt} + {completion} tokens but a total of {total}; some servers leave reasoning "
            "out of the parts, so decide which figure your budget counts",
        )
