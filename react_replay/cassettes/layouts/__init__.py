"""The layouts in which HTTP traffic is recorded, each a module of pure functions over plain data.

`recognise` says which one a file is in, and gives its entries; a layout turns an entry into an `Exchange`
whose body may still be compressed. No file is opened here, and nothing here knows what a chat request is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from react_replay.cassettes.documents import Unreadable
from react_replay.cassettes.layouts import ddtrace, delta, govcr, httpmock, httprr, rubyvcr, vcrpy
from react_replay.cassettes.layouts.foreign import EXPECTED, what_it_is
from react_replay.wire import Exchange

__all__ = ["Foreign", "Found", "recognise", "recognise_text"]


class Foreign(Unreadable):
    """The file is well made, and is something else than a cassette: `found`."""

    def __init__(self, found: str) -> None:
        super().__init__(f"it is {found}; {EXPECTED}")
        self.found = f"it is {found}"


class Found(NamedTuple):
    """A file's layout by name, its entries in order, and what reads one of them."""

    layout: str
    entries: Sequence[Any]
    exchange: Callable[[Any], Exchange]


_LAYOUTS = (vcrpy, govcr, rubyvcr, httpmock, ddtrace)  # the first that takes a document has it


def recognise_text(data: bytes) -> Found | None:
    """The entries of a layout that is neither YAML nor JSON; None where it is none."""
    if data.startswith(httprr.MAGIC):
        return Found(httprr.NAME, httprr.entries(data), httprr.exchange)
    return None


def recognise(documents: Sequence[Any]) -> Found:
    """The entries of a file's documents. Raises `Foreign`, which says what the file is instead."""
    if (turns := delta.entries(documents)) is not None:
        return Found(delta.NAME, delta.Turns(turns), vcrpy.exchange)
    for layout in _LAYOUTS:
        entries = layout.entries(documents)
        if entries is not None:
            return Found(layout.NAME, entries, layout.exchange)
    for key in ("interactions", "http_interactions"):
        if len(documents) == 1 and isinstance(documents[0], dict) and key in documents[0]:
            kind = type(documents[0][key]).__name__
            raise Unreadable(f"`{key}` must be a list, found {kind}")
    raise Foreign(what_it_is(documents))
