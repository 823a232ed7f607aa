"""What a test's backends were asked and answered, as text for the report of a failing test.

Keeps views of what passes by and changes nothing of it. A model's text is untrusted: no control characters.
"""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.messages import Completion, Request

__all__ = ["Transcript", "one_line", "watched"]

LONGEST = 600  # characters of one message
MOST_MESSAGES = 30
MOST_RUNS = 3


class Transcript:
    """The conversations with one backend, in the order in which they began."""

    def __init__(self) -> None:
        self._turns: list[tuple[Request, Completion | str]] = []

    def note(self, request: Request, outcome: Completion | str) -> None:
        """Keep a request and its answer, or why there was none; the later word on one request counts."""
        if self._turns and self._turns[-1][0] is request:
            self._turns.pop()
        self._turns.append((request, outcome))

    def __str__(self) -> str:
        runs = self._runs()
        lines = [f"({len(runs) - MOST_RUNS} earlier runs are left out)"] if len(runs) > MOST_RUNS else []
        for number, turns in list(enumerate(runs, 1))[-MOST_RUNS:]:
            request, outcome = turns[-1]
            lines.append(f"run {number} of {len(runs)}: {len(turns)} request{'s' if len(turns) > 1 else ''}")
            shown = [_message(message) for message in request.messages]
            shown.append(_reply(outcome))
            if len(shown) > MOST_MESSAGES:
                left_out = f"  ... {len(shown) - MOST_MESSAGES} messages left out ..."
                shown = [*shown[:4], left_out, *shown[4 - MOST_MESSAGES :]]
            lines.extend(shown)
        return "\n".join(lines)

    def _runs(self) -> list[list[tuple[Request, Completion | str]]]:
        """The turns by conversation: a request goes on from the one whose messages it begins with."""
        runs: list[list[tuple[Request, Completion | str]]] = []
        for turn in self._turns:
            of = next((run for run in reversed(runs) if _continues(turn[0], run[-1][0])), None)
            if of is None:
                runs.append([turn])
            else:
                of.append(turn)
        return runs


def watched(backend: ChatBackend, transcript: Transcript) -> None:
    """Note in `transcript` what `backend` is asked from now on. It stays of its own class."""
    # Put on the object: a wrapper would hide what a cassette says beside its answers (`unplayed`, `drift`).
    ways = {"complete": _calls, "acomplete": _acalls, "stream": _streams, "astream": _astreams}
    for name, watch in ways.items():
        setattr(backend, name, watch(getattr(backend, name), transcript))


def _calls(ask: Callable[..., Completion], transcript: Transcript) -> Callable[..., Completion]:
    @functools.wraps(ask)
    def complete(request: Request, **options: Any) -> Completion:
        __tracebackhide__ = True
        request = Request.of(request)
        try:
            completion = ask(request, **options)
        except BaseException as error:
            transcript.note(request, _fault(error))
            raise
        transcript.note(request, completion)
        return completion

    return complete


def _acalls(ask: Callable[..., Any], transcript: Transcript) -> Callable[..., Any]:
    @functools.wraps(ask)
    async def acomplete(request: Request, **options: Any) -> Completion:
        __tracebackhide__ = True
        request = Request.of(request)
        try:
            completion: Completion = await ask(request, **options)
        except BaseException as error:
            transcript.note(request, _fault(error))
            raise
        transcript.note(request, completion)
        return completion

    return acomplete


def _streams(ask: Callable[..., Iterator[Chunk]], transcript: Transcript) -> Callable[..., Iterator[Chunk]]:
    @functools.wraps(ask)
    def stream(request: Request, **options: Any) -> Iterator[Chunk]:
        __tracebackhide__ = True
        request = Request.of(request)
        chunks: list[Chunk] = []
        try:
            for chunk in ask(request, **options):
                chunks.append(chunk)
                yield chunk
        except BaseException as error:
            transcript.note(request, _fault(error))
            raise
        transcript.note(request, _folded(chunks))

    return stream


def _astreams(ask: Callable[..., AsyncIterator[Chunk]], transcript: Transcript) -> Callable[..., Any]:
    @functools.wraps(ask)
    async def astream(request: Request, **options: Any) -> AsyncIterator[Chunk]:
        __tracebackhide__ = True
        request = Request.of(request)
        chunks: list[Chunk] = []
        try:
            async for chunk in ask(request, **options):
                chunks.append(chunk)
                yield chunk
        except BaseException as error:
            transcript.note(request, _fault(error))
            raise
        transcript.note(request, _folded(chunks))

    return astream


def _folded(chunks: list[Chunk]) -> Completion:
    from react_replay.wire import fold

    return fold(chunks)


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _continues(later: Request, earlier: Request) -> bool:
    known = getattr(later.messages, "continues", None)
    if known is not None and type(later.messages) is type(earlier.messages):
        return bool(known(earlier.messages))
    count = len(earlier.messages)
    return len(later.messages) > count and all(
        later.messages[place] == earlier.messages[place] for place in range(count)
    )


def one_line(message: Mapping[str, Any]) -> str:
    """A message's role and the beginning of what it says."""
    said = " ".join(_said(message).split())
    return f"{message.get('role')}: {plain(said[:80])}{'...' if len(said) > 80 else ''}"


def _message(message: Mapping[str, Any]) -> str:
    return _row(str(message.get("role")), _said(message))


def _reply(outcome: Completion | str) -> str:
    if isinstance(outcome, str):
        return _row("no answer", outcome)
    calls = [f"{call.name}({_text(call.arguments)})" for call in outcome.tool_calls]
    said = "\n".join(part for part in (outcome.content, *calls) if part)
    return _row("assistant", said or f"(nothing; finish_reason {outcome.finish_reason!r})")


def _said(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [] if content in (None, "") else [_text(content)]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, Sequence) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            parts.append(f"{function.get('name')}({_text(function.get('arguments'))})")
    return "\n".join(parts)


def _row(role: str, said: str) -> str:
    if len(said) > LONGEST:
        said = f"{said[: LONGEST // 2]} [... {len(said) - LONGEST} characters ...] {said[-LONGEST // 2 :]}"
    first, *more = plain(said).split("\n")
    return "\n".join((f"  {role:<10} {first}", *(f"  {'':<10} {line}" for line in more)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def plain(text: str) -> str:
    """Text without anything that a terminal obeys: what is not printable is shown escaped."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)
