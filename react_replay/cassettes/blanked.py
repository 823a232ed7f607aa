"""Requests as they are compared where a recording was redacted: a secret, like its placeholder, is one blank.

What was recorded has placeholders, and what is asked now has the secrets; blanked, they are the same. Nothing
here is written or shown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from react_replay.cassettes.keyshapes import Sighting, sightings
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.redact import PLACEHOLDER, Redaction, compiled
from react_replay.log import Log
from react_replay.messages import Message, Request

__all__ = ["Blanked"]


class _Blanks(Redaction):
    """Key shapes, patterns' matches and placeholders, each replaced by the same word."""

    def _find(self, text: str) -> list[Sighting]:
        return sightings(text, (), self._patterns, shapes=True)

    def _placeholder(self, secret: str) -> str:
        return "[redacted]"


class Blanked:
    """Blanks the requests of a session. Thread-safe; a history that grew costs what is new."""

    def __init__(self, patterns: Iterable[str | re.Pattern[str]] = ()) -> None:
        self._blanks = _Blanks((*compiled(patterns), PLACEHOLDER.pattern.replace("(", "(?:")))
        self._lock = threading.Lock()
        self._history: tuple[Log[Message], Log[Message]] = (Log(), Log())
        self._options: tuple[Any, Mapping[str, Any]] = (None, {})

    def __call__(self, request: Request) -> Request:
        """The request as it is compared."""
        with self._lock:
            given, (before, after) = request.messages, self._history
            if isinstance(given, Log) and len(before) and given.continues(before):
                after = after.extend([self._blanks(message) for message in given[len(before) :]])
            else:
                after = Log(self._blanks(message) for message in given)
            if isinstance(given, Log):
                self._history = (given, after)
            if request.options is not self._options[0]:
                self._options = (request.options, self._blanks(request.options))
            return Request(after, self._options[1])

    def turn(self, turn: Recorded) -> Recorded:
        """The recorded turn with its request as it is compared."""
        request = turn.request
        return turn if request is None else replace(turn, sent=(self(request), ""))
