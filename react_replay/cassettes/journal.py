"""Recordings in progress: one file a recorder, one line an exchange, beside the cassette it is for.

A line is written before its answer is handed on, so a kill at any instant loses no finished exchange. A
journal is locked by its recorder while that lives; one that nobody holds was left by a kill, and is taken up.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from react_replay.errors import CassetteError

__all__ = [
    "Journal",
    "Left",
    "digest_of",
    "left_journals",
    "left_turns",
    "locked_folder",
    "pending_turns",
]

_BYTES = "$bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a journal holds: who wrote it and why, and the interactions, each in the cassette's own layout.

    `compiled` of them had been put into a cassette whose bytes have the digest `compiled_as`.
    """

    path: Path
    head: Mapping[str, Any] = field(default_factory=dict)
    interactions: tuple[Mapping[str, Any], ...] = ()
    compiled: int = 0
    compiled_as: str = ""


class Journal:
    """An open journal, locked. Raises `CassetteError` where it cannot be written."""

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self._file = file

    @classmethod
    def create(cls, cassette: Path, head: Mapping[str, Any]) -> Journal:
        """A new journal beside a cassette; its first line says whose it is."""
        try:
            cassette.parent.mkdir(parents=True, exist_ok=True)
            number = 0
            while True:
                path = cassette.with_name(f"{cassette.name}.{os.getpid()}-{number}.journal")
                try:
                    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND, 0o644)
                    break
                except FileExistsError:
                    number += 1
        except OSError as error:
            raise _unwritable(cassette, error) from error
        _lock(file)
        journal = cls(path, file)
        journal._append({"journal": 1, **head})
        return journal

    @classmethod
    def take(cls, path: Path) -> Journal | None:
        """A journal that was left, locked for us and cut to its whole lines; None where it has an owner."""
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError:
            return None
        if not _lock(file) or not path.exists():  # it was compiled and removed while we waited for it
            os.close(file)
            return None
        data = _read_all(file)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(file, whole)
        return cls(path, file)

    @classmethod
    def peek(cls, path: Path) -> Left | None:
        """What a journal holds by now, whoever writes it; None where it is gone. Nothing is changed."""
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            return _parsed(path, _read_all(file))
        finally:
            os.close(file)

    def add(self, interaction: Mapping[str, Any]) -> None:
        """Append one interaction, and hand it to the system: after that a kill cannot lose it."""
        self._append({"interaction": interaction})

    def compiling(self, count: int, digest: str) -> None:
        """Note that the first `count` interactions are about to be in a cassette of that digest."""
        self._append({"compiled": count, "digest": digest})

    def read(self) -> Left:
        """What it holds by now."""
        return _parsed(self.path, _read_all(self._file))

    def remove(self) -> None:
        """The cassette holds all of it: let go of the file, and delete it."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the file, which stays for whoever goes on."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=_from_bytes)
        data = memoryview(text.encode("utf-8", "surrogatepass") + b"\n")
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            while data:  # a write may be short
                data = data[os.write(self._file, data) :]
        except OSError as error:
            os.ftruncate(self._file, end)  # half a line must not stand before the next
            raise _unwritable(self.path, error) from error


def left_journals(cassette: Path) -> list[Path]:
    """The journals beside a cassette, oldest first, whoever holds them."""
    shape = re.compile(rf"{re.escape(cassette.name)}\.\d+-\d+\.journal")
    try:
        found = [entry for entry in os.scandir(cassette.parent) if shape.fullmatch(entry.name)]
        return [Path(entry.path) for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]
    except OSError:
        return []


@contextmanager
def locked_folder(cassette: Path) -> Iterator[None]:
    """Hold the cassette's folder while its file is read again and replaced: recorders take turns."""
    try:
        import fcntl

        folder = os.open(cassette.parent, os.O_RDONLY)
    except (ImportError, OSError):  # Windows has no lock on a folder; its recorders must not share a file
        yield
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def left_turns(path: Path) -> Left:
    """What a broken-off recording holds for the cassette at `path`, to read and not to take up."""
    found = Left(path=path)
    for journal in left_journals(path):
        left = Journal.peek(journal)
        if left is None or (left.head.get("replaces") and path.exists()):
            continue
        head = {**left.head, **found.head}
        found = Left(path=journal, head=head, interactions=found.interactions + pending_turns(left, path))
    return found


def pending_turns(left: Left, cassette: Path) -> tuple[Mapping[str, Any], ...]:
    """The turns of a journal that its cassette does not hold: a kill may have come after the replacement."""
    if left.compiled:
        try:
            done = digest_of(cassette.read_bytes()) == left.compiled_as
        except OSError:
            done = False
        return left.interactions[left.compiled :] if done else left.interactions
    return left.interactions


def digest_of(data: bytes) -> str:
    """The digest by which a journal knows that a cassette holds its turns."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _lock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read_all(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _parsed(path: Path, data: bytes) -> Left:
    head: dict[str, Any] = {}
    interactions: list[Mapping[str, Any]] = []
    compiled, digest = 0, ""
    for number, line in enumerate(data.split(b"\n")[:-1], 1):  # what follows the last line end is torn
        try:
            entry = json.loads(line.decode("utf-8", "surrogatepass"), object_hook=_to_bytes)
            if not isinstance(entry, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            raise CassetteError(
                f"line {number} of the journal {path} cannot be read: {error}. It holds recorded turns that "
                "are in no cassette yet; mend the line, or delete the file to give them up",
                path=str(path),
            ) from error
        if "interaction" in entry:
            interactions.append(entry["interaction"])
        elif "compiled" in entry:
            compiled, digest = int(entry["compiled"]), str(entry["digest"])
        elif number == 1:
            head = entry
    return Left(path=path, head=head, interactions=tuple(interactions), compiled=compiled, compiled_as=digest)


def _from_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    raise TypeError(f"a journal cannot hold a {type(value).__name__}")


def _to_bytes(entry: dict[str, Any]) -> Any:
    return base64.b64decode(entry[_BYTES]) if entry.keys() == {_BYTES} else entry


def _unwritable(path: Path, error: OSError) -> CassetteError:
    return CassetteError(
        f"the recording beside {path} cannot be written: {error.strerror or error}; nothing was overwritten. "
        "Make room or choose another folder, and go on with the same command",
        path=str(path),
    )
