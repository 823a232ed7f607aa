"""A recorded answer as its choices, whole or streamed, and what stood in the way. Never raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from react_replay.cassettes.reading import Recorded
from react_replay.check.calls import called_name, quoted, text_of
from react_replay.check.codes import Violation
from react_replay.errors import BackendError
from react_replay.wire import StreamFold

__all__ = ["Answer", "calls_of", "fault", "message_of", "read_answer"]


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
                fault(
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
            fault(
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
            fault(
                "answer-without-choices", f"the answer has no choices, only the keys {keys}; record it again"
            )
        )
    return Answer(choices=tuple(listed), usage=parsed.get("usage"), error=error, faults=tuple(found))


_NO_EVENTS = (
    "the stream holds no choice: it broke off before the first; "
    "record it again, unless that is what it is for"
)


def _read_stream(recorded: Recorded) -> Answer:
    folds: dict[Any, StreamFold] = {}
    opened: set[int] = set()  # the choices that hold a call
    usage, problem = None, None
    faults: list[Violation] = []
    try:
        for chunk in recorded.events():
            if chunk.get("error"):
                problem = chunk["error"]
                said = quoted(_said(problem), 100)
                faults.append(
                    fault(
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
        faults.append(fault("stream-unreadable", f"{str(error)[:200]}; the answer is read up to that event"))
    if not folds and not faults:
        faults.append(fault("answer-without-choices", _NO_EVENTS))
    return Answer(
        choices=tuple(folds[index].to_dict()["choices"][0] for index in sorted(folds)),
        usage=usage,
        error=problem,
        faults=tuple(faults),
    )


def _unindexed(choice: Mapping[str, Any], index: int, opened: set[int]) -> Iterator[Violation]:
    delta = choice.get("delta")
    calls = delta.get("tool_calls") if isinstance(delta, Mapping) else None
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        names = call.get("id") or (isinstance(function, Mapping) and function.get("name"))
        if names and not isinstance(call.get("index"), int) and index in opened:
            yield fault(
                "call-without-index",
                f"the stream opens another call (id {quoted(call.get('id'))}) without an index; tell calls "
                "apart by their ids, or they run into one",
            )
        opened.add(index)


def _error_body(recorded: Recorded, parsed: Any) -> tuple[Violation, ...]:
    if isinstance(parsed, dict) and parsed.get("error"):
        return ()
    body = _decoded(b"".join(recorded.chunks))
    return (
        fault(
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


def fault(code: str, message: str) -> Violation:
    return Violation(code=code, message=message)
