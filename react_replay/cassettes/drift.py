"""Tolerated differences: what they were, as a report or as an error. Pure and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from react_replay.cassettes.likeness import differences
from react_replay.cassettes.masks import Masks
from react_replay.cassettes.miss import bounded
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.ways import Ways
from react_replay.cassettes.words import clipped, shown_change
from react_replay.errors import CassetteDrift
from react_replay.messages import Request

__all__ = ["Drift", "drift_report", "drifts", "refuse_drift"]

_A_TURN = 50
"""Differences that are kept of one turn."""
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One tolerated difference: what stands at `path`, `recorded` and `now`; texts and other JSON.

    `turn` is the request's number in this session, `answered_by` the recorded turn's, both from 1.
    """

    turn: int
    answered_by: int
    path: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        return f"turn {self.turn}: {self.change}"

    @property
    def change(self) -> str:
        """The path and what changed there, in one line."""
        offset, lines = shown_change(self.recorded, self.now)
        at = f" at character {offset}" if offset is not None else ""
        if offset is None:
            shown = f"recorded {clipped(self.recorded, 60)}, now {clipped(self.now, 60)}"
        else:
            shown = lines[-1].strip().removeprefix("changed:").strip()
        return f"{clipped(self.path)[1:-1]}{at}: {shown}"


def drifts(recorded: Recorded, request: Request, *, turn: int, masks: Masks) -> list[Drift]:
    """The differences between a request and the turn that answers it all the same, 50 at most."""
    assert recorded.request is not None
    return [
        Drift(turn=turn, answered_by=recorded.number, path=item.path, recorded=item.recorded, now=item.now)
        for item in islice(differences(recorded.request, request, masks), _A_TURN)
    ]


def drift_report(found: Sequence[Drift]) -> list[str]:
    """What drifted, a line for each change however many turns it was in; 9 lines at most."""
    turns: dict[str, list[int]] = {}
    for drift in found:
        turns.setdefault(drift.change, []).append(drift.turn)
    lines = [f"{_turns(numbers)}: {change}" for change, numbers in turns.items()]
    return [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]


def _turns(numbers: Sequence[int]) -> str:
    numbers = sorted(set(numbers))
    if len(numbers) == 1:
        return f"turn {numbers[0]}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"turns {numbers[0]} to {numbers[-1]}"
    return f"turns {', '.join(map(str, numbers[:_SHOWN]))}{', ...' if len(numbers) > _SHOWN else ''}"


def refuse_drift(path: str, recorded: Recorded, found: Sequence[Drift], ways: Ways) -> CassetteDrift:
    """The error where drift is tolerated, but not here."""
    first = found[0]
    lines = [
        f"{path[-200:]}: request {first.turn} of this session differs from recorded turn {recorded.number} "
        "in what may differ, and drift is refused here:",
        *(f"  {line}" for line in drift_report(found)),
        f"If the answers stand: {ways.mode('rekey')} keeps them and rewrites the requests",
    ]
    return CassetteDrift(
        bounded(lines),
        path=path,
        turn=first.turn,
        nearest=recorded.number,
        differing=first.path,
        expected=first.recorded,
        actual=first.now,
    )
