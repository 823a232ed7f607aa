"""Engines as child processes, and the peers' venvs: folders of the user's cache, made when asked for.

Nothing is measured here and nothing is installed into the project's own venv.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Engine", "Failure", "alone", "find", "pairs"]

CHILD = Path(__file__).with_name("engine.py")
BATCH = 0.01  # CPU seconds of one measurement at least
START = 120.0  # seconds that an engine may take to import


class Failure(Exception):
    """Why there is no figure: not installed, hangs, raises."""


class Engine:
    """One engine in its own process, started when needed and again after it was killed."""

    def __init__(self, name: str, python: str = sys.executable) -> None:
        self.name = name
        self._python = python
        self._running: subprocess.Popen[str] | None = None

    def run(self, text: str, count: int = 1, timeout: float = 60.0) -> dict[str, Any]:
        """Send one text. Raises `Failure` where no answer comes in time."""
        process = self._process()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"text": text, "count": count}) + "\n")
            process.stdin.flush()
        except OSError as error:
            self.close()
            raise Failure("the process died") from error
        return self._answer(timeout)

    def close(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            for pipe in (self._running.stdin, self._running.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._running = None

    def _process(self) -> subprocess.Popen[str]:
        if self._running is None:
            # -P: the folder of the script is no place to import from.
            command = [self._python, "-P", str(CHILD), self.name]
            pipe = subprocess.PIPE
            self._running = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
            )
            self._answer(START)
        return self._running

    def _answer(self, timeout: float) -> dict[str, Any]:
        process = self._running
        assert process is not None
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], timeout)
        line = process.stdout.readline() if ready else ""
        if not line:
            self.close()
            raise Failure("the process died" if ready else f"no end after {timeout:g} s")
        answer: dict[str, Any] = json.loads(line)
        return answer


def calibrated(engine: Engine, text: str) -> int:
    """How many runs make one measurement long enough."""
    count = 1
    while (seconds := engine.run(text, count)["seconds"]) < BATCH and count < 100_000:
        count = int(count * min(max(1.2 * BATCH / max(seconds, 1e-6), 2), 50))
    return count


def alone(engine: Engine, text: str, rounds: int) -> float:
    """Median CPU microseconds of a run."""
    count = calibrated(engine, text)
    return statistics.median(engine.run(text, count)["seconds"] for _ in range(rounds)) / count * 1e6


def pairs(ours: Engine, other: Engine, text: str, rounds: int) -> tuple[float, float]:
    """Median CPU microseconds of a run, measured in turns: A B A B."""
    counts = [(engine, calibrated(engine, text)) for engine in (ours, other)]
    seen: dict[str, list[float]] = {ours.name: [], other.name: []}
    for _ in range(rounds):
        for engine, count in counts:
            seen[engine.name].append(engine.run(text, count)["seconds"] / count * 1e6)
    return statistics.median(seen[ours.name]), statistics.median(seen[other.name])


def find(package: str, *, install: bool, also: Sequence[str] = ()) -> str:
    """The Python of the peer's venv, installed, with what it needs `also`, if asked for.

    Raises `Failure` that says why there is none.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "react-replay-bench" / f"{package}-{sys.version_info[0]}.{sys.version_info[1]}"
    python, stamp = folder / "bin" / "python", folder / "installed"
    if stamp.exists() and python.exists():
        return str(python)
    if not install:
        raise Failure("not at hand; --peers installs it")
    print(f"installing {package} into {folder}", file=sys.stderr, flush=True)
    steps = ([sys.executable, "-m", "venv", "--clear", str(folder)],)
    steps += (
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, *also],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=900, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure("not installed: no end after 900 s") from error
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise Failure(f"not installed: {said[-1].strip()[:120]}")
    stamp.touch()
    return str(python)
