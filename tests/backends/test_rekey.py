"""Rekeying: the recorded answers under the requests as they are now, and what may not be rekeyed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteError,
    CassetteMiss,
    CassetteMissing,
    Limits,
    Request,
    ScriptedBackend,
    ToolCall,
)
from react_replay.cassettes.reading import read_cassette

Tool = Callable[..., str]


def lookup(query: str) -> str:
    """Look up."""
    return f"value of {query}"


def other(query: str) -> str:
    """Look up."""
    return "something else"


other.__name__ = "lookup"


def call(query: str) -> ToolCall:
    return ToolCall(name="lookup", arguments={"query": query}, id=f"c{query}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    record(path, call("a"), call("b"), "done")
    return path


def record(path: Path, *replies: Any, question: str = "?", system: str = "Be brief.") -> None:
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies)) as backend:
        Agent(backend, tools=[lookup], system=system, options={"temperature": 0}).run(question)


def run(
    path: Path,
    system: str = "Be brief.",
    question: str = "?",
    *,
    tool: Tool = lookup,
    temperature: float = 0,
    dialect: str = "native",
    **settings: Any,
) -> str | None:
    with CassetteBackend(path, **settings) as backend:
        options = {"temperature": temperature}
        agent = Agent(backend, tools=[tool], system=system, options=options, dialect=dialect)
        answer = agent.run(question).answer
        backend.check_played()
    return answer


def bodies(path: Path) -> list[Any]:
    return [json.loads(entry["request"]["body"]) for entry in read_cassette(path).interactions]


@pytest.mark.parametrize(
    "edit",
    [
        {"system": "Be verbose."},
        {"question": "? Please."},
        {"temperature": 0.5},
        {"system": "Be verbose.", "question": "? Please.", "temperature": 1},
    ],
)
def test_an_edited_prompt_keeps_its_answers(path: Path, edit: dict[str, Any]) -> None:
    """What stands before the first reply and options may change: afterwards the strict replay is silent."""
    with pytest.raises(CassetteMiss):
        run(path, **edit)
    answers = [turn.completion() for turn in read_cassette(path).recorded]
    assert run(path, record="rekey", **edit) == "done"
    assert run(path, **edit) == "done"
    assert [turn.completion() for turn in read_cassette(path).recorded] == answers


def test_only_the_requests_bodies_change(path: Path) -> None:
    """Answers, headers, addresses and the order of an object's names stay as they were recorded."""
    before, names = read_cassette(path).interactions, [list(body) for body in bodies(path)]
    run(path, "Be verbose.", record="rekey")
    after = read_cassette(path).interactions
    assert [entry["response"] for entry in after] == [entry["response"] for entry in before]
    for old, new in zip(before, after, strict=True):
        assert {**new["request"], "body": ""} == {**old["request"], "body": ""}
    assert [list(body) for body in bodies(path)] == names
    assert all(body["messages"][0]["content"] == "Be verbose." for body in bodies(path))


def test_the_file_says_that_it_was_rekeyed(path: Path) -> None:
    """Its origin, what it was recorded from, and when; twice rekeyed it still names the first origin."""
    recorded_at = read_cassette(path).metadata["recorded_at"]
    for system in ("once", "twice"):
        run(path, system, record="rekey", metadata={"test_id": system})
        kept = read_cassette(path).metadata
        assert (kept["origin"], kept["rekeyed_from"], kept["test_id"]) == ("rekeyed", "scripted", system)
        assert kept["rekeyed_at"] >= kept["recorded_at"] == recorded_at


def test_nothing_to_rewrite_writes_nothing(path: Path) -> None:
    """A run that matches as it is leaves the file to the byte."""
    before = path.read_bytes()
    assert run(path, record="rekey") == "done"
    assert path.read_bytes() == before


def test_nobody_is_asked(path: Path) -> None:
    """No live backend is made, whatever is given."""
    assert run(path, "Be verbose.", record="rekey", live=lambda: 1 / 0) == "done"


def test_masks_can_be_put_into_a_file(path: Path) -> None:
    """Masks that are given are kept from now on; the requests and the origin stay."""
    requests = bodies(path)
    assert run(path, "Be verbose.", record="rekey", masks=["brief|verbose"]) == "done"
    assert bodies(path) == requests
    assert read_cassette(path).metadata["masks"] == ["brief|verbose"]
    assert read_cassette(path).metadata["origin"] == "scripted"
    assert run(path, "Be verbose.") == "done"


def test_several_runs_of_one_session_are_rekeyed(path: Path) -> None:
    """Each run is saved when it ends, and the next goes on from the file as it is then."""
    with CassetteBackend(path, record="new_episodes", live=ScriptedBackend([call("z"), "zed"])) as backend:
        Agent(backend, tools=[lookup], system="Be brief.", options={"temperature": 0}).run("z?")
    backend = CassetteBackend(path, record="rekey")
    for question, answer in (("?", "done"), ("z?", "zed")):
        agent = Agent(backend, tools=[lookup], system="Be verbose.", options={"temperature": 0})
        assert agent.run(question).answer == answer
    again = CassetteBackend(path)
    for question, answer in (("z?", "zed"), ("?", "done")):
        agent = Agent(again, tools=[lookup], system="Be verbose.", options={"temperature": 0})
        assert agent.run(question).answer == answer
    again.check_played()


def test_parallel_conversations_are_told_apart_by_what_they_asked(tmp_path: Path) -> None:
    """Two conversations with the same replies: each goes on in its own, by its question."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(
        path, record="once", live=ScriptedBackend([call("a"), "one", call("a"), "two"])
    ) as b:
        for question in ("first", "second"):
            Agent(b, tools=[lookup], system="Be brief.").run(question)
    with CassetteBackend(path, record="rekey") as backend:
        for question, answer in (("second", "two"), ("first", "one")):
            assert Agent(backend, tools=[lookup], system="Be verbose.").run(question).answer == answer
    with CassetteBackend(path) as backend:
        assert Agent(backend, tools=[lookup], system="Be verbose.").run("first").answer == "one"
        assert Agent(backend, tools=[lookup], system="Be verbose.").run("second").answer == "two"


def test_what_could_be_two_turns_is_refused(tmp_path: Path) -> None:
    """Where both questions were edited nobody can say which answer is whose; the file stays."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["one", "two"])) as backend:
        for question in ("first", "second"):
            backend.complete(Request([{"role": "user", "content": question}]))
    before = path.read_bytes()
    with (
        pytest.raises(CassetteMiss, match=r"it could be recorded turn 1, 2: they differ only in what may"),
        CassetteBackend(path, record="rekey") as backend,
    ):
        backend.complete(Request([{"role": "user", "content": "third"}]))
    assert path.read_bytes() == before


def test_another_result_is_not_rekeyed(path: Path) -> None:
    """An answer to one result is no answer to another: the tool is named, and the file stays."""
    before = path.read_bytes()
    with pytest.raises(CassetteMiss) as refused:
        run(path, "Be verbose.", tool=other, record="rekey")
    error = refused.value
    assert (error.turn, error.nearest, error.tool) == (2, 2, "lookup")
    assert (error.differing, error.expected, error.actual) == (
        "messages[3].content",
        "value of a",
        "something else",
    )
    for part in ("cannot be rekeyed at request 2", "lookup(", 'tools="recorded"'):
        assert part in str(error)
    assert len(str(error).splitlines()) < 25
    assert path.read_bytes() == before


def test_recorded_results_are_rekeyed(path: Path) -> None:
    """With `tools="recorded"` the results are the recording's, also under an edited prompt."""
    assert run(path, "Be verbose.", tool=other, record="rekey", tools="recorded") == "done"
    assert run(path, "Be verbose.") == "done"


def test_other_replies_are_another_conversation(path: Path) -> None:
    """A history with a reply that was not recorded is told so."""
    history = [
        {"role": "system", "content": "Be verbose."},
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "I never said this."},
        {"role": "user", "content": "go on"},
    ]
    with (
        pytest.raises(CassetteMiss, match="no unplayed turn stands at this point"),
        CassetteBackend(path, record="rekey") as backend,
    ):
        backend.complete(Request(history))


def test_a_run_that_fails_rewrites_nothing(path: Path) -> None:
    """Leaving the block by an exception leaves the file."""
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), CassetteBackend(path, record="rekey") as backend:
        Agent(backend, tools=[lookup], system="Be verbose.", options={"temperature": 0}).run("?")
        raise ZeroDivisionError
    assert path.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_left(path: Path) -> None:
    """Another recorder's turns are not lost: the rekeying is refused."""
    rekeying = CassetteBackend(path, record="rekey")
    with pytest.raises(CassetteError, match="changed by another recorder"), rekeying as backend:
        backend.complete(Request([{"role": "user", "content": "edited"}], {"temperature": 0}))
        with CassetteBackend(path, record="new_episodes", live=ScriptedBackend(["x"])) as more:
            more.complete(Request([{"role": "user", "content": "more"}]))
    assert len(read_cassette(path).recorded) == 4


def test_there_must_be_something_to_rekey(tmp_path: Path) -> None:
    """Without a file; and where a recording that broke off waits to be finished."""
    path = tmp_path / "c.yaml"
    with pytest.raises(CassetteMissing, match='record="once"'):
        CassetteBackend(path, record="rekey")
    with (
        pytest.raises(ZeroDivisionError),
        CassetteBackend(path, record="once", live=ScriptedBackend(["x"])) as b,
    ):
        b.complete(Request([{"role": "user", "content": "?"}]))
        raise ZeroDivisionError
    with pytest.raises(CassetteError, match="its turns wait in a journal"):
        CassetteBackend(path, record="rekey")


@pytest.mark.parametrize("dialect", ["json", "bracket", "zh", "labelled"])
def test_a_text_dialect_is_rekeyed(tmp_path: Path, dialect: str) -> None:
    """Prompts of text protocols stand before the first reply as well."""
    path = tmp_path / "c.yaml"
    replies = {
        "json": ['{"action": "lookup", "action_input": {"query": "a"}}', '{"answer": "done"}'],
        "bracket": ["Action: lookup[a]", "Final Answer: done"],
        "zh": ["行动：lookup\n行动输入：a", "最终答案：done"],
        "labelled": ["Action: lookup\nAction Input: a", "Final Answer: done"],
    }[dialect]
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies)) as backend:
        recorded = Agent(backend, tools=[lookup], dialect=dialect, options={"temperature": 0}).run("?")
    assert run(path, "Be verbose.", dialect=dialect, record="rekey") == recorded.answer
    assert run(path, "Be verbose.", dialect=dialect) == recorded.answer


def test_a_long_runs_layout_stays(tmp_path: Path) -> None:
    """A cassette in the delta layout is rekeyed in it; `layout=` writes another."""
    path = tmp_path / "c.yaml"
    replies: list[Any] = [*(call(str(number)) for number in range(30)), "done"]
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies), layout="delta") as backend:
        Agent(backend, tools=[lookup], system="Be brief.", limits=Limits(max_steps=40)).run("?")

    def again(system: str, **settings: Any) -> str | None:
        with CassetteBackend(path, **settings) as backend:
            return Agent(backend, tools=[lookup], system=system, limits=Limits(max_steps=40)).run("?").answer

    assert again("Be verbose.", record="rekey") == "done"
    assert read_cassette(path).layout == "delta"
    assert again("Be odd.", record="rekey", layout="full") == "done"
    assert read_cassette(path).layout == "vcrpy"
    assert again("Be odd.") == "done"


def test_secrets_of_an_edited_prompt_are_redacted(tmp_path: Path) -> None:
    """With `redact=` what is rewritten holds no key; without it a key stops the write, and the file stays."""
    path = tmp_path / "c.yaml"
    secret = "sk-" + "a1b2" * 8
    with CassetteBackend(path, record="once", live=ScriptedBackend(["x"]), redact=True) as backend:
        Agent(backend, system=f"The key is {secret}.").run("?")
    before = path.read_bytes()
    with (
        pytest.raises(CassetteError, match="looks like a key"),
        CassetteBackend(path, record="rekey") as backend,
    ):
        Agent(backend, system=f"Its key is {secret}.").run("?")
    assert path.read_bytes() == before
    with CassetteBackend(path, record="rekey", redact=True) as backend:
        Agent(backend, system=f"Its key is {secret}.").run("?")
    assert secret not in path.read_text("utf-8")
    assert "Its key is" in path.read_text("utf-8")
    with CassetteBackend(path) as backend:
        assert Agent(backend, system=f"Its key is {secret}.").run("?").answer == "x"
