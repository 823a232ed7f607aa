"""A cassette as an `httpx2` transport, for agents that bring their own openai client.

Connections and bytes only. Matching, journaling, secrets and messages are those of `CassetteBackend`, of
which the session behind a transport is one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

from react_replay.backends.tape import Tape
from react_replay.backends.transport_session import TransportSession
from react_replay.errors import ConfigurationError

__all__ = [
    "AsyncCassetteTransport",
    "CassetteTransport",
    "async_cassette_transport",
    "cassette_transport",
]

# The body is handed on decoded, so these would be wrong.
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def cassette_transport(
    path: str | Path, record: str = "none", *, live: httpx2.BaseTransport | None = None, **options: Any
) -> CassetteTransport:
    """A transport that replays and records, for `OpenAI(http_client=httpx2.Client(transport=...))`.

    `live` is asked for what is recorded, by default an `httpx2.HTTPTransport` (which uses no proxy of the
    environment: pass one with `proxy=`). `record` and `options` (`metadata`, `masks`, `tolerate`, `on_drift`)
    are those of `CassetteBackend`, and so are the errors; the transport's `session` has `drift`, `unplayed`
    and `check_played()`. The file is written when the client is closed; leaving its `with` block by an
    exception keeps the turns in a journal. Other requests than chat completions are refused on replay; while
    recording they are passed on, not kept, and a warning says so.
    """
    return CassetteTransport(TransportSession(path, record=record, **options), live)


def async_cassette_transport(
    path: str | Path, record: str = "none", *, live: httpx2.AsyncBaseTransport | None = None, **options: Any
) -> AsyncCassetteTransport:
    """The same for `AsyncOpenAI(http_client=httpx2.AsyncClient(transport=...))`."""
    return AsyncCassetteTransport(
        TransportSession(path, record=record, opener="async_cassette_transport", **options), live
    )


class CassetteTransport(httpx2.BaseTransport):
    """See `cassette_transport`. `session` says what was played and recorded."""

    def __init__(self, session: TransportSession, live: httpx2.BaseTransport | None = None) -> None:
        if live is not None and not hasattr(live, "handle_request"):
            raise ConfigurationError(
                f"`live` must be a transport for httpx2.Client, got {type(live).__name__}; for an "
                "AsyncClient use async_cassette_transport"
            )
        self.session = session
        if live is None and session.records:
            live = httpx2.HTTPTransport()
        self._live = live

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        recorded = self.session.take(request)
        if recorded is not None:
            return recorded
        assert self._live is not None
        answer = self._live.handle_request(request)
        tape = self.session.tape(request, answer)
        if tape.streams:
            return _handed_on(answer, stream=_Pieces(answer, tape))
        try:
            return _handed_on(answer, content=tape.whole(answer.read()))
        finally:
            answer.close()

    def close(self) -> None:
        try:
            self.session.close()
        finally:
            if self._live is not None:
                self._live.close()

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        try:
            self.session.__exit__(exc_type, exc_value, traceback)
        finally:
            if self._live is not None:
                self._live.close()


class AsyncCassetteTransport(httpx2.AsyncBaseTransport):
    """See `async_cassette_transport`. `session` says what was played and recorded."""

    def __init__(self, session: TransportSession, live: httpx2.AsyncBaseTransport | None = None) -> None:
        if live is not None and not hasattr(live, "handle_async_request"):
            raise ConfigurationError(
                f"`live` must be a transport for httpx2.AsyncClient, got {type(live).__name__}; for a "
                "Client use cassette_transport"
            )
        self.session = session
        if live is None and session.records:
            live = httpx2.AsyncHTTPTransport()
        self._live = live

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        recorded = self.session.take(request)
        if recorded is not None:
            return recorded
        assert self._live is not None
        answer = await self._live.handle_async_request(request)
        tape = self.session.tape(request, answer)
        if tape.streams:
            return _handed_on(answer, stream=_AsyncPieces(answer, tape))
        try:
            return _handed_on(answer, content=tape.whole(await answer.aread()))
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        try:
            self.session.close()
        finally:
            if self._live is not None:
                await self._live.aclose()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        try:
            self.session.__exit__(exc_type, exc_value, traceback)
        finally:
            if self._live is not None:
                await self._live.aclose()


class _Pieces(httpx2.SyncByteStream):
    """A live answer's body, piece by piece over a tape."""

    def __init__(self, answer: httpx2.Response, tape: Tape) -> None:
        self._answer = answer
        self._tape = tape

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._answer.iter_bytes():
            yield from self._tape.pass_on(piece)
        yield from self._tape.end()

    def close(self) -> None:
        self._answer.close()


class _AsyncPieces(httpx2.AsyncByteStream):
    """The same, for an event loop."""

    def __init__(self, answer: httpx2.Response, tape: Tape) -> None:
        self._answer = answer
        self._tape = tape

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._answer.aiter_bytes():
            for part in self._tape.pass_on(piece):
                yield part
        for part in self._tape.end():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def _handed_on(
    answer: httpx2.Response, *, content: bytes | None = None, stream: Any = None
) -> httpx2.Response:
    headers = [pair for pair in answer.headers.multi_items() if pair[0].lower() not in _OF_THE_WIRE]
    return httpx2.Response(
        answer.status_code, headers=headers, content=content, stream=stream, extensions=answer.extensions
    )
