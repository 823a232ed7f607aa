"""What `scripts/fuzz` does: the properties of `tests/properties`, run on new inputs for as long as asked.

The inputs are made in a child process, which this one watches: so an input that hangs or kills it is found
too. Every finding is shrunk and written to `tests/regressions`, where the tests run it from then on.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.findings import REGRESSIONS, Findings
from tests.properties import TARGETS, judge

SLICE = 10.0  # seconds for a property until the next one has its turn
SHRINKING = 60.0  # seconds beyond the end for making a finding small
HUNG = 60.0  # seconds without a new input after which the child is given up
MEMORY = 4 << 30  # bytes of address space: what needs more gets a MemoryError, which is a finding
FOUND, USAGE = 1, 2


class _TimeUp(BaseException):
    """Ends a hypothesis run from inside; no `Exception`, so that nothing takes it for a finding."""


class Session:
    """One fuzzing run in the child: counts, time, and the journal that holds the input being tried."""

    def __init__(self, target: str, seconds: float, journal: Path, folder: Path) -> None:
        self.findings = Findings(target, folder)
        self.begin = time.monotonic()
        self.end = self.begin + seconds
        self.tried = 0
        self.folder = journal.parent  # for what is needed until the end
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT)
        self._armed = self._shown = 0.0
        self.smallest: tuple[int, Any, Exception] | None = None

    def try_one(self, held: Any, given: Any) -> None:
        """Judge one input. What was found before is passed over; a new finding is raised."""
        self.tried += 1
        self._note(held.name, given)
        try:
            judge(held, given)
        except Exception as error:
            if self.findings.signature(held, error) in self.findings.known:
                return
            size = len(json.dumps(given))
            if self.smallest is None or size <= self.smallest[0]:
                self.smallest = (size, given, error)
            raise
        finally:
            self._tick()

    def settle(self, held: Any) -> None:
        """Report the smallest failing input of the run that just ended, if there was one."""
        if self.smallest is None:
            return
        _, given, error = self.smallest
        self.smallest = None
        self.findings.add(held, given, error)

    def close(self) -> int:
        os.ftruncate(self._journal, 0)  # the end was in order: nothing is left for the watching process
        faulthandler.cancel_dump_traceback_later()
        spent = time.monotonic() - self.begin
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)
        found = self.findings.count
        said = f"{found} found" if found else "nothing found"
        rate = self.tried / max(spent, 0.01)
        name = self.findings.target
        print(f"{name}: {self.tried} inputs in {spent:.0f} s, {rate:.0f} a second, {said}", flush=True)
        return FOUND if found else 0

    def _note(self, name: str, given: Any) -> None:
        data = json.dumps([name, given]).encode()
        os.pwrite(self._journal, data, 0)
        os.ftruncate(self._journal, len(data))
        now = time.monotonic()
        if now - self._armed > 1:
            # A thread of C: it ends a process that no signal handler of Python's gets to run in.
            faulthandler.dump_traceback_later(HUNG, exit=True, file=sys.__stderr__)
            self._armed = now

    def _tick(self) -> None:
        now = time.monotonic()
        if now - self._shown < 1 or not sys.stderr.isatty():
            return
        self._shown = now
        spent = now - self.begin
        line = (
            f"{self.findings.target}: {self.tried} inputs, {self.tried / max(spent, 0.01):.0f} a second, "
            f"{spent:.0f} s, {max(self.end - now, 0):.0f} s left, {self.findings.count} found"
        )
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _hypothesis(session: Session, held: Any, seed: int, until: float) -> Any:
    """A hypothesis test of one property that runs until then, and a while longer to shrink what it finds."""
    import hypothesis
    from hypothesis import HealthCheck, Phase

    def test(given: Any) -> None:
        limit = until if session.smallest is None else until + SHRINKING
        if time.monotonic() > limit:
            raise _TimeUp
        session.try_one(held, given)

    settings = hypothesis.settings(
        max_examples=10**7,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.target, Phase.shrink],
        verbosity=hypothesis.Verbosity.quiet,
    )
    return hypothesis.seed(seed)(settings(hypothesis.given(held.inputs)(test)))


def _run(session: Session, held: Any, seed: int, until: float) -> None:
    try:
        _hypothesis(session, held, seed, until)()
    except _TimeUp:
        pass
    except Exception:
        # A finding of any kind is in `session.smallest`; what is not there is a fault of the fuzzer's own.
        if session.smallest is None:
            raise
    session.settle(held)


def by_hypothesis(session: Session, held: Sequence[Any], seed: int) -> None:
    """Each property in turn, with a new seed each time, until the time is over."""
    share = min(SLICE, (session.end - session.begin) / len(held))
    for number in itertools.count():
        if time.monotonic() >= session.end:
            return
        current = held[number % len(held)]
        until = min(time.monotonic() + share, session.end)
        _run(session, current, seed + number, until)


def by_atheris(session: Session, target: str, seed: int) -> None:
    """Inputs that reach new lines of the package are kept and changed further; hypothesis shrinks."""
    import atheris

    with atheris.instrument_imports(include=["react_replay"]):
        from tests.properties import properties

        held = properties(target)
    import hypothesis

    tests = [_hypothesis(session, each, seed, session.end + 10**6) for each in held]
    ours: list[Any] = [each.hypothesis.fuzz_one_input for each in tests]

    def one(data: bytes) -> None:
        if time.monotonic() >= session.end:
            sys.stdout.flush()
            os._exit(session.close())
        if not data:
            return
        number = data[0] % len(held)
        try:
            ours[number](data[1:])
        except hypothesis.errors.HypothesisException:
            pass
        except Exception:
            # Hypothesis looks near by for a while; the smallest of all is reported.
            _run(session, held[number], seed, time.monotonic() + SLICE)

    options = [
        f"-seed={seed % 2**31 + 1}",
        "-verbosity=0",
        "-max_len=4096",
        "-len_control=0",
        "-handle_int=0",
    ]
    corpus = session.folder / "corpus"
    corpus.mkdir()
    # Strategies read many bytes: from an empty corpus it would take long to reach the first whole input.
    source = random.Random(seed)
    for number in range(8 * len(held)):
        data = bytes([number]) + source.randbytes(source.randrange(64, 2048))
        Path(corpus, str(number)).write_bytes(data)
    atheris.Setup(["fuzz", *options, str(corpus)], one)
    atheris.Fuzz()


def child(given: argparse.Namespace, journal: Path) -> int:
    """The process that runs the inputs."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    session = Session(given.target, given.seconds, journal, given.folder)
    try:
        if given.engine == "atheris":
            by_atheris(session, given.target, given.seed)
        else:
            from tests.properties import properties

            by_hypothesis(session, properties(given.target), given.seed)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
    return session.close()


def watch(arguments: list[str], given: argparse.Namespace) -> int:
    """Run the child; where it was killed or hung, the input in its journal is the finding."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder, "input")
        command = [
            sys.executable,
            "-m",
            "scripts.fuzzing",
            *arguments,
            f"--seed={given.seed}",
            f"--child={journal}",
        ]
        running = subprocess.Popen(command)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child gets it too, and says what it did
        try:
            code = running.wait()
        finally:
            signal.signal(signal.SIGINT, before)
            if running.poll() is None:
                running.kill()
        left = journal.read_bytes() if journal.exists() else b""
    if not left:
        return code
    name, tried = json.loads(left)
    how = f"signal {-code}" if code < 0 else f"no end after {HUNG:.0f} s"
    Findings(given.target, given.folder).report(name, tried, "the process ended", "an unknown place", [how])
    return FOUND


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="for the same inputs again (default: a new one)")
    parser.add_argument("--engine", choices=["hypothesis", "atheris"], default="hypothesis")
    parser.add_argument(
        "--folder", type=Path, default=REGRESSIONS, help="where findings go (default: %(default)s)"
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.seconds <= 0:
        parser.error(f"--seconds must be more than 0, got {given.seconds}")
    if given.engine == "atheris":
        import importlib.util

        if importlib.util.find_spec("atheris") is None:
            parser.error(
                "atheris is not installed; .venv/bin/pip install -e '.[fuzz]', or use --engine hypothesis"
            )
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(2**31)
    if given.child:
        return child(given, given.child)
    print(f"{given.target}: {given.seconds:g} s by {given.engine}, --seed {given.seed}", flush=True)
    return watch(sys.argv[1:], given)


if __name__ == "__main__":
    sys.exit(main())
