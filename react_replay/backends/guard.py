"""A backend that refuses: the default in tests, so that no test talks to a model by accident."""

from __future__ import annotations

from typing import NoReturn

from react_replay.backends.base import ChatBackend
from react_replay.errors import LiveCallRefused
from react_replay.messages import Request

__all__ = ["GuardBackend"]


class GuardBackend(ChatBackend):
    """Every request raises `LiveCallRefused`, which says what to use instead."""

    def __init__(self, why: str = "this test may not talk to a model") -> None:
        self.why = why

    def complete(self, request: Request) -> NoReturn:
        raise LiveCallRefused(
            f"{self.why}: a request of {len(Request.of(request).messages)} messages was stopped; "
            "replay a recording with CassetteBackend(path), or script the replies with "
            "ScriptedBackend([...])"
        )

    async def acomplete(self, request: Request) -> NoReturn:
        self.complete(request)
