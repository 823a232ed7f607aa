"""The ReAct loop as a pure state machine.

What may not enter: IO, clocks, randomness, threads, logging, provider quirks (`wire`), prompt texts and
formats (`dialects`), running a tool (`tools`). Three functions over an immutable `State`:
`next_action` says what is due, `on_completion` and `on_observations` take what came of it. Pending work is
derived from the history (`resume`), so an interrupted run is a shorter history and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from react_replay.dialects.base import Answer, Outcome, ToolCalls
from react_replay.log import Log
from react_replay.messages import Completion, Flag, Message, Observation, Request, ToolCall
from react_replay.result import RunResult, Step, StopReason, distinct
from react_replay.state import Action, CallModel, CallTools, Ending, Finish, Rules, State

__all__ = ["CallModel", "CallTools", "Finish", "Rules", "State"]
__all__ += ["next_action", "on_completion", "on_fault", "on_observations", "resume", "start"]


def start(rules: Rules, question: str, *, system: str | None = None) -> State:
    """The state before the first model call."""
    opening = rules.dialect.open(question, tools=rules.tools, system=system)
    rules = replace(rules, options={**opening.options, **rules.options})
    return State(rules, Log(opening.messages), Log(), Log())


def resume(rules: Rules, messages: Sequence[Message]) -> State:
    """The state that a history is in: its unanswered calls pending, its ids taken. Limits start anew."""
    opening = rules.dialect.open("", tools=rules.tools)
    rules = replace(rules, options={**opening.options, **rules.options})
    history = rules.dialect.pending(messages, rules.tools)
    state = State(rules, Log(history.messages), Log(), Log(history.ids))
    if not history.calls:
        return state
    step = Step(index=0, completion=history.completion)
    return state._replace(pending=history.calls, current=step)


def next_action(state: State) -> Action:
    """What is due. Tools before the model, and nothing after an end."""
    if state.ending is not None:
        return Finish(_result(state, state.ending))
    if state.pending:
        return CallTools(state.pending)
    limits = state.rules.limits
    if state.turns >= limits.max_steps:
        return Finish(_result(state, Ending(stop=StopReason.MAX_STEPS)))
    if limits.max_tokens is not None and state.usage.total_tokens >= limits.max_tokens:
        return Finish(_result(state, Ending(stop=StopReason.BUDGET)))
    return CallModel(Request(state.messages, state.rules.options))


def on_completion(state: State, completion: Completion) -> State:
    """Take a reply: calls become pending, an answer ends the run, an unreadable one is sent back."""
    rules = state.rules
    outcome = rules.dialect.parse(completion, rules.tools)
    flags = (*completion.flags, *outcome.flags)
    ids = state.ids
    if outcome.calls:
        outcome, ids, renamed = _identified(outcome, ids)
        flags = (*flags, Flag.RENAMED_ID) if renamed else flags
    flags = distinct(flags) if flags else ()
    step = Step(index=len(state.steps), completion=completion, thought=outcome.thought, flags=flags)
    turn = rules.dialect.assistant(completion, outcome)
    changes: dict[str, Any] = {
        "messages": state.messages.extend((turn,)),
        "ids": ids,
        "turns": state.turns + 1,
        "usage": state.usage + completion.usage if completion.usage else state.usage,
        "flags": distinct(flags, state.flags) if flags else state.flags,
    }
    if isinstance(outcome, ToolCalls) and not _all_cut(outcome.calls, completion, flags):
        asked = tuple((call.name, call.written or repr(call.arguments)) for call in outcome.calls)
        repeats = state.repeats + 1 if asked == state.asked else 1
        return state._replace(
            pending=outcome.calls, current=step, asked=asked, repeats=repeats, bad_turns=0, **changes
        )
    return _without_calls(state._replace(**changes), step, outcome)


def _without_calls(state: State, step: Step, outcome: Outcome) -> State:
    """A reply without a call that can run: it ends the run, or is sent back to be mended."""
    ending, reason = _ending(outcome, step), outcome.reason
    if ending is None and isinstance(outcome, Answer):
        accept = state.rules.accept
        verdict = accept(outcome.answer or "") if accept else True
        if verdict and not isinstance(verdict, str):
            ending = Ending(stop=StopReason.ANSWER, answer=outcome.answer)
        else:
            reason = verdict or "this is not accepted as the final answer yet"
    if ending is None:
        step = replace(step, mend=reason)
        if state.bad_turns + 1 < state.rules.limits.max_bad_turns:
            mend = state.rules.dialect.mend(reason)
            return state._replace(
                messages=state.messages.extend((mend,)),
                steps=state.steps.extend((step,)),
                bad_turns=state.bad_turns + 1,
            )
        ending = Ending(stop=StopReason.MALFORMED, partial=step.completion.content or "")
    messages = state.messages
    if outcome.calls:  # an id is never left unanswered, also where the run ends
        unrun = tuple(Observation(call=c, text=f"error: {c.error}", ok=False) for c in outcome.calls)
        messages = messages.extend(state.rules.dialect.render(unrun))
        step = replace(step, observations=unrun)
    return state._replace(messages=messages, steps=state.steps.extend((step,)), ending=ending)


def on_observations(state: State, observations: Sequence[Observation]) -> State:
    """Take what the pending calls gave: exactly one observation each, in call order."""
    step = state.current
    if step is None or [seen.call.id for seen in observations] != [call.id for call in state.pending]:
        raise ValueError("observations must answer the pending calls, one each, in call order")
    flags, longest = step.flags, state.rules.limits.max_observation
    for seen in observations:
        if longest is not None and len(seen.text) > longest:
            observations = [each.shortened(longest) for each in observations]
            flags = distinct((Flag.OBSERVATION_CUT,), flags)
            state = state._replace(flags=distinct(flags, state.flags))
            break
    answered = Step(
        index=step.index,
        completion=step.completion,
        thought=step.thought,
        flags=flags,
        observations=tuple(observations),
    )
    most = state.rules.limits.max_repeats
    return state._replace(
        messages=state.messages.extend(state.rules.dialect.render(observations)),
        steps=state.steps.extend((answered,)),
        pending=(),
        current=None,
        ending=Ending(stop=StopReason.STUCK) if most and state.repeats >= most else None,
    )


def on_fault(state: State, error: str, *, partial: str = "") -> State:
    """The provider failed: the run ends here, with its history."""
    return state._replace(ending=Ending(stop=StopReason.BACKEND_ERROR, error=error, partial=partial))


def _all_cut(calls: tuple[ToolCall, ...], completion: Completion, flags: Sequence[str]) -> bool:
    """No call can run and the reply was cut: asking again would be cut again."""
    cut = completion.finish_reason == "length" or Flag.UNFINISHED in flags
    return cut and all(call.error for call in calls)


def _ending(outcome: Outcome, step: Step) -> Ending | None:
    """How a reply without runnable calls ends the run; None where the dialect's reading decides."""
    completion = step.completion
    text = outcome.answer or completion.content or ""
    finish = completion.finish_reason
    if completion.refusal and not text:
        return Ending(stop=StopReason.REFUSAL, partial=completion.refusal)
    if finish == "content_filter":
        return Ending(stop=StopReason.CONTENT_FILTER, partial=text)
    if finish == "length":
        return Ending(stop=StopReason.LENGTH, partial=text)
    if Flag.UNFINISHED in step.flags:
        return Ending(stop=StopReason.INCOMPLETE, partial=text)
    if not text.strip() and finish not in ("tool_calls", "function_call"):
        return Ending(stop=StopReason.EMPTY)
    return None


def _identified(outcome: Outcome, ids: Log[str]) -> tuple[Outcome, Log[str], bool]:
    """Calls with ids that are there and used once; a made one is nine characters of [a-z0-9]."""
    calls, changed, repeated = [], False, False
    for call in outcome.calls:
        identity = call.id
        if not identity or identity in ids:
            number = len(ids)
            while (identity := f"call{number:05d}") in ids:
                number += 1
            changed, repeated = True, repeated or bool(call.id)
            call = replace(call, id=identity)
        ids = ids.extend((identity,))
        calls.append(call)
    return replace(outcome, calls=tuple(calls)) if changed else outcome, ids, repeated


def _result(state: State, ending: Ending) -> RunResult:
    return RunResult(
        answer=ending.answer,
        stop_reason=ending.stop,
        steps=tuple(state.steps),
        messages=list(state.messages),
        usage=state.usage,
        flags=state.flags,
        partial=ending.partial,
        error=ending.error,
    )
