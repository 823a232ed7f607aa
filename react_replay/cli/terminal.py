"""What a person sees of a run, on stderr. Model text is untrusted: no markup, no control characters.

Colours by rich, which honours NO_COLOR and terminals; layout without a table, so that 80 columns suffice.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from react_replay.events import (
    Event,
    ModelAsked,
    ModelReplied,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from react_replay.result import RunResult

__all__ = ["StepPrinter", "columns", "console", "notices", "plain", "summary", "wrapped"]

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Text without anything that a terminal obeys: control characters are shown as escapes."""
    text = text.replace("\r\n", "\n")
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def console(*, stderr: bool = True) -> Any:
    """A rich console on stderr, or on stdout."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(map(_columns, text))


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most `width` columns; a CJK character takes two, and a word is kept whole if it can."""
    for line in text.split("\n"):
        current, taken, space = "", 0, -1
        for character in line:
            current += character
            taken += _columns(character)
            if character == " ":
                space = len(current)
            if taken > width:
                cut = space if space > len(current) // 2 else len(current) - 1
                yield current[:cut].rstrip()
                current = current[cut:]
                taken, space = columns(current), -1
        yield current


@contextmanager
def notices() -> Iterator[None]:
    """Print warnings as lines of ours on stderr."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"react-replay: {plain(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


class StepPrinter:
    """Prints a run's events as they come: thought, tool and arguments, observation, answer."""

    def __init__(self, target: Any, *, streaming: bool = False, answers: Any = None) -> None:
        self.target = target
        self.streaming = streaming
        self.answers = answers  # a second console, for the answer alone
        self._open = False

    def watch(self, events: Iterable[Event]) -> RunResult:
        """Print every event; gives the result of the last."""
        for event in events:
            self._show(event)
            if isinstance(event, RunFinished):
                return event.result
        raise AssertionError("a run always ends with RunFinished")

    def _show(self, event: Event) -> None:
        if isinstance(event, ModelAsked):
            self.target.print(f"step {event.step + 1}", style="bold")
        elif isinstance(event, TextDelta) and self.streaming:
            self.target.print(plain(event.text), end="", style="dim")
            self._open = True
        elif isinstance(event, ModelReplied):
            if self._open:
                self.target.print()
                self._open = False
            if event.step.thought:
                self._line("thought", event.step.thought, "")
            if event.step.flags:
                self._line("flags", ", ".join(event.step.flags), "yellow")
            if event.step.mend:
                self._line("unreadable", event.step.mend, "yellow")
        elif isinstance(event, ToolStarted):
            arguments = event.call.arguments
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            if event.call.error:  # what stands for arguments that could not be read is not the model's
                shown = "unreadable"
            self._line("tool", f"{event.call.name}({shown})", "cyan")
        elif isinstance(event, ToolFinished):
            self._line("observed", event.observation.text, "green" if event.observation.ok else "red")
        elif isinstance(event, RunFinished):
            self._finished(event.result)

    def _finished(self, result: RunResult) -> None:
        if result.answer is None and (result.error or result.partial):
            self._line("ended", result.error or result.partial, "red")
        elif result.answer is not None and self.answers is not None:
            self._line("answer", result.answer, "bold", on=self.answers)

    def _line(self, label: str, text: str, style: str, *, on: Any = None) -> None:
        target = self.target if on is None else on
        width = max(target.width, 40) - 14
        lines = list(wrapped(plain(text), width))
        if len(lines) > 12:
            lines = [*lines[:12], f"... ({len(lines) - 12} more lines)"]
        for number, line in enumerate(lines):
            target.print(f"  {label if number == 0 else '':<11} ", style="dim", end="")
            target.print(line, style=style or None)


def summary(result: RunResult, source: str) -> str:
    """The line that closes a run: steps, tokens, stop reason, where the replies came from."""
    steps = f"{len(result.steps)} step{'' if len(result.steps) == 1 else 's'}"
    return f"{steps}, {result.usage.total_tokens} tokens, stopped: {result.stop_reason}, {source}"
