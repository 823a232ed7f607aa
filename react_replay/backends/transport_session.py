"""A cassette's session behind a transport: a client's request in, its recorded answer out.

It is a `CassetteBackend` that is asked in `httpx2`'s requests instead of ours. It holds no
connections.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2

from react_replay.backends.cassette import CassetteBackend
from react_replay.backends.guard import GuardBackend
from react_replay.backends.tape import Tape
from react_replay.backends.wired import WiredBackend
from react_replay.cassettes.allowed import response_headers, safe_url
from react_replay.cassettes.keyshapes import key_names, keys_in_query
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.ways import Ways
from react_replay.errors import CassetteMiss, ConfigurationError
from react_replay.messages import Request
from react_replay.wire import (
    Exchange,
    completion_dict,
    encode_event,
    provider_for,
    split_completion,
)

__all__ = ["TransportSession"]

CHAT = "/chat/completions"
# What the request itself caused; other failures pass, and would fail every replay of the file.
_KEPT_FAILURES = frozenset({400, 413, 422})


class TransportSession(CassetteBackend):
    """A cassette's session for a caller that has a wire of its own: `take` an answer, or `keep` one."""

    def __init__(
        self,
        path: str | Path,
        *,
        record: str = "none",
        opener: str = "cassette_transport",
        metadata: Mapping[str, Any] | None = None,
        masks: Iterable[str] = (),
        tolerate: Iterable[str] = (),
        on_drift: str = "report",
        layout: str | None = None,
        redact: bool | Sequence[str | re.Pattern[str]] = False,
    ) -> None:
        self.wire = _Wire()
        super().__init__(
            path,
            record=record,
            live=self.wire,
            metadata=metadata,
            masks=masks,
            tolerate=tolerate,
            on_drift=on_drift,
            layout=layout,
            redact=redact,
            # The client's own agent runs its tools.
            ways=Ways(path, opener=opener, runs_tools=False),
        )
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

    def tape(self, asked: httpx2.Request, answer: httpx2.Response) -> Tape:
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
        kind = answer.headers.get("content-type", "")
        # Some servers name a stream by no kind, or by another.
        asked_for = chat is not None and bool(chat.options.get("stream")) and answer.status_code < 300
        streams = "event-stream" in kind or (asked_for and "json" not in kind)
        return Tape(keep if chat is not None and worth else None, streams=streams)


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
        url = str(asked.url)
        self._keys |= {url[key.start : key.end] for key in keys_in_query(url)}
        for name, value in asked.headers.items():
            if key_names(name):
                self._keys.add(value.rpartition(" ")[2])
        if "client" not in self._facts:
            self._facts["client"] = asked.headers.get("user-agent", "")
            self.provider = replace(provider_for(url), max_observation=None)


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


def _replayed(turn: Recorded, *, streaming: bool) -> httpx2.Response:
    """The answer as it was recorded; cut into events, or put together, where it is now asked for so."""
    chunks, streamed = turn.chunks, turn.streamed
    kept = {name: values[0] for name, values in response_headers(turn.headers).items()}
    if turn.status < 400 and streaming != streamed:
        completion, kept, streamed = turn.completion(), {}, streaming
        if streaming:
            chunks = tuple(encode_event(event) for event in (*split_completion(completion), None))
        else:
            text = json.dumps(completion_dict(completion), ensure_ascii=False)
            chunks = (text.encode("utf-8", "replace"),)
    headers = {"content-type": "text/event-stream" if streamed else "application/json", **kept}
    if streamed:
        return httpx2.Response(turn.status, headers=headers, stream=_RecordedPieces(chunks))
    return httpx2.Response(turn.status, headers=headers, content=b"".join(chunks))


class _RecordedPieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A recorded stream's body, cut as it arrived."""

    def __init__(self, chunks: tuple[bytes, ...]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
