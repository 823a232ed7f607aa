"""A recorded model: replays a cassette above the SDK, and records one through a live backend.

What replays opens no socket, needs no key and imports no SDK. Recording wraps another backend; its bytes go
to the file through `cassettes`, which this module alone calls.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.backends.wired import WiredBackend
from react_replay.cassettes.index import Index
from react_replay.cassettes.miss import explain_miss
from react_replay.cassettes.reading import Cassette, Recorded, read_cassette
from react_replay.errors import CassetteError, CassetteMissing, ConfigurationError, did_you_mean
from react_replay.messages import Completion, Request
from react_replay.wire import (
    NEUTRAL,
    PROVIDERS,
    Exchange,
    Provider,
    completion_dict,
    encode_event,
    fold,
    provider_for,
    read_completion,
    split_completion,
)

__all__ = ["MODES", "CassetteBackend", "record_mode"]

MODES = ("none", "once", "new_episodes", "all")
"""`none` only replays; `once` records where there is no file; `new_episodes` records what the file does not
answer; `all` records everything anew."""

SCRIPTED_URL = "https://scripted.invalid/v1/chat/completions"


class CassetteBackend(ChatBackend):
    """Answers from the cassette at `path`; what `record` allows is asked of `live` and kept.

    `live` may be a function that makes the backend when something must be recorded; None means
    `LiveBackend.from_env()`. `metadata` goes into the file. Raises `CassetteMissing`, `CassetteError`
    (unreadable, never overwritten) and `CassetteMiss`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        record: str = "none",
        live: ChatBackend | Callable[[], ChatBackend] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.record = record_mode(record)
        self._live = live if isinstance(live, ChatBackend) else None
        self._make_live = None if isinstance(live, ChatBackend) else live
        self._owned: ChatBackend | None = None
        self._extra = dict(metadata or {})
        self._new: list[Exchange] = []
        self._saved = 0
        self._asked = 0
        self._live_calls = 0
        self._open_runs = 0
        self._lock = threading.Lock()
        self._broken = False
        self._written: list[Mapping[str, Any]] | None = None
        self._file_state: object = None
        self._cassette = self._load()
        _refuse_to_extend(self._cassette, self.record)
        replays = self._cassette is not None and self.record != "all"
        self._index = Index(self._cassette.recorded if self._cassette and replays else ())
        self._records = self.record in ("new_episodes", "all") or self._cassette is None
        self.recorded_at = self._recording_time()
        if self.recorded_at is not None:
            at = self.recorded_at
            self.clock = lambda: at

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The provenance in the file, or what was given for a new one."""
        return self._cassette.metadata if self._cassette is not None else self._extra

    @functools.cached_property
    def provider(self) -> Provider:  # type: ignore[override]
        """The service that was recorded, or that is: observations are cut on replay as they were then.

        A recording that does not say how they were cut has them whole.
        """
        if self._cassette is None or self.record == "all":
            return self._live_backend().provider
        kept = self._cassette.metadata
        named, most = str(kept.get("provider") or ""), kept.get("max_observation")
        known = PROVIDERS.get(named)
        if known is None:
            hosts = (turn.url for turn in self._index.turns if "://" in turn.url)
            known = replace(NEUTRAL, name=named) if named else provider_for(next(hosts, SCRIPTED_URL))
        try:
            return replace(known, max_observation=most)
        except ConfigurationError as error:
            raise CassetteError(
                f"the cassette {self.path} says max_observation: {most!r}: {error}; mend it by hand",
                path=str(self.path),
            ) from error

    def describe(self, metadata: Mapping[str, Any]) -> None:
        """Add to the provenance of what will be recorded."""
        self._extra.update(metadata)

    @property
    def unplayed(self) -> list[Recorded]:
        """Recorded turns that were not asked for."""
        return self._index.unplayed

    @property
    def offered_tools(self) -> list[str] | None:
        """The names of the tools in the first recorded request; None where nothing is recorded."""
        if not self._index.turns:
            return None
        request = self._index.turns[0].request
        entries = request.options.get("tools") if request is not None else None
        functions = [entry.get("function") for entry in entries or () if isinstance(entry, Mapping)]
        return [str(item.get("name")) for item in functions if isinstance(item, Mapping)]

    @property
    def live_calls(self) -> int:
        """How many requests went to the live backend, answered or not."""
        return self._live_calls

    @property
    def recorded_turns(self) -> int:
        """How many turns were recorded."""
        return len(self._new)

    def complete(self, request: Request) -> Completion:
        request = Request.of(request)
        if (turn := self._take(request)) is not None:
            return turn.completion()
        live = self._live_backend()
        if isinstance(live, WiredBackend):
            return live.complete(request, tap=self._keep)
        return self._keep_reply(request, live.complete(request))

    async def acomplete(self, request: Request) -> Completion:
        request = Request.of(request)
        if (turn := self._take(request)) is not None:
            return turn.completion()
        live = self._live_backend()
        if isinstance(live, WiredBackend):
            return await live.acomplete(request, tap=self._keep)
        return self._keep_reply(request, await live.acomplete(request))

    def stream(self, request: Request) -> Iterator[Chunk]:
        request = Request.of(request)
        if (turn := self._take(request)) is not None:
            yield from _replayed(turn)
            return
        live = self._live_backend()
        if isinstance(live, WiredBackend):
            yield from live.stream(request, tap=self._keep)
            return
        kept: list[Chunk] = []
        for chunk in live.stream(request):
            kept.append(chunk)
            yield chunk
        self._keep(_streamed_exchange(request, kept))

    async def astream(self, request: Request) -> AsyncIterator[Chunk]:
        request = Request.of(request)
        if (turn := self._take(request)) is not None:
            for chunk in _replayed(turn):
                yield chunk
            return
        live = self._live_backend()
        if isinstance(live, WiredBackend):
            async for chunk in live.astream(request, tap=self._keep):
                yield chunk
            return
        kept: list[Chunk] = []
        async for chunk in live.astream(request):
            kept.append(chunk)
            yield chunk
        self._keep(_streamed_exchange(request, kept))

    def begin(self) -> None:
        with self._lock:
            self._broken = self._broken and self._open_runs > 0
            self._open_runs += 1

    def flush(self, *, complete: bool = True) -> None:
        """Write what was recorded since the last time; a session that recorded nothing writes nothing.

        In mode `all` a whole recording is replaced by a whole session only: not by a run that broke off, nor
        while another run, or the `with` block, is still open.
        """
        with self._lock:
            self._open_runs = max(self._open_runs - 1, 0)
            self._broken = self._broken or not complete
            replaces = self.record == "all" and self._cassette is not None
            if len(self._new) > self._saved and not (replaces and (self._broken or self._open_runs)):
                self._save()

    def _save(self) -> None:
        from react_replay.cassettes.writing import interaction_of, save

        if self._written is None or self._file_state != _state_of(self.path):
            self._written = self._found()
        new = [interaction_of(exchange) for exchange in self._new[self._saved :]]
        live = self._live_backend()
        secrets = live.secrets if isinstance(live, WiredBackend) else ()
        save(self.path, [*self._written, *new], self._provenance(live), secrets=secrets)
        self._written = [*self._written, *new]
        self._saved = len(self._new)
        self._file_state = _state_of(self.path)

    def _found(self) -> list[Mapping[str, Any]]:
        """What the file holds by now and must go on to hold; another recorder may have been at it."""
        if self.record == "all" and not self._saved:
            return []
        try:
            return list(read_cassette(self.path).interactions)
        except CassetteMissing:
            return []

    def close(self) -> None:
        """Flush, and close a live backend that was made here."""
        try:
            self._open_runs = 0
            self.flush()
        finally:
            self._let_go()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.flush(complete=kind is None)
        self._let_go()

    def _let_go(self) -> None:
        if self._owned is not None:
            self._owned.close()
            self._owned = self._live = None

    def _load(self) -> Cassette | None:
        try:
            return read_cassette(self.path)
        except CassetteMissing:
            if self.record != "none":
                return None
            raise CassetteMissing(
                f"there is no cassette at {self.path}, and the record mode is 'none'; check the path, or "
                'record it with record="once" (--record once)',
                path=str(self.path),
            ) from None

    def _recording_time(self) -> datetime | None:
        kept = self._cassette.metadata if self._cassette and self.record != "all" else {}
        if kept.get("recorded_at"):
            try:
                return datetime.fromisoformat(str(kept["recorded_at"]))
            except ValueError as error:
                raise CassetteError(
                    f"the cassette {self.path} says recorded_at: {kept['recorded_at']!r}, which is no "
                    "ISO 8601 time; mend it by hand",
                    path=str(self.path),
                ) from error
        return datetime.now().astimezone().replace(microsecond=0) if self._records else None

    def _take(self, request: Request) -> Recorded | None:
        with self._lock:
            self._asked += 1
            asked = self._asked
        turn = self._index.take(request)
        if turn is None and not self._records:
            known = self._index.knows(request)
            raise explain_miss(str(self.path), request, self._index.turns, turn=asked, known=known)
        if turn is None:
            with self._lock:
                self._live_calls += 1
        return turn

    def _live_backend(self) -> ChatBackend:
        if self._live is None:
            from react_replay.backends.live import LiveBackend

            make = self._make_live or LiveBackend.from_env
            self._live = self._owned = make()
        return self._live

    def _keep(self, exchange: Exchange) -> None:
        with self._lock:
            self._new.append(exchange)

    def _keep_reply(self, request: Request, completion: Completion) -> Completion:
        """Keep a reply that came without a wire, and read it as its replay will be read."""
        if completion.finish_reason is None:
            # A stream that broke off stays one: a whole body without a reason would read as finished.
            chunks = list(split_completion(completion))
            self._keep(_streamed_exchange(request, chunks))
            return fold(chunks)
        raw = completion_dict(completion)
        self._keep(_synthesised(request, (_json(raw),), "application/json"))
        return read_completion(json.loads(_json(raw)))

    def _provenance(self, live: ChatBackend) -> dict[str, Any]:
        from importlib.metadata import version

        assert self.recorded_at is not None
        kept = dict(self._cassette.metadata) if self._cassette and self.record != "all" else {}
        wired = live.provenance if isinstance(live, WiredBackend) else {"origin": "scripted"}
        facts = {
            "recorded_at": self.recorded_at.isoformat(),
            "recorder": f"react-replay {version('react-replay')}",
            "provider": self.provider.name,
            "max_observation": self.provider.max_observation,
            **wired,
        }
        return {**facts, **kept, **self._extra}


def _refuse_to_extend(cassette: Cassette | None, mode: str) -> None:
    """A file in a layout that we only read is played, and never written over."""
    if cassette is None or cassette.extensible or mode not in ("new_episodes", "all"):
        return
    what = "with parsed bodies" if cassette.layout == "vcrpy" else f"in the layout of {cassette.layout}"
    raise CassetteError(
        f"the cassette {cassette.path} is {what}, which is played but not written: record={mode!r} would "
        "change its layout. Record to another path",
        path=str(cassette.path),
    )


def record_mode(record: str) -> str:
    """The record mode of that name or alias. Raises `ConfigurationError` with the list."""
    mode = {"new": "new_episodes"}.get(record, record)
    if mode not in MODES:
        raise ConfigurationError(
            f"unknown record mode {record!r}{did_you_mean(str(record), MODES)}; "
            f"the modes are: {', '.join(MODES)}"
        )
    return mode


def _state_of(path: Path) -> object:
    """What changes when another process writes the file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _replayed(turn: Recorded) -> Iterator[Chunk]:
    if turn.streamed and turn.status < 400:
        yield from turn.events()
    else:
        yield from split_completion(turn.completion())


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace")


def _synthesised(request: Request, chunks: tuple[bytes, ...], kind: str, **options: Any) -> Exchange:
    """What an exchange with a backend without a wire would have been; the host says that it was none."""
    return Exchange(
        url=SCRIPTED_URL,
        request_body=_json({**request.body(), **options}),
        request_headers={"content-type": "application/json"},
        response_headers={"content-type": kind},
        chunks=chunks,
    )


def _streamed_exchange(request: Request, chunks: list[Chunk]) -> Exchange:
    events = tuple(encode_event(chunk) for chunk in (*chunks, None))
    return _synthesised(request, events, "text/event-stream", stream=True)
