"""Where a run stands, what it keeps to, and what is due: the values that `loop` computes with.

Values only; no decision is taken here. Logs are shared between states, so a state costs O(1) however long
the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from react_replay.dialects.base import Dialect
from react_replay.log import Log
from react_replay.messages import Message, Request, ToolCall, ToolSpec, Usage
from react_replay.result import Limits, RunResult, Step, StopReason

__all__ = ["Action", "CallModel", "CallTools", "Ending", "Finish", "Rules", "State"]

Accept: TypeAlias = Callable[[str], "bool | str"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What stays the same for a whole run. `accept` judges an answer: True, or False or why not."""

    dialect: Dialect
    tools: tuple[ToolSpec, ...] = ()
    limits: Limits = Limits()
    options: Mapping[str, Any] = field(default_factory=dict)
    accept: Accept | None = None


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model; give the answer to `on_completion`."""

    request: Request


@dataclass(frozen=True, slots=True)
class CallTools:
    """Run these; give one observation each, in this order, to `on_observations`."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over."""

    result: RunResult


Action: TypeAlias = CallModel | CallTools | Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is over, and with what."""

    stop: StopReason
    answer: str | None = None
    partial: str = ""
    error: str = ""


class State(NamedTuple):
    """A point in a run. `messages`, `steps` and `ids` are views of append-only logs, so a state is O(1).

    A tuple, since two are made a step and a dataclass takes five times as long to replace.
    """

    rules: Rules
    messages: Log[Message]
    steps: Log[Step]
    ids: Log[str]
    pending: tuple[ToolCall, ...] = ()
    current: Step | None = None
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    turns: int = 0
    bad_turns: int = 0
    repeats: int = 0
    asked: tuple[Any, ...] = ()
    ending: Ending | None = None
