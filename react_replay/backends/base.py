"""The one abstract thing behind a model: a request in, a completion out. No HTTP and no files here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeAlias

from react_replay.messages import Completion, Message, Request, ToolCall
from react_replay.wire import NEUTRAL, Provider, split_completion

__all__ = ["ChatBackend", "Chunk"]

Chunk: TypeAlias = dict[str, Any]
"""One `chat.completion.chunk` dict."""


class ChatBackend(ABC):
    """Who answers: subclass it and write `complete`; all else has a default.

    `complete` raises `BackendError` where the provider fails: the run then ends as `backend_error`. A
    backend that wraps another passes what it does not change.
    """

    clock: Callable[[], datetime] | None = None
    """The time that tools see, where this backend fixes it (a cassette's recording time)."""

    provider: Provider = NEUTRAL
    """The service behind this backend: how long an observation may be. A wrapper gives its inner one's."""

    @abstractmethod
    def complete(self, request: Request) -> Completion:
        """The model's whole reply."""

    async def acomplete(self, request: Request) -> Completion:
        """The same, for an event loop; by default `complete` in a thread."""
        from asyncio import to_thread

        return await to_thread(self.complete, request)

    def stream(self, request: Request) -> Iterator[Chunk]:
        """The reply in chunks as they come; by default the whole reply, cut up."""
        yield from split_completion(self.complete(request))

    async def astream(self, request: Request) -> AsyncIterator[Chunk]:
        """The same, for an event loop."""
        for chunk in split_completion(await self.acomplete(request)):
            yield chunk

    def recorded_results(
        self, messages: Sequence[Message], calls: Sequence[ToolCall]
    ) -> Sequence[Message] | None:
        """The messages that answer `calls`, behind `messages`; None, the default, where tools are to run.

        An empty list where tools are not to run, and a recording ends before what they gave.
        """
        return None

    def begin(self) -> None:
        """Called when a run begins; `flush` is called when it ends. Runs may be nested, or at once."""

    def flush(self, *, complete: bool = True) -> None:
        """Called when a run ends: what was recorded so far must be safe afterwards.

        `complete` is False where the run broke off by an exception or by the provider's failure.
        """

    def close(self) -> None:
        """Let go of what the backend holds. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
