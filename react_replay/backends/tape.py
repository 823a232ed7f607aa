"""A live answer on its way through a recorder: passed on as it comes, its end held back until it is kept.

Bytes in, bytes out. No HTTP, no files, and no meaning of a reply but whether it has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from react_replay.wire import EventDecoder

__all__ = ["Tape"]


class Tape:
    """An answer's pieces as they go by: kept whole, the end held back until that is done.

    `keep` is None for what is handed on only; `streams` says whether the answer comes in events.
    """

    def __init__(self, keep: Callable[[tuple[bytes, ...]], None] | None, *, streams: bool) -> None:
        self.streams = streams
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
