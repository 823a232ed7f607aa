"""Which recorded turn answers a request: by digest into a queue, whatever the length of the cassette.

Pure but for its own bookkeeping of what was played. The same question asked twice is answered in recorded
order; each recorded answer is given once. A request that names no model is answered whatever the model.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from react_replay.cassettes.canonical import Digester
from react_replay.cassettes.reading import Recorded
from react_replay.messages import Request

__all__ = ["Index"]


class Index:
    """The recorded chat turns of a cassette by what they were asked. Thread-safe."""

    def __init__(self, recorded: Iterable[Recorded]) -> None:
        self.turns = [turn for turn in recorded if turn.request is not None]
        self._played = [False] * len(self.turns)
        self._queues: dict[object, deque[int]] = {}
        self._lock = threading.Lock()
        self._digester = Digester()
        for place, turn in enumerate(self.turns):
            assert turn.request is not None
            key = Digester().key(turn.request)
            self._queues.setdefault(key, deque()).append(place)
            self._queues.setdefault((*key, turn.request.options.get("model")), deque()).append(place)

    @property
    def unplayed(self) -> list[Recorded]:
        """The turns that no request asked for yet."""
        return [turn for turn, done in zip(self.turns, self._played, strict=True) if not done]

    def take(self, request: Request) -> Recorded | None:
        """The next unplayed answer to this request; None where there is none (left)."""
        with self._lock:
            queue = self._queue(request)
            while queue:
                place = queue.popleft()
                if not self._played[place]:  # it may have been taken through its other key
                    self._played[place] = True
                    return self.turns[place]
            return None

    def knows(self, request: Request) -> bool:
        """Whether this request was recorded at all, its answers played or not."""
        with self._lock:
            return self._queue(request) is not None

    def _queue(self, request: Request) -> deque[int] | None:
        key = self._digester.key(request)
        model = request.options.get("model")
        return self._queues.get(key if model is None else (*key, model))
