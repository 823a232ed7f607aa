"""`react-replay verify`: the recorded question asked once more, of a server on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, Limits, ScriptedBackend, ToolCall, tool
from tests.cli.conftest import Command, Make


@tool
def population(city: str) -> int:
    """How many people live in a city."""
    return {"北京": 21_890_000}.get(city, 0)


CALL = {"name": "population", "arguments": '{"city": "北京"}'}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run of one call and an answer."""
    path = tmp_path / "c.yaml"
    replies: list[Any] = [ToolCall(name="population", arguments={"city": "北京"}), "21.89 million."]
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies)) as backend:
        Agent(backend, tools=[population], limits=Limits(max_steps=4)).run("How many?")
    return path


@pytest.fixture
def live(server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server, as the environment names it."""
    monkeypatch.setenv("OPENAI_API_KEY", "local")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("MODEL", "m")
    return server


def says(server: Any, *replies: Any) -> None:
    """The server's answers, one after the other: a text, or a list of calls."""
    for number, reply in enumerate(replies):
        message: dict[str, Any] = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
        if not isinstance(reply, str):
            calls = [{"id": f"call{number}{place}", "function": call} for place, call in enumerate(reply)]
            message["tool_calls"] = [{"type": "function", **call} for call in calls]
        finish = "stop" if isinstance(reply, str) else "tool_calls"
        server.json({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})


def test_the_same_shape_is_success(command: Command, path: Path, live: Any) -> None:
    """Other words do not count; the tool's result is the recorded one, and nothing is written."""
    before = path.read_bytes()
    says(live, [CALL], "About 22 million people.")
    done = command("verify", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "the same shape",
        "  tools        population",
        "  stop_reason  answer",
        "  turns        2",
    ]
    assert [message["role"] for message in live.requests[1].body["messages"]] == ["user", "assistant", "tool"]
    assert live.requests[1].body["messages"][-1]["content"] == "21890000"
    assert path.read_bytes() == before


def test_another_shape_is_shown_beside_the_recorded_one(command: Command, path: Path, live: Any) -> None:
    """Exit code 1."""
    says(live, "I know it: 22 million.")
    done = command("verify", path)
    assert done.code == 1
    assert "another shape\n  tools        population (recorded), none (live)\n" in done.out
    says(live, "I know it: 22 million.")
    said = json.loads(command("verify", path, "--json").out)
    assert said["same"] is False
    assert said["recorded"] == {"tools": ["population"], "stop_reason": "answer", "turns": 2}
    assert said["live"] == {"tools": [], "stop_reason": "answer", "turns": 1}


def test_a_call_that_was_not_recorded_gets_an_error(command: Command, path: Path, live: Any) -> None:
    """The model is told that there is no result; no tool runs."""
    says(live, [{**CALL, "arguments": '{"city": "台北"}'}], "I do not know.")
    assert command("verify", path).code == 0
    assert "nothing was recorded" in live.requests[1].body["messages"][-1]["content"]


def test_the_model_can_be_another(command: Command, path: Path, live: Any) -> None:
    """By name, at another endpoint."""
    says(live, [CALL], "22 million.")
    command("verify", path, "--model", "other", "--base-url", live.url)
    assert live.requests[0].body["model"] == "other"


def test_without_a_key_it_says_what_to_set(command: Command, path: Path) -> None:
    """Exit code 2."""
    done = command("verify", path)
    assert (done.code, "OPENAI_API_KEY" in done.err) == (2, True)


def test_bad_input_is_named(command: Command, bad: tuple[Path, str], live: Any) -> None:
    """Before the model is asked anything."""
    done = command("verify", bad[0])
    assert (done.code, done.out, live.requests) == (3, "", [])
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_a_server_that_fails_is_no_shape(command: Command, path: Path, live: Any) -> None:
    """The failure is said, with exit code 1."""
    live.json({"error": {"message": "no such model"}}, status=404)
    done = command("verify", path)
    assert (done.code, done.out) == (1, "")
    assert "the live run failed" in done.err and "no such model" in done.err


def test_the_first_run_is_asked_where_there_are_several(command: Command, make: Make, live: Any) -> None:
    """A growing conversation goes on only as far as the recorded one's first question."""
    says(live, "hi")
    assert command("verify", make("a.yaml", "one")).code == 0
    assert live.requests[0].body["messages"] == [{"role": "user", "content": "one"}]
