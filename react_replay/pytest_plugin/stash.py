"""What hooks and fixtures leave for each other on a test. Keys only."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from react_replay.pytest_plugin.playing import Played
    from react_replay.pytest_plugin.transcript import Transcript

__all__ = ["PASSED", "PLAYED", "TRANSCRIPTS"]

PASSED = pytest.StashKey[bool]()
"""Whether the test's call has passed."""

PLAYED: pytest.StashKey[Played] = pytest.StashKey()
"""The cassette that the test plays, while it plays it."""

TRANSCRIPTS: pytest.StashKey[list[Transcript]] = pytest.StashKey()
"""What the test's backends were asked, for the report of a failure."""
