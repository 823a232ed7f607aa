"""What a run leaves behind: `RunResult`, its steps, why it stopped, and the limits it ran under.

Values only. No loop logic, no wire reading and no IO may enter here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from react_replay.errors import ConfigurationError
from react_replay.messages import SHORTEST_OBSERVATION, Completion, Message, Observation, Usage

__all__ = ["SCHEMA", "Limits", "RunResult", "Step", "StopReason", "distinct"]

SCHEMA = "react_replay.run/1"
"""The version of `RunResult.to_dict()`; a field that changes its meaning changes this."""


class StopReason(StrEnum):
    """Why a run ended. Only `ANSWER` has an answer."""

    ANSWER = "answer"
    MAX_STEPS = "max_steps"
    LENGTH = "length"  # the provider cut the reply at its token limit
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    EMPTY = "empty"  # no text and no call
    MALFORMED = "malformed"  # too many unreadable replies in a row
    INCOMPLETE = "incomplete"  # the stream broke off
    STUCK = "stuck"  # the same calls again and again
    BUDGET = "budget"
    CANCELLED = "cancelled"
    BACKEND_ERROR = "backend_error"


_TRUNCATING = frozenset({StopReason.MAX_STEPS, StopReason.LENGTH, StopReason.BUDGET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run ends of itself.

    `max_steps` counts model calls. `max_bad_turns` is how many unreadable replies in a row end the run;
    `max_repeats` how many turns in a row may ask for exactly the same calls (None: any number);
    `max_tokens` the budget over all turns, by the provider's own count (None: no budget).
    `max_observation` ends nothing: a tool's longer result is cut to so many characters, its head and tail
    kept (None: as many as the backend's provider takes).
    """

    max_steps: int = 10
    max_bad_turns: int = 3
    max_repeats: int | None = None
    max_tokens: int | None = None
    max_observation: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            optional = name not in ("max_steps", "max_bad_turns")
            if value is None and optional:
                continue
            least = SHORTEST_OBSERVATION if name == "max_observation" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                wanted = f"a whole number of at least {least}" + (" or None" if optional else "")
                raise ConfigurationError(f"`{name}` must be {wanted}, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call and what came of it: the calls it asked for, answered in `observations`.

    `index` counts from 0. `mend` is what the model was asked to mend, in a turn that could not be read. An
    observation that was too long for the model has the tool's own text in `whole`.
    """

    index: int
    completion: Completion
    thought: str = ""
    observations: tuple[Observation, ...] = ()
    flags: tuple[str, ...] = ()
    mend: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "thought": self.thought,
            "content": self.completion.content,
            "calls": [
                {
                    "id": seen.call.id,
                    "name": seen.call.name,
                    "arguments": seen.arguments,
                    "ok": seen.ok,
                    "observation": seen.text,
                    **({"whole": seen.whole} if seen.whole else {}),
                }
                for seen in self.observations
            ],
            "finish_reason": self.completion.finish_reason,
            "flags": list(self.flags),
            "mend": self.mend,
            "usage": self.completion.usage.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended, and all of its history.

    `answer` is None unless `stop_reason` is `answer`. `partial` is the text of a reply that was cut,
    filtered or refused. `messages` are wire dicts, the last assistant turn included. `flags` names what
    was odd in any turn; `error` is the provider's failure where `stop_reason` is `backend_error`.
    """

    answer: str | None
    stop_reason: StopReason
    steps: tuple[Step, ...] = ()
    messages: list[Message] = field(default_factory=list)
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    partial: str = ""
    error: str = ""

    @property
    def truncated(self) -> bool:
        """True when a limit cut the run: `max_steps`, `length` or `budget`."""
        return self.stop_reason in _TRUNCATING

    @property
    def trace(self) -> list[dict[str, Any]]:
        """The articles' trace: `{step, thought, tool, args, obs}`, a row for each call.

        `step` counts from 0; `obs` is what the model saw. A run that ended on a turn without calls has a
        last row with `tool=None`.
        """
        rows: list[dict[str, Any]] = []
        for step in self.steps:
            for seen in step.observations:
                rows.append(
                    {
                        "step": step.index,
                        "thought": step.thought,
                        "tool": seen.call.name,
                        "args": seen.arguments,
                        "obs": seen.text,
                    }
                )
        if self.steps and not self.steps[-1].observations:
            last = self.steps[-1]
            thought = last.thought or last.completion.content
            rows.append({"step": last.index, "thought": thought, "tool": None, "args": {}, "obs": None})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dict, the same for the same run: no clock, no path, no object identity."""
        return {
            "schema": SCHEMA,
            "answer": self.answer,
            "stop_reason": str(self.stop_reason),
            "truncated": self.truncated,
            "partial": self.partial,
            "error": self.error,
            "flags": list(self.flags),
            "usage": self.usage.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
            "messages": self.messages,
            "trace": self.trace,
        }


def distinct(flags: Iterable[str], known: Sequence[str] = ()) -> tuple[str, ...]:
    """`known` and then what is new of `flags`, each once, in order of appearance."""
    return tuple(dict.fromkeys((*known, *flags)))
