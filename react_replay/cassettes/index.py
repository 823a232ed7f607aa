"""Which recorded turn answers a request: by digest into a queue, whatever the length of the cassette.

Pure but for its own bookkeeping of what was played. The same question asked twice is answered in recorded
order; each recorded answer is given once. A request that names no model is answered whatever the model. Where
no turn matches, one that differs only in what is tolerated does, the first recorded first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence

from react_replay.cassettes.apart import NOTHING, Apart
from react_replay.cassettes.canonical import Digester
from react_replay.cassettes.masks import NO_MASKS, Masks
from react_replay.cassettes.reading import Recorded
from react_replay.messages import Message, Request

__all__ = ["Index"]


class Index:
    """The recorded chat turns of a cassette by what they were asked. Thread-safe."""

    def __init__(
        self, recorded: Iterable[Recorded], *, masks: Masks = NO_MASKS, tolerate: Apart = NOTHING
    ) -> None:
        self.turns: list[Recorded] = []
        self.masks = masks
        self._tolerate = tolerate
        self._lock = threading.Lock()
        self._exact = _Queues(masks, NOTHING)
        for turn in recorded:
            request = turn.request  # read once: it is read anew whenever it is asked for
            if request is not None:
                self._exact.add(len(self.turns), request)
                self.turns.append(turn)
        self._played = [False] * len(self.turns)
        self._tolerant: _Queues | None = None
        self._results: dict[bytes, deque[tuple[int, int]]] | None = None

    @property
    def unplayed(self) -> list[Recorded]:
        """The turns that no request asked for yet."""
        return [turn for turn, done in zip(self.turns, self._played, strict=True) if not done]

    def take(self, request: Request) -> Recorded | None:
        """The next unplayed answer to this request; None where there is none (left)."""
        with self._lock:
            return self._next(self._exact, request)

    def take_tolerated(self, request: Request, *, play: bool = True) -> Recorded | None:
        """The next unplayed turn that differs only in what is tolerated; `play=False` leaves it unplayed."""
        if self._tolerate is NOTHING:
            return None
        with self._lock:
            return self._next(self._tolerating(), request, play=play)

    def play(self, number: int) -> None:
        """Count the turn of that number as played, which was chosen by other means."""
        with self._lock:
            place = next(place for place, turn in enumerate(self.turns) if turn.number == number)
            self._played[place] = True

    def knows(self, request: Request) -> list[int]:
        """The numbers of the turns that recorded this very request, their answers played or not."""
        with self._lock:
            return [self.turns[place].number for place in self._exact.all(request)]

    def results(self, messages: Sequence[Message]) -> list[Message] | None:
        """What the recording has after `messages` and before the model's next reply; None where nothing.

        The same place reached twice gives the results of the second recording, where there is one.
        """
        with self._lock:
            if self._results is None:
                self._results = self._all_results()
            for number, queues in enumerate(self._all_queues()):
                queue = self._results.get(b"%d" % number + queues.digester.history(messages))
                if not queue:
                    continue
                while len(queue) > 1 and self._played[queue[0][0]]:
                    queue.popleft()
                place, start = queue[0]
                if self._played[place]:
                    continue
                queue.rotate(-1)  # a parallel run that is as far takes another turn's, where there is one
                request = self.turns[place].request
                assert request is not None
                return _in_call_order(request.messages, start)
            return None

    def _next(self, queues: _Queues, request: Request, *, play: bool = True) -> Recorded | None:
        queue = queues.queue(request)
        while queue:
            place = queue[0]
            if play or self._played[place]:
                queue.popleft()
            if not self._played[place]:  # it may have been taken through its other key
                self._played[place] = play
                return self.turns[place]
        return None

    def _tolerating(self) -> _Queues:
        if self._tolerant is None:
            self._tolerant = _Queues(self.masks, self._tolerate)
            for place, turn in enumerate(self.turns):
                assert turn.request is not None
                self._tolerant.add(place, turn.request)
        return self._tolerant

    def _all_queues(self) -> list[_Queues]:
        return [self._exact] if self._tolerate is NOTHING else [self._exact, self._tolerating()]

    def _all_results(self) -> dict[bytes, deque[tuple[int, int]]]:
        """Where results may be asked for: behind the last reply of each request, and behind each result."""
        found: dict[bytes, deque[tuple[int, int]]] = {}
        for place, turn in enumerate(self.turns):
            request = turn.request  # read from the file each time
            assert request is not None
            messages = request.messages
            last = max((at for at, m in enumerate(messages) if m.get("role") == "assistant"), default=None)
            if last is None or last + 1 == len(messages):
                continue
            for number, queues in enumerate(self._all_queues()):
                digests = queues.digester.histories(messages, last)
                for at, digest in enumerate(digests[:-1], last + 1):
                    found.setdefault(b"%d" % number + digest, deque()).append((place, at))
        return found


class _Queues:
    """The places of turns by the digest of what they were asked."""

    def __init__(self, masks: Masks, apart: Apart) -> None:
        self.digester = Digester(masks=masks, apart=apart)
        self._any_model = "model" in apart.options
        self._by_key: dict[object, deque[int]] = {}
        self._all: dict[object, list[int]] = {}

    def add(self, place: int, request: Request) -> None:
        """Take the turn at `place`, which recorded this request."""
        key = self.digester.key(request)
        for name in (key, (*key, request.options.get("model"))):
            self._by_key.setdefault(name, deque()).append(place)
            self._all.setdefault(name, []).append(place)

    def queue(self, request: Request) -> deque[int] | None:
        return self._by_key.get(self._key(request))

    def all(self, request: Request) -> list[int]:
        return self._all.get(self._key(request), [])

    def _key(self, request: Request) -> object:
        key = self.digester.key(request)
        model = None if self._any_model else request.options.get("model")
        return key if model is None else (*key, model)


def _in_call_order(messages: Sequence[Message], start: int) -> list[Message]:
    """The messages from `start` on, the results of tools in the order in which the model asked for them."""
    results = list(messages[start:])
    asked: dict[str, int] = {}
    for message in messages[:start]:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            asked[str(call.get("id") if isinstance(call, dict) else None)] = len(asked)
    if all(message.get("role") == "tool" for message in results):
        results.sort(key=lambda message: asked.get(str(message.get("tool_call_id")), len(asked)))
    return results
