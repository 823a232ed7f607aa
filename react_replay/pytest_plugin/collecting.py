"""What is refused before a run: markers that contradict each other, and recordings that would lose one.

Looks at the tests that are about to run; opens no cassette.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from react_replay.pytest_plugin.naming import cassette_name, default_folder
from react_replay.pytest_plugin.settings import (
    LIVE_MARKER,
    MARKER,
    goes_live,
    marked,
    may_record,
    resolve,
)

__all__ = ["check_tests", "records", "skip_live_tests"]


def skip_live_tests(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Tests of a real model run only when they are asked for."""
    if goes_live(config):
        return
    skipped = pytest.mark.skip(reason="talks to a real model; run it with --react-live")
    for item in items:
        if item.get_closest_marker(LIVE_MARKER):
            item.add_marker(skipped)


def check_tests(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """What is wrong with the tests that are to run: a line each, none where all is well."""
    return [*_wrong_markers(config, items), *_shared_recordings(config, items)]


def records(mode: str, path: Path) -> bool:
    """Whether a test in this mode writes the cassette at `path`."""
    return mode not in ("none", "once") or (mode == "once" and not path.exists())


def _wrong_markers(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[str]:
    for item in items:
        if item.get_closest_marker(MARKER) is None:
            continue
        if item.get_closest_marker("vcr"):
            yield (
                f"{item.nodeid}: it is marked both vcr and {MARKER}, and one would replay what the other "
                f"records; keep {MARKER} for what goes through react_backend, or vcr for all else"
            )
        try:
            said = marked(item)
            mode, source = resolve(config, "record", said)
            cassette_name(item, said.get("name"))
        except pytest.UsageError as error:
            yield f"{item.nodeid}: {error}"
            continue
        if refused := may_record(config, mode, source):
            yield f"{item.nodeid}: {refused}"


def _shared_recordings(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[str]:
    """A cassette that is recorded belongs to one test: of two, each would lose or spoil the other's turns."""
    owners: dict[str, list[str]] = {}
    paths: dict[str, Path] = {}
    for item in items:
        uses = "react_backend" in getattr(item, "fixturenames", ())
        if not uses or item.get_closest_marker(LIVE_MARKER):
            continue
        try:
            said = marked(item)
            mode, _ = resolve(config, "record", said)
            path = default_folder(item.path) / cassette_name(item, said.get("name"))
        except pytest.UsageError:
            continue  # said by the marker's own check
        if records(mode, path):
            # Some file systems do not tell names apart that differ in case only.
            key = os.path.normpath(path).casefold()
            owners.setdefault(key, []).append(item.nodeid)
            paths[key] = path
    for key, nodeids in owners.items():
        if len(nodeids) > 1:
            shown = ", ".join(nodeids[:3]) + (f" and {len(nodeids) - 3} more" if len(nodeids) > 3 else "")
            yield (
                f"{paths[key]} would be recorded by {len(nodeids)} tests: {shown}; when recording, one test "
                f"owns one cassette: leave out {MARKER}(name=...), or record with one of them alone "
                "(pytest NODEID) and replay it with the others"
            )
