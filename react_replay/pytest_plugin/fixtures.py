"""The fixtures. What they are made of is imported when one is first used, and not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from react_replay.pytest_plugin.naming import default_folder
from react_replay.pytest_plugin.settings import LIVE_MARKER
from react_replay.pytest_plugin.stash import TRANSCRIPTS

if TYPE_CHECKING:
    from react_replay.backends.base import ChatBackend
    from react_replay.backends.scripted import Reply, ScriptedBackend
    from react_replay.messages import Request
    from react_replay.pytest_plugin.agents import ConfiguredAgent

__all__ = ["react_agent", "react_backend", "react_cassette_dir", "react_config", "scripted_backend"]


@pytest.fixture(scope="session")
def react_config() -> Mapping[str, Any]:
    """Settings for react_backend and react_agent: override it, in any scope.

    A dict of: agent (arguments of Agent: tools, dialect, limits, ...), live (who is recorded: a backend, or a
    function that makes one), metadata, match, tolerate, masks, tools ("run" or "recorded").
    """
    return {}


@pytest.fixture(scope="module")
def react_cassette_dir(request: pytest.FixtureRequest) -> str | Path:
    """The folder of the cassettes: cassettes/<module> beside the test file. Override it, in any scope.

    A relative path starts at the test file's folder.
    """
    return default_folder(request.path)


@pytest.fixture
def react_backend(
    request: pytest.FixtureRequest, react_config: Mapping[str, Any], react_cassette_dir: str | Path
) -> Iterator[ChatBackend]:
    """The test's cassette as a backend: <react_cassette_dir>/<test>.yaml, see the marker react_cassette.

    In a test marked react_live it is the real model.
    """
    from react_replay.pytest_plugin.playing import live_backend, playing

    item = request.node
    if item.get_closest_marker(LIVE_MARKER):
        live = live_backend(react_config)
        _watch(item, live)
        yield live
        if react_config.get("live") is not live:
            live.close()
        return
    with playing(request, react_config, react_cassette_dir) as backend:
        _watch(item, backend)
        yield backend


@pytest.fixture
def react_agent(react_backend: ChatBackend, react_config: Mapping[str, Any]) -> ConfiguredAgent:
    """An agent over react_backend, as react_config says; react_agent(tools=[...]) is one set up otherwise."""
    from react_replay.pytest_plugin.agents import ConfiguredAgent
    from react_replay.pytest_plugin.playing import agent_settings

    return ConfiguredAgent(react_backend, **agent_settings(react_config))


@pytest.fixture
def scripted_backend(
    request: pytest.FixtureRequest,
) -> Callable[[Iterable[Reply] | Callable[[Request], Reply]], ScriptedBackend]:
    """Makes a model that plays a script: scripted_backend(["Hello."]); a list of replies, or a function."""

    def make(replies: Iterable[Reply] | Callable[[Request], Reply]) -> ScriptedBackend:
        from react_replay.backends.scripted import ScriptedBackend

        backend = ScriptedBackend(replies)
        _watch(request.node, backend)
        return backend

    return make


def _watch(item: pytest.Item, backend: ChatBackend) -> None:
    from react_replay.pytest_plugin.transcript import Transcript, watched

    transcript = Transcript()
    item.stash.setdefault(TRANSCRIPTS, []).append(transcript)
    watched(backend, transcript)
