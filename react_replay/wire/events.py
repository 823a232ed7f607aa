"""A stream's bytes: server-sent events, and the chunk objects in them. Live and recorded, read by one reader.

What comes out does not depend on how the bytes were cut. No sockets, and no meaning of a chunk: see `stream`.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from react_replay.errors import BackendError
from react_replay.wire.completion import read_completion

__all__ = ["LONGEST_EVENT", "ChunkDecoder", "EventDecoder", "decode_events", "encode_event"]

LONGEST_EVENT = 32 * 2**20
"""Characters that one event may have: a stream that never ends a line must not fill the memory."""


class EventDecoder:
    """Server-sent events from bytes cut anywhere, also inside a character. `feed` yields each `data`.

    Lines end in LF, CRLF or CR; a byte order mark, comments and other fields are skipped; a last event
    without its blank line is read. Raises `BackendError` beyond `LONGEST_EVENT` characters.
    """

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []
        self._data: list[str] = []
        self._held = 0  # characters in `_line` and `_data`
        self._after_cr = False

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[str]:
        text = self._text.decode(piece, final)
        if text and self._after_cr and text[0] == "\n":
            text, self._after_cr = text[1:], False
        if text:
            self._after_cr = text[-1] == "\r"
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for number, part in enumerate(lines):
            self._hold(part)
            if number < len(lines) - 1:
                yield from self._end_of_line()
        if final:
            yield from self._end_of_line()
            yield from self._end_of_event()

    def _hold(self, part: str) -> None:
        self._line.append(part)
        self._held += len(part)
        if self._held > LONGEST_EVENT:
            start = "".join(self._data)[:60] or "".join(self._line[:8])[:60]
            raise BackendError(
                f"the stream holds an event of more than {LONGEST_EVENT} characters, beginning {start!a}"
            )

    def _end_of_line(self) -> Iterator[str]:
        line = "".join(self._line)
        self._line.clear()
        if not line:
            yield from self._end_of_event()
        elif line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        else:
            self._held -= len(line)

    def _end_of_event(self) -> Iterator[str]:
        self._held = 0
        if self._data:
            data = "\n".join(self._data)
            self._data.clear()
            yield data


class ChunkDecoder:
    """The chunk objects of a stream's body, up to `[DONE]`; `feed` yields those that are complete.

    A body that is no stream but one JSON object, from a server that does not stream, is cut into chunks.
    Raises `BackendError` on an event that is no JSON object.
    """

    def __init__(self) -> None:
        self._events = EventDecoder()
        self._start = b""
        self._whole: bytearray | None = None  # the body, where it is no stream
        self._known = self._done = False

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[dict[str, Any]]:
        if not self._known:
            piece = self._start + piece
            shown = piece.removeprefix(codecs.BOM_UTF8).lstrip()
            if not final and (not shown or codecs.BOM_UTF8.startswith(piece)):
                self._start = piece
                return
            self._known = True
            self._whole = bytearray() if shown[:1] == b"{" else None
        if self._whole is not None:
            self._whole += piece
            if len(self._whole) > LONGEST_EVENT:
                raise BackendError(f"the provider's answer has more than {LONGEST_EVENT} bytes")
            if final:
                yield from _chunks_of_body(bytes(self._whole))
            return
        if self._done:
            return
        for data in self._events.feed(piece, final=final):
            for part in _parts(data):
                if part.strip() == "[DONE]":
                    self._done = True
                    return
                yield _chunk(part)


def _parts(data: str) -> Iterator[str]:
    """The event, or its lines where it only makes sense so: some proxies drop the blank lines between."""
    if "\n" in data and not _reads(data):
        lines = [line for line in data.split("\n") if line.strip()]
        if all(line.strip() == "[DONE]" or _reads(line) for line in lines):
            yield from lines
            return
    if data.strip():  # an empty event keeps the line open and says nothing
        yield data


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _chunk(data: str) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"the stream holds an event that is no JSON: {data[:120]!a}") from error
    if not isinstance(chunk, dict):
        raise BackendError(f"the stream holds an event that is no object: {data[:120]!a}")
    return chunk


def _chunks_of_body(body: bytes) -> Iterator[dict[str, Any]]:
    from react_replay.wire.stream import split_completion

    try:
        whole = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"the provider's answer is neither a stream nor JSON: {body[:120]!a}") from error
    yield from split_completion(read_completion(whole))


def decode_events(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The chunk objects of a stream's body, up to `[DONE]`. Raises `BackendError` on what is no JSON."""
    decoder = ChunkDecoder()
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.feed(b"", final=True)


def encode_event(chunk: Mapping[str, Any] | None) -> bytes:
    """One chunk as a server-sent event; None is the closing `[DONE]`."""
    data = "[DONE]" if chunk is None else json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
    return f"data: {data}\n\n".encode("utf-8", "replace")
