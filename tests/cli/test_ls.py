"""`react-replay ls`: what is in a folder of cassettes, whose they are, and whether their turns agree."""

from __future__ import annotations

import json
from pathlib import Path

from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import save
from tests.cli.conftest import Command, Make


def test_a_table_of_at_most_80_columns(command: Command, make: Make, tmp_path: Path) -> None:
    """One line a cassette, and a sum; the end of a long path is kept."""
    make("a.yaml", "one", "two", model="m" * 40, recorded_at="2026-01-02T03:04:05+00:00")
    make("a-folder-with-a-long-name/b.yaml", "one", layout="delta")
    done = command("ls", tmp_path)
    assert (done.code, done.err) == (0, "")
    head, *rows, total = done.out.splitlines()
    assert head.split() == ["path", "model", "date", "origin", "turns", "tokens", "layout", "size"]
    assert [row.split()[2:7] for row in rows if "a.yaml" in row] == [
        ["2026-01-02", "scripted", "2", "14", "full"]
    ]
    assert any("b.yaml" in row and "delta" in row for row in rows)
    assert total.split()[:4] == ["2", "cassettes", "3", "21"]
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_json_is_one_object_a_cassette(command: Command, make: Make, tmp_path: Path) -> None:
    """With whole paths and plain numbers."""
    path = make("a.yaml", "one", test_id="tests/test_a.py::test_one")
    (entry,) = json.loads(command("ls", "--json", tmp_path).out)
    assert entry["path"] == str(path)
    assert (entry["turns"], entry["tokens"], entry["bytes"]) == (1, 7, path.stat().st_size)
    assert (entry["test"], entry["orphan"]) == ("tests/test_a.py::test_one", "there is no tests/test_a.py")
    assert entry["drift"] == []


def test_an_orphan_is_named(command: Command, make: Make, tmp_path: Path) -> None:
    """A cassette whose test file is gone, or has no such test any more; parameters are not looked at."""
    tests = tmp_path / "tests"
    for name in ("one", "two"):
        make(f"tests/cassettes/test_a/{name}.yaml", "?", test_id=f"tests/test_a.py::TestIt::test_{name}[x]")
    make("tests/cassettes/test_b/three.yaml", "?", test_id="tests/test_b.py::test_three")
    (tests / "test_a.py").write_text(
        "class TestIt:\n    def test_one(self): ...\n    def test_twofold(self): ...\n"
    )
    said = command("ls", tests).out.splitlines()
    notes = " ".join(line.strip() for line in said if line.startswith("  "))
    assert notes == (
        "orphan of tests/test_a.py::TestIt::test_two[x]: tests/test_a.py has no test_two "
        "orphan of tests/test_b.py::test_three: there is no tests/test_b.py"
    )


def test_turns_that_differ_in_what_they_ask_with_are_named(
    command: Command, make: Make, tmp_path: Path
) -> None:
    """As after a cassette was recorded anew in part, with another prompt or model."""
    path = make("a.yaml", "one", "two")
    first, second = read_cassette(path).interactions
    body = json.loads(second["request"]["body"])
    body |= {"model": "n", "temperature": 0.5}
    body["messages"].insert(0, {"role": "system", "content": "Be brief."})
    second = {**second, "request": {**second["request"], "body": json.dumps(body)}}
    save(path, [first, second], {})
    assert "  drift: its turns differ in model, system, temperature\n" in command("ls", path).out
    assert json.loads(command("ls", "--json", path).out)[0]["drift"] == ["model", "system", "temperature"]


def test_other_files_of_a_folder_are_left_out(command: Command, make: Make, tmp_path: Path) -> None:
    """What is no cassette; and what is one, and cannot be read, is said."""
    make("a.yaml", "one")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    assert command("ls", tmp_path)[0::2] == (0, "")
    (tmp_path / "b.yaml").write_text("interactions: 5")
    done = command("ls", tmp_path)
    assert (done.code, "a.yaml" in done.out, "b.yaml cannot be read" in done.err) == (3, True, True)


def test_no_cassette_at_all_is_said(command: Command, tmp_path: Path) -> None:
    """An empty folder is no success."""
    done = command("ls", tmp_path)
    assert (done.code, done.out) == (3, "")
    assert "there is no cassette of chat completions" in done.err


def test_bad_input_is_named(command: Command, bad: tuple[Path, str]) -> None:
    """Exit code 3; the path and the reason."""
    done = command("ls", bad[0])
    assert (done.code, done.out) == (3, "")
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_names_in_a_file_do_not_reach_the_terminal_raw(command: Command, make: Make) -> None:
    """A cassette is anyone's file: control characters are shown as escapes."""
    path = make("a.yaml", "one", model="m\x1b[2J", test_id="x\x1b[2J.py::t")
    assert "\x1b" not in command("ls", path).out
