"""Traffic of a real, weak model: each recording of `cassettes/local-model` replays to the end that it had."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, RunFinished, RunResult, StopReason
from react_replay.cassettes.reading import Cassette, read_cassette
from react_replay.cli.demo import bundled
from react_replay.seeds import SEEDS, seed

FOLDER = Path(__file__).parent.parent / "cassettes" / "local-model"
FILES = sorted(FOLDER.glob("*.yaml"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def agent(backend: CassetteBackend) -> Agent:
    """The article's agent, with the limits and options that were recorded."""
    about = backend.metadata
    made: Mapping[str, Any] = about["agent"]
    article = replace(seed(about["seed"]), options=made["options"], max_steps=made["max_steps"])
    assert (made["dialect"], made["tools"]) == (article.dialect, list(article.tools()))
    return article.agent(backend)


def replayed(path: Path) -> RunResult:
    with CassetteBackend(path) as backend:
        result = agent(backend).run(backend.metadata["question"])
        assert backend.unplayed == []
    return result


def sent(cassette: Cassette) -> list[Mapping[str, Any]]:
    """The options of every recorded request."""
    return [turn.request.options for turn in cassette.recorded if turn.request is not None]


@each_file
def test_a_recording_replays_to_the_end_that_it_had(path: Path) -> None:
    """The stop reason and the number of steps are those of the recorded run, and every turn is played."""
    result = replayed(path)
    ended = {"stop_reason": str(result.stop_reason), "steps": len(result.steps)}
    assert ended == read_cassette(path).metadata["ended"]


@each_file
def test_the_same_result_comes_of_every_way_to_run(path: Path) -> None:
    """`run`, `arun` and `stream` over one recording, made as a stream or not, give the same result."""
    expected = replayed(path).to_dict()
    backend = CassetteBackend(path)
    question = backend.metadata["question"]
    assert asyncio.run(agent(backend).arun(question)).to_dict() == expected
    *_, last = agent(CassetteBackend(path)).stream(question)
    assert isinstance(last, RunFinished)
    assert last.result.to_dict() == expected


@each_file
def test_the_command_line_replays_it_with_nothing_but_the_question(path: Path) -> None:
    """`react-replay run` takes all else from the file, and its exit code says how the run ended."""
    about = read_cassette(path).metadata
    command = [sys.executable, "-m", "react_replay", "run", about["question"], "--cassette", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)
    answered = about["ended"]["stop_reason"] == "answer"
    assert done.returncode == (0 if answered else 1), done.stderr
    assert f"stopped: {about['ended']['stop_reason']}, replayed offline, 0 network calls" in done.stderr


@each_file
def test_a_recording_says_where_it_comes_from(path: Path) -> None:
    """Model, SDK, date and provider stand in the file, and it is small."""
    about = read_cassette(path).metadata
    assert about["origin"] == "local-model"
    assert about["provider"] == "local"
    assert all(about[name] for name in ("model", "sdk", "recorded_at", "recorder"))
    assert path.stat().st_size < 60_000


@each_file
def test_a_recording_is_of_real_traffic(path: Path) -> None:
    """It came over HTTP, streamed as it says, and every request said how many tokens it wants at most."""
    cassette = read_cassette(path)
    assert all(turn.url.startswith("http") for turn in cassette.recorded)
    assert {turn.streamed for turn in cassette.recorded} == {cassette.metadata["streamed"]}
    assert len(sent(cassette)) == len(cassette.recorded)
    assert all(options["max_tokens"] > 0 for options in sent(cassette))
    # It goes by its name, not by its place on the machine that ran it.
    assert {options["model"] for options in sent(cassette)} == {cassette.metadata["model"]}
    assert not Path(cassette.metadata["model"]).is_absolute()


def test_the_recordings_cover_every_dialect_streamed_and_not() -> None:
    """Each article's dialect was recorded in at least one run, and both ways of answering were."""
    about = [read_cassette(path).metadata for path in FILES]
    assert {each["agent"]["dialect"] for each in about} == {article.dialect for article in SEEDS}
    assert {each["streamed"] for each in about} == {True, False}


def test_the_recordings_hold_what_a_weak_model_does() -> None:
    """Among the runs are a reply cut at its limit, a turn that had to be mended, and a tool call that ran."""
    results = [replayed(path) for path in FILES]
    assert any(result.stop_reason is StopReason.LENGTH for result in results)
    assert any(step.mend for result in results for step in result.steps)
    assert any(seen.ok for result in results for step in result.steps for seen in step.observations)


def test_the_recordings_ship_with_the_package() -> None:
    """They lie where the demo's cassettes lie, which goes into the wheel as a whole."""
    assert sorted((bundled() / "local-model").glob("*.yaml"))
