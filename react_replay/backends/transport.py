"""A cassette as an `httpx2` transport, for agents that bring their own openai client.

Matching, journaling, secrets and messages are those of `CassetteBackend`, of which a session here is one:
this module moves bytes between it and the client, and knows nothing of files. Only chat completions are
recorded and replayed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

from react_replay.backends.cassette import CassetteBackend
from react_replay.backends.guard import GuardBackend
from react_replay.backends.wired import WiredBackend
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.redact import response_headers, safe_url
from react_replay.errors import CassetteMiss, ConfigurationError
from react_replay.messages import Request
from react_replay.wire import (
    EventDecoder,
    Exchange,
    completion_dict,
    encode_event,
    provider_for,
    split_completion,
)

__all__ = [
    "AsyncCassetteTransport",
    "CassetteTransport",
    "TransportSession",
    "async_cassette_transport",
    "cassette_transport",
]

CHAT = "/chat/completions"
# What the request itself caused; other failures pass, and would fail every replay of the file.
_KEPT_FAILURES = frozenset({400, 413, 422})
_KEY_HEADERS = ("authorization", "api-key", "x-api-key")
# The body is handed on decoded, so these would be wrong.
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def cassette_transport(
    path: str | Path, record: str = "none", *, live: httpx2.BaseTransport | None = None, **options: Any
) -> CassetteTransport:
    """A transport that replays and records, for `OpenAI(http_client=httpx2.Client(transport=...))`.

    `live` is asked for what is recorded, by default an `httpx2.HTTPTransport` (which uses no proxy of the
    environment: pass one with `proxy=`). `record` and `options` (`metadata`, ...) are those of
    `CassetteBackend`, and so are the errors. The file is written when the client is closed; leaving its
    `with` block by an exception keeps the turns in a journal. Other requests than chat completions are
    refused on replay; while recording they are passed on, not kept, and a warning says so.
    """
    return CassetteTransport(TransportSession(path, record=record, **options), live)


def async_cassette_transport(
    path: str | Path, record: str = "none", *, live: httpx2.AsyncBaseTransport | None = None, **options: Any
) -> AsyncCassetteTransport:
    """The same for `AsyncOpenAI(http_client=httpx2.AsyncClient(transport=...))`."""
    return AsyncCassetteTransport(TransportSession(path, record=record, **options), live)


class TransportSession(CassetteBackend):
    """A cassette's session for a caller that has a wire of its own: `take` an answer, or `keep` one."""

    def __init__(self, path: str | Path, *, record: str = "none", **options: Any) -> None:
        self.wire = _Wire()
        super().__init__(path, record=record, live=self.wire, **options)
        # A script's recording names no model, and a client always does.
        turns = [turn.request for turn in self._index.turns if turn.request is not None]
        self._any_model = not any(request.options.get("model") for request in turns)
        self.begin()

    @property
    def records(self) -> bool:
        """Whether what the cassette does not answer may be asked live."""
        return self._records

    def take(self, asked: httpx2.Request) -> httpx2.Response | None:
        """The recorded answer; None where a live one is to be had. Raises `CassetteMiss`.

        `asked` has its body read.
        """
        chat, why = _chat_request(asked)
        if chat is not None:
            turn = self._take(_without_model(chat) if self._any_model else chat)
            if turn is not None:
                return _replayed(turn, streaming=bool(chat.options.get("stream")))
            self.wire.saw(asked)
        elif not self.records:
            raise CassetteMiss(
                f"{self.path} has no answer to {asked.method} {safe_url(str(asked.url))}: {why}, and a "
                "cassette's transport replays chat completions only. Send it through another client, or keep "
                "it out of the run that is replayed",
                path=str(self.path),
            )
        else:
            warnings.warn(
                f"{asked.method} {safe_url(str(asked.url))} is passed on and not recorded: {why}; the "
                f"replay of {self.path} will refuse it",
                stacklevel=2,
            )
        return None

    def tape(self, asked: httpx2.Request, answer: httpx2.Response) -> _Tape:
        """What keeps a live answer while it goes by."""

        def keep(chunks: tuple[bytes, ...]) -> None:
            self._keep(
                Exchange(
                    url=str(asked.url),
                    method=asked.method,
                    request_headers=dict(asked.headers),
                    request_body=asked.content,
                    status=answer.status_code,
                    reason=answer.reason_phrase,
                    response_headers=dict(answer.headers),
                    chunks=chunks,
                )
            )

        chat, _ = _chat_request(asked)
        worth = answer.status_code < 300 or answer.status_code in _KEPT_FAILURES
        return _Tape(keep if chat is not None and worth else None)


class _Wire(GuardBackend, WiredBackend):  # type: ignore[misc]  # it is never asked for a completion
    """The client's connection as its recorder sees it: the keys in use, the service, the provenance."""

    def __init__(self) -> None:
        super().__init__("this client's own transport asks the model")
        self._keys: set[str] = set()
        self._facts: dict[str, Any] = {"origin": "live"}
        # Nothing is cut here: a replay has observations whole, as the client sent them.
        self.provider = replace(self.provider, max_observation=None)

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self._keys)

    @property
    def provenance(self) -> dict[str, Any]:
        return dict(self._facts)

    def saw(self, asked: httpx2.Request) -> None:
        """Note whom a request goes to, and with which key."""
        for name in _KEY_HEADERS:
            if value := asked.headers.get(name, ""):
                self._keys.add(value.rpartition(" ")[2])
        if "client" not in self._facts:
            self._facts["client"] = asked.headers.get("user-agent", "")
            self.provider = replace(provider_for(str(asked.url)), max_observation=None)


class _Tape:
    """An answer's pieces as they go by: kept whole, the end held back until that is done.

    `keep` is None for what is handed on only.
    """

    def __init__(self, keep: Callable[[tuple[bytes, ...]], None] | None) -> None:
        self._keep = keep
        self._pieces: list[bytes] = []
        self._held: list[bytes] = []
        self._events = EventDecoder()

    def pass_on(self, piece: bytes) -> Iterator[bytes]:
        """What of a stream may be handed on by now. A kill loses nothing whose end was handed on."""
        if self._keep is None:
            yield piece
            return
        self._pieces.append(piece)
        said = [_says(data) for data in self._events.feed(piece)]
        if not self._held and not any(said):
            yield piece
            return
        self._held.append(piece)
        if "done" in said:  # the client may not look further
            yield from self.end()

    def end(self) -> Iterator[bytes]:
        """Keep the stream, and hand on the rest of it."""
        if self._keep is not None:
            self._keep(tuple(self._pieces))
            self._keep = None
            yield from self._held

    def whole(self, body: bytes) -> bytes:
        """Keep an answer that is no stream; what is no JSON object is no answer, and not worth keeping."""
        if self._keep is not None and _is_object(body):
            self._keep((body,))
        return body


def _says(data: str) -> str:
    """`done` for the closing event, `finished` for one that says how the reply ended, else nothing.

    An error ends a reply as well: the SDK raises it and looks no further.
    """
    if data.strip() == "[DONE]":
        return "done"
    try:
        chunk = json.loads(data)
        ends = chunk.get("error") or any(choice.get("finish_reason") for choice in chunk["choices"])
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return ""  # what the client will make of it is its own affair
    return "finished" if ends else ""


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


class CassetteTransport(httpx2.BaseTransport):
    """See `cassette_transport`. `session` says what was played and recorded."""

    def __init__(self, session: TransportSession, live: httpx2.BaseTransport | None = None) -> None:
        if live is not None and not hasattr(live, "handle_request"):
            raise ConfigurationError(
                f"`live` must be a transport for httpx2.Client, got {type(live).__name__}; for an "
                "AsyncClient use async_cassette_transport"
            )
        self.session = session
        self._live = live

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        recorded = self.session.take(request)
        if recorded is not None:
            return recorded
        if self._live is None:
            self._live = httpx2.HTTPTransport()
        answer = self._live.handle_request(request)
        tape = self.session.tape(request, answer)
        if _is_stream(answer):
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
        self._live = live

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        recorded = self.session.take(request)
        if recorded is not None:
            return recorded
        if self._live is None:
            self._live = httpx2.AsyncHTTPTransport()
        answer = await self._live.handle_async_request(request)
        tape = self.session.tape(request, answer)
        if _is_stream(answer):
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

    def __init__(self, answer: httpx2.Response, tape: _Tape) -> None:
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

    def __init__(self, answer: httpx2.Response, tape: _Tape) -> None:
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


class _RecordedPieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A recorded stream's body, cut as it arrived."""

    def __init__(self, chunks: tuple[bytes, ...]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def _chat_request(asked: httpx2.Request) -> tuple[Request | None, str]:
    """The chat request in a client's request; or None, and why it is none."""
    if asked.method != "POST" or not asked.url.path.rstrip("/").endswith(CHAT):
        return None, "it is no chat completion"
    try:
        body = json.loads(asked.content)
        return Request.of(body if isinstance(body, Mapping) else {}), ""
    except (ValueError, RecursionError) as error:
        return None, f"its body is no JSON ({str(error)[:100]})"
    except ConfigurationError as error:
        return None, f"its body is no chat request ({error})"


def _without_model(chat: Request) -> Request:
    return Request(chat.messages, {name: chat[name] for name in chat.options if name != "model"})


def _is_stream(answer: httpx2.Response) -> bool:
    return "event-stream" in answer.headers.get("content-type", "")


def _handed_on(
    answer: httpx2.Response, *, content: bytes | None = None, stream: Any = None
) -> httpx2.Response:
    headers = [pair for pair in answer.headers.multi_items() if pair[0].lower() not in _OF_THE_WIRE]
    return httpx2.Response(
        answer.status_code, headers=headers, content=content, stream=stream, extensions=answer.extensions
    )


def _replayed(turn: Recorded, *, streaming: bool) -> httpx2.Response:
    """The answer as it was recorded; cut into events, or put together, where it is now asked for so."""
    chunks, kind = turn.chunks, "text/event-stream" if turn.streamed else "application/json"
    if turn.status < 400 and streaming != turn.streamed:
        completion = turn.completion()
        if streaming:
            events = (*split_completion(completion), None)
            chunks, kind = tuple(encode_event(event) for event in events), "text/event-stream"
        else:
            text = json.dumps(completion_dict(completion), ensure_ascii=False)
            chunks, kind = (text.encode("utf-8", "replace"),), "application/json"
        kept = {}
    else:
        kept = {name: values[0] for name, values in response_headers(turn.headers).items()}
    headers = {"content-type": kind, **kept}
    if "event-stream" in headers["content-type"]:
        return httpx2.Response(turn.status, headers=headers, stream=_RecordedPieces(chunks))
    return httpx2.Response(turn.status, headers=headers, content=b"".join(chunks))
