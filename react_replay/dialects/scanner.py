"""The line scanner: where the labels of a text protocol stand in a reply. Positions only, no meaning.

A label counts at the start of a line and outside a code fence. Every quantifier is possessive, so the scan
is linear whatever the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

__all__ = ["ACTION", "ANSWER", "INPUT", "OBSERVATION", "QUESTION", "THOUGHT", "Label", "Scanner"]

THOUGHT, ACTION, INPUT = "thought", "action", "input"
OBSERVATION, ANSWER, QUESTION = "observation", "answer", "question"


class Label(NamedTuple):
    """A label: its kind, where its line starts, and where what it labels starts."""

    kind: str
    start: int
    end: int


class Scanner:
    """Finds the labels of one table, each kind in several spellings."""

    def __init__(self, labels: Mapping[str, tuple[str, ...]]) -> None:
        self._kinds = {
            _squeezed(spelling): kind for kind, spellings in labels.items() for spelling in spellings
        }
        names = sorted((s for spellings in labels.values() for s in spellings), key=len, reverse=True)
        alternatives = "|".join(re.escape(name).replace(r"\ ", r"[ \t_]*+") for name in names)
        self._pattern = re.compile(
            r"^[ \t>#*\-+]*+(?:(?P<fence>```|~~~)|(?:\d{1,3}[.)][ \t]*+)?+[*_`]*+"
            rf"(?P<label>{alternatives})[ \t]*+\d*+[ \t]*+[*_`]*+[ \t]*+[:：][ \t]*+[*_]*+[ \t]*+)",
            re.I | re.M,
        )
        self.stop_words = labels.get(OBSERVATION, ())

    def scan(self, text: str, start: int = 0) -> Iterator[Label]:
        """The labels from `start` on, in order; those between two fence lines are skipped."""
        position = start
        closed_fences = True
        while True:
            found = self._pattern.search(text, position)
            if found is None:
                return
            position = max(found.end(), found.start() + 1)
            if found["fence"]:
                if closed_fences:
                    closing = _FENCE_LINE.search(text, position)
                    if closing is None:  # a fence that never closes hides nothing
                        closed_fences = False
                    else:
                        position = closing.end()
                continue
            yield Label(self._kinds[_squeezed(found["label"])], found.start(), found.end())

    def without_stop_word(self, text: str) -> str:
        """The text without a part of an observation label left on its last line."""
        head, _, last = text.rpartition("\n")
        word = last.strip().strip("*").rstrip(":：").casefold()
        least = 1 if word and not word.isascii() else 4
        if head and len(word) >= least and any(s.casefold().startswith(word) for s in self.stop_words):
            return head
        return text


_FENCE_LINE = re.compile(r"^[ \t]*+(?:```|~~~)", re.M)


@lru_cache(maxsize=512)
def _squeezed(spelling: str) -> str:
    return re.sub(r"[ \t_]+", "", spelling).casefold()
