"""A transcript's invariants: each kind of fault by its code and place, and none where there is none."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import Agent, ScriptedBackend, ToolCall
from react_replay.check import CODES, Severity, Violation, check_messages
from react_replay.tools import calculator

USER = {"role": "user", "content": "?"}
SYSTEM = {"role": "system", "content": "be brief"}
DONE = {"role": "assistant", "content": "42"}


def call(identity: Any = "a", name: Any = "search", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*entries: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(entries), **more}


def result(identity: Any = "a", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


OBSERVED = {
    "role": "assistant",
    "content": "Thought: x\nAction: search\nAction Input: y\nObservation: made up",
}
OPEN = {"role": "assistant", "content": "Thought: x\nAction: search\nAction Input: y\nObservation:"}

CLEAN: dict[str, list[Any]] = {
    "nothing": [],
    "a question": [SYSTEM, USER],
    "an answer": [USER, DONE],
    "a call": [USER, calls(call()), result(), DONE],
    "two calls in any order": [USER, calls(call("a"), call("b")), result("b"), result("a"), DONE],
    "two users": [USER, USER, DONE],
    "a developer first": [{"role": "developer", "content": "x"}, USER],
    "two systems": [SYSTEM, SYSTEM, USER],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "?"}]}],
    "a result of parts": [USER, calls(call()), result("a", [{"type": "text", "text": "1"}])],
    "an empty result": [USER, calls(call()), result("a", "")],
    "a refusal": [USER, {"role": "assistant", "content": None, "refusal": "no"}],
    "a function": [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ],
    "a custom tool": [
        USER,
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}],
        },
        result(),
    ],
    "a text protocol": [USER, OPEN, {"role": "user", "content": "Observation: 42"}, DONE],
    "an observation quoted first": [
        USER,
        {"role": "assistant", "content": "Observation: fine.\nAction: none"},
    ],
    "labels of two languages": [USER, {"role": "assistant", "content": "Action: x\n观察: y"}],
}

FAULTS: dict[str, tuple[list[Any], list[tuple[str, int]]]] = {
    "a string": ([USER, "hello"], [("message-not-object", 1)]),
    "a role": ([{"role": "bot", "content": "x"}], [("unknown-role", 0)]),
    "no role": ([{"content": "x"}], [("unknown-role", 0)]),
    "content 7": ([{"role": "user", "content": 7}], [("wrong-content", 0)]),
    "an untyped part": ([{"role": "user", "content": [{"text": "x"}]}], [("wrong-content", 0)]),
    "no content": ([{"role": "user"}], [("missing-content", 0)]),
    "no result": ([USER, calls(call()), result("a", None)], [("missing-content", 2)]),
    "a silent assistant": ([USER, {"role": "assistant", "content": ""}], [("empty-assistant-message", 1)]),
    "no calls in the list": ([USER, DONE | {"tool_calls": []}], [("empty-tool-calls", 1)]),
    "late instructions": ([USER, SYSTEM], [("late-system-message", 1)]),
    "open at the end": ([USER, calls(call())], [("unanswered-call", 1)]),
    "open before a user": ([calls(call("a"), call("b")), result("a"), USER], [("unanswered-call", 0)]),
    "open before a call": ([calls(call("a")), calls(call("b")), result("b")], [("unanswered-call", 0)]),
    "an orphan": ([USER, result("x")], [("orphan-result", 1)]),
    "a late result": ([calls(call()), USER, result()], [("unanswered-call", 0), ("orphan-result", 2)]),
    "twice": ([calls(call()), result(), result()], [("answered-twice", 2)]),
    "twice, later": ([calls(call()), result(), DONE, result()], [("answered-twice", 3)]),
    "no id": (
        [calls(call(None)), result()],
        [("missing-call-id", 0), ("orphan-result", 1), ("unanswered-call", 0)],
    ),
    "no id on either side": (
        [calls(call("")), result("")],
        [("missing-call-id", 0), ("missing-result-id", 1)],
    ),
    "no result id": (
        [calls(call()), {"role": "tool", "content": "x"}],
        [("missing-result-id", 1), ("unanswered-call", 0)],
    ),
    "one id for two": ([calls(call(), call()), result()], [("repeated-call-id", 0)]),
    "an id again": ([calls(call()), result(), calls(call()), result()], [("reused-call-id", 2)]),
    "no name": ([calls(call("a", "")), result()], [("missing-call-name", 0)]),
    "a number for a call": (
        [calls(7), result()],
        [
            ("missing-call-id", 0),
            ("missing-call-name", 0),
            ("arguments-empty", 0),
            ("orphan-result", 1),
            ("unanswered-call", 0),
        ],
    ),
    "arguments as an object": ([calls(call(arguments={})), result()], [("arguments-not-text", 0)]),
    "no arguments": ([calls(call(arguments=None)), result()], [("arguments-empty", 0)]),
    "blank arguments": ([calls(call(arguments=" ")), result()], [("arguments-empty", 0)]),
    "cut arguments": ([calls(call(arguments='{"a": "x')), result()], [("arguments-not-json", 0)]),
    "deep arguments": ([calls(call(arguments="[" * 9999)), result()], [("arguments-not-json", 0)]),
    "a list": ([calls(call(arguments="[]")), result()], [("arguments-not-object", 0)]),
    "null": ([calls(call(arguments="null")), result()], [("arguments-not-object", 0)]),
    "invented": ([USER, OBSERVED], [("invented-observation", 1)]),
    "invented in Chinese": (
        [USER, {"role": "assistant", "content": "思考：x\n**行动**：search\n行动输入：y\n**观察**：编的"}],
        [("invented-observation", 1)],
    ),
    "a function without a result": (
        [{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, USER],
        [("unanswered-call", 0)],
    ),
    "a result without a function": (
        [USER, {"role": "function", "name": "f", "content": "1"}],
        [("orphan-result", 1)],
    ),
}


def found(messages: Any, tools: Any = None) -> list[tuple[str, int | None]]:
    return [(violation.code, violation.message_index) for violation in check_messages(messages, tools)]


@pytest.mark.parametrize("kind", CLEAN)
def test_what_is_legal_raises_no_alarm(kind: str) -> None:
    """A legal history has no violation, not even a note."""
    assert found(CLEAN[kind]) == []


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_has_its_code_and_place(kind: str) -> None:
    """The code and the message that it is about; the sentence says how to mend it."""
    messages, expected = FAULTS[kind]
    assert sorted(found(messages)) == sorted(expected)
    for violation in check_messages(messages):
        assert len(violation.message) > 30
        assert violation.severity is CODES[violation.code].severity


def test_tools_are_names_or_a_requests_entries_or_tools() -> None:
    """A call of a tool that is not offered is found, however the tools are given."""
    messages = [USER, calls(call("a", "calculator", '{"expression": "1"}')), result()]
    assert found(messages, ["search"]) == [("unknown-tool", 1)]
    assert found(messages, [{"type": "function", "function": {"name": "search"}}]) == [("unknown-tool", 1)]
    assert found(messages, [{"type": "function", "function": {"name": "calculator"}}]) == []
    assert found(messages, [calculator]) == []
    assert found(messages, []) == [("unknown-tool", 1)]


def test_a_run_of_ours_is_clean() -> None:
    """Unknown tools, bad arguments and repeated ids of the model leave a legal history."""
    backend = ScriptedBackend(
        [
            [
                ToolCall(name="nobody", id="x"),
                ToolCall(name="calculator", arguments={"expression": "1+"}, id="x"),
            ],
            ToolCall(name="calculator", arguments={"expression": "1+1"}, id="x"),
            "2",
        ]
    )
    assert found(Agent(backend, tools=[calculator]).run("1+1?").messages) == []


def test_a_violation_is_a_plain_dict_for_programs() -> None:
    """The keys of `check --json`; the severity comes from the table."""
    violation = Violation(code="unanswered-call", message="m", message_index=1, path="p", interaction=0)
    assert violation.to_dict() == {
        "path": "p",
        "interaction": 0,
        "code": "unanswered-call",
        "message_index": 1,
        "message": "m",
        "severity": "error",
    }


def test_the_codes_are_kebab_case_and_explained() -> None:
    """Stable names, one line each."""
    for name, code in CODES.items():
        assert name == name.lower().replace("_", "-").strip("-")
        assert "\n" not in code.meaning
        assert len(code.meaning) < 80
        assert code.severity in Severity


WORDS = st.sampled_from(
    [
        "role",
        "content",
        "tool_calls",
        "tool",
        "assistant",
        "user",
        "id",
        "function",
        "name",
        "arguments",
        "{}",
    ]
) | st.sampled_from(["", "tool_call_id", "a", "system", "function_call", "type", "text", "custom", "prefix"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=6), st.none() | st.lists(JSON, max_size=3) | JSON)
def test_nothing_json_like_makes_it_raise(messages: list[Any], tools: Any) -> None:
    """Whatever stands in a message or in the tools, the result is a list of violations in the history."""
    for violation in check_messages(messages, tools):
        assert violation.code in CODES
        assert violation.message_index is not None
        assert 0 <= violation.message_index < len(messages)
        json.dumps(violation.to_dict())


def test_a_long_history_takes_time_in_its_length() -> None:
    """Ten times the turns take about ten times as long; the bound here is a watchdog."""

    def history(turns: int) -> list[Any]:
        rounds = [
            [calls(call(f"c{turn}"), call(f"d{turn}")), result(f"c{turn}"), result(f"d{turn}")]
            for turn in range(turns)
        ]
        return [USER, *[message for turn in rounds for message in turn], DONE]

    start = time.perf_counter()
    assert found(history(20_000)) == []
    assert time.perf_counter() - start < 20
