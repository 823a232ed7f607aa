"""What a run leaves behind: `RunResult`, `Limits`, the trace and the JSON form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from react_replay import Agent, Completion, Limits, RunResult, ScriptedBackend, StopReason, ToolCall
from react_replay.errors import ConfigurationError
from react_replay.messages import Usage
from react_replay.result import distinct


def add(a: int, b: int = 1) -> int:
    """The sum of two numbers."""
    return a + b


def two_steps() -> RunResult:
    turn = Completion(
        content="I add.",
        tool_calls=(ToolCall(name="add", arguments={"a": 1, "b": 2}, id="x1"),),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=5, completion_tokens=2, total_tokens=7, cached_tokens=4),
    )
    last = Completion(content="三", usage=Usage(prompt_tokens=9, completion_tokens=1, total_tokens=10))
    return Agent(ScriptedBackend([turn, last]), tools=[add]).run("1+2?")


@pytest.mark.parametrize("reason", list(StopReason))
def test_truncated_is_true_exactly_for_the_limits(reason: StopReason) -> None:
    """`truncated` means `max_steps`, `length` or `budget`, and nothing else."""
    result = RunResult(answer=None, stop_reason=reason)
    assert result.truncated is (str(reason) in ("max_steps", "length", "budget"))


def test_the_trace_has_a_row_for_each_call_and_a_last_row_without_a_tool() -> None:
    """Rows are `{step, thought, tool, args, obs}`, steps count from 0, the last tool is None."""
    assert two_steps().trace == [
        {"step": 0, "thought": "I add.", "tool": "add", "args": {"a": 1, "b": 2}, "obs": "3"},
        {"step": 1, "thought": "三", "tool": None, "args": {}, "obs": None},
    ]


def test_parallel_calls_are_rows_of_one_step() -> None:
    """Two calls of one turn give two rows with the same step, in call order."""
    calls = [ToolCall(name="add", arguments={"a": n}) for n in (1, 2)]
    trace = Agent(ScriptedBackend([calls, "done"]), tools=[add]).run("?").trace
    assert [(row["step"], row["tool"], row["args"]) for row in trace] == [
        (0, "add", {"a": 1, "b": 1}),
        (0, "add", {"a": 2, "b": 1}),
        (1, None, {}),
    ]


def test_the_trace_of_a_run_out_of_steps_ends_with_its_calls() -> None:
    """Without a final turn there is no row with `tool=None`."""
    backend = ScriptedBackend(lambda _: ToolCall(name="add", arguments={"a": 1}))
    trace = Agent(backend, tools=[add], limits=Limits(max_steps=2)).run("?").trace
    assert [row["tool"] for row in trace] == ["add", "add"]


def test_to_dict_is_json_and_says_everything() -> None:
    """`to_dict` goes through JSON unchanged and has a versioned schema."""
    result = two_steps()
    document = result.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["schema"] == "react_replay.run/1"
    assert list(document) == [
        "schema",
        "answer",
        "stop_reason",
        "truncated",
        "partial",
        "error",
        "flags",
        "usage",
        "steps",
        "messages",
        "trace",
    ]
    assert document["answer"] == "三"
    assert document["stop_reason"] == "answer"


def test_usage_adds_up_over_the_turns() -> None:
    """The result's usage is the sum of its steps'."""
    result = two_steps()
    assert result.usage == Usage(prompt_tokens=14, completion_tokens=3, total_tokens=17, cached_tokens=4)
    total = Usage()
    for step in result.steps:
        total = total + step.completion.usage
    assert total == result.usage


def test_steps_are_a_tuple_counted_from_zero() -> None:
    """One step is one model call."""
    result = two_steps()
    assert isinstance(result.steps, tuple)
    assert [step.index for step in result.steps] == [0, 1]


def test_the_messages_end_with_the_final_assistant_turn() -> None:
    """The last reply is part of the history."""
    assert two_steps().messages[-1] == {"role": "assistant", "content": "三"}


def test_max_steps_defaults_to_ten() -> None:
    """Without limits a run makes at most ten model calls."""
    assert Limits().max_steps == 10
    backend = ScriptedBackend(lambda _: ToolCall(name="add", arguments={"a": 1}))
    result = Agent(backend, tools=[add]).run("?")
    assert len(result.steps) == len(backend.requests) == 10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", 0),
        ("max_steps", True),
        ("max_steps", 1.5),
        ("max_steps", None),
        ("max_bad_turns", 0),
        ("max_repeats", 0),
        ("max_tokens", -1),
    ],
)
def test_a_senseless_limit_is_refused_by_name(name: str, value: Any) -> None:
    """A limit that is no whole number of at least 1 is our misuse, and named."""
    with pytest.raises(ConfigurationError, match=name):
        Limits(**{name: value})


def test_flags_are_kept_once_in_order_of_appearance() -> None:
    """`distinct` keeps the first of each."""
    assert distinct(["b", "a", "b"], ["a"]) == ("a", "b")
