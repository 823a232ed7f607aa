"""A cassette while a test plays it: opened by what was said of it, judged when the test has passed.

The one place that opens a `CassetteBackend` for a test. Imported when a fixture is first used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from react_replay.backends.base import ChatBackend
from react_replay.backends.cassette import CassetteBackend
from react_replay.errors import CassetteMissing, ReactReplayError, did_you_mean
from react_replay.pytest_plugin.collecting import records
from react_replay.pytest_plugin.naming import cassette_name
from react_replay.pytest_plugin.settings import (
    MARKER,
    check_match,
    marked,
    may_record,
    resolve,
)
from react_replay.pytest_plugin.stash import PASSED, PLAYED

__all__ = ["CassetteWarning", "Played", "agent_settings", "live_backend", "open_backend", "playing"]

_CONFIG_NAMES = ("agent", "live", "metadata", "match", "tolerate", "masks", "tools")
_PASSED_ON = ("tolerate", "masks", "tools")


class CassetteWarning(pytest.PytestWarning):
    """A cassette was played, but not quite as it was recorded."""


class _TestFailed(Exception):
    """Leaves a recording the way a test that failed must: the old cassette stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The cassette that a test plays, and how strictly."""

    backend: CassetteBackend
    nodeid: str
    drift: str
    unplayed: str

    def judge(self) -> None:
        """Fail or warn for what a passing test did not play, or played by tolerance."""
        if drift := list(getattr(self.backend, "drift", ())):
            lines = "\n".join(f"  {line}" for entry in drift for line in str(entry).splitlines())
            _say(
                self.drift,
                f"{self.backend.path}: replayed although tolerated fields have changed:\n{lines}\n"
                f"Keep the answers and rewrite the requests: {command(self.nodeid, 'rekey')}",
            )
        backend = self.backend
        replayed = backend.record in ("none", "once", "rekey") and not backend.recorded_turns
        if self.unplayed != "ignore" and replayed and (left := backend.unplayed):
            _say(self.unplayed, _unplayed(backend, left, self.nodeid))


@contextlib.contextmanager
def playing(
    request: pytest.FixtureRequest, settings: Mapping[str, Any], folder: str | Path
) -> Iterator[CassetteBackend]:
    """The test's cassette, opened; closed well only if the test passes."""
    item: pytest.Item = request.node
    check_settings(settings)
    said = {**{name: settings[name] for name in _PASSED_ON if name in settings}, **marked(item)}
    mode, source = resolve(item.config, "record", said)
    if refused := may_record(item.config, mode, source):
        pytest.fail(refused, pytrace=False)
    path = item.path.parent / folder / cassette_name(item, said.get("name"))
    with _clear_errors(item.nodeid):
        if records(mode, path):
            _claim(request, path)
        drift, _ = resolve(item.config, "drift", said)
        unplayed, _ = resolve(item.config, "unplayed", said)
        metadata = {"test_id": item.nodeid, **settings.get("metadata", {})}
        backend = open_backend(
            path, record=mode, drift=drift, live=settings.get("live"), metadata=metadata, said=said
        )
        item.stash[PLAYED] = Played(backend=backend, nodeid=item.nodeid, drift=drift, unplayed=unplayed)
        try:
            with contextlib.suppress(_TestFailed), backend:
                yield backend
                if not item.stash.get(PASSED, False):
                    raise _TestFailed
        finally:
            del item.stash[PLAYED]


def open_backend(
    path: Path,
    *,
    record: str,
    drift: str,
    live: Any,
    metadata: Mapping[str, Any],
    said: Mapping[str, Any],
) -> CassetteBackend:
    """A `CassetteBackend` with what was said of it, and no more."""
    given = {name: said[name] for name in _PASSED_ON if said.get(name) is not None}
    return CassetteBackend(path, record=record, live=live, metadata=metadata, **given)


def live_backend(settings: Mapping[str, Any]) -> ChatBackend:
    """The real model of a test marked `react_live`: of `react_config`, or from the environment."""
    check_settings(settings)
    live = settings.get("live")
    if isinstance(live, ChatBackend):
        return live
    if live is not None:
        made: ChatBackend = live()
        return made
    from react_replay.backends.live import LiveBackend

    try:
        return LiveBackend.from_env()
    except ReactReplayError as error:
        pytest.fail(str(error), pytrace=False)


def agent_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What `react_config` says of the agent: keyword arguments of `Agent`."""
    check_settings(settings)
    return dict(settings.get("agent") or {})


def check_settings(settings: object) -> None:
    """Refuse what `react_config` cannot mean."""
    if not isinstance(settings, Mapping):
        pytest.fail(f"react_config must return a dict, got {type(settings).__name__}", pytrace=False)
    for name in settings:
        if name not in _CONFIG_NAMES:
            pytest.fail(
                f"react_config has no setting {name!r}{did_you_mean(str(name), _CONFIG_NAMES)}; it may "
                f"hold: {', '.join(_CONFIG_NAMES)}. The settings record, drift and unplayed "
                f"stand on the command line, in the marker {MARKER} or in the ini file",
                pytrace=False,
            )
    check_match(settings)


@contextlib.contextmanager
def _clear_errors(nodeid: str) -> Iterator[None]:
    """Our own errors around a test are sentences; the way through our code is of no use to its author."""
    try:
        yield
    except CassetteMissing as error:
        said = (
            f"there is no cassette at {error.path}; record it: {command(nodeid, 'once')} (or the name in "
            f"{MARKER} is misspelt)"
        )
        raise pytest.fail.Exception(said, pytrace=False) from None
    except ReactReplayError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def command(nodeid: str, mode: str) -> str:
    """What a person types to run one test in a record mode."""
    return f"pytest {shlex.quote(nodeid)} --react-record={mode}"


def _say(policy: str, text: str) -> None:
    if policy == "fail":
        pytest.fail(text, pytrace=False)
    warnings.warn(text, CassetteWarning, stacklevel=1)


def _unplayed(backend: CassetteBackend, left: list[Any], nodeid: str) -> str:
    from react_replay.pytest_plugin.transcript import one_line

    count = len(left)
    lines = [
        f"{backend.path}: the test passed, but {count} recorded turn{'s were' if count > 1 else ' was'} not "
        "asked for:"
    ]
    for turn in left[:5]:
        messages = list(turn.request.messages) if turn.request is not None else []
        asked = one_line(messages[-1]) if messages else "no readable request"
        lines.append(f"  turn {turn.number}, {len(messages)} messages, the last: {asked}")
    if count > 5:
        lines.append(f"  and {count - 5} more")
    lines.append(
        f"Does the agent stop early? Else record it anew: {command(nodeid, 'all')}; "
        "or allow it: --react-unplayed=warn"
    )
    return "\n".join(lines)


_CLAIMS = pytest.StashKey[dict[str, str]]()


def _claim(request: pytest.FixtureRequest, path: Path) -> None:
    """Refuse the second test that would record one file; `react_cassette_dir` may have led both there."""
    nodeid = request.node.nodeid
    key = os.path.normcase(path.resolve())
    owner = request.config.stash.setdefault(_CLAIMS, {}).setdefault(key, nodeid)
    if owner == nodeid and hasattr(request.config, "workerinput"):
        # The folder above a worker's own is that of the run: all workers see it.
        shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent / "react_replay"
        owner = _claim_among_workers(shared, key, nodeid)
    if owner != nodeid:
        pytest.fail(
            f"{path} is being recorded by {owner}; when recording, one test owns one cassette: give this one "
            f"a name of its own with {MARKER}(name=...), or another react_cassette_dir",
            pytrace=False,
        )


def _claim_among_workers(folder: Path, key: str, nodeid: str) -> str:
    """Who records the file of that key in this run of xdist: the first to say so."""
    folder.mkdir(exist_ok=True)
    claim = folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    mine = folder / f"{claim.name}.{os.getpid()}"
    mine.write_text(nodeid, encoding="utf-8")
    try:
        os.link(mine, claim)  # whole or not at all: nobody reads a claim half written
    except FileExistsError:
        return claim.read_text(encoding="utf-8")
    finally:
        mine.unlink()
    return nodeid
