"""The benchmarks cannot rot: a tiny run of each prints its table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_loop_bench_prints_and_writes_its_figures(tmp_path: Path) -> None:
    """`bench loop` prints a row a size and writes the same figures as JSON."""
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "scripts/benchmarks.py"), "loop", "--json", str(out)]
    done = subprocess.run(
        [*command, "--sizes", "2,4", "--rounds", "1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "ratio" in done.stdout
    assert [row["steps"] for row in json.loads(out.read_text())["loop"]] == [2, 4]
