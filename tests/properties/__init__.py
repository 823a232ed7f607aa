"""What must hold for every input: plain functions over JSON data, with the strategies that make the inputs.

The tests run them for a moment, `scripts/fuzz` for as long as asked, `tests/regressions` on what was
found. No pytest and no test may enter here.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from hypothesis import strategies as st

__all__ = ["TARGETS", "Property", "TooSlow", "judge", "properties"]

TARGETS = ("parser", "calculator", "stream", "loop")


class TooSlow(AssertionError):
    """An input that took more CPU time than its property allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """`check` raises where the property does not hold for an input, which is JSON data of `inputs`.

    `seconds` of CPU time are the most that one input may take.
    """

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    seconds: float = 2.0


def properties(target: str) -> tuple[Property, ...]:
    """The properties of one of `TARGETS`."""
    if target == "parser":
        from tests.properties import parser as module
    elif target == "calculator":
        from tests.properties import calculator as module  # type: ignore[no-redef]
    elif target == "stream":
        from tests.properties import stream as module  # type: ignore[no-redef]
    elif target == "loop":
        from tests.properties import loop as module  # type: ignore[no-redef]
    else:
        raise ValueError(f"unknown target {target!r}; the targets are {', '.join(TARGETS)}")
    return module.PROPERTIES


def judge(held: Property, given: Any) -> None:
    """Check one input; `TooSlow` where it takes too much CPU time, twice, also in an endless loop."""
    try:
        _check_in_time(held, given)
    except TooSlow:
        # Once may be the machine's fault.
        _check_in_time(held, given)


def _check_in_time(held: Property, given: Any) -> None:
    collects = gc.isenabled()
    gc.disable()  # a collection of what the caller has piled up is not the input's fault
    try:
        with _cut_off(held.seconds):
            start = time.process_time()
            held.check(given)
            spent = time.process_time() - start
    finally:
        if collects:
            gc.enable()
    if spent > held.seconds:
        raise TooSlow(f"{spent:.1f} s of CPU time; at most {held.seconds} s are allowed")


@contextlib.contextmanager
def _cut_off(seconds: float) -> Iterator[None]:
    # A little above the bound, so that what returns at all is measured and not interrupted.
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"no end after {1.5 * seconds:.1f} s of CPU time; at most {seconds} s are allowed")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1.5 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
