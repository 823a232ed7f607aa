"""What a session records: each turn in a journal before its answer is handed on, the file when a run ends.

The cassette is read again and replaced under a lock, so recorders of one file lose nothing to each other. The
only writer of journals and, through `writing`, of cassettes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from react_replay.cassettes.journal import (
    Journal,
    Left,
    digest_of,
    left_journals,
    locked_folder,
    pending_turns,
)
from react_replay.cassettes.layouts import delta
from react_replay.cassettes.reading import METADATA, Cassette, read_cassette
from react_replay.cassettes.redact import Redaction, refuse_secrets
from react_replay.cassettes.writing import check_layout, interaction_of, save
from react_replay.errors import CassetteError, CassetteMissing
from react_replay.wire import Exchange

__all__ = ["Recording"]

_LARGE = 1 << 20
"""Bytes from which on the delta layout is worth a word."""


@dataclass(slots=True)
class _Part:
    """The turns of one journal; `journal` is None while we do not hold it."""

    path: Path
    journal: Journal | None
    turns: list[Mapping[str, Any]] = field(default_factory=list)


class Recording:
    """A session's recording for the cassette at `path`; with `replaces` it replaces the file at first.

    `layout` is `full` or `delta`; None leaves a file's as it is, and makes new ones full. `redaction` takes
    secrets out before anything is written; those that are left stop the write. Not thread-safe: its owner
    takes one call at a time.
    """

    def __init__(
        self, path: Path, *, replaces: bool, layout: str | None = None, redaction: Redaction | None = None
    ) -> None:
        if layout is not None:
            check_layout(layout)
        self._layout = layout
        self._redaction = redaction
        self.path = path
        self.count = 0
        self._replaces = replaces
        self._parts: list[_Part] = []

    @property
    def unsaved(self) -> bool:
        """Whether there are turns that are in no cassette yet."""
        return any(part.turns for part in self._parts)

    def take_up(self) -> Left:
        """The turns of recordings that broke off: ours from now on."""
        head: dict[str, Any] = {}
        for path in left_journals(self.path):
            journal = Journal.take(path)
            if journal is None:
                continue
            left = journal.read()
            pending = pending_turns(left, self.path)
            if bool(left.head.get("replaces")) != self._replaces and self.path.exists():
                journal.close()  # a replacement waits for a session that replaces
            elif not pending:
                journal.remove()
            else:
                head = {**left.head, **head}
                self._parts.append(_Part(path, journal, list(pending)))
        turns = tuple(turn for part in self._parts for turn in part.turns)
        self.release()
        return Left(path=self.path, head=head, interactions=turns)

    def keep(self, exchange: Exchange, metadata: Mapping[str, Any], secrets: Sequence[str] = ()) -> None:
        """Journal one exchange. Raises `CassetteError` where it holds a secret or cannot be written."""
        interaction = self._without_secrets(interaction_of(exchange), secrets)
        refuse_secrets(self.path, interaction, secrets)
        if not self._parts or self._parts[-1].journal is None:
            self._take_back()
            said = self._without_secrets(json.loads(json.dumps(metadata, default=str)), secrets)
            refuse_secrets(self.path, {METADATA: said}, secrets)
            head = {"replaces": self._replaces, "metadata": said}
            journal = Journal.create(self.path, head)
            self._parts.append(_Part(journal.path, journal))
        part = self._parts[-1]
        assert part.journal is not None
        part.journal.add(interaction)
        part.turns.append(interaction)
        self.count += 1

    def _without_secrets(self, value: Any, secrets: Sequence[str]) -> Any:
        if self._redaction is None:
            return value
        self._redaction.know(secrets)
        if self.count == 0:  # what stands in the file, and in journals, has numbers of its own
            earlier = [turn for part in self._parts for turn in part.turns]
            self._redaction.follow(json.dumps(earlier, default=str))
            if self.path.is_file() and not self._replaces:
                self._redaction.follow(self.path.read_text("utf-8", "replace"))
        return self._redaction(value)

    def compile(
        self, metadata: Mapping[str, Any], secrets: Sequence[str] = (), *, dropped: Collection[int] = ()
    ) -> str:
        """Put what was recorded into the cassette, but for the places in `dropped`.

        Gives a hint for whoever recorded, where there is one. Raises `CassetteError`; file and journals are
        then as they were.
        """
        metadata = self._without_secrets(metadata, secrets)
        self._take_back()
        turns = [turn for part in self._parts for turn in part.turns]
        new = [turn for place, turn in enumerate(turns) if place not in dropped]
        journals = [part.journal for part in self._parts if part.journal is not None]

        def note(data: bytes) -> None:
            for journal in journals:
                journal.compiling(len(journal.read().interactions), digest_of(data))

        with locked_folder(self.path):
            standing = self._standing()
            layout = self._layout or (
                "delta" if standing is not None and standing.layout == "delta" else "full"
            )
            kept = [] if self._replaces or standing is None else self._extensible(standing).interactions
            save(self.path, chain(kept, new), metadata, layout=layout, secrets=secrets, before_replacing=note)
            for journal in journals:
                journal.remove()
            hint = "" if layout == "delta" else self._hint([*kept, *new])
        self._parts, self._replaces = [], False
        return hint

    def _hint(self, interactions: Sequence[Mapping[str, Any]]) -> str:
        """What to say of a large file whose requests are, for the most part, their histories again."""
        size = self.path.stat().st_size
        if size <= _LARGE:
            return ""
        new = sum(len(str(turn.get("request"))) for turn in delta.compressed(interactions))
        if new * 2 > sum(len(str(turn["request"]["body"])) for turn in interactions):
            return ""
        return (
            f"{self.path} has {size / _LARGE:.1f} MiB, since every request repeats its history. The layout "
            'delta keeps each message once: record with layout="delta" (--layout delta), or react-replay '
            f"convert {self.path} NEW.yaml --layout delta"
        )

    def release(self) -> None:
        """Let go of the journals: whoever records next may go on from them; so may we."""
        for part in self._parts:
            if part.journal is not None:
                part.journal.close()
                part.journal = None

    def _take_back(self) -> None:
        """Hold our journals again; what another session has taken up meanwhile is its own."""
        for part in self._parts:
            part.journal = part.journal or Journal.take(part.path)
        self._parts = [part for part in self._parts if part.journal is not None]

    def _standing(self) -> Cassette | None:
        """What the file holds by now; another recorder may have been at it."""
        try:
            return read_cassette(self.path)
        except CassetteMissing:
            return None
        except CassetteError:
            if self._replaces:  # it is replaced, whatever it is
                return None
            raise

    def _extensible(self, cassette: Cassette) -> Cassette:
        if not cassette.extensible:
            raise CassetteError(
                f"the cassette {self.path} has another recorder's layout ({cassette.layout}), which is not "
                "written here; the new turns are kept in a journal beside it. Convert it first: "
                "react-replay convert IN OUT",
                path=str(self.path),
            )
        return cassette
