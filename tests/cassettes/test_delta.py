"""The delta layout: lossless both ways, linear in bytes and time, refused by vcrpy, and played by us."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import vcr
import yaml
from hypothesis import given
from hypothesis import strategies as st

from react_replay import Agent, CassetteBackend, CassetteError, ConfigurationError, Request, ScriptedBackend
from react_replay.cassettes.layouts.delta import Turns, compressed
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.recording import Recording
from react_replay.cassettes.writing import interaction_of, save
from react_replay.log import Log
from react_replay.wire import Exchange

TEXTS = st.sampled_from(["hi", "\n  ]", '"messages": [', "北京 🌤", "a\u2028b", "\ud800"])
MESSAGES = st.builds(
    lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "tool"]), TEXTS
)
HEAD: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {"model": "m"}, {"model": "n"}])
TAIL: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"stream": True}, {"tools": [{"messages": []}]}]
)


def interaction(body: Any, number: int = 0, **fields: Any) -> dict[str, Any]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = {"choices": [{"message": {"content": f"answer {number}"}, "finish_reason": "stop"}]}
    kind = {"content-type": "application/json"}
    given = {"chunks": (json.dumps(answer).encode(),), "response_headers": kind} | fields
    return interaction_of(
        Exchange(
            url="https://x.example/v1/chat/completions", request_body=sent, request_headers=kind, **given
        )
    )


@st.composite
def runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Interactions whose histories grow, fork, repeat and change their options; and odd ones."""
    found: list[dict[str, Any]] = []
    histories: list[list[Any]] = [[]]
    for number in range(draw(st.integers(0, 7))):
        new = draw(st.lists(MESSAGES, max_size=2))
        history = [*draw(st.sampled_from(histories)), *new]
        histories.append(history)
        body: Any = {**draw(HEAD), "messages": history, **draw(TAIL)}
        body = draw(st.sampled_from([body, body, body, b"raw", json.dumps(body).encode() + b" ", b"\xff"]))
        chunks = draw(st.sampled_from([(b"one",), (b"data: a\n\n", b"data: b\n\n"), (b"\xff",), (b"",)]))
        found.append(
            interaction(
                body,
                chunks=chunks,
                response_headers=draw(st.sampled_from([{}, {"x-request-id": str(number)}])),
            )
        )
        if draw(st.booleans()):
            found[-1] = {**found[-1], "recorded_by": "another"}
    return found


@given(runs())
def test_full_to_delta_and_back_is_the_same(found: list[dict[str, Any]]) -> None:
    """Whatever the interactions; by iterating and by asking for one."""
    turns = Turns(compressed(found))
    assert list(turns) == found
    assert [turns[place] for place in range(len(turns))] == found


@given(runs())
def test_a_delta_file_reads_as_the_full_one(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]]
) -> None:
    """The same requests, answers, and marks of equal requests."""
    folder = tmp_path_factory.mktemp("c")
    for layout in ("full", "delta"):
        save(folder / layout, found, {"origin": "scripted"}, layout=layout)
    full, delta = read_cassette(folder / "full"), read_cassette(folder / "delta")
    assert delta.layout == "delta" and delta.extensible
    assert list(delta.interactions) == found
    for ours, theirs in zip(delta.recorded, full.recorded, strict=True):
        assert (ours.request is None) == (theirs.request is None)
        if ours.request is not None and theirs.request is not None:
            assert list(ours.request.messages) == list(theirs.request.messages)
            assert ours.request.options == theirs.request.options
        assert (ours.chunks, ours.unread, ours.number) == (theirs.chunks, theirs.unread, theirs.number)


def run_of(turns: int) -> list[dict[str, Any]]:
    history: list[Any] = [{"role": "user", "content": "start " * 20}]
    found = []
    for number in range(turns):
        found.append(interaction({"model": "m", "messages": history, "tools": [{"type": "x" * 400}]}, number))
        history = [
            *history,
            {"role": "assistant", "content": f"step {number} " * 20},
            {"role": "user", "content": f"seen {number} " * 20},
        ]
    return found


def test_bytes_grow_with_the_turns_and_not_with_their_square(tmp_path: Path) -> None:
    """Ten times the turns take about ten times the room."""
    sizes = []
    for turns in (10, 100):
        save(tmp_path / "c.yaml", run_of(turns), {}, layout="delta")
        sizes.append((tmp_path / "c.yaml").stat().st_size)
    assert sizes[1] < sizes[0] * 11


def test_a_replay_takes_time_in_its_turns_and_not_in_their_square(tmp_path: Path) -> None:
    """Load included: ten times the turns take far less than a hundred times as long."""
    seconds = []
    for turns in (30, 300):
        save(tmp_path / "c.yaml", found := run_of(turns), {}, layout="delta")
        requests = [Request.of(json.loads(item["request"]["body"])) for item in found]
        grown: list[Request] = []
        for request in requests:  # as the agent sends them: views of one log
            earlier = grown[-1].messages if grown else Log[Any]()
            assert isinstance(earlier, Log)
            grown.append(Request(earlier.extend(request.messages[len(earlier) :]), requests[0].options))
        start = time.process_time()
        backend = CassetteBackend(tmp_path / "c.yaml")
        for request in grown:
            backend.complete(request)
        seconds.append(time.process_time() - start)
        assert backend.unplayed == []
    assert seconds[1] < seconds[0] * 40


def test_messages_of_a_run_are_views_of_one_log(tmp_path: Path) -> None:
    """So a history of n turns takes n turns of memory, and digests go on from the turn before."""
    save(tmp_path / "c.yaml", run_of(5), {}, layout="delta")
    requests = [turn.request for turn in read_cassette(tmp_path / "c.yaml").recorded]
    for earlier, later in itertools.pairwise(requests):
        assert isinstance(earlier, Request) and isinstance(later, Request)
        assert later.messages.continues(earlier.messages)  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all"])
def test_vcrpy_refuses_a_delta_file(tmp_path: Path, mode: str) -> None:
    """It neither plays a part of a request for the whole of it, nor takes the file for an empty one."""
    path = tmp_path / "c.yaml"
    save(path, run_of(2), {}, layout="delta")
    before = path.read_bytes()
    with pytest.raises(KeyError, match="interactions"), vcr.use_cassette(str(path), record_mode=mode):
        pass
    assert path.read_bytes() == before


def test_a_reviewer_reads_only_what_is_new(tmp_path: Path) -> None:
    """A continuation shows its new messages as indented JSON, and what stayed the same not at all."""
    save(tmp_path / "c.yaml", run_of(2), {"origin": "scripted"}, layout="delta")
    document = yaml.safe_load((tmp_path / "c.yaml").read_text())
    assert document["x_react_replay"] == {"layout": "delta", "origin": "scripted"}
    assert list(document["turns"][1]) == ["continues", "request", "response"]
    new = json.loads(document["turns"][1]["request"])
    assert list(new) == ["messages"] and len(new["messages"]) == 2


def test_a_recording_in_delta_stays_so_when_it_is_extended(tmp_path: Path) -> None:
    """And the turns that were there are the same; another layout that is asked for is made."""
    path = tmp_path / "c.yaml"
    for layout, said in (("delta", "delta"), (None, "delta"), ("full", "vcrpy")):
        recording = Recording(path, replaces=False, layout=layout)
        body = json.dumps({"messages": [{"role": "user", "content": str(layout)}]}).encode()
        recording.keep(Exchange(url="https://x/v1/chat/completions", request_body=body, chunks=(b"{}",)), {})
        assert recording.compile({"origin": "scripted"}) == ""
        assert read_cassette(path).layout == said
    asked = [turn.request.messages[0]["content"] for turn in read_cassette(path).recorded if turn.request]
    assert asked == ["delta", "None", "full"]


def test_a_large_recording_is_told_of_the_layout(tmp_path: Path) -> None:
    """Past a megabyte, where it would help, as a text that is returned."""
    long = {"role": "user", "content": "x" * 300_000}
    histories: dict[str, list[Any]] = {
        "grows": [[long, *[{"role": "user", "content": str(n)}] * n] for n in range(5)],
        "differs": [[{"role": "user", "content": str(n) * 300_000}] for n in range(5)],
    }
    for layout, name in (("full", "grows"), ("full", "differs"), ("delta", "grows")):
        recording = Recording(tmp_path / f"{layout}-{name}", replaces=False, layout=layout)
        for messages in histories[name]:
            body = json.dumps({"messages": messages}).encode()
            sent = Exchange(url="https://x/v1/chat/completions", request_body=body, chunks=(b"{}",))
            recording.keep(sent, {})
        assert ("--layout delta" in recording.compile({})) is ((layout, name) == ("full", "grows"))


def test_a_backend_records_in_delta_and_suggests_it(tmp_path: Path) -> None:
    """`layout="delta"` keeps a run so; a full one past a megabyte warns, and has been written."""
    for layout in (None, "delta"):
        path = tmp_path / str(layout)
        live = ScriptedBackend(["x" * 400_000, "x" * 400_000, "x" * 400_000, "end"])
        with ExitStack() as stack:
            if layout is None:
                stack.enter_context(pytest.warns(UserWarning, match="--layout delta"))
            with CassetteBackend(path, record="once", live=live, layout=layout) as backend:
                messages: list[Any] = [{"role": "user", "content": "?"}]
                for _ in range(4):
                    said = backend.complete(Request.of({"messages": messages})).content
                    messages = [*messages, {"role": "assistant", "content": said}]
        assert read_cassette(path).layout == ("vcrpy" if layout is None else "delta")


def test_an_unknown_layout_is_named(tmp_path: Path) -> None:
    """With the nearest that there is."""
    with pytest.raises(ConfigurationError, match="did you mean 'delta'"):
        Recording(tmp_path / "c.yaml", replaces=False, layout="dleta")


def test_a_run_replays_from_a_delta_file(tmp_path: Path) -> None:
    """The backend plays it like any other."""
    path = tmp_path / "c.yaml"
    live = ScriptedBackend(["hello"])
    with CassetteBackend(path, record="once", live=live) as backend:
        recorded = Agent(backend).run("hi")
    cassette = read_cassette(path)
    save(path, cassette.interactions, cassette.metadata, layout="delta")
    with CassetteBackend(path) as backend:
        assert Agent(backend).run("hi").to_dict() == recorded.to_dict()


HEADERS = {
    "method": "POST",
    "uri": "u",
    "request_headers": "{}",
    "status": "200 OK",
    "response_headers": "{}",
}
TURN = {**HEADERS, "request": '{\n  "messages": [\n    {}\n  ]\n}', "response": "{}"}


@pytest.mark.parametrize(("turns", "why"), [
    ([{**TURN, "continues": 1}], "`continues` must be the number of an earlier turn, found 1"),
    ([TURN, {"continues": True, "request": "{}", "response": ""}], "found True"),
    ([TURN, {"continues": 1, "request": "{}", "response": ""}], "must be indented JSON"),
    ([{**TURN, "request": "{}"}, {**TURN, "continues": 1}], "turn 1, which it continues"),
    ([{"request": "{}", "response": ""}], "KeyError"),
    ([{**TURN, "status": "many"}], "turn 1 is not readable"),
    ([5], "it must be a mapping, found int"),
    ([{"interaction": 5}], "`interaction` must be a mapping"),
    ({}, "`turns` must be a list, found dict"),
])  # fmt: skip
def test_a_broken_turn_is_named(tmp_path: Path, turns: Any, why: str) -> None:
    """Which one, and what is wrong; nothing is guessed."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"x_react_replay": {"layout": "delta"}, "turns": turns, "version": 1}))
    with pytest.raises(CassetteError, match=why):
        read_cassette(path)
