"""What `Agent.stream` yields, in order. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from react_replay.messages import Observation, ToolCall
from react_replay.result import RunResult, Step

__all__ = [
    "Event",
    "ModelAsked",
    "ModelReplied",
    "RunFinished",
    "TextDelta",
    "ToolFinished",
    "ToolStarted",
]


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A request goes to the model; `step` counts from 0."""

    step: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text as the model writes it; the pieces of a step join to its content."""

    step: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """A reply was read. A step with calls has no observations yet."""

    step: Step
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool ran, or its call was answered with an error. The text is whole; a step has what was sent."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run is over: always the last event."""

    result: RunResult


Event: TypeAlias = ModelAsked | TextDelta | ModelReplied | ToolStarted | ToolFinished | RunFinished
