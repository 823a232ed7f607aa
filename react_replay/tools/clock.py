"""The time that tools see: the wall clock, or the one that an agent sets for a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TypeAlias

__all__ = ["Clock", "current_time", "ticking"]

Clock: TypeAlias = Callable[[], datetime]

_clock: ContextVar[Clock | None] = ContextVar("react_replay_clock", default=None)


def current_time() -> datetime:
    """Now, with its UTC offset: by the clock that the running agent set, else by the machine's."""
    clock = _clock.get()
    return datetime.now().astimezone() if clock is None else clock()


@contextmanager
def ticking(clock: Clock | None) -> Iterator[None]:
    """Let tools see `clock`; None leaves the clock as it is."""
    if clock is None:
        yield
        return
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
