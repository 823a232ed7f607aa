"""The cassette backend: what each record mode asks, keeps and refuses, and that a replay is silent."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteMiss,
    Completion,
    LiveBackend,
    Request,
    RunFinished,
    ScriptedBackend,
    ScriptExhausted,
    ToolCall,
    tool,
)
from react_replay.errors import CassetteError, CassetteMissing, ConfigurationError
from react_replay.messages import Usage
from react_replay.tools.clock import current_time


@tool
def get_date() -> str:
    """The date and time."""
    return current_time().strftime("%Y-%m-%d %H:%M:%S")


def ask(question: str, **options: Any) -> Request:
    return Request([{"role": "user", "content": question}], options)


def recorded(path: Path, *replies: Any, question: str = "?") -> None:
    with CassetteBackend(path, record="once", live=ScriptedBackend(replies)) as backend:
        Agent(backend).run(question)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def test_none_only_replays(path: Path) -> None:
    """The default mode answers from the file and asks nobody."""
    recorded(path, "hi")
    live = ScriptedBackend([])
    assert Agent(CassetteBackend(path, live=live)).run("?").answer == "hi"
    with pytest.raises(CassetteMiss):
        Agent(CassetteBackend(path, live=live)).run("other")
    assert len(live.requests) == 0


def test_once_records_where_there_is_no_file(path: Path) -> None:
    """The first run records, the second replays, and a miss is then a miss."""
    live = ScriptedBackend(["hi"])
    for _ in range(2):
        assert Agent(CassetteBackend(path, record="once", live=live)).run("?").answer == "hi"
    assert len(live.requests) == 1
    with pytest.raises(CassetteMiss):
        Agent(CassetteBackend(path, record="once", live=live)).run("other")


@pytest.mark.parametrize("mode", ["new_episodes", "new"])
def test_new_episodes_records_what_is_missing(path: Path, mode: str) -> None:
    """What the file holds is replayed, what it lacks is recorded beside it."""
    recorded(path, "one", question="1")
    live = ScriptedBackend(["two"])
    with CassetteBackend(path, record=mode, live=live) as backend:
        assert Agent(backend).run("1").answer == "one"
        assert Agent(backend).run("2").answer == "two"
        assert backend.live_calls == 1
    backend = CassetteBackend(path)
    assert [Agent(backend).run(question).answer for question in "12"] == ["one", "two"]


def test_new_episodes_adds_and_changes_nothing_else(path: Path) -> None:
    """The old interactions stay in the file, byte for byte, where they stood."""
    recorded(path, "one", question="1")
    before = path.read_text().split("interactions:\n")[1].split("version:")[0]
    with CassetteBackend(path, record="new", live=ScriptedBackend(["two"])) as backend:
        Agent(backend).run("2")
    assert path.read_text().split("interactions:\n")[1].startswith(before)


def test_all_replaces_everything(path: Path) -> None:
    """Nothing is replayed, and the file holds the new run only."""
    recorded(path, "old")
    with CassetteBackend(path, record="all", live=ScriptedBackend(["new"])) as backend:
        assert Agent(backend).run("?").answer == "new"
    assert Agent(CassetteBackend(path)).run("?").answer == "new"
    assert path.read_text().count("uri:") == 1


def test_an_unknown_mode_is_refused(path: Path) -> None:
    """The error lists the modes and the one that was meant."""
    with pytest.raises(ConfigurationError, match=r"did you mean 'once'.*new_episodes"):
        CassetteBackend(path, record="onse")


def test_recording_without_a_key_names_the_variables(path: Path) -> None:
    """`live=None` means `LiveBackend.from_env()`, asked only when something must be recorded."""
    backend = CassetteBackend(path, record="once")
    with pytest.raises(ConfigurationError, match="DEEPSEEK_API_KEY"):
        Agent(backend).run("?")
    assert not path.exists()
    recorded(path, "hi")
    assert Agent(CassetteBackend(path, record="new")).run("?").answer == "hi"


@pytest.mark.parametrize("shell", ["run", "arun", "stream", "astream", "resume"])
def test_the_path_replays_after_a_run_without_close(path: Path, shell: str) -> None:
    """What a run recorded is on disk when its result is out."""
    agent = Agent(CassetteBackend(path, record="once", live=ScriptedBackend(["hi"])))

    async def astream() -> None:
        async for event in agent.astream("?"):
            if isinstance(event, RunFinished):
                assert Agent(CassetteBackend(path)).run("?").answer == "hi"

    if shell == "run":
        agent.run("?")
    elif shell == "arun":
        asyncio.run(agent.arun("?"))
    elif shell == "astream":
        asyncio.run(astream())
    elif shell == "resume":
        agent.resume([{"role": "user", "content": "?"}])
    else:
        assert any(path.exists() for event in agent.stream("?") if isinstance(event, RunFinished))
    assert Agent(CassetteBackend(path)).run("?").answer == "hi"


def test_a_run_that_raises_keeps_what_it_recorded(path: Path) -> None:
    """The turns before a script ran out are in the file."""
    live = ScriptedBackend([ToolCall(name="nope")])
    with pytest.raises(Exception, match="script"):
        Agent(CassetteBackend(path, record="once", live=live)).run("?")
    assert CassetteBackend(path).complete(ask("?")).tool_calls[0].name == "nope"


def test_a_session_that_recorded_nothing_writes_nothing(path: Path) -> None:
    """Opening and closing a recorder leaves no file and replaces none."""
    CassetteBackend(path, record="once", live=ScriptedBackend([])).close()
    assert not path.exists()
    recorded(path, "hi")
    before = path.read_bytes()
    CassetteBackend(path, record="all", live=ScriptedBackend([])).close()
    assert path.read_bytes() == before


def test_a_fault_is_not_recorded(path: Path) -> None:
    """A provider that failed before it answered leaves no episode."""
    live = ScriptedBackend([ConnectionError("reset")])
    result = Agent(CassetteBackend(path, record="once", live=live)).run("?")
    assert str(result.stop_reason) == "backend_error"
    assert not path.exists()


def test_a_broken_stream_replays_as_a_broken_stream(path: Path) -> None:
    """Text that never got a finish reason is no answer in the replay either."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": None}]}
    live = ScriptedBackend([[chunk]])
    first = Agent(CassetteBackend(path, record="once", live=live)).run("?")
    again = Agent(CassetteBackend(path)).run("?")
    assert (str(again.stop_reason), again.partial) == ("incomplete", "half")
    assert first.to_dict() == again.to_dict()


def test_a_replay_gives_the_recorded_run_to_the_byte(path: Path) -> None:
    """Usage, reasoning, ids, flags, partial text: `to_dict` is the same JSON."""
    turn = Completion(
        content="我想想",
        reasoning="hm 🌤",
        tool_calls=(ToolCall(name="get_date", id="a"), ToolCall(name="nope", id="a")),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, reasoning_tokens=1),
    )
    script = [turn, Completion(content="cut o", finish_reason="length")]
    live = CassetteBackend(path, record="once", live=ScriptedBackend(script))
    first = Agent(live, tools=[get_date]).run("几点?")
    again = Agent(CassetteBackend(path), tools=[get_date]).run("几点?")
    assert json.dumps(first.to_dict()) == json.dumps(again.to_dict())


@pytest.mark.parametrize("mode", ["none", "once", "new"])
def test_tools_see_the_recording_time(path: Path, mode: str) -> None:
    """A month later the date tool gives the recorded observation, so that the run replays."""
    month_ago = (datetime.now().astimezone() - timedelta(days=31)).replace(microsecond=0)
    live = ScriptedBackend([ToolCall(name="get_date"), "today"])
    extra = {"recorded_at": month_ago.isoformat()}
    recorder = CassetteBackend(path, record="once", live=live, metadata=extra)
    wanted = month_ago.strftime("%Y-%m-%d %H:%M:%S")
    Agent(recorder, tools=[get_date], clock=lambda: month_ago).run("?")
    result = Agent(CassetteBackend(path, record=mode), tools=[get_date]).run("?")
    assert result.steps[0].observations[0].text == wanted
    assert result.answer == "today"


def test_the_recording_run_sees_the_time_that_it_keeps(path: Path) -> None:
    """The clock of a recording is the `recorded_at` of its file, to the second."""
    live = ScriptedBackend([ToolCall(name="get_date"), "x"])
    backend = CassetteBackend(path, record="once", live=live)
    first = Agent(backend, tools=[get_date]).run("?")
    kept = datetime.fromisoformat(str(CassetteBackend(path).metadata["recorded_at"]))
    assert first.steps[0].observations[0].text == kept.strftime("%Y-%m-%d %H:%M:%S")


def test_identical_requests_are_answered_in_recorded_order(path: Path) -> None:
    """The same question asked three times gives the three recorded answers, then misses."""
    live = ScriptedBackend(["a", "b", "c"])
    with CassetteBackend(path, record="once", live=live) as backend:
        for _ in range(3):
            backend.complete(ask("?"))
    backend = CassetteBackend(path)
    assert [backend.complete(ask("?")).content for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(CassetteMiss, match="played"):
        backend.complete(ask("?"))


def test_what_was_not_played_is_known(path: Path) -> None:
    """`unplayed` lists the recorded turns that nobody asked for."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["a", "b"])) as backend:
        backend.complete(ask("1"))
        backend.complete(ask("2"))
    backend = CassetteBackend(path)
    backend.complete(ask("2"))
    assert [turn.number for turn in backend.unplayed] == [1]


@pytest.mark.parametrize(
    "same",
    [
        ask("?", temperature=0.0, stop=None),
        ask("?", temperature=0, stream=True, stream_options={"include_usage": True}),
        ask("?", temperature=0, tools=[]),
    ],
    ids=["spelling", "transport", "no tools"],
)
def test_the_same_meaning_finds_the_answer(path: Path, same: Request) -> None:
    """Requests are compared by what reaches the model, not by how they are spelled."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["hi"])) as backend:
        backend.complete(ask("?", temperature=0))
    assert CassetteBackend(path).complete(same).content == "hi"


def test_call_ids_and_the_spelling_of_arguments_do_not_matter(path: Path) -> None:
    """A history with other ids and other white space in its arguments is the same history."""

    def history(identity: str, arguments: str) -> Request:
        call = {"id": identity, "type": "function"}
        whole = {**call, "function": {"name": "f", "arguments": arguments}}
        return Request(
            [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": "", "tool_calls": [whole]},
                {"role": "tool", "tool_call_id": identity, "content": "1"},
            ]
        )

    with CassetteBackend(path, record="once", live=ScriptedBackend(["hi"])) as backend:
        backend.complete(history("call_abc", '{"x": 1, "y": "北"}'))
    other = history("zzz", '{"y":"\\u5317","x":1}')
    assert CassetteBackend(path).complete(other).content == "hi"
    with pytest.raises(CassetteMiss):
        CassetteBackend(path).complete(history("zzz", '{"x": 2, "y": "北"}'))


def test_a_stream_replays_whole_and_a_whole_reply_streams(path: Path, tmp_path: Path) -> None:
    """The form of the recording does not bind the form of the replay."""
    other = tmp_path / "d.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["hello there"])) as backend:
        streamed = list(backend.stream(ask("?")))
    with CassetteBackend(other, record="once", live=ScriptedBackend(["hello there"])) as backend:
        backend.complete(ask("?"))
    assert CassetteBackend(path).complete(ask("?")).content == "hello there"
    assert list(CassetteBackend(path).stream(ask("?"))) == streamed
    texts = [
        choice["delta"].get("content") or ""
        for chunk in CassetteBackend(other).stream(ask("?"))
        for choice in chunk["choices"]
    ]
    assert "".join(texts) == "hello there"


def numbered(path: Path) -> None:
    live = ScriptedBackend(lambda request: f"re {request.messages[0]['content']}")
    with CassetteBackend(path, record="once", live=live) as backend:
        for number in range(24):
            backend.complete(ask(f"q{number}"))


def test_distinct_requests_in_parallel_threads(path: Path) -> None:
    """24 threads that ask 24 questions at once each get their own answer."""
    numbered(path)
    backend = CassetteBackend(path)
    start = threading.Barrier(24)
    got: dict[int, str | None] = {}

    def one(number: int) -> None:
        start.wait(10)
        got[number] = backend.complete(ask(f"q{number}")).content

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {number: f"re q{number}" for number in range(24)}
    assert backend.unplayed == []


def test_distinct_requests_in_parallel_tasks(path: Path) -> None:
    """The same with 24 tasks of one event loop, recording and replaying."""

    async def many(backend: CassetteBackend) -> list[str | None]:
        asked = (Agent(backend).arun(f"q{number}") for number in range(24))
        return [result.answer for result in await asyncio.gather(*asked)]

    live = ScriptedBackend(lambda request: f"re {request.messages[0]['content']}")
    wanted = [f"re q{number}" for number in range(24)]
    with CassetteBackend(path, record="once", live=live) as backend:
        assert asyncio.run(many(backend)) == wanted
    assert asyncio.run(many(CassetteBackend(path))) == wanted


def test_parallel_recording_keeps_every_exchange(path: Path) -> None:
    """24 threads that record at once, each flushing, lose nothing."""
    live = ScriptedBackend(lambda request: f"re {request.messages[0]['content']}")
    backend = CassetteBackend(path, record="once", live=live)
    threads = [threading.Thread(target=Agent(backend).run, args=(f"q{number}",)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = CassetteBackend(path)
    for number in range(24):
        assert again.complete(ask(f"q{number}")).content == f"re q{number}"


def test_recording_over_http_keeps_bytes_and_drops_the_key(path: Path, server: Any) -> None:
    """A live answer is kept with its unknown fields; the key and cookies are not in the file."""
    message = {"role": "assistant", "content": "你好"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "x_new": {"a": 1}}
    server.json(body, **{"set-cookie": "session=abc", "openai-organization": "org-secret"})
    live = LiveBackend(model="m", api_key="very-private-key", base_url=server.url)
    with CassetteBackend(path, record="once", live=live) as backend:
        first = Agent(backend).run("?")
    live.close()
    text = path.read_text(encoding="utf-8")
    for secret in ("very-private", "session=abc", "org-secret", "uthorization", "ookie"):
        assert secret not in text
    assert "你好" in text
    replayed = CassetteBackend(path).complete(ask("?", model="m"))
    assert replayed.raw == body
    assert Agent(CassetteBackend(path)).run("?").to_dict() == first.to_dict()


def test_a_recorded_stream_is_passed_on_as_it_arrives(path: Path, server: Any) -> None:
    """Recording does not wait for the end: the first delta is out before the server sends the last."""
    seen = threading.Event()

    def piece(text: str, finish: str | None = None) -> bytes:
        chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
        return f"data: {json.dumps(chunk)}\n\n".encode()

    server.events(piece("a"), seen, piece("b", "stop"), b"data: [DONE]\n\n")
    live = LiveBackend(model="m", api_key="a test's key", base_url=server.url, max_retries=0)
    with CassetteBackend(path, record="once", live=live) as backend:
        for chunk in backend.stream(ask("?")):
            if chunk["choices"][0]["delta"]["content"] == "a":
                seen.set()
    live.close()
    assert CassetteBackend(path).complete(ask("?")).content == "ab"


def test_replaying_opens_no_socket(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one socket is made while a cassette is played."""
    recorded(path, ToolCall(name="nope"), "hi")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a replay made a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    assert Agent(CassetteBackend(path)).run("?").answer == "hi"


def test_replaying_imports_no_sdk(path: Path) -> None:
    """A fresh interpreter that replays holds none of openai, httpx, vcr and no socket module of theirs."""
    recorded(path, ToolCall(name="nope"), "hi")
    code = (
        "import sys; from react_replay import Agent, CassetteBackend\n"
        "assert Agent(CassetteBackend(sys.argv[1])).run('?').answer == 'hi'\n"
        "print(*[n for n in ('openai', 'httpx', 'httpx2', 'vcr', 'dotenv') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == []


def test_a_missing_cassette_leaves_the_agent(path: Path) -> None:
    """`CassetteMissing` is ours and raised at once."""
    with pytest.raises(CassetteMissing):
        CassetteBackend(path)


def test_a_run_that_broke_off_does_not_replace_a_whole_recording(tmp_path: Path) -> None:
    """In mode `all` an exception in the middle of a run leaves the old cassette as it was."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["whole"])) as backend:
        Agent(backend).run("?")
    before = path.read_bytes()
    with (
        pytest.raises(ScriptExhausted),
        CassetteBackend(path, record="all", live=ScriptedBackend(["Thought"])) as backend,
    ):
        Agent(backend, dialect="zh").run("?")
    assert path.read_bytes() == before


def test_a_run_that_broke_off_keeps_its_turns_where_there_was_nothing(tmp_path: Path) -> None:
    """A first recording that breaks off keeps the turns that were paid for."""
    path = tmp_path / "c.yaml"
    with pytest.raises(ScriptExhausted):
        Agent(CassetteBackend(path, record="once", live=ScriptedBackend(["Thought"])), dialect="zh").run("?")
    assert len(CassetteBackend(path).unplayed) == 1


def test_a_json_path_is_recorded_as_json(tmp_path: Path) -> None:
    """A `.json` cassette is written, read back, added to and replayed as JSON."""
    path = tmp_path / "c.json"
    recorded(path, "one", question="a")
    assert json.loads(path.read_bytes())["version"] == 1
    with CassetteBackend(path, record="new_episodes", live=ScriptedBackend(["two"])) as backend:
        assert Agent(backend).run("b").answer == "two"
    with CassetteBackend(path) as backend:
        assert [Agent(backend).run(question).answer for question in "ab"] == ["one", "two"]


def test_two_recorders_on_one_path_lose_nothing(path: Path) -> None:
    """What another recorder wrote meanwhile stays in the file."""
    first, second = (
        CassetteBackend(path, record="new_episodes", live=ScriptedBackend([answer])) for answer in "12"
    )
    Agent(first).run("a")
    Agent(second).run("b")
    with CassetteBackend(path) as backend:
        assert [Agent(backend).run(question).answer for question in "ab"] == ["1", "2"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_fails_replaces_no_whole_recording(path: Path, stream: bool) -> None:
    """In mode `all` a run that ends as backend_error leaves the old cassette as it was."""
    recorded(path, ToolCall(name="get_date"), "old")
    before = path.read_bytes()
    live = ScriptedBackend([ToolCall(name="get_date"), RuntimeError("down")])
    agent = Agent(CassetteBackend(path, record="all", live=live), tools=[get_date])
    result = last(agent.stream("?")) if stream else agent.run("?")
    assert result.stop_reason == "backend_error"
    assert path.read_bytes() == before


def last(events: Any) -> Any:
    return list(events)[-1].result


def test_a_sub_agents_end_replaces_nothing_yet(path: Path) -> None:
    """In mode `all` a whole recording stays while the outer run is open, and if that one breaks off."""
    recorded(path, "old")
    before = path.read_bytes()

    def replies(request: Request) -> Any:
        if len(request.messages) > 1:
            raise CassetteError("the outer run breaks off")
        outer = request.messages[0]["content"] == "?"
        return ToolCall(name="ask", arguments={"question": "inner"}) if outer else "inner answer"

    backend = CassetteBackend(path, record="all", live=ScriptedBackend(replies))
    inner = Agent(backend).as_tool(name="ask", description="Asks.")
    with pytest.raises(CassetteError):
        Agent(backend, tools=[inner]).run("?")
    assert path.read_bytes() == before


def test_a_session_that_raises_replaces_no_whole_recording(path: Path) -> None:
    """In mode `all` the first of two runs replaces nothing when the `with` block ends in an error."""
    recorded(path, "old")
    before = path.read_bytes()
    live = ScriptedBackend(["new"])
    with pytest.raises(KeyError), CassetteBackend(path, record="all", live=live) as backend:
        Agent(backend).run("?")
        raise KeyError
    assert path.read_bytes() == before


def test_a_live_backend_is_made_when_it_is_needed(path: Path) -> None:
    """`live` may be a function; where everything replays it is not called."""
    recorded(path, "one")

    def make() -> ScriptedBackend:
        made.append(1)
        return ScriptedBackend(["two"])

    made: list[int] = []
    with CassetteBackend(path, record="new_episodes", live=make) as backend:
        assert Agent(backend).run("?").answer == "one"
        assert not made
        assert Agent(backend).run("another").answer == "two"
        assert (backend.live_calls, backend.recorded_turns) == (1, 1)


@pytest.mark.parametrize("body", [b"<html>login</html>", b'{"error": {"code": 429, "message": "slow down"}}'])
def test_an_answer_that_is_none_is_not_recorded(path: Path, server: Any, reply: Any, body: bytes) -> None:
    """A page or an error inside a 200 ends the run as backend_error, and the next session asks again."""
    server.replies.append(reply(pieces=[body]))
    live = LiveBackend(model="m", api_key="a key", base_url=server.url)
    backend = CassetteBackend(path, record="once", live=live)
    assert Agent(backend).run("?").stop_reason == "backend_error"
    live.close()
    assert backend.live_calls == 1
    assert not path.exists()
