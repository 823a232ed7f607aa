"""A program for `test_recording.py`: records in a child, kills it at a chosen instant, looks what is left.

Every call into a function, and every return from one, of the modules that write is an instant. The first
child runs through and counts them; then one child is killed at each chosen one, by SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from react_replay import CassetteBackend, Request, ScriptedBackend

TURNS = 4
SYSTEM = {"replace", "fsync", "write", "unlink", "open", "ftruncate", "close", "mkstemp"}


def asked(turn: int) -> Request:
    return Request([{"role": "user", "content": f"question {turn} 北京"}])


def said(turn: int) -> str:
    return f"answer {turn} 晴天 🌞"


def answered(request: Request) -> str:
    return said(int(request.messages[0]["content"].split()[1]))


def record(path: Path, acknowledge: Callable[[int], None]) -> None:
    """Four turns, whole and streamed, with the file written after each second one."""
    backend = CassetteBackend(path, record="new_episodes", live=ScriptedBackend(answered))
    for turn in range(TURNS):
        backend.begin()
        if turn % 2:
            list(backend.stream(asked(turn)))
        else:
            backend.complete(asked(turn))
        acknowledge(turn)
        backend.flush(complete=turn % 2 == 1)
    backend.close()


class Instants:
    """Counts the instants of the writing modules; at `fatal` the process is no more."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.count = 0
        self.system: list[int] = []
        self.names: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        # What our code calls counts as well, such as the path methods that replace and remove a file.
        caller = frame.f_back
        files = (frame.f_code.co_filename, caller.f_code.co_filename if caller else "")
        if not any("react_replay/cassettes/" in name for name in files):
            return
        self.count += 1
        if event.startswith("c_") and getattr(arg, "__name__", "") in SYSTEM:
            self.system.append(self.count)
            self.names.append(arg.__name__)
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def child(path: Path, fatal: int) -> tuple[list[int], dict[str, Any], int]:
    """Record in a child; gives the acknowledged turns, what was counted, and how the child ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        instants = Instants(fatal)
        sys.setprofile(instants)
        record(path, lambda turn: void(os.write(writer, f"{turn}\n".encode())))
        sys.setprofile(None)
        os.write(
            writer,
            json.dumps(
                {"count": instants.count, "system": instants.system, "names": instants.names}
            ).encode(),
        )
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        *turns, last = [*lines.read().split("\n"), ""][:-1] or [""]
    status = os.waitpid(pid, 0)[1]
    counted = json.loads(last) if last else {}
    return [int(turn) for turn in turns], counted, status


def void(_: object) -> None:
    """For a lambda that is called for its effect."""


def main() -> None:
    folder, wanted = Path(sys.argv[1]), int(sys.argv[2])
    record(folder / "warm.yaml", void)  # what is imported on first use is imported here
    _, counted, status = child(folder / "whole.yaml", 0)
    assert status == 0, "the recorder failed without being killed"
    total, system = counted["count"], counted["system"]
    spread = {round(total * number / wanted) + 1 for number in range(wanted)}
    instants = sorted({*spread, *system, *(instant + 1 for instant in system)})
    kills = lost = 0
    for instant in instants:
        path = folder / f"{instant}" / "c.yaml"
        path.parent.mkdir()
        turns, _, status = child(path, instant)
        if status == 0:
            continue
        kills += 1
        lost += sum(not replays(path, turn) for turn in turns)
        record(path, void)  # the next session goes on, and asks only for what is missing
        assert not [*path.parent.glob("*.journal")], f"a journal stayed after the kill at {instant}"
        lost += sum(not replays(path, turn) for turn in range(TURNS))
        again = CassetteBackend(path)
        assert len(again.unplayed) == TURNS, f"{len(again.unplayed)} turns after the kill at {instant}"
    print(json.dumps({"kills": kills, "lost": lost, "names": sorted({*counted["names"]})}))


def replays(path: Path, turn: int) -> bool:
    return CassetteBackend(path).complete(asked(turn)).content == said(turn)


if __name__ == "__main__":
    main()
