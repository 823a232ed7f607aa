"""Which recorded turn answers a request, under a session's rules: masks, what may drift, rekeying.

No backend and no wire; nothing is written here. What finds no answer is an error that explains itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from react_replay.cassettes.apart import tolerated
from react_replay.cassettes.index import Index
from react_replay.cassettes.masks import Masks
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.ways import Ways
from react_replay.errors import ConfigurationError, did_you_mean
from react_replay.messages import Message, Request

if TYPE_CHECKING:
    from react_replay.cassettes.drift import Drift
    from react_replay.cassettes.rekey import Rekeying

__all__ = ["Replay", "one_of"]


def one_of(name: str, value: str, known: Sequence[str]) -> str:
    """`value`, which must be one of `known`. Raises `ConfigurationError`."""
    if value not in known:
        raise ConfigurationError(
            f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}"
            f"{did_you_mean(str(value), known)}"
        )
    return value


class Replay:
    """The turns of a cassette, to be answered from. Thread-safe. `rekeying` is None but in mode `rekey`."""

    def __init__(
        self,
        path: Path,
        turns: Iterable[Recorded],
        *,
        ways: Ways,
        masks: Masks,
        tolerate: Iterable[str] = (),
        on_drift: str = "report",
    ) -> None:
        self.path = path
        self.ways = ways
        self.on_drift = one_of("on_drift", on_drift, ("report", "fail"))
        self.index = Index(turns, masks=masks, tolerate=tolerated(tolerate))
        self.drift: list[Drift] = []
        self.asked = 0
        self.rekeying: Rekeying | None = None
        self._lock = threading.Lock()

    def take(self, request: Request, *, may_lack: bool, given: Request | None = None) -> Recorded | None:
        """The turn that answers; None where there is none and it `may_lack` one.

        `given` is the request as it was asked, where `request` is what is compared of it.

        Raises `CassetteMiss`, and `CassetteDrift` where what is tolerated differs and drift fails.
        """
        with self._lock:
            self.asked += 1
            asked = self.asked
        turn = self.index.take(request)
        if self.rekeying is not None:
            with self._lock:
                if turn is None:
                    return self.rekeying.match(request, given=given or request, turn=asked)
                self.rekeying.note(turn, request)
        if turn is None:
            turn = self._tolerated(request, asked)
        if turn is None and not may_lack:
            from react_replay.cassettes.miss import explain_miss

            index = self.index
            raise explain_miss(
                str(self.path),
                request,
                index.turns,
                turn=asked,
                ways=self.ways,
                known=index.knows(request),
                masks=index.masks,
            )
        return turn

    def results(self, messages: Sequence[Message]) -> list[Message] | None:
        """The recorded messages that answer the last reply's calls; None where the recording ends before."""
        if self.rekeying is not None:
            with self._lock:
                messages = self.rekeying.as_recorded(messages)
        return self.index.results(messages)

    def check_played(self) -> None:
        """Raise `UnplayedTurns` where a recorded turn was not asked for."""
        if unplayed := self.index.unplayed:
            from react_replay.cassettes.miss import explain_unplayed

            raise explain_unplayed(str(self.path), unplayed, self.ways)

    def _tolerated(self, request: Request, asked: int) -> Recorded | None:
        turn = self.index.take_tolerated(request, play=self.on_drift == "report")
        if turn is not None:
            from react_replay.cassettes.drift import drifts, refuse_drift

            found = drifts(turn, request, turn=asked, masks=self.index.masks)
            if self.on_drift == "fail":
                raise refuse_drift(str(self.path), turn, found, self.ways)
            with self._lock:
                self.drift += found
        return turn
