"""Tools that run and are compared with the recording, or that do not run and give what was recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteMiss,
    Limits,
    Request,
    RunResult,
    ScriptedBackend,
    ToolCall,
)


class Clock:
    """A tool that gives another result whenever it runs, and counts how often that was."""

    def __init__(self) -> None:
        self.ran = 0

    def tick(self, zone: str) -> str:
        """The time."""
        self.ran += 1
        return f"{self.ran} o'clock in {zone}"


def call(zone: str, identity: str) -> ToolCall:
    return ToolCall(name="tick", arguments={"zone": zone}, id=identity)


TWO_CALLS = [[call("a", "c1"), call("b", "c2")], call("c", "c3"), "late"]
SCRIPTS: dict[str, Any] = {
    "native": TWO_CALLS,
    "json": ['{"action": "tick", "action_input": {"zone": "a"}}', '{"answer": "late"}'],
    "bracket": ["Action: tick[a]", "Final Answer: late"],
    "zh": ["行动：tick\n行动输入：a", "最终答案：late"],
    "labelled": ["Action: tick\nAction Input: a", "Final Answer: late"],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def record(path: Path, replies: Any = TWO_CALLS, **settings: Any) -> RunResult:
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies)) as backend:
        return Agent(backend, tools=[Clock().tick], **settings).run("?")


@pytest.mark.parametrize("dialect", SCRIPTS)
@pytest.mark.parametrize("shell", ["run", "arun", "stream"])
def test_recorded_results_are_taken_and_nothing_runs(path: Path, dialect: str, shell: str) -> None:
    """In every dialect and shell the run is the recorded one, and its tools were not called."""
    recorded = record(path, SCRIPTS[dialect], dialect=dialect)
    clock = Clock()
    clock.ran = 10
    with CassetteBackend(path, tools="recorded") as backend:
        agent = Agent(backend, tools=[clock.tick], dialect=dialect)
        if shell == "run":
            again = agent.run("?")
        elif shell == "arun":
            again = asyncio.run(agent.arun("?"))
        else:
            again = [*agent.stream("?")][-1].result  # type: ignore[union-attr]
        backend.check_played()
    assert again.to_dict() == recorded.to_dict()
    assert again.answer == "late"
    assert clock.ran == 10


def test_by_default_tools_run_and_are_compared(path: Path) -> None:
    """A tool that gives something else is named, with its call and both results."""
    record(path)
    clock = Clock()
    clock.ran = 10
    with pytest.raises(CassetteMiss) as missed:
        Agent(CassetteBackend(path), tools=[clock.tick]).run("?")
    error = missed.value
    assert (error.turn, error.nearest, error.tool) == (2, 2, "tick")
    assert error.differing == "messages[2].content"
    assert (error.expected, error.actual) == ("1 o'clock in a", "11 o'clock in a")
    cause = (
        'Cause: the tool call tick({"zone": "a"}) gave "11 o\'clock in a"; when it was recorded, "1 o\'clock'
    )
    assert cause in str(error)
    assert 'tools="recorded"' in str(error)
    assert clock.ran == 12


@pytest.mark.parametrize("dialect", ["json", "bracket", "zh", "labelled"])
def test_a_tool_of_a_text_dialect_is_named_too(path: Path, dialect: str) -> None:
    """There the result stands in a message of the user's."""
    record(path, SCRIPTS[dialect], dialect=dialect)
    clock = Clock()
    clock.ran = 10
    with pytest.raises(CassetteMiss) as missed:
        Agent(CassetteBackend(path), tools=[clock.tick], dialect=dialect).run("?")
    assert missed.value.tool == "tick"
    assert "Cause: the tool call tick(" in str(missed.value)


def test_a_tool_that_is_gone_gives_its_recorded_result(path: Path) -> None:
    """Nothing runs, so nothing has to be there; `tolerate` lets the offer differ."""
    record(path)
    with CassetteBackend(path, tools="recorded", tolerate=["tools"]) as backend:
        result = Agent(backend).run("?")
    assert result.answer == "late"
    assert [seen.ok for step in result.steps for seen in step.observations] == [True, True, True]


def test_a_recorded_error_stays_one(path: Path) -> None:
    """An observation that told an error is not ok in the replay either."""

    def tick(zone: str) -> str:
        """The time."""
        raise ValueError("no such zone")

    with CassetteBackend(path, record="once", live=ScriptedBackend([call("a", "c1"), "sorry"])) as backend:
        recorded = Agent(backend, tools=[tick]).run("?")
    again = Agent(CassetteBackend(path, tools="recorded"), tools=[Clock().tick]).run("?")
    assert again.to_dict() == recorded.to_dict()
    assert again.steps[0].observations[0].ok is False


def test_results_follow_the_answer_that_was_replayed(path: Path) -> None:
    """The same question asked twice has two sets of results, each of its own recording."""
    clock = Clock()
    live = ScriptedBackend([call("a", "c1"), "one", call("a", "c1"), "two"])
    with CassetteBackend(path, record="once", live=live) as backend:
        recorded = [Agent(backend, tools=[clock.tick]).run("?") for _ in range(2)]
    with CassetteBackend(path, tools="recorded") as backend:
        again = [Agent(backend, tools=[clock.tick]).run("?") for _ in range(2)]
    assert [run.to_dict() for run in again] == [run.to_dict() for run in recorded]
    assert clock.ran == 2


def test_a_run_that_ended_with_calls_ends_as_it_did(path: Path) -> None:
    """The results of a last step went to no model: a mark stands for them, and the run ends by its limit."""
    recorded = record(path, limits=Limits(max_steps=2))
    assert recorded.stop_reason == "max_steps"
    with CassetteBackend(path, tools="recorded") as backend:
        again = Agent(backend, tools=[Clock().tick], limits=Limits(max_steps=2)).run("?")
        backend.check_played()
    assert again.stop_reason == "max_steps"
    assert "the recording ends here" in again.steps[-1].observations[0].text
    with pytest.raises(CassetteMiss, match="goes on where the recording ends"):
        Agent(CassetteBackend(path, tools="recorded"), tools=[Clock().tick]).run("?")


def test_another_dialect_is_told(path: Path) -> None:
    """Results that are not in the form of the agent's dialect are not guessed at."""
    history: list[Any] = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "Action: tick\nAction Input: a"},
    ]
    with CassetteBackend(path, record="once", live=ScriptedBackend(["late"])) as backend:
        backend.complete(Request([*history, {"role": "tool", "tool_call_id": "c", "content": "noon"}]))
    with pytest.raises(CassetteMiss, match="in the form of the dialect 'labelled'"):
        Agent(CassetteBackend(path, tools="recorded"), tools=[Clock().tick], dialect="labelled").resume(
            history
        )


def test_where_it_records_the_tools_of_new_turns_run(path: Path) -> None:
    """What is recorded is taken, and behind it tools run for the model that is asked."""
    record(path, [call("a", "c1"), "one"])
    clock = Clock()
    clock.ran = 10
    live = ScriptedBackend([call("b", "c1"), "two"])
    with CassetteBackend(path, record="new_episodes", live=live, tools="recorded") as backend:
        assert Agent(backend, tools=[clock.tick]).run("?").answer == "one"
        assert clock.ran == 10
        result = Agent(backend, tools=[clock.tick]).run("!")
    assert result.steps[0].observations[0].text == "11 o'clock in b"
    assert backend.recorded_turns == 2


def test_parallel_runs_take_their_own_results(path: Path) -> None:
    """24 runs of an event loop at once, each with the results of its own question."""
    live = ScriptedBackend(
        lambda request: (
            request.messages[-1]["content"]
            if request.messages[-1]["role"] == "tool"
            else call(request.messages[-1]["content"], "c1")
        )
    )
    with CassetteBackend(path, record="once", live=live) as backend:
        wanted = [Agent(backend, tools=[Clock().tick]).run(f"q{n}").answer for n in range(24)]

    async def many(backend: CassetteBackend) -> list[str | None]:
        runs = (Agent(backend, tools=[Clock().tick]).arun(f"q{n}") for n in range(24))
        return [result.answer for result in await asyncio.gather(*runs)]

    assert asyncio.run(many(CassetteBackend(path, tools="recorded"))) == wanted


def test_results_with_secrets_are_found_where_they_were_redacted(path: Path) -> None:
    """The history that is asked about has the secret, the recording its placeholder: one history."""
    secret = "sk-" + "a1b2" * 8
    live = ScriptedBackend([call("a", "c1"), call("b", "c2"), "late"])
    with CassetteBackend(path, record="once", live=live, redact=True) as backend:
        Agent(backend, tools=[Clock().tick]).run(f"My key is {secret}.")
    clock = Clock()
    with CassetteBackend(path, tools="recorded") as backend:
        result = Agent(backend, tools=[clock.tick]).run(f"My key is {secret}.")
    assert (result.answer, clock.ran) == ("late", 0)
    assert [seen.text for step in result.steps for seen in step.observations] == [
        "1 o'clock in a",
        "2 o'clock in b",
    ]
