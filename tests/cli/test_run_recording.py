"""`react-replay run` while it records: `--layout`, `--redact`, and the recorder's advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from react_replay.cassettes.reading import read_cassette
from tests.cli.conftest import Command

KEY = "sk-" + "a1B2" * 8


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A run of three turns."""
    call = {"name": "calculator", "arguments": {"expression": "6 * 7"}}
    path = tmp_path / "script.json"
    path.write_text(json.dumps([call, call, "42"]))
    return path


def record(
    command: Command, path: Path, script: Path, *options: str, question: str = "What is 6 * 7?"
) -> Any:
    return command("run", question, "--cassette", path, "--record", "once", "--script", script, *options)


@pytest.mark.parametrize(("options", "layout"), [([], "vcrpy"), (["--layout", "delta"], "delta")])
def test_the_layout_is_the_asked_one_and_it_replays(
    command: Command, script: Path, tmp_path: Path, options: list[str], layout: str
) -> None:
    """Full where nothing is said; a replay needs no word about it."""
    path = tmp_path / "c.yaml"
    assert record(command, path, script, *options).code == 0
    assert read_cassette(path).layout == layout
    done = command("run", "What is 6 * 7?", "--cassette", path)
    assert (done.code, done.out) == (0, "42\n")


def test_a_key_stops_the_recording_unless_it_is_to_be_replaced(
    command: Command, script: Path, tmp_path: Path
) -> None:
    """Exit code 3 and no file; with --redact a placeholder, and the question replays as it was asked."""
    path, question = tmp_path / "c.yaml", f"What is 6 * 7? My key is {KEY}"
    done = record(command, path, script, question=question)
    assert (done.code, path.exists(), KEY in done.err, "--redact" in done.err) == (3, False, False, True)
    assert record(command, path, script, "--redact", question=question).code == 0
    assert KEY not in path.read_text()
    assert command("run", question, "--cassette", path).out == "42\n"


def test_a_long_run_is_told_of_the_delta_layout(command: Command, script: Path, tmp_path: Path) -> None:
    """One line on stderr, with a command; the answer is on stdout as ever."""
    question = "What is 6 * 7? " + "word " * 100_000
    done = record(command, tmp_path / "c.yaml", script, question=question)
    assert (done.code, done.out) == (0, "42\n")
    (line,) = [line for line in done.err.splitlines() if line.startswith("react-replay:")]
    assert f"react-replay convert {tmp_path / 'c.yaml'} NEW.yaml --layout delta" in line


@pytest.mark.parametrize(("options", "why"), [
    (["--layout", "delta"], "it needs --record"),
    (["--layout", "delta", "--record", "rekey"], "it needs --record"),
    (["--layout", "dleta", "--record", "once"], "did you mean 'delta'"),
])  # fmt: skip
def test_a_layout_that_has_no_effect_or_is_none_is_refused(
    command: Command, tmp_path: Path, options: list[str], why: str
) -> None:
    """Exit code 2, and no file."""
    path = tmp_path / "c.yaml"
    done = command("run", "What?", "--cassette", path, *options)
    assert (done.code, path.exists(), why in done.err) == (2, False, True), done.err
