"""A miss explains itself: the turn, the nearest recorded one, the first differing path, how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, CassetteMiss, Request, ScriptedBackend, ToolCall


def calculator(expression: str) -> str:
    """Evaluate."""
    return f"value of {expression}"


def forged(expression: str) -> str:
    """Evaluate."""
    return "something else"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    script: list[Any] = [
        ToolCall(name="calculator", arguments={"expression": "1+1"}, id="c1"),
        "two",
    ]
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(script)) as backend:
        Agent(backend, tools=[calculator], options={"temperature": 0}).run("1+1?")
    return path


def miss(path: Path, question: str = "1+1?", tool: Any = calculator, **options: Any) -> CassetteMiss:
    if tool is forged:
        forged.__name__ = "calculator"
    agent = Agent(CassetteBackend(path), tools=[tool], options={"temperature": 0, **options})
    with pytest.raises(CassetteMiss) as caught:
        agent.run(question)
    assert len(str(caught.value).splitlines()) < 25
    assert len(str(caught.value)) <= 2000
    return caught.value


def test_a_changed_question_is_found_by_its_path(path: Path) -> None:
    """The first differing path, and what stands there then and now."""
    error = miss(path, "1+2?")
    assert (error.turn, error.nearest, error.differing) == (1, 1, "messages[0].content")
    assert (error.expected, error.actual) == ("1+1?", "1+2?")
    assert error.path == str(path)
    assert "messages[0].content" in str(error)


def test_a_changed_tool_result_names_the_call(path: Path) -> None:
    """Where an observation differs, the tool and its arguments are the cause."""
    error = miss(path, tool=forged)
    assert (error.turn, error.differing) == (2, "messages[2].content")
    assert "calculator(" in str(error)
    assert "1+1" in str(error)
    assert (error.expected, error.actual) == ("value of 1+1", "something else")


def test_a_changed_option_is_found_by_its_name(path: Path) -> None:
    """`temperature` is part of the question."""
    error = miss(path, temperature=0.5)
    assert error.differing == "temperature"
    assert (error.expected, error.actual) == (0, 0.5)


def test_one_call_too_many_says_so(path: Path) -> None:
    """A request whose answers were all played is told apart from one that was never recorded."""
    backend = CassetteBackend(path)
    agent = Agent(backend, tools=[calculator], options={"temperature": 0})
    agent.run("1+1?")
    with pytest.raises(CassetteMiss, match="each of its answers has been played") as caught:
        agent.run("1+1?")
    assert caught.value.turn == 3
    assert caught.value.nearest is None


def test_a_miss_says_how_to_record(path: Path) -> None:
    """The text holds the mode that would record the request."""
    assert "new_episodes" in str(miss(path, "other"))


def test_an_empty_cassette_misses_too(tmp_path: Path) -> None:
    """A cassette without chat turns says that it has none."""
    path = tmp_path / "c.yaml"
    path.write_text("interactions: []\nversion: 1\n")
    with pytest.raises(CassetteMiss, match="no chat request") as caught:
        Agent(CassetteBackend(path)).run("?")
    assert caught.value.nearest is None


def test_a_huge_difference_stays_short(path: Path) -> None:
    """A prompt of a megabyte does not make a message of a megabyte."""
    error = miss(path, "x" * 1_000_000 + "\n" * 50)
    assert error.differing == "messages[0].content"


def test_a_miss_changes_nothing(path: Path) -> None:
    """The file is untouched, and the recorded turn can still be played."""
    before = path.read_bytes()
    backend = CassetteBackend(path)
    with pytest.raises(CassetteMiss):
        backend.complete(Request([{"role": "user", "content": "other"}]))
    agent = Agent(backend, tools=[calculator], options={"temperature": 0})
    assert agent.run("1+1?").answer == "two"
    assert path.read_bytes() == before


CALLED = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "call",
    [
        "x",
        7,
        None,
        {"id": "a"},
        {"id": "a", "function": "f"},
        {"id": "a", "function": {"name": "f"}},
        {"id": "a", "function": {"name": "f", "arguments": {"b": 1}}},
    ],
)
def test_a_foreign_history_is_explained_too(tmp_path: Path, call: Any) -> None:
    """Calls in odd shapes are no reason to fail at saying why there is no answer."""
    path = tmp_path / "c.yaml"

    def history(call: Any, result: str) -> list[Any]:
        turn = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [
            {"role": "user", "content": "?"},
            turn,
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]

    with CassetteBackend(path, record="once", live=ScriptedBackend(["done"])) as backend:
        backend.complete(Request(history(CALLED, "1")))
    with pytest.raises(CassetteMiss):
        CassetteBackend(path).complete(Request(history(call, "2")))


def test_tools_that_differ_are_named_with_what_mends_it(tmp_path: Path) -> None:
    """Where only the offered tools differ the message says how to offer the recording's."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["done"])) as backend:
        Agent(backend).run("?")
    with pytest.raises(CassetteMiss, match="--tools"):
        Agent(CassetteBackend(path), tools=[calculator]).run("?")
