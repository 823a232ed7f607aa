"""The benchmarks cannot rot: a tiny run of each prints its table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def bench(folder: Path, *arguments: str) -> tuple[str, Any]:
    """What a run printed and its figures; the cache is empty, so that no peer is at hand."""
    out = folder / "bench.json"
    command = [sys.executable, "-m", "scripts.benchmarks", *arguments, "--json", str(out), "--rounds", "1"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout, json.loads(out.read_text())


def test_the_loop_bench_prints_and_writes_its_figures(tmp_path: Path) -> None:
    """`bench loop` prints a row a size and writes the same figures as JSON."""
    said, figures = bench(tmp_path, "loop", "--sizes", "2,4")
    assert "ratio" in said
    assert [row["steps"] for row in figures["loop"]] == [2, 4]


def test_the_parser_bench_needs_no_peer(tmp_path: Path) -> None:
    """`bench parser` measures ours at every size, and says of each missing peer why."""
    said, figures = bench(tmp_path, "parser", "--sizes", "100,200")
    measured = figures["parser"]
    assert all(row["ours_us"] > 0 for row in measured["usual"])
    assert all(len(row["ours"]["ms"]) == 2 for row in measured["growth"])
    assert "crewai: not at hand; --peers installs it" in said


def test_the_calculator_bench_needs_no_peer(tmp_path: Path) -> None:
    """`bench calculator` answers its usual expressions as the whitelist does, hostile ones in time."""
    _, figures = bench(tmp_path, "calculator")
    measured = figures["calculator"]
    for row in measured["usual"]:
        assert float(row["value"]) == pytest.approx(float(row["peers"]["whitelist"]["value"]))
    assert all(row["engines"]["calculator"]["ms"] < 200 for row in measured["hostile"])
    assert "grown_kib" in measured["memory"]


def test_the_replay_bench_needs_no_peer(tmp_path: Path) -> None:
    """`bench replay` measures every way on the same files, and says of a missing peer why."""
    said, figures = bench(tmp_path, "replay", "--sizes", "2,3")
    measured = figures["replay"]
    ways = ("above", "floor", "transport", "vcrpy default", "vcrpy body", "vcrpy chat")
    assert [(row["kind"], row["size"]) for row in measured["requests"]] == [
        (kind, size) for kind in ("small", "agent") for size in (2, 3)
    ]
    assert all(row[way] > 0 for row in measured["requests"] for way in ways)
    assert all(row["ours"] > 0 and row["vcrpy"] > 0 for row in measured["loads"])
    assert [row["turns"] for row in measured["runs"]] == [3]
    assert all(row["full"] > 0 and row["delta"] > 0 for row in measured["runs"])
    assert "cassetter: not at hand; --peers installs it" in said


@pytest.mark.parametrize("arguments", [["nothing"], ["loop", "--sizes", "x"], ["loop", "--rounds", "0"]])
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    """An unknown bench, sizes that are no numbers and no rounds are usage errors."""
    command = [sys.executable, "-m", "scripts.benchmarks", *arguments]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False).returncode == 2
