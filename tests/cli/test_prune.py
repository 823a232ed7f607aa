"""`react-replay prune`: the turns that are named go, and nothing else in the file changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import save
from tests.cli.conftest import Command, Make


@pytest.mark.parametrize("layout", ["full", "delta"])
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
@pytest.mark.parametrize("option", [["--turns", "1,3-4"], ["--keep", "2,5"]], ids=["turns", "keep"])
def test_the_named_turns_go(command: Command, make: Make, layout: str, name: str, option: list[str]) -> None:
    """In either layout and format; what stays is the same, provenance and layout too."""
    path = make(name, *"abcde", layout=layout, note="kept")
    before = read_cassette(path)
    done = command("prune", path, *option)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{path}: dropped 3 of 5 turns (1, 3, 4)\n"
    after = read_cassette(path)
    assert list(after.interactions) == [before.interactions[1], before.interactions[4]]
    assert (after.metadata, after.layout) == (before.metadata, before.layout)
    assert path.read_text().startswith("{") is (name == "a.json")


def test_doubles_go_by_request_and_answer(command: Command, make: Make) -> None:
    """The first of them stays; the same question with another answer is no double."""
    path = make("a.yaml", "one")
    (turn,) = read_cassette(path).interactions
    other = {**turn, "response": {**turn["response"], "body": {"string": "{}"}}}
    save(path, [turn, other, turn, turn], {})
    assert "dropped 2 of 4 turns (3, 4)" in command("prune", path, "--duplicates").out
    assert list(read_cassette(path).interactions) == [turn, other]


def test_a_dry_run_writes_nothing(command: Command, make: Make) -> None:
    """It says what would go."""
    path = make("a.yaml", "one", "two")
    before = path.read_bytes()
    assert "would drop 1 of 2 turns (2)" in command("prune", path, "--turns", "2", "--dry-run").out
    assert path.read_bytes() == before


def test_nothing_to_drop_leaves_the_file(command: Command, make: Make) -> None:
    """To its time of writing."""
    path = make("a.yaml", "one", "two")
    before = path.stat().st_mtime_ns
    assert "dropped 0 of 2 turns (none)" in command("prune", path, "--duplicates").out
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(("options", "why"), [
    ([], "prune needs one of"),
    (["--turns", "1", "--duplicates"], "prune needs one of"),
    (["--turns", "3"], "'3' is not among the turns 1 to 2"),
    (["--turns", "2-1"], "'2-1' is not among the turns"),
    (["--turns", "x"], "'x' is no turn; write 3,5 or 7-9"),
    (["--keep", ""], "'' is no turn"),
    (["--turns", "1-2"], "that is every turn"),
])  # fmt: skip
def test_wrong_usage_is_named(command: Command, make: Make, options: list[str], why: str) -> None:
    """Exit code 2, and the file stays."""
    path = make("a.yaml", "one", "two")
    before = path.read_bytes()
    done = command("prune", path, *options)
    assert (done.code, done.out, path.read_bytes()) == (2, "", before)
    assert why in done.err


def test_bad_input_is_named_and_left_alone(command: Command, bad: tuple[Path, str]) -> None:
    """Exit code 3; the path and the reason."""
    done = command("prune", bad[0], "--turns", "1")
    assert (done.code, done.out) == (3, "")
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_another_recorders_layout_is_not_written(command: Command, tmp_path: Path) -> None:
    """The error names the command that makes it ours."""
    path = tmp_path / "a.yaml"
    request = {"body": "{}", "headers": {}, "url": "https://x/v1/chat/completions", "method": "POST"}
    entry = {"request": request, "response": {"body": "{}", "headers": {}, "code": 200}}
    path.write_text(json.dumps({"version": 2, "interactions": [entry, entry]}))
    before = path.read_bytes()
    done = command("prune", path, "--turns", "1")
    assert (done.code, path.read_bytes()) == (3, before)
    assert "react-replay convert" in done.err


def test_a_key_in_the_file_stops_it(command: Command, make: Make) -> None:
    """What is written is free of keys, whoever wrote what is read; `scrub` mends it."""
    path = make("a.yaml", "one", "two")
    path.write_text(path.read_text().replace('"two"', f'"sk-{"a1B2" * 8}"'))
    before = path.read_bytes()
    done = command("prune", path, "--turns", "1")
    assert (done.code, path.read_bytes()) == (3, before)
    assert "react-replay scrub" in done.err
