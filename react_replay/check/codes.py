"""What is looked for, by stable code, and the value in which it is reported. Nothing is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["CODES", "Code", "Severity", "Violation"]


class Severity(StrEnum):
    """An error breaks the protocol; a warning is most often a fault; a note is none, but good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(NamedTuple):
    """How bad a kind of violation is, and what it means in one line."""

    severity: Severity
    meaning: str


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: Mapping[str, Code] = MappingProxyType(
    {
        # A history: what is sent to the model.
        "message-not-object": Code(_E, "a message is no object"),
        "unknown-role": Code(_E, "a role that the API does not know"),
        "wrong-content": Code(_E, "content that is neither text nor a list of typed parts"),
        "missing-content": Code(_E, "a message that must have content has none"),
        "empty-assistant-message": Code(_W, "an assistant message without content and without calls"),
        "empty-tool-calls": Code(_W, "`tool_calls` is there but holds no list of calls"),
        "late-system-message": Code(_N, "instructions after the conversation began"),
        "unanswered-call": Code(_E, "a call that no tool message answers before the next turn"),
        "orphan-result": Code(_E, "a tool message that answers no call of the turn before it"),
        "answered-twice": Code(_E, "a call with more than one tool message"),
        "missing-call-id": Code(_E, "a call without an id"),
        "missing-result-id": Code(_E, "a tool message without `tool_call_id`"),
        "repeated-call-id": Code(_E, "two calls of one turn under one id"),
        "reused-call-id": Code(_W, "a call under the id of an earlier turn's call"),
        "missing-call-name": Code(_E, "a call that names no tool"),
        "arguments-not-text": Code(_E, "a call's arguments are no JSON text, but a value"),
        "arguments-empty": Code(_E, "a call's arguments are missing or an empty text"),
        "arguments-not-json": Code(_E, "a call's arguments are not valid JSON"),
        "arguments-not-object": Code(_E, "a call's arguments are JSON, but no object"),
        "unknown-tool": Code(_W, "a call of a tool that was not offered"),
        "calls-without-tools": Code(_W, "the history has calls, but the request offers no tools"),
        "invented-observation": Code(_W, "the model wrote a tool's result itself"),
        "ends-with-assistant": Code(_W, "a request whose last message is the assistant's"),
        "ends-with-instructions": Code(_W, "a request whose last message is a system or developer one"),
        # A history beside the answers that were recorded before it.
        "lost-calls": Code(_E, "the history keeps only some of the calls that an answer gave"),
        "changed-arguments": Code(_W, "the history's arguments mean something else than the answer's"),
        "reformatted-arguments": Code(_N, "the history's arguments are the answer's in another spelling"),
        "rewritten-history": Code(_N, "the history before a recorded answer is no longer what was sent"),
        "same-request-other-answer": Code(
            _W, "a request was recorded twice, to the byte, with other answers"
        ),
        "same-request-again": Code(_N, "a request was recorded twice: the same answer, or a retry"),
        # One exchange: a request and what came back.
        "request-unreadable": Code(_E, "a chat request without a JSON body that holds messages"),
        "request-without-messages": Code(_E, "a chat request with an empty list of messages"),
        "answer-not-json": Code(_E, "an answer that is no JSON object"),
        "answer-without-choices": Code(_E, "an answer under status 200 without any choice"),
        "error-under-200": Code(_E, "an error object under status 200"),
        "error-without-object": Code(_W, "an HTTP error whose body holds no `error` object"),
        "stream-error": Code(_E, "an error event inside a stream"),
        "stream-unreadable": Code(_E, "a stream with an event that is no JSON object"),
        "call-without-index": Code(_W, "a stream that opens another call without saying its index"),
        "cut-calls": Code(_E, "calls under a finish_reason that says the reply was not finished"),
        "finish-missing": Code(_W, "no finish_reason, or an empty one"),
        "finish-unknown": Code(_W, "a finish_reason that the API does not know"),
        "empty-answer": Code(_W, "an answer without content and without calls"),
        "call-as-text": Code(_W, "a tool call written as text into the content"),
        "answer-missing-id": Code(_W, "the answer holds a call without an id"),
        "answer-repeated-id": Code(_W, "the answer holds two calls under one id"),
        "answer-missing-name": Code(_W, "the answer holds a call that names no tool"),
        "answer-arguments-missing": Code(_W, "the answer holds a call without arguments"),
        "answer-arguments-empty": Code(_W, "the answer holds a call whose arguments are an empty text"),
        "answer-arguments-not-json": Code(_W, "the answer holds a call whose arguments are not valid JSON"),
        "answer-arguments-not-object": Code(_W, "the answer holds a call whose arguments are no object"),
        "answer-unknown-tool": Code(_W, "the answer calls a tool that its request does not offer"),
        "answer-invented-observation": Code(_W, "the answer holds a tool's result that the model made up"),
        "usage-sum": Code(_W, "prompt and completion tokens do not add up to the total"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is not as it should be: its code, its place, and a sentence on how to mend it.

    `message_index` counts from 0 in `messages`, `interaction` from 0 in the cassette; None where the
    violation is not about one of them. `line` is the interaction's first line in its file, from 1, where that
    is known.
    """

    code: str
    message: str
    message_index: int | None = None
    path: str = ""
    interaction: int | None = None
    line: int | None = None

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    def to_dict(self) -> dict[str, Any]:
        """The violation as `react-replay check --json` prints it."""
        return {
            "path": self.path,
            "interaction": self.interaction,
            "code": self.code,
            "message_index": self.message_index,
            "message": self.message,
            "severity": str(self.severity),
        }
