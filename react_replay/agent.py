"""`Agent`: thin synchronous and asynchronous shells over the pure loop.

Only effects live here: asking the backend, running tools, the clock that tools see. Decisions are `loop`'s,
formats the dialect's. The two shells are the same lines with and without `await`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from react_replay import loop
from react_replay.backends.base import ChatBackend
from react_replay.dialects import dialect as find_dialect
from react_replay.dialects.base import Dialect
from react_replay.errors import BackendError, CassetteMiss, ConfigurationError, ReactReplayError
from react_replay.events import (
    Event,
    ModelAsked,
    ModelReplied,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from react_replay.messages import Message, Observation, ToolCall, checked_messages
from react_replay.result import Limits, RunResult, StopReason
from react_replay.tools.base import Tool, Toolbox, as_toolbox
from react_replay.tools.clock import ticking
from react_replay.wire import StreamFold

__all__ = ["Agent"]


class Agent:
    """A ReAct agent: asks the backend, runs the tools it calls, until an answer or a limit.

    `tools` are `@tool` functions, plain functions or a `Toolbox`; `options` go with every request
    (`temperature`, `tool_choice`, ...); `accept(answer)` returns True, or False or the reason why the model
    must go on; `clock` is the time that tools see, by default the backend's or else the wall clock.
    An agent holds no conversation: it may be used for many runs, also at once.
    """

    def __init__(
        self,
        backend: ChatBackend,
        *,
        tools: Sequence[Tool | Callable[..., Any]] | Toolbox | None = None,
        dialect: str | Dialect = "native",
        system: str | None = None,
        options: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        accept: Callable[[str], bool | str] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        if not isinstance(backend, ChatBackend):
            raise ConfigurationError(
                f"`backend` must be a ChatBackend, got {type(backend).__name__}; "
                "for example ScriptedBackend([...]), CassetteBackend(path) or LiveBackend.from_env()"
            )
        self.backend = backend
        self.toolbox = as_toolbox(tools)
        self.dialect = find_dialect(dialect)
        self.system = system
        self.options = dict(options or {})
        self.limits = limits or Limits()
        self.accept = accept
        self.clock = clock

    def run(self, question: str) -> RunResult:
        """Answer a question. Bad replies are data in the result; only our own misuse raises."""
        return _last(self._events(self._open(question), shown=False))

    async def arun(self, question: str) -> RunResult:
        """`run` on an event loop; the same result."""
        return await _alast(self._aevents(self._open(question), shown=False))

    def steps(self, question: str) -> Iterator[Event]:
        """The run as events, each reply taken whole: `stream` without text as it is written."""
        return self._events(self._open(question))

    def stream(self, question: str) -> Iterator[Event]:
        """The run as events while it happens; the last is `RunFinished(result)`."""
        return self._events(self._open(question), streaming=True)

    def astream(self, question: str) -> AsyncIterator[Event]:
        """`stream` on an event loop; the same events."""
        return self._aevents(self._open(question), streaming=True)

    def resume(self, history: RunResult | Sequence[Message]) -> RunResult:
        """Go on from a result or its messages: calls that are still open run first. Limits start anew."""
        return _last(self._events(self._reopen(history), shown=False))

    async def aresume(self, history: RunResult | Sequence[Message]) -> RunResult:
        """`resume` on an event loop."""
        return await _alast(self._aevents(self._reopen(history), shown=False))

    def as_tool(self, *, name: str, description: str) -> Tool:
        """This agent as a tool of another one: it takes a `question` and gives the answer."""

        def ask(question: str) -> str:
            return _sub_answer(self.run(question))

        return Tool(ask, name=name, description=description)

    def _open(self, question: str) -> loop.State:
        dialect = self.dialect.localised(question)
        return loop.start(self._rules(dialect), question, system=self.system)

    def _reopen(self, history: RunResult | Sequence[Message]) -> loop.State:
        messages = history.messages if isinstance(history, RunResult) else checked_messages(history)
        asked = next((str(m.get("content")) for m in messages if m.get("role") == "user"), "")
        return loop.resume(self._rules(self.dialect.localised(asked)), messages)

    def _rules(self, dialect: Dialect) -> loop.Rules:
        limits = self.limits
        if limits.max_observation is None:
            limits = replace(limits, max_observation=self.backend.provider.max_observation)
        return loop.Rules(
            dialect=dialect,
            tools=self.toolbox.specs,
            limits=limits,
            options=self.options,
            accept=self.accept,
        )

    def _recorded(self, state: loop.State, calls: Sequence[ToolCall]) -> list[str] | None:
        """What these calls gave when they were recorded; None where they are to run."""
        messages = self.backend.recorded_results(state.messages, calls)
        if messages is None:
            return None
        from react_replay.dialects.unrendered import observed

        if not messages:  # such as the calls of a last step: no request told their results
            return ["error: the recording ends here: it holds no result of this call"] * len(calls)
        texts = observed(state.rules.dialect, calls, messages)
        if texts is None:
            raise CassetteMiss(
                f"the recording has no results for these {len(calls)} calls in the form of the dialect "
                f"{state.rules.dialect.name!r}: was it recorded with another one? "
                "where results are not taken from it the tools run"
            )
        return texts

    def _events(self, state: loop.State, *, streaming: bool = False, shown: bool = True) -> Iterator[Event]:
        clock = self.clock or self.backend.clock
        self.backend.begin()
        try:
            while True:
                action = loop.next_action(state)
                if isinstance(action, loop.CallModel):
                    step = len(state.steps)
                    if shown:  # nobody looks at the events of `run`, so none is made
                        yield ModelAsked(step)
                    folding, handed_on = StreamFold(), False
                    try:
                        if streaming:
                            for chunk in self.backend.stream(action.request):
                                if text := folding.add(chunk):
                                    handed_on = True
                                    yield TextDelta(step, text)
                                    handed_on = False
                            completion = folding.result()
                        else:
                            completion = self.backend.complete(action.request)
                    except Exception as error:
                        if handed_on:  # thrown in by whoever reads the events: no fault of the provider
                            raise
                        state = _fault(state, error, folding.text)
                        continue
                    state = loop.on_completion(state, completion)
                    if shown:
                        yield ModelReplied(state.current or state.steps[-1], state.pending)
                elif isinstance(action, loop.CallTools):
                    recorded = self._recorded(state, action.calls)
                    seen: list[Observation] = []
                    for call in action.calls:
                        if shown:
                            yield ToolStarted(call)
                        if recorded is not None:
                            seen.append(self.toolbox.replayed(call, recorded[len(seen)]))
                        elif clock is None:
                            seen.append(self.toolbox.call(call))
                        else:
                            with ticking(clock):
                                seen.append(self.toolbox.call(call))
                        if shown:
                            yield ToolFinished(seen[-1])
                    state = loop.on_observations(state, seen)
                else:
                    break
        except BaseException:
            self.backend.flush(complete=False)
            raise
        # Before the result is out, so that it can be replayed at once.
        self.backend.flush(complete=action.result.stop_reason is not StopReason.BACKEND_ERROR)
        yield RunFinished(action.result)

    async def _aevents(
        self, state: loop.State, *, streaming: bool = False, shown: bool = True
    ) -> AsyncIterator[Event]:
        clock = self.clock or self.backend.clock
        self.backend.begin()
        try:
            while True:
                action = loop.next_action(state)
                if isinstance(action, loop.CallModel):
                    step = len(state.steps)
                    if shown:  # nobody looks at the events of `run`, so none is made
                        yield ModelAsked(step)
                    folding, handed_on = StreamFold(), False
                    try:
                        if streaming:
                            async for chunk in self.backend.astream(action.request):
                                if text := folding.add(chunk):
                                    handed_on = True
                                    yield TextDelta(step, text)
                                    handed_on = False
                            completion = folding.result()
                        else:
                            completion = await self.backend.acomplete(action.request)
                    except Exception as error:
                        if handed_on:  # thrown in by whoever reads the events: no fault of the provider
                            raise
                        state = _fault(state, error, folding.text)
                        continue
                    state = loop.on_completion(state, completion)
                    if shown:
                        yield ModelReplied(state.current or state.steps[-1], state.pending)
                elif isinstance(action, loop.CallTools):
                    recorded = self._recorded(state, action.calls)
                    seen: list[Observation] = []
                    for call in action.calls:
                        if shown:
                            yield ToolStarted(call)
                        if recorded is not None:
                            seen.append(self.toolbox.replayed(call, recorded[len(seen)]))
                        else:
                            with ticking(clock):
                                seen.append(await self.toolbox.acall(call))
                        if shown:
                            yield ToolFinished(seen[-1])
                    state = loop.on_observations(state, seen)
                else:
                    break
        except BaseException:
            self.backend.flush(complete=False)
            raise
        # Before the result is out, so that it can be replayed at once.
        self.backend.flush(complete=action.result.stop_reason is not StopReason.BACKEND_ERROR)
        yield RunFinished(action.result)


def _fault(state: loop.State, error: Exception, so_far: str) -> loop.State:
    """The provider's failure ends the run, with the text so far; our own side's mistakes go on up.

    An AssertionError is a test's own, from a script that checks the requests it is given.
    """
    ours = isinstance(error, ReactReplayError) and not isinstance(error, BackendError)
    if ours or isinstance(error, AssertionError):
        raise error
    said = str(error) if isinstance(error, BackendError) else f"{type(error).__name__}: {error}"
    return loop.on_fault(state, said, partial=getattr(error, "partial", "") or so_far)


def _last(events: Iterator[Event]) -> RunResult:
    for event in events:
        if isinstance(event, RunFinished):
            return event.result
    raise AssertionError("a run always ends with RunFinished")


async def _alast(events: AsyncIterator[Event]) -> RunResult:
    result: RunResult | None = None
    async for event in events:
        if isinstance(event, RunFinished):
            result = event.result
    assert result is not None, "a run always ends with RunFinished"
    return result


def _sub_answer(result: RunResult) -> str:
    if result.answer is not None:
        return result.answer
    why = f": {result.error}" if result.error else ""
    return f"error: the agent ended without an answer ({result.stop_reason}{why})"
