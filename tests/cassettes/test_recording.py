"""Recording loses nothing: kills at any instant, torn lines, full disks, several recorders at once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, Request, ScriptedBackend, ToolCall
from react_replay.cassettes.journal import Journal, left_journals
from react_replay.errors import CassetteError, CassetteMissing

PROGRAM = Path(__file__).with_name("killed_recorder.py")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, locks and limits of POSIX")


def ask(question: str) -> Request:
    return Request([{"role": "user", "content": question}])


def unfinished(path: Path, *questions: str, record: str = "once") -> None:
    """A session that answered some questions and broke off."""
    backend = CassetteBackend(path, record=record, live=ScriptedBackend([q.upper() for q in questions]))
    backend.begin()
    for question in questions:
        backend.complete(ask(question))
    backend.flush(complete=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def test_a_kill_at_any_instant_loses_no_finished_exchange(tmp_path: Path) -> None:
    """SIGKILL at 200 instants and more, the compiling and the replacing among them: all turns are there."""
    made = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), "100"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found["kills"] >= 200
    assert found["lost"] == 0
    assert {"replace", "unlink", "fsync", "write"} <= {*found["names"]}


def test_a_recording_that_broke_off_is_replayed_from_its_journal(path: Path) -> None:
    """Without a cassette the journal's turns are there in mode `none`, which writes nothing."""
    unfinished(path, "a", "b")
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    assert CassetteBackend(path).complete(ask("b")).content == "B"
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before
    assert not path.exists()


def test_the_next_session_goes_on_where_one_broke_off(path: Path) -> None:
    """`once` replays what was paid for, asks for the rest, and then writes the cassette with both."""
    unfinished(path, "a")
    live = ScriptedBackend(["B"])
    with CassetteBackend(path, record="once", live=live) as backend:
        assert [backend.complete(ask(question)).content for question in "ab"] == ["A", "B"]
    assert len(live.requests) == 1
    assert left_journals(path) == []
    assert [CassetteBackend(path).complete(ask(question)).content for question in "ab"] == ["A", "B"]


def test_the_tools_clock_goes_on_too(path: Path) -> None:
    """A session that goes on keeps the recording time of the one that broke off."""
    first = CassetteBackend(path, record="once", live=ScriptedBackend(["A"]))
    first.begin()
    first.complete(ask("a"))
    first.flush(complete=False)
    [journal] = left_journals(path)
    text = journal.read_text(encoding="utf-8")
    assert first.recorded_at is not None
    journal.write_text(
        text.replace(first.recorded_at.isoformat(), "2025-01-01T00:00:00+00:00"), encoding="utf-8"
    )
    second = CassetteBackend(path, record="once", live=ScriptedBackend(["B"]))
    assert second.recorded_at is not None
    assert second.recorded_at.year == 2025


@pytest.mark.parametrize("torn", [1, 20, 200])
def test_a_torn_last_line_is_dropped_before_anything_is_appended(path: Path, torn: int) -> None:
    """Half a line that a kill left is cut off: the lines before and after it stay whole."""
    unfinished(path, "a", "b")
    [journal] = left_journals(path)
    data = journal.read_bytes()
    journal.write_bytes(data[:-torn])
    with CassetteBackend(path, record="once", live=ScriptedBackend(["B again", "C"])) as backend:
        said = [backend.complete(ask(question)).content for question in "abc"]
    assert said == ["A", "B again", "C"]
    assert len(CassetteBackend(path).unplayed) == 3


def test_a_broken_line_inside_a_journal_is_named(path: Path) -> None:
    """What is no torn end is never dropped in silence: the error names file and line."""
    unfinished(path, "a", "b")
    [journal] = left_journals(path)
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"garbage", *lines[2:]]))
    for mode in ("none", "once"):
        with pytest.raises(CassetteError, match="line 2 of the journal"):
            CassetteBackend(path, record=mode, live=ScriptedBackend([]))


def test_a_replacement_that_broke_off_waits_for_its_like(path: Path) -> None:
    """In mode `all` the old cassette stays; the next `all` session replays what was paid for already."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["old a", "old b"])) as backend:
        assert [backend.complete(ask(question)).content for question in "ab"] == ["old a", "old b"]
    unfinished(path, "a", "x", record="all")
    assert CassetteBackend(path).complete(ask("a")).content == "old a"
    assert len(CassetteBackend(path).unplayed) == 2
    live = ScriptedBackend(["new b"])
    with CassetteBackend(path, record="all", live=live) as backend:
        assert [backend.complete(ask(question)).content for question in "ab"] == ["A", "new b"]
    assert [CassetteBackend(path).complete(ask(question)).content for question in "ab"] == ["A", "new b"]
    assert len(CassetteBackend(path).unplayed) == 2  # x was of the run that broke off
    assert left_journals(path) == []


def test_a_session_goes_on_after_its_own_broken_run(path: Path) -> None:
    """One backend, a run that breaks off and one that ends well: the cassette holds the turns of both."""
    backend = CassetteBackend(
        path, record="once", live=ScriptedBackend([ToolCall(name="x"), KeyError, "done"])
    )
    assert Agent(backend).run("first").stop_reason == "backend_error"
    assert Agent(backend).run("second").answer == "done"
    assert len(CassetteBackend(path).unplayed) == 2


def test_a_journal_belongs_to_who_took_it_up(path: Path) -> None:
    """What another session has taken up and written is not written again by the first."""
    first = CassetteBackend(path, record="new_episodes", live=ScriptedBackend(["A", "C"]))
    first.begin()
    first.complete(ask("a"))
    first.flush(complete=False)
    with CassetteBackend(path, record="new_episodes", live=ScriptedBackend(["B"])) as second:
        assert [second.complete(ask(question)).content for question in "ab"] == ["A", "B"]
    first.begin()
    first.complete(ask("c"))
    first.flush()
    assert len(CassetteBackend(path).unplayed) == 3
    assert left_journals(path) == []


def test_a_held_journal_is_not_taken(path: Path) -> None:
    """While its recorder lives and records, nobody else takes up its turns."""
    journal = Journal.create(path, {})
    assert Journal.take(journal.path) is None
    journal.close()
    taken = Journal.take(journal.path)
    assert taken is not None
    taken.remove()
    assert left_journals(path) == []


TWO = """
import sys
from react_replay import CassetteBackend, Request, ScriptedBackend
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
live = ScriptedBackend(lambda request: request.messages[0]["content"].upper())
backend = CassetteBackend(path, record="new_episodes", live=live)
for number in range(count):
    backend.begin()
    backend.complete(Request([{"role": "user", "content": f"{name}{number}"}]))
    backend.flush()
"""


def test_two_processes_on_one_cassette_lose_nothing(path: Path) -> None:
    """Two recorders that write the same file again and again: every turn of both is in it."""
    children = [subprocess.Popen([sys.executable, "-c", TWO, str(path), name, "12"]) for name in "ab"]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    backend = CassetteBackend(path)
    for name in "ab":
        for number in range(12):
            assert backend.complete(ask(f"{name}{number}")).content == f"{name}{number}".upper()
    assert backend.unplayed == []
    assert left_journals(path) == []


FULL = """
import resource, signal, sys
from react_replay import Agent, CassetteBackend, CassetteError, ScriptedBackend
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
backend = CassetteBackend(sys.argv[1], record="new_episodes", live=ScriptedBackend(["x" * 30_000]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    Agent(backend).run("new")
except CassetteError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [10_000, 33_000])
def test_a_full_disk_leaves_the_old_cassette_whole(path: Path, room: int) -> None:
    """A write that fails, of the journal or of the new file, is an error; what stood there stands."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["old" * 2_000])) as backend:
        Agent(backend).run("old")
    before = path.read_bytes()
    made = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "cannot be written" in made.stdout, made.stderr
    assert path.read_bytes() == before
    assert not [*path.parent.glob("*.tmp")]


def test_a_secret_stops_the_recording_before_it_reaches_a_file(path: Path) -> None:
    """A key in an answer is refused with its place as it arrives; no file holds it, earlier turns stay."""
    key = "sk-" + "a1B2" * 8
    backend = CassetteBackend(path, record="once", live=ScriptedBackend(["fine", f"the key is {key}"]))
    backend.begin()
    backend.complete(ask("a"))
    with pytest.raises(CassetteError, match=r"response\.body\.string"):
        backend.complete(ask("b"))
    backend.flush(complete=False)
    assert not [file for file in path.parent.iterdir() if key in file.read_text(encoding="utf-8")]
    assert CassetteBackend(path).complete(ask("a")).content == "fine"


def test_nothing_recorded_leaves_no_file(path: Path) -> None:
    """A session that only replays, or records nothing, leaves no journal and no cassette."""
    with CassetteBackend(path, record="once", live=ScriptedBackend([])):
        pass
    assert [*path.parent.iterdir()] == []
    with pytest.raises(CassetteMissing):
        CassetteBackend(path)


def test_parallel_recording_is_journaled_whole(path: Path) -> None:
    """Many threads on one recorder: every line of the journal is whole."""
    live = ScriptedBackend(lambda request: str(request.messages[0]["content"]).upper())
    backend = CassetteBackend(path, record="once", live=live)
    backend.begin()
    threads = [threading.Thread(target=backend.complete, args=(ask(f"q{n}"),)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backend.flush(complete=False)
    replayed = CassetteBackend(path)
    assert [replayed.complete(ask(f"q{n}")).content for n in range(24)] == [f"Q{n}" for n in range(24)]


def test_the_end_of_a_stream_is_handed_on_when_it_is_kept(path: Path) -> None:
    """While a stream is recorded its text comes at once, its last chunk when the journal holds it."""
    backend = CassetteBackend(path, record="once", live=ScriptedBackend(["some text that is cut in pieces"]))
    stream = backend.stream(ask("a"))
    seen: list[Any] = []
    for chunk in stream:
        seen.append(bool(left_journals(path)))
        if chunk["choices"][0]["finish_reason"]:
            break
    assert seen[:2] == [False, False]
    assert seen[-1]
