"""What a dialect is, and what it can make of a reply. No concrete format and no IO may enter here.

A dialect says how we talk to the model: it writes the opening messages, reads a reply, and writes
observations back. It is stateless and pure; the loop calls it and nobody else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from react_replay.messages import Completion, Message, Observation, ToolCall, ToolSpec

__all__ = ["Answer", "Dialect", "History", "Malformed", "Opening", "Outcome", "ToolCalls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a reply says. One of `ToolCalls`, `Answer`, `Malformed`; all carry the same fields.

    `flags` names what was odd (see `Flag`). `kept` is the part of the text that goes into the
    history: a reply is cut before an observation that the model invented.
    """

    thought: str = ""
    flags: tuple[str, ...] = ()
    kept: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    reason: str = ""


class ToolCalls(Outcome):
    """The model wants tools run: `calls`, in order. A call with `error` set must not be run."""

    __slots__ = ()


class Answer(Outcome):
    """The model is done: `answer` is its final text."""

    __slots__ = ()


class Malformed(Outcome):
    """The reply cannot be read; `reason` says what was expected, for the model to mend it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a conversation begins: its messages, and the options that go with every request."""

    messages: tuple[Message, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a conversation so far still owes: `calls` without an answer, after `messages`.

    `ids` are all call ids that were used; `completion` is the reply that asked for the calls.
    """

    messages: tuple[Message, ...]
    ids: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    completion: Completion = field(default_factory=Completion)


class Dialect(ABC):
    """How we talk to a model. Subclass it, or make a text dialect from a table: `LabelledDialect`."""

    name: str

    def localised(self, question: str) -> Dialect:
        """This dialect with its prompts in the question's language. The default has one language."""
        return self

    @abstractmethod
    def open(self, question: str, *, tools: Sequence[ToolSpec], system: str | None = None) -> Opening:
        """The first messages and the options of every request."""

    @abstractmethod
    def parse(self, completion: Completion, tools: Sequence[ToolSpec] = ()) -> Outcome:
        """Read a reply. Never raises, whatever the reply; linear in its length."""

    @abstractmethod
    def assistant(self, completion: Completion, outcome: Outcome) -> Message:
        """The reply as the history keeps it; ids of `outcome.calls` are final by now."""

    @abstractmethod
    def render(self, observations: Sequence[Observation]) -> list[Message]:
        """The messages that tell the model what came of its calls, in call order."""

    @abstractmethod
    def mend(self, reason: str) -> Message:
        """The message that asks the model to write its last reply again."""

    def pending(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> History:
        """What the conversation still owes: for a text protocol, the actions of its last reply."""
        kept = tuple(messages)
        if not kept or kept[-1].get("role") != "assistant":
            return History(messages=kept)
        completion = Completion(content=kept[-1].get("content"))
        calls = self.parse(completion, tools).calls
        named = tuple(replace(call, id=f"call{n:05d}") for n, call in enumerate(calls))
        ids = tuple(call.id for call in named)
        return History(messages=kept, ids=ids, calls=named, completion=completion)
