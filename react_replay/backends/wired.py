"""What a backend offers that speaks HTTP: its exchanges, for a recorder to keep. An interface only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeAlias

from react_replay.backends.base import Chunk
from react_replay.messages import Completion, Request
from react_replay.wire import Exchange

__all__ = ["ExchangeTap", "WiredBackend"]

ExchangeTap: TypeAlias = Callable[[Exchange], None]
"""Called with an exchange once its answer has arrived whole, before the caller's last event."""


class WiredBackend(ABC):
    """A backend whose four calls take a `tap`."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not reach a file, such as the key in use."""
        return ()

    @property
    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Where recordings of this backend come from: origin, model, SDK."""

    @abstractmethod
    def complete(self, request: Request, *, tap: ExchangeTap | None = None) -> Completion: ...

    @abstractmethod
    async def acomplete(self, request: Request, *, tap: ExchangeTap | None = None) -> Completion: ...

    @abstractmethod
    def stream(self, request: Request, *, tap: ExchangeTap | None = None) -> Iterator[Chunk]: ...

    @abstractmethod
    def astream(self, request: Request, *, tap: ExchangeTap | None = None) -> AsyncIterator[Chunk]: ...
