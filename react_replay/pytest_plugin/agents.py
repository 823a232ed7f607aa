"""The agent of the fixture `react_agent`. Imported when the fixture is first used."""

from __future__ import annotations

from typing import Any

from react_replay.agent import Agent
from react_replay.backends.base import ChatBackend

__all__ = ["ConfiguredAgent"]


class ConfiguredAgent(Agent):
    """An agent that can be had otherwise: called with arguments of `Agent`, it gives another one."""

    def __init__(self, backend: ChatBackend, **settings: Any) -> None:
        super().__init__(backend, **settings)
        self._settings = settings

    def __call__(self, **settings: Any) -> Agent:
        return Agent(self.backend, **{**self._settings, **settings})
