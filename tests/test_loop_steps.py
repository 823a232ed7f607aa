"""The loop's functions, each called by hand, and the corners of a run that only a few replies reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from react_replay import Agent, Completion, Limits, RunResult, ScriptedBackend, StopReason, ToolCall, loop
from react_replay.dialects import Opening
from react_replay.dialects.native import NativeDialect
from react_replay.messages import Flag, Observation, ToolSpec
from react_replay.state import CallModel, CallTools, Finish
from react_replay.tools.base import Toolbox


def ping(text: str = "") -> str:
    """Answers."""
    return f"pong {text}".strip()


SPECS = Toolbox([ping]).specs
RULES = loop.Rules(dialect=NativeDialect(), tools=SPECS)


def turn(*calls: dict[str, Any], content: Any = None, finish: str = "tool_calls") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls)
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def call(name: str, identity: str = "a", arguments: str = "{}") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def run(*replies: Any, **settings: Any) -> RunResult:
    return Agent(ScriptedBackend(replies), tools=[ping], **settings).run("?")


def asked(state: loop.State) -> Any:
    action = loop.next_action(state)
    assert isinstance(action, CallModel)
    return action.request.body()


def finished(state: loop.State) -> RunResult:
    action = loop.next_action(state)
    assert isinstance(action, Finish)
    return action.result


class Opened(NativeDialect):
    """The native dialect, with the question that it was opened with among its options."""

    def open(self, question: str, *, tools: Sequence[ToolSpec], system: str | None = None) -> Opening:
        return Opening(messages=(), options={"user": question})


def test_a_resumed_run_asks_with_the_dialects_options_and_the_rules() -> None:
    """Tools and settings go with the requests of a resumed run as with those of a new one."""
    rules = loop.Rules(dialect=NativeDialect(), tools=SPECS, options={"temperature": 0})
    body = asked(loop.resume(rules, [{"role": "user", "content": "?"}]))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["ping"]
    assert body["temperature"] == 0


def test_a_resumed_run_is_opened_without_a_question() -> None:
    """The question stands in the history; the dialect is not told another one."""
    state = loop.resume(loop.Rules(dialect=Opened()), [{"role": "user", "content": "?"}])
    assert asked(state)["user"] == ""


def test_an_open_call_of_a_history_is_read_with_the_tools() -> None:
    """A decorated tool name in the last turn of a history is the tool's, as it is in a reply."""
    history = [{"role": "user", "content": "?"}, turn(call("functions.ping"))["choices"][0]["message"]]
    action = loop.next_action(loop.resume(RULES, history))
    assert isinstance(action, CallTools)
    assert [each.name for each in action.calls] == ["ping"]


def test_steps_of_a_resumed_run_count_from_zero() -> None:
    """The step that answers a history's open calls is the first one."""
    history = [{"role": "user", "content": "?"}, turn(call("ping"))["choices"][0]["message"]]
    state = loop.resume(RULES, history)
    seen = Observation(call=state.pending[0], text="pong")
    assert [step.index for step in loop.on_observations(state, [seen]).steps] == [0]


def test_a_decorated_name_of_a_reply_is_the_tools() -> None:
    """The reply is read with the tools that were offered."""
    step = run(turn(call("functions.ping")), "done").steps[0]
    assert [seen.text for seen in step.observations] == ["pong"]
    assert step.flags == (Flag.RENAMED_TOOL,)


def test_a_plain_run_has_no_flag() -> None:
    """A good id, a fitting finish reason and a known tool leave nothing to flag."""
    result = run(turn(call("ping")), "done")
    assert result.flags == ()
    assert [step.flags for step in result.steps] == [(), ()]


def test_flags_of_all_turns_are_kept() -> None:
    """A result has the flags of every turn, each once, and a step those of its own."""
    renamed, lying = turn(call("functions.ping")), turn(call("ping", "b"), finish="stop")
    result = run(renamed, lying, renamed | {"id": "x"}, "done")
    assert result.flags == (Flag.RENAMED_TOOL, Flag.LYING_FINISH, Flag.RENAMED_ID)
    assert result.steps[1].flags == (Flag.LYING_FINISH,)


def test_actions_of_a_text_dialect_repeat_by_their_input() -> None:
    """Another input is another action, also where it is no JSON object."""
    replies = [f"Action: ping[{text}]" for text in ("Oslo", "Paris", "Rome")]
    result = run(*replies, "Final Answer: done", dialect="bracket", limits=Limits(max_repeats=2))
    assert result.answer == "done"
    assert run(*["Action: ping[Oslo]"] * 2, dialect="bracket", limits=Limits(max_repeats=2)).stop_reason == (
        StopReason.STUCK
    )


def test_an_answer_that_is_not_accepted_is_sent_back_with_a_reason() -> None:
    """Where `accept` gives no reason of its own, the model is told that the answer is not accepted."""
    result = run("first", "second", accept=lambda answer: answer == "second")
    assert result.steps[0].mend == "this is not accepted as the final answer yet"
    assert result.answer == "second"


def test_accept_judges_the_answer_as_it_is() -> None:
    """`accept` gets the dialect's reading of the answer and nothing else."""
    judged: list[str] = []

    def accept(answer: str) -> bool:
        judged.append(answer)
        return True

    run("Thought: x\nFinal Answer: done", dialect="json", accept=accept)
    assert judged == ["done"]


def test_a_malformed_end_without_text_has_no_partial() -> None:
    """Nothing was said, so nothing is shown."""
    result = run(turn(), limits=Limits(max_bad_turns=1))
    assert (result.stop_reason, result.partial) == (StopReason.MALFORMED, "")


def test_a_cut_call_is_answered_with_its_error() -> None:
    """The call that a cut reply ends with has an observation that says why it did not run."""
    result = run(turn(call("ping", arguments='{"text": "Os'), finish="length"))
    [seen] = result.steps[0].observations
    assert seen.text == f"error: {seen.call.error}"
    assert result.messages[-1]["content"] == seen.text


def test_observations_of_other_calls_are_refused_in_words() -> None:
    """The whole sentence says what is expected."""
    state = loop.on_completion(
        loop.start(RULES, "?"), Completion(tool_calls=(ToolCall(name="ping", id="a"),))
    )
    with pytest.raises(
        ValueError, match=r"^observations must answer the pending calls, one each, in call order$"
    ):
        loop.on_observations(state, [])


def test_answered_calls_are_pending_no_more() -> None:
    """After the observations the state owes nothing."""
    state = loop.on_completion(
        loop.start(RULES, "?"), Completion(tool_calls=(ToolCall(name="ping", id="a"),))
    )
    state = loop.on_observations(state, [Observation(call=state.pending[0], text="pong")])
    assert state.pending == ()
    assert state.current is None


def test_a_fault_ends_the_run_with_its_words() -> None:
    """The error is kept; the partial text is that which came, if any."""
    state = loop.start(RULES, "?")
    result = finished(loop.on_fault(state, "kaput"))
    assert (result.stop_reason, result.error, result.partial) == (StopReason.BACKEND_ERROR, "kaput", "")
    assert finished(loop.on_fault(state, "kaput", partial="so far")).partial == "so far"


def test_a_cut_answer_is_partial_without_its_label() -> None:
    """What a text dialect read as the answer is what is shown of a cut one."""
    cut = turn(content="Thought: x\nFinal Answer: it is ha", finish="length")
    assert run(cut, dialect="json").partial == "it is ha"


@pytest.mark.parametrize("finish", ["tool_calls", "function_call"])
def test_announced_calls_of_either_kind_that_are_missing_are_a_bad_turn(finish: str) -> None:
    """An empty reply that announces a call is sent back, not taken for an empty end."""
    result = run(turn(finish=finish), "done")
    assert result.answer == "done"


def test_a_made_id_is_the_next_free_number() -> None:
    """A made id counts on from the ids so far, and steps over one that the provider uses."""
    result = run(turn(call("ping", "call00002"), call("ping", "x"), call("ping", "")), "done")
    assert [seen.call.id for seen in result.steps[0].observations] == ["call00002", "x", "call00003"]


def test_only_an_observation_that_is_too_long_is_cut_and_flagged() -> None:
    """The bound itself is not too long; a cut is a flag of its step and of the run, beside the others."""
    limits = Limits(max_observation=100)
    fits = turn(call("ping", "a", f'{{"text": "{"x" * 95}"}}'))  # with "pong " that makes 100
    long = turn(call("ping", "b", f'{{"text": "{"y" * 200}"}}'), call("ping", "c"), finish="stop")
    result = run(fits, turn(call("functions.ping", "d")), long, "done", limits=limits)
    assert [step.flags for step in result.steps] == [
        (),
        (Flag.RENAMED_TOOL,),
        (Flag.LYING_FINISH, Flag.OBSERVATION_CUT),
        (),
    ]
    assert result.flags == (Flag.RENAMED_TOOL, Flag.LYING_FINISH, Flag.OBSERVATION_CUT)
    assert result.steps[0].observations[0].text == "pong " + "x" * 95
    first, second = result.steps[2].observations
    assert "characters left out" in first.text
    assert len(first.text) <= 100
    assert second.text == "pong"
    assert [message["content"] for message in result.messages if message["role"] == "tool"][2:] == [
        first.text,
        "pong",
    ]


def test_a_budget_that_is_just_used_up_ends_the_run() -> None:
    """As many tokens as allowed are spent: there is no further call."""
    used = turn(call("ping")) | {"usage": {"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10}}
    assert run(used, "done", limits=Limits(max_tokens=10)).stop_reason == StopReason.BUDGET
    result = run(used, "done", limits=Limits(max_tokens=11))
    assert (result.answer, result.usage.total_tokens) == ("done", 10)


def test_every_step_has_its_number_and_its_thought() -> None:
    """Steps count from zero, with calls or without, and keep what the model thought."""
    said = ["Thought: first\nAction: ping[]", "Thought: last\nFinal Answer: done"]
    steps = run(*said, dialect="bracket").steps
    assert [(step.index, step.thought) for step in steps] == [(0, "first"), (1, "last")]
