"""The ReAct loop as a pure state machine.

What may not enter: IO, clocks, randomness, threads, logging, provider quirks (`wire`), prompt texts and
formats (`dialects`), running a tool (`tools`). Three functions over an immutable `State`:
`next_action` says what is due, `on_completion` and `on_observations` take what came of it. Pending work is
derived from the history (`resume`), so an interrupted run is a shorter history and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from react_replay.dialects.base import Answer, Dialect, Outcome, ToolCalls
from react_replay.log import Log
from react_replay.messages import Completion, Flag, Message, Observation, Request, ToolCall, ToolSpec, Usage
from react_replay.result import Limits, RunResult, Step, StopReason, distinct

__all__ = ["Action", "CallModel", "CallTools", "Finish", "Rules", "State"]
__all__ += ["next_action", "on_completion", "on_fault", "on_observations", "resume", "start"]

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
class State:
    """A point in a run. `messages` and `steps` are views of append-only logs, so a state costs O(1)."""

    rules: Rules
    messages: Log[Message]
    steps: Log[Step] = field(default_factory=Log)
    pending: tuple[ToolCall, ...] = ()
    current: Step | None = None
    ids: Log[str] = field(default_factory=Log)
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    turns: int = 0
    bad_turns: int = 0
    repeats: int = 0
    asked: tuple[Any, ...] = ()
    stop: StopReason | None = None
    answer: str | None = None
    partial: str = ""
    error: str = ""


def start(rules: Rules, question: str, *, system: str | None = None) -> State:
    """The state before the first model call."""
    opening = rules.dialect.open(question, tools=rules.tools, system=system)
    rules = replace(rules, options={**opening.options, **rules.options})
    return State(rules=rules, messages=Log(opening.messages))


def resume(rules: Rules, messages: Sequence[Message]) -> State:
    """The state that a history is in: its unanswered calls pending, its ids taken. Limits start anew."""
    opening = rules.dialect.open("", tools=rules.tools)
    rules = replace(rules, options={**opening.options, **rules.options})
    history = rules.dialect.pending(messages, rules.tools)
    state = State(rules=rules, messages=Log(history.messages), ids=Log(history.ids))
    if not history.calls:
        return state
    step = Step(index=0, completion=history.completion)
    return replace(state, pending=history.calls, current=step)


def next_action(state: State) -> Action:
    """What is due. Tools before the model, and nothing after a stop."""
    if state.stop is not None:
        return Finish(_result(state))
    if state.pending:
        return CallTools(state.pending)
    limits = state.rules.limits
    if state.turns >= limits.max_steps:
        return Finish(_result(replace(state, stop=StopReason.MAX_STEPS)))
    if limits.max_tokens is not None and state.usage.total_tokens >= limits.max_tokens:
        return Finish(_result(replace(state, stop=StopReason.BUDGET)))
    return CallModel(Request(state.messages, state.rules.options))


def on_completion(state: State, completion: Completion) -> State:
    """Take a reply: calls become pending, an answer ends the run, an unreadable one is sent back."""
    dialect = state.rules.dialect
    outcome = dialect.parse(completion, state.rules.tools)
    flags = (*completion.flags, *outcome.flags)
    ids = state.ids
    if outcome.calls:
        outcome, ids, renamed = _identified(outcome, ids)
        flags = (*flags, Flag.RENAMED_ID) if renamed else flags
    step = Step(
        index=len(state.steps), completion=completion, thought=outcome.thought, flags=distinct(flags)
    )
    state = replace(
        state,
        messages=state.messages.extend((dialect.assistant(completion, outcome),)),
        ids=ids,
        turns=state.turns + 1,
        usage=state.usage + completion.usage,
        flags=distinct(flags, state.flags) if flags else state.flags,
    )
    if isinstance(outcome, ToolCalls) and not _all_cut(outcome.calls, completion, flags):
        return _on_calls(state, step, outcome.calls)
    reason, partial = _ending(outcome, completion, flags)
    if reason is None and isinstance(outcome, Answer):
        verdict = state.rules.accept(outcome.answer or "") if state.rules.accept else True
        if verdict is True:
            return _stopped(state, step, StopReason.ANSWER, answer=outcome.answer)
        return _on_bad_turn(state, step, verdict or "this is not accepted as the final answer yet")
    if reason is None:
        return _on_bad_turn(state, step, outcome.reason)
    if outcome.calls:  # an id is never left unanswered, also where the run ends
        unrun = tuple(Observation(call=c, text=f"error: {c.error}", ok=False) for c in outcome.calls)
        state = replace(state, messages=state.messages.extend(dialect.render(unrun)))
        step = replace(step, observations=unrun)
    return _stopped(state, step, reason, partial=partial)


def on_observations(state: State, observations: Sequence[Observation]) -> State:
    """Take what the pending calls gave: exactly one observation each, in call order."""
    if tuple(seen.call.id for seen in observations) != tuple(call.id for call in state.pending):
        raise ValueError("observations must answer the pending calls, one each, in call order")
    step = state.current
    assert step is not None
    done = replace(
        state,
        messages=state.messages.extend(state.rules.dialect.render(observations)),
        steps=state.steps.extend((replace(step, observations=tuple(observations)),)),
        pending=(),
        current=None,
    )
    most = state.rules.limits.max_repeats
    return replace(done, stop=StopReason.STUCK) if most and state.repeats >= most else done


def on_fault(state: State, error: str, *, partial: str = "") -> State:
    """The provider failed: the run ends here, with its history."""
    return replace(state, stop=StopReason.BACKEND_ERROR, error=error, partial=partial)


def _on_calls(state: State, step: Step, calls: tuple[ToolCall, ...]) -> State:
    asked = tuple((call.name, call.written or repr(call.arguments)) for call in calls)
    repeats = state.repeats + 1 if asked == state.asked else 1
    return replace(
        state, pending=calls, current=step, asked=asked, repeats=repeats, bad_turns=0
    )


def _on_bad_turn(state: State, step: Step, reason: str) -> State:
    message = state.rules.dialect.mend(reason)
    if state.bad_turns + 1 >= state.rules.limits.max_bad_turns:
        step = replace(step, mend=reason)
        return _stopped(state, step, StopReason.MALFORMED, partial=step.completion.content or "")
    return replace(
        state,
        messages=state.messages.extend((message,)),
        steps=state.steps.extend((replace(step, mend=reason),)),
        bad_turns=state.bad_turns + 1,
    )


def _stopped(state: State, step: Step, stop: StopReason, **outcome: Any) -> State:
    return replace(state, steps=state.steps.extend((step,)), stop=stop, **outcome)


def _all_cut(calls: tuple[ToolCall, ...], completion: Completion, flags: Sequence[str]) -> bool:
    """No call can run and the reply was cut: asking again would be cut again."""
    cut = completion.finish_reason == "length" or Flag.UNFINISHED in flags
    return cut and all(call.error for call in calls)


def _ending(
    outcome: Outcome, completion: Completion, flags: Sequence[str]
) -> tuple[StopReason | None, str]:
    """How a reply without runnable calls ends the run, with its text; None where it does not."""
    text = outcome.answer or completion.content or ""
    finish = completion.finish_reason
    if completion.refusal and not text:
        return StopReason.REFUSAL, completion.refusal
    if finish == "content_filter":
        return StopReason.CONTENT_FILTER, text
    if finish == "length":
        return StopReason.LENGTH, text
    if Flag.UNFINISHED in flags:
        return StopReason.INCOMPLETE, text
    if not text.strip() and finish not in ("tool_calls", "function_call"):
        return StopReason.EMPTY, ""
    return None, ""


def _identified(outcome: Outcome, ids: Log[str]) -> tuple[Outcome, Log[str], bool]:
    """Calls with ids that are there and used once; a made one is nine characters of [a-z0-9]."""
    calls, renamed = [], False
    for call in outcome.calls:
        identity = call.id
        if not identity or identity in ids:
            number = len(ids)
            while (identity := f"call{number:05d}") in ids:
                number += 1
            renamed = renamed or bool(call.id)
            call = replace(call, id=identity)
        ids = ids.extend((identity,))
        calls.append(call)
    return replace(outcome, calls=tuple(calls)), ids, renamed


def _result(state: State) -> RunResult:
    assert state.stop is not None
    return RunResult(
        answer=state.answer,
        stop_reason=state.stop,
        steps=tuple(state.steps),
        messages=list(state.messages),
        usage=state.usage,
        flags=state.flags,
        partial=state.partial,
        error=state.error,
    )
