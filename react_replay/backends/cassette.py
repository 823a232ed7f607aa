"""A recorded model: replays a cassette above the SDK, and records one through a live backend.

What replays opens no socket, needs no key and imports no SDK. Recording wraps another backend; its bytes go
to the file through `cassettes`, which this module alone calls.
"""

from __future__ import annotations

import functools
import json
import re
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.backends.synthesis import (
    SCRIPTED_URL,
    ends,
    json_bytes,
    replayed,
    streamed_exchange,
    synthesised,
)
from react_replay.backends.wired import WiredBackend
from react_replay.cassettes.journal import Left, left_turns
from react_replay.cassettes.masks import masks_of
from react_replay.cassettes.reading import Cassette, Recorded, read_cassette, read_interactions
from react_replay.cassettes.replay import Replay, one_of
from react_replay.cassettes.ways import Ways
from react_replay.errors import CassetteError, CassetteMissing, ConfigurationError, did_you_mean
from react_replay.messages import Completion, Message, Request, ToolCall
from react_replay.wire import (
    NEUTRAL,
    PROVIDERS,
    Exchange,
    Provider,
    completion_dict,
    fold,
    provider_for,
    read_completion,
    split_completion,
)

if TYPE_CHECKING:
    from react_replay.cassettes.blanked import Blanked
    from react_replay.cassettes.drift import Drift

__all__ = ["MODES", "CassetteBackend", "record_mode"]

MODES = ("none", "once", "new_episodes", "all", "rekey")
"""`none` only replays; `once` records where there is no file; `new_episodes` records what the file does not
answer; `all` records everything anew; `rekey` keeps the answers and rewrites the requests, asking nobody."""


class CassetteBackend(ChatBackend):
    """Answers from the cassette at `path`; what `record` allows is asked of `live` and kept.

    `live` may be a function that makes the backend when something must be recorded; None means
    `LiveBackend.from_env()`. `metadata` goes into the file. `masks` are what is not compared, kept in the
    file; `tolerate` names what may differ (`system`, `tools`, `tool_descriptions`, `temperature`, ...), which
    `drift` lists or, with `on_drift="fail"`, refuses. `tools="recorded"` takes the results of tools from the
    recording and runs none of what is recorded. `layout` is how the file is written: `full`, or `delta` for
    long runs; None leaves a file's as it is. A secret stops the write; `redact=True` replaces keys, and a
    list of regular expressions what they match as well: give the same to replay. `ways` is how errors say to
    set all this. Raises `CassetteMissing`, `CassetteError` (unreadable, never overwritten), `CassetteMiss`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        record: str = "none",
        live: ChatBackend | Callable[[], ChatBackend] | None = None,
        metadata: Mapping[str, Any] | None = None,
        masks: Iterable[str] = (),
        tolerate: Iterable[str] = (),
        on_drift: str = "report",
        tools: str = "run",
        layout: str | None = None,
        redact: bool | Sequence[str | re.Pattern[str]] = False,
        ways: Ways | None = None,
    ) -> None:
        self.path = Path(path)
        self.record = record_mode(record)
        self.tools = one_of("tools", tools, ("run", "recorded"))
        self._ways = ways or Ways(self.path)
        self._live = live if isinstance(live, ChatBackend) else None
        self._make_live = None if isinstance(live, ChatBackend) else live
        self._owned: ChatBackend | None = None
        self._extra = dict(metadata or {})
        self._live_calls = 0
        self._open_runs = 0
        self._lock = threading.Lock()
        self._broken = False
        self._cassette = self._load()
        _refuse_to_extend(self._cassette, self.record)
        rekeys = self.record == "rekey"
        self._records = not rekeys and (self.record in ("new_episodes", "all") or self._cassette is None)
        self._recording = redaction = None
        if self.record != "none":
            from react_replay.cassettes.redact import redaction_of

            redaction = redaction_of(redact)
            self._extra |= {"redacted": True} if redaction is not None else {}
        if self.record != "none" and not rekeys:
            from react_replay.cassettes.recording import Recording

            self._recording = Recording(
                self.path, replaces=self.record == "all", layout=layout, redaction=redaction
            )
        self._left = self._turns_left()
        standing = self._cassette.recorded if self._cassette and self.record != "all" else ()
        turns: Iterable[Recorded] = (
            *standing,
            *read_interactions(self.path, self._left.interactions, first=len(standing) + 1),
        )
        self._blanked = _blanked_for(redact, self._kept)
        if self._blanked is not None:
            turns = map(self._blanked.turn, turns)
        self._masks = masks_of(self.path, self._kept, masks)
        self._replay = Replay(
            self.path, turns, ways=self._ways, masks=self._masks, tolerate=tolerate, on_drift=on_drift
        )
        self._index = self._replay.index
        if rekeys and self._cassette is not None:
            from react_replay.cassettes.rekey import Rekeying

            self._replay.rekeying = Rekeying(
                self._cassette, self._index, self._ways, layout=layout, redaction=redaction
            )
        self.recorded_at = self._recording_time()
        if self.recorded_at is not None:
            at = self.recorded_at
            self.clock = lambda: at

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The provenance in the file, or what was given for a new one."""
        return self._kept or self._extra

    @property
    def _kept(self) -> Mapping[str, Any]:
        """The provenance that this session goes on with: the file's, or that of a recording broken off."""
        if self._cassette is not None and self.record != "all":
            return self._cassette.metadata
        return self._left.head.get("metadata") or {}

    @functools.cached_property
    def provider(self) -> Provider:  # type: ignore[override]
        """The service that was recorded, or that is: observations are cut on replay as they were then.

        A recording that does not say how they were cut has them whole.
        """
        kept = self._kept
        if not kept and self._records:
            return self._live_backend().provider
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

    def check_played(self) -> None:
        """Raise `UnplayedTurns`, which names them, where recorded turns were not asked for."""
        self._replay.check_played()

    @property
    def drift(self) -> list[Drift]:
        """The tolerated differences so far, each with its turn; `str` of one is a line to read."""
        return list(self._replay.drift)

    def recorded_results(
        self, messages: Sequence[Message], calls: Sequence[ToolCall]
    ) -> Sequence[Message] | None:
        if self.tools == "run":
            return None
        if self._blanked is not None:
            messages = self._blanked(Request(messages, {})).messages
        found = self._replay.results(messages)
        return [] if found is None and not self._records else found

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
        return self._recording.count if self._recording is not None else 0

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
            yield from replayed(turn)
            return
        live = self._live_backend()
        # The end of a reply is handed on when the reply is kept: a kill loses nothing that has finished.
        held: list[Chunk] = []
        for chunk in self._recorded_stream(live, request):
            if held or ends(chunk):
                held.append(chunk)
            else:
                yield chunk
        yield from held

    def _recorded_stream(self, live: ChatBackend, request: Request) -> Iterator[Chunk]:
        if isinstance(live, WiredBackend):
            yield from live.stream(request, tap=self._keep)
            return
        kept: list[Chunk] = []
        for chunk in live.stream(request):
            kept.append(chunk)
            yield chunk
        self._keep(streamed_exchange(request, kept))

    async def astream(self, request: Request) -> AsyncIterator[Chunk]:
        request = Request.of(request)
        if (turn := self._take(request)) is not None:
            for chunk in replayed(turn):
                yield chunk
            return
        live = self._live_backend()
        held: list[Chunk] = []
        async for chunk in self._arecorded_stream(live, request):
            if held or ends(chunk):
                held.append(chunk)
            else:
                yield chunk
        for chunk in held:
            yield chunk

    async def _arecorded_stream(self, live: ChatBackend, request: Request) -> AsyncIterator[Chunk]:
        if isinstance(live, WiredBackend):
            async for chunk in live.astream(request, tap=self._keep):
                yield chunk
            return
        kept: list[Chunk] = []
        async for chunk in live.astream(request):
            kept.append(chunk)
            yield chunk
        self._keep(streamed_exchange(request, kept))

    def begin(self) -> None:
        with self._lock:
            self._broken = self._broken and self._open_runs > 0
            self._open_runs += 1

    def flush(self, *, complete: bool = True) -> None:
        """Put what was recorded into the file; a session that recorded nothing writes nothing.

        A run that broke off leaves its turns in a journal beside the file, and the next session goes on from
        there. A file that stands is changed when the last run, or the `with` block, has ended well; in mode
        `all` only if none broke off.
        """
        with self._lock:
            self._open_runs = max(self._open_runs - 1, 0)
            self._broken = self._broken or not complete
            rekeying = self._replay.rekeying
            if rekeying is not None and rekeying.changed and not (self._broken or self._open_runs):
                rekeying.save(self.provider, self._extra, today=_now())
            if self._recording is None or not self._recording.unsaved:
                return
            stands = self._cassette is not None
            broken = not complete or (self.record == "all" and stands and self._broken)
            if broken or (stands and self._open_runs > 0):
                if self._open_runs == 0:
                    self._recording.release()
                return
            # What a broken-off replacement had and this one did not ask for is of another run.
            dropped = [turn.number - 1 for turn in self._index.unplayed] if self.record == "all" else []
            hint = self._recording.compile(self._provenance(), self._secrets(), dropped=dropped)
        if hint:
            warnings.warn(hint, stacklevel=2)

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
        if self._recording is not None:
            self._recording.release()
        if self._owned is not None:
            self._owned.close()
            self._owned = self._live = None

    def _load(self) -> Cassette | None:
        try:
            return read_cassette(self.path)
        except CassetteMissing:
            return None

    def _turns_left(self) -> Left:
        """The turns of a recording that broke off; without a file either, `none` has nothing to replay."""
        left = left_turns(self.path) if self._recording is None else self._recording.take_up()
        if self.record == "rekey" and left.interactions:
            raise CassetteError(
                f"a recording of {self.path} broke off, and its turns wait in a journal beside it: finish it "
                f"first: {self._ways.mode('new_episodes')}; then rekey",
                path=str(self.path),
            )
        if self._cassette is None and self.record in ("none", "rekey") and not left.interactions:
            raise CassetteMissing(
                f"there is no cassette at {self.path}, and the record mode is {self.record!r}; check the "
                f"path, or record it: {self._ways.mode('once')}",
                path=str(self.path),
            )
        return left

    def _recording_time(self) -> datetime | None:
        kept = self._kept
        if kept.get("recorded_at"):
            try:
                return datetime.fromisoformat(str(kept["recorded_at"]))
            except ValueError as error:
                raise CassetteError(
                    f"the cassette {self.path} says recorded_at: {kept['recorded_at']!r}, which is no "
                    "ISO 8601 time; mend it by hand",
                    path=str(self.path),
                ) from error
        return _now() if self._records else None

    def _take(self, request: Request) -> Recorded | None:
        asked = request if self._blanked is None else self._blanked(request)
        turn = self._replay.take(asked, given=request, may_lack=self._records)
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
            assert self._recording is not None
            self._recording.keep(exchange, self._provenance(), self._secrets())

    def _secrets(self) -> Sequence[str]:
        return self._live.secrets if isinstance(self._live, WiredBackend) else ()

    def _keep_reply(self, request: Request, completion: Completion) -> Completion:
        """Keep a reply that came without a wire, and read it as its replay will be read."""
        if completion.finish_reason is None:
            # A stream that broke off stays one: a whole body without a reason would read as finished.
            chunks = list(split_completion(completion))
            self._keep(streamed_exchange(request, chunks))
            return fold(chunks)
        raw = completion_dict(completion)
        self._keep(synthesised(request, (json_bytes(raw),), "application/json"))
        return read_completion(json.loads(json_bytes(raw)))

    def _provenance(self) -> dict[str, Any]:
        from importlib.metadata import version

        assert self.recorded_at is not None
        live = self._live
        wired = live.provenance if isinstance(live, WiredBackend) else {"origin": "scripted"}
        facts = {
            "recorded_at": self.recorded_at.isoformat(),
            "recorder": f"react-replay {version('react-replay')}",
            "provider": self.provider.name,
            "max_observation": self.provider.max_observation,
            **wired,
        }
        masks = {"masks": list(self._masks.sources)} if self._masks else {}
        return {**facts, **self._kept, **self._extra, **masks}


def _blanked_for(redact: bool | Sequence[str | re.Pattern[str]], kept: Mapping[str, Any]) -> Blanked | None:
    """How requests are compared where secrets are replaced, now or when the file was recorded."""
    if not redact and not kept.get("redacted"):
        return None
    from react_replay.cassettes.blanked import Blanked
    from react_replay.cassettes.redact import redaction_of

    redaction_of(redact)  # what is no pattern is refused on replay too
    return Blanked(() if isinstance(redact, bool) else redact)


def _refuse_to_extend(cassette: Cassette | None, mode: str) -> None:
    """A file in a layout that we only read is played, and never written over."""
    if cassette is None or cassette.extensible or mode not in ("new_episodes", "all", "rekey"):
        return
    what = "with parsed bodies" if cassette.layout == "vcrpy" else f"in the layout of {cassette.layout}"
    raise CassetteError(
        f"the cassette {cassette.path} is {what}, which is played but not written: record={mode!r} would "
        "change its layout. Record to another path",
        path=str(cassette.path),
    )


def _now() -> datetime:
    return datetime.now().astimezone().replace(microsecond=0)


def record_mode(record: str) -> str:
    """The record mode of that name or alias. Raises `ConfigurationError` with the list."""
    mode = {"new": "new_episodes"}.get(record, record)
    if mode not in MODES:
        raise ConfigurationError(
            f"unknown record mode {record!r}{did_you_mean(str(record), MODES)}; "
            f"the modes are: {', '.join(MODES)}"
        )
    return mode
