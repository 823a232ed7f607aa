"""An append-only log and its views: a sequence that looks immutable and costs O(1) to extend.

Views share one list; extending the newest view appends in place, extending an older one copies its prefix
(a fork). A log belongs to one run: two threads must not extend views of the same log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

__all__ = ["Log"]

T = TypeVar("T")


class Log(Sequence[T], Generic[T]):
    """A view of the first `len(log)` items. `in` is O(1) and wants hashable items."""

    __slots__ = ("_items", "_length", "_places")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._length = len(self._items)
        self._places = _Places()

    def extend(self, items: Iterable[T]) -> Log[T]:
        """A view that is longer by `items`; this one stays as it is."""
        if len(self._items) != self._length:
            return Log((*self._items[: self._length], *items))
        longer: Log[T] = object.__new__(Log)
        self._items.extend(items)
        longer._items = self._items
        longer._length = len(self._items)
        longer._places = self._places
        return longer

    def continues(self, other: Log[T]) -> bool:
        """Whether this is `other`, possibly longer: known without looking at an item."""
        return self._items is other._items and self._length >= other._length

    def __contains__(self, item: object) -> bool:
        # The table is shared by all views of the list; each looks only at its own prefix.
        return self._places.first(item, self._items) < self._length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self._items[: self._length][index]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"index {index} is outside a log of {self._length}")
        return self._items[index]

    def __iter__(self) -> Iterator[T]:
        for place in range(self._length):
            yield self._items[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, (str, bytes)):
            return len(other) == self._length and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Log({list(self)!r})"


class _Places:
    """Where each item of a growing list stands first; catches up with the list when it is asked."""

    __slots__ = ("first_place", "scanned")

    def __init__(self) -> None:
        self.first_place: dict[Any, int] = {}
        self.scanned = 0

    def first(self, item: object, items: list[Any]) -> int:
        while self.scanned < len(items):
            self.first_place.setdefault(items[self.scanned], self.scanned)
            self.scanned += 1
        return self.first_place.get(item, len(items))
