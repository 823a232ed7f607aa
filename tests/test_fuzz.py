"""`scripts/fuzz`: what it finds becomes a test case, and it ends when and how it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from scripts import fuzzing
from tests.properties import Property

ROOT = Path(__file__).parent.parent


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.fuzzing", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def run(folder: Path, held: Property) -> list[dict[str, Any]]:
    """The findings of a short run over one property."""
    session = fuzzing.Session("calculator", 1.0, folder / "journal", folder / "found")
    fuzzing.by_hypothesis(session, [held], 1)
    assert session.close() == 1
    return [json.loads(path.read_text()) for path in (folder / "found").glob("*.json")]


def at_most_ten(number: int) -> None:
    assert number <= 10


def ends(number: int) -> None:
    while number > 10:
        pass


def test_a_clean_run_says_so(tmp_path: Path) -> None:
    """A run that finds nothing ends in time with 0, one line of figures and no file."""
    done = fuzz("calculator", "--seconds", "1", "--seed", "1", "--folder", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_finding_is_shrunk_and_written(tmp_path: Path, capsys: Any) -> None:
    """The smallest input that breaks a property is written once, as a case for the regressions."""
    [found] = run(tmp_path, Property(name="small", inputs=st.integers(), check=at_most_ten))
    assert (found["target"], found["property"], found["input"]) == ("calculator", "small", 11)
    said = capsys.readouterr().out
    assert "assert number <= 10" in said
    assert "scripts/test" in said


def test_an_endless_input_is_found(tmp_path: Path) -> None:
    """An input that does not end within its CPU time is a finding like any other."""
    held = Property(name="ends", inputs=st.integers(0, 20), check=ends, seconds=0.1)
    [found] = run(tmp_path, held)
    assert found["found"].startswith("TooSlow")
    assert found["input"] > 10


@pytest.mark.parametrize("arguments", [["nothing"], ["loop", "--seconds", "0"], ["loop", "--engine", "x"]])
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    """An unknown target, no time and an unknown engine are usage errors."""
    assert fuzz(*arguments).returncode == 2
