"""The line scanner: where the labels of a text protocol stand in a reply. Positions only, no meaning.

A label counts at the start of a line and outside a code fence. Every quantifier is possessive, so the scan
is linear whatever the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["ACTION", "ANSWER", "INPUT", "OBSERVATION", "QUESTION", "THOUGHT", "Label", "Scanner"]

THOUGHT, ACTION, INPUT = "thought", "action", "input"
OBSERVATION, ANSWER, QUESTION = "observation", "answer", "question"


class Label(NamedTuple):
    """A label: its kind, where its line starts, and where what it labels starts.

    `bold` are marks that open before the label and do not close after it: `**Label: text**`.
    """

    kind: str
    start: int
    end: int
    bold: str = ""


# What may stand before a label or a fence: blanks, quote marks, bullets, headings, a number. A `*` is a
# bullet only before a blank; else it is bold.
_BEFORE = r"^(?:[ \t\u3000\ufeff>#+\-]++|\*[ \t])*+"
# A code fence; backticks that close on their own line are none. Longer runs than five are not told apart,
# which bounds how often a closing line is sought in vain.
_FENCE = r"(?P<fence>`{3,5}+(?![^\n]*`)|~{3,5}+)"
_CLOSING = {
    mark * length: re.compile(_BEFORE + mark * length, re.M) for mark in "`~" for length in range(3, 6)
}


class Scanner:
    """Finds the labels of one table, each kind in several spellings."""

    def __init__(self, labels: Mapping[str, tuple[str, ...]]) -> None:
        self._kinds: dict[str, str] = {}
        for kind, spellings in labels.items():
            for spelling in spellings:
                self._kinds[spelling] = self._kinds[_squeezed(spelling)] = kind
        names = [spelling for spellings in labels.values() for spelling in spellings]
        alternatives = "|".join(re.escape(name).replace(r"\ ", r"[ \t_]*+\d*+[ \t_]*+") for name in names)
        self._pattern = re.compile(
            rf"{_BEFORE}(?:{_FENCE}|(?:\d{{1,3}}[.)、][ \t]*+)?+(?P<open>[*_`]++)?+"
            rf"(?P<label>{alternatives})[ \t]*+\d*+[ \t]*+(?P<shut>[*_`]++)?+[ \t]*+[:：]"
            r"(?(shut)|(?(open)(?P<late>[*_`]++|[ \t]++[*_`]++(?=\s))?+))[ \t\u3000]*+)",
            re.I | re.M,
        )
        self.stop_words = tuple(labels.get(OBSERVATION, ()))

    def scan(self, text: str, start: int = 0) -> Iterator[Label]:
        """The labels from `start` on, in order; those between two fence lines are skipped."""
        search, kinds = self._pattern.search, self._kinds
        position = start
        while found := search(text, position):
            position = found.end()
            fence, opened, label, shut, late = found.group("fence", "open", "label", "shut", "late")
            if fence is not None:
                closing = _CLOSING[fence].search(text, position)
                if closing is not None:  # a fence that never closes hides nothing
                    position = closing.end()
                continue
            kind = kinds.get(label) or kinds.get(_squeezed(label))
            if kind is not None:  # None: a letter that only `re.I` takes for one of the label's
                bold = opened if opened and not shut and not late else ""
                yield Label(kind, found.start(), position, bold)

    def without_stop_word(self, text: str) -> str:
        """The text without a part of an observation label left on its last line."""
        head, _, last = text.rpartition("\n")
        word = last.strip().strip("*").rstrip(":：").casefold()
        least = 1 if word and not word.isascii() else 4
        if head and len(word) >= least and any(s.casefold().startswith(word) for s in self.stop_words):
            return head
        return text


def _squeezed(spelling: str) -> str:
    return re.sub(r"[ \t_\d]+", "", spelling).casefold()
