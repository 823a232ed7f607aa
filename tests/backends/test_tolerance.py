"""Masks, tolerated drift and its report, over a cassette backend and over a client's transport."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteDrift,
    CassetteMiss,
    ConfigurationError,
    Request,
    ScriptedBackend,
    ToolCall,
    UnplayedTurns,
)
from react_replay.cassettes import async_cassette_transport, cassette_transport
from react_replay.cassettes.drift import Drift, drift_report
from react_replay.cassettes.reading import read_cassette

DATE = r"\d{4}-\d\d-\d\d"


def calculator(expression: str) -> str:
    """Evaluate."""
    return f"value of {expression}"


CALL = ToolCall(name="calculator", arguments={"expression": "1+1"}, id="c1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def agent(backend: CassetteBackend, system: str = "Be brief.", **options: Any) -> Agent:
    return Agent(backend, tools=[calculator], system=system, options=options)


def record(path: Path, question: str = "1+1?", **settings: Any) -> None:
    with CassetteBackend(path, record="once", live=ScriptedBackend([CALL, "two"]), **settings) as backend:
        agent(backend, temperature=0).run(question)


def test_a_masked_date_may_differ(path: Path) -> None:
    """A recording that was made with a mask replays on another day, without being told of the mask."""
    record(path, "On 2026-01-02: 1+1?", masks=[DATE])
    assert read_cassette(path).metadata["masks"] == [DATE]
    with CassetteBackend(path) as backend:
        assert agent(backend, temperature=0).run("On 2027-03-04: 1+1?").answer == "two"
        assert backend.unplayed == []
        with pytest.raises(CassetteMiss):
            agent(backend, temperature=0).run("At 2027-03-04: 1+1?")


def test_a_mask_may_be_given_for_one_session(path: Path) -> None:
    """For a file that keeps none: it counts, and is not written where nothing is recorded."""
    record(path, "On 2026-01-02: 1+1?")
    before = path.read_bytes()
    with CassetteBackend(path, masks=[DATE]) as backend:
        assert agent(backend, temperature=0).run("On 2027-03-04: 1+1?").answer == "two"
    assert path.read_bytes() == before


def test_what_is_added_keeps_the_masks(path: Path) -> None:
    """`new_episodes` keeps the file's masks, with those given."""
    record(path, "On 2026-01-02: 1+1?", masks=[DATE])
    live = ScriptedBackend(["new"])
    with CassetteBackend(path, record="new_episodes", live=live, masks=["/user"]) as backend:
        agent(backend, temperature=0).run("else?")
    assert read_cassette(path).metadata["masks"] == [DATE, "/user"]


def numbered(path: Path) -> None:
    live = ScriptedBackend(lambda request: f"re {request.messages[-1]['content'].split()[0]}")
    with CassetteBackend(path, record="once", live=live, masks=[DATE]) as backend:
        for number in range(24):
            agent(backend, seed=number).run(f"q{number} of 2026-01-02")


def test_parallel_threads_each_get_their_own_answer(path: Path) -> None:
    """24 at once, of which every one differs from its recording by a mask and by a tolerated prompt."""
    numbered(path)
    backend = CassetteBackend(path, tolerate=["system"])
    start = threading.Barrier(24)
    got: dict[int, str | None] = {}

    def one(number: int) -> None:
        start.wait(10)
        got[number] = agent(backend, "Be long.", seed=number).run(f"q{number} of 2027-03-04").answer

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {number: f"re q{number}" for number in range(24)}
    assert sorted(drift.turn for drift in backend.drift) == [*range(1, 25)]
    backend.check_played()


def test_parallel_tasks_each_get_their_own_answer(path: Path) -> None:
    """The same with 24 tasks of one event loop."""
    numbered(path)
    backend = CassetteBackend(path, tolerate=["system"])

    async def many() -> list[str | None]:
        runs = (agent(backend, "Be long.", seed=n).arun(f"q{n} of 2027-03-04") for n in range(24))
        return [result.answer for result in await asyncio.gather(*runs)]

    assert asyncio.run(many()) == [f"re q{number}" for number in range(24)]
    backend.check_played()


@pytest.mark.parametrize("streaming", [False, True])
def test_a_tolerated_change_replays_and_is_reported(path: Path, streaming: bool) -> None:
    """The answers are the recording's, and `drift` has each change with turn, path, then and now."""
    record(path)
    with CassetteBackend(path, tolerate=["system", "temperature"]) as backend:
        mine = agent(backend, "Be verbose.", temperature=0.5)
        result = [*mine.stream("1+1?")][-1].result if streaming else mine.run("1+1?")  # type: ignore[union-attr]
        assert result.answer == "two"
        backend.check_played()
    found = [(each.turn, each.answered_by, each.path, each.recorded, each.now) for each in backend.drift]
    assert found == [
        (turn, turn, field, then, now)
        for turn in (1, 2)
        for field, then, now in (
            ("messages[0].content", "Be brief.", "Be verbose."),
            ("temperature", 0, 0.5),
        )
    ]
    assert str(backend.drift[0]) == 'turn 1: messages[0].content at character 3: "Be [-brief-]{+verbose+}."'
    assert str(backend.drift[1]) == "turn 1: temperature: recorded 0, now 0.5"


def test_a_report_has_a_line_for_a_change_in_many_turns(path: Path) -> None:
    """What drifted in every turn is said once, and a report of many changes is cut."""
    record(path)
    with CassetteBackend(path, tolerate=["system"]) as backend:
        agent(backend, "Be verbose.", temperature=0).run("1+1?")
    assert drift_report(backend.drift) == [
        'turns 1 to 2: messages[0].content at character 3: "Be [-brief-]{+verbose+}."'
    ]
    many = [Drift(turn=n, answered_by=n, path="seed", recorded=0, now=n) for n in range(1, 101)]
    assert len(drift_report(many)) == 9
    assert drift_report(many)[-1] == "and 92 more"
    odd = [Drift(turn=n, answered_by=n, path="seed", recorded=0, now=1) for n in (1, 3, 7)]
    assert drift_report(odd) == ["turns 1, 3, 7: seed: recorded 0, now 1"]


def test_an_exact_turn_goes_before_a_tolerated_one(path: Path) -> None:
    """Of two recorded turns the one that was asked the very same, and no drift is reported."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["one", "two"])) as backend:
        for system in ("first", "second"):
            agent(backend, system).run("?")
    with CassetteBackend(path, tolerate=["system"]) as backend:
        assert agent(backend, "second").run("?").answer == "two"
        assert backend.drift == []
        assert agent(backend, "second").run("?").answer == "one"
    assert [each.now for each in backend.drift] == ["second"]


def test_what_is_not_named_does_not_drift(path: Path) -> None:
    """A change beside the tolerated one is a miss."""
    record(path)
    with CassetteBackend(path, tolerate=["system"]) as backend, pytest.raises(CassetteMiss) as missed:
        agent(backend, "Be verbose.", temperature=1).run("1+1?")
    assert not isinstance(missed.value, CassetteDrift)
    assert backend.drift == []


def test_drift_may_be_refused(path: Path) -> None:
    """`on_drift="fail"` raises what `tolerate` would have let pass, and leaves the turn unplayed."""
    record(path)
    with CassetteBackend(path, tolerate=["system"], on_drift="fail") as backend:
        with pytest.raises(CassetteDrift) as refused:
            agent(backend, "Be verbose.", temperature=0).run("1+1?")
        error = refused.value
        assert (error.turn, error.nearest, error.differing) == (1, 1, "messages[0].content")
        assert (error.expected, error.actual) == ("Be brief.", "Be verbose.")
        assert "[-brief-]{+verbose+}" in str(error)
        assert 'record="rekey"' in str(error)
        assert len(backend.unplayed) == 2
        assert agent(backend, temperature=0).run("1+1?").answer == "two"


def test_a_recording_session_does_not_ask_again_what_may_differ(path: Path) -> None:
    """`new_episodes` with `tolerate` goes live for nothing that a tolerated turn answers."""
    record(path)
    with CassetteBackend(path, record="new_episodes", live=lambda: 1 / 0, tolerate=["system"]) as backend:  # type: ignore[arg-type, return-value]
        assert agent(backend, "Be verbose.", temperature=0).run("1+1?").answer == "two"
    assert backend.live_calls == 0


def test_recording_goes_on_from_the_first_diverging_turn(path: Path) -> None:
    """The recorded prefix is replayed; where a tool's result differs the rest is asked live and added."""
    record(path)

    def other(expression: str) -> str:
        """Evaluate."""
        return "something else"

    other.__name__ = "calculator"
    live = ScriptedBackend(["two, again"])
    with CassetteBackend(path, record="new_episodes", live=live) as backend:
        run = Agent(backend, tools=[other], system="Be brief.", options={"temperature": 0}).run("1+1?")
    assert run.answer == "two, again"
    assert (backend.live_calls, backend.recorded_turns, len(live.requests)) == (1, 1, 1)
    assert len(read_cassette(path).recorded) == 3
    with CassetteBackend(path) as backend:
        Agent(backend, tools=[other], system="Be brief.", options={"temperature": 0}).run("1+1?")
        assert [turn.number for turn in backend.unplayed] == [2]


def test_unplayed_turns_are_an_error_that_names_them(path: Path) -> None:
    """`check_played` says which turns, what they were asked, and how to record anew."""
    record(path)
    backend = CassetteBackend(path)
    with pytest.raises(UnplayedTurns) as left:
        backend.check_played()
    assert (left.value.turns, left.value.path) == ((1, 2), str(path))
    text = str(left.value)
    assert 'turn 2 (4 messages, the last from "tool"): "1+1?", behind the result "value of 1+1"' in text
    assert 'record="all"' in text
    agent(backend, temperature=0).run("1+1?")
    backend.check_played()


def test_many_unplayed_turns_stay_a_short_error(path: Path) -> None:
    """500 turns are named by their first, under 25 lines and 2,000 characters."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(lambda _: "x")) as backend:
        for number in range(500):
            backend.complete(Request([{"role": "user", "content": f"{number} {'long ' * 100}"}]))
    with pytest.raises(UnplayedTurns, match="500 turns") as left:
        CassetteBackend(path).check_played()
    assert len(left.value.turns) == 500
    assert len(str(left.value).splitlines()) < 25
    assert len(str(left.value)) <= 2000


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"on_drift": "fial"}, "`on_drift` must be one of 'report', 'fail', got 'fial' .did you mean 'fail'"),
        ({"tools": "record"}, "`tools` must be one of 'run', 'recorded', got 'record'"),
        ({"tolerate": ["sytem"]}, "did you mean 'system'"),
        ({"masks": ["("]}, "no regular expression"),
    ],
)
def test_wrong_settings_are_refused_at_once(path: Path, settings: Any, told: str) -> None:
    """Before a request, with what they may be."""
    record(path)
    with pytest.raises(ConfigurationError, match=told):
        CassetteBackend(path, **settings)


# The same behind somebody else's client.


def said(text: str) -> Any:
    message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return httpx2.MockTransport(lambda request: httpx2.Response(200, json={"choices": [message]}))


def prompt(system: str, question: str) -> list[Any]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def ask(transport: httpx2.BaseTransport, system: str, question: str) -> str | None:
    with openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport)) as client:
        reply = client.chat.completions.create(model="m", messages=prompt(system, question))
    return reply.choices[0].message.content


def test_a_transport_has_the_same_masks_and_tolerance(path: Path) -> None:
    """Masks go into the file and count on replay; a tolerated prompt replays and is reported."""
    ask(cassette_transport(path, "once", live=said("yes"), masks=[DATE]), "Be brief.", "On 2026-01-02?")
    transport = cassette_transport(path, tolerate=["system"])
    assert ask(transport, "Be verbose.", "On 2027-03-04?") == "yes"
    assert [each.now for each in transport.session.drift] == ["Be verbose."]
    transport.session.check_played()


def test_a_transport_refuses_drift_too(path: Path) -> None:
    """It passes through the SDK as itself."""
    ask(cassette_transport(path, "once", live=said("yes")), "Be brief.", "?")
    with pytest.raises(CassetteDrift, match=r'cassette_transport.*record="rekey"'):
        ask(cassette_transport(path, tolerate=["system"], on_drift="fail"), "Be verbose.", "?")


def test_a_transport_rekeys(path: Path) -> None:
    """The client's request as it is now is in the file, the answer is the recorded one."""
    ask(cassette_transport(path, "once", live=said("yes")), "Be brief.", "?")
    assert ask(cassette_transport(path, "rekey"), "Be verbose.", "?") == "yes"
    assert ask(cassette_transport(path), "Be verbose.", "?") == "yes"
    assert read_cassette(path).metadata["origin"] == "rekeyed"


def test_a_transports_miss_says_how_to_set_a_transport(path: Path) -> None:
    """What mends it is the call that made the transport, and nothing that a transport does not have."""
    ask(cassette_transport(path, "once", live=said("yes")), "Be brief.", "?")
    with pytest.raises(CassetteMiss, match=r'cassette_transport\(.*record="new_episodes"\)') as missed:
        ask(cassette_transport(path), "Be verbose.", "?")
    assert 'tolerate=["system"]' in str(missed.value)
    assert "CassetteBackend" not in str(missed.value)

    async def run() -> None:
        http = httpx2.AsyncClient(transport=async_cassette_transport(path))
        async with openai.AsyncOpenAI(api_key="k", http_client=http) as client:
            await client.chat.completions.create(model="m", messages=prompt("Be verbose.", "?"))

    with pytest.raises(CassetteMiss, match=r"async_cassette_transport\("):
        asyncio.run(run())


def test_a_transport_runs_no_tools_and_takes_no_such_setting(path: Path) -> None:
    """`tools=` is of an agent of ours."""
    with pytest.raises(TypeError, match="tools"):
        cassette_transport(path, "once", tools="recorded")
