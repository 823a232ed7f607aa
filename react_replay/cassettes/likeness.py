"""Which recorded request is most like another, and where the two differ. Pure and bounded.

Messages are compared whole, by tokens that leave call ids aside, and aligned: one that was put in or taken
out in the middle leaves those behind it equal.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from react_replay.cassettes.canonical import canonical_messages, canonical_options
from react_replay.cassettes.masks import NO_MASKS, Masks
from react_replay.messages import Message, Request

__all__ = ["ABSENT", "Difference", "differences", "nearest", "shared"]

ABSENT = "(absent)"

_ALIGNED = 20_000
"""Pairs of messages that are aligned at most; longer stretches are compared place by place."""
_COMPARED = 2_000_000
"""Characters of texts that are compared at most, to tell apart turns that are equally near."""


class Difference(NamedTuple):
    """One path that differs; `place` is the message's in the request, None elsewhere."""

    path: str
    recorded: Any
    now: Any
    place: int | None = None


def nearest(request: Request, recorded: Sequence[Request], masks: Masks = NO_MASKS) -> int | None:
    """The place of the recorded request that is most alike: equal messages first, then equal options."""
    tokens: dict[Hashable, int] = {}
    ours = Counter(_tokens(request.messages, tokens, masks))
    size = len(request.messages)
    best: list[int] = []
    score: tuple[int, int] = (-1, 0)
    for place, other in enumerate(recorded):
        theirs = Counter(_tokens(other.messages, tokens, masks))
        equal = sum(min(count, theirs[token]) for token, count in ours.items() if token in theirs)
        found = (equal, -abs(len(other.messages) - size))
        if found > score:
            best, score = [place], found
        elif found == score:
            best.append(place)
    if len(best) < 2:
        return best[0] if best else None
    options = canonical_options(masks.options(request.options))
    kept = [canonical_options(masks.options(recorded[place].options)) for place in best]
    equals = [sum(value == other.get(name) for name, value in options.items()) for other in kept]
    best = [place for place, count in zip(best, equals, strict=True) if count == max(equals)]
    return max(best, key=_by_words(request, recorded, best)) if len(best) > 1 else best[0]


def _by_words(request: Request, recorded: Sequence[Request], places: Sequence[int]) -> Any:
    """How many words of the texts two requests share, as a key that is the same for all past the bound."""
    share = max(_COMPARED // len(places), 200)
    ours = Counter(_words(request, share))
    known = dict.fromkeys(places, 0)
    for place in places[: _COMPARED // 200]:
        theirs = Counter(_words(recorded[place], share))
        known[place] = sum((ours & theirs).values()) - sum((theirs - ours).values())
    return known.__getitem__


def _words(request: Request, most: int) -> list[str]:
    # From the end: what runs of one prompt have in common stands at the start.
    words: list[str] = []
    for message in reversed(request.messages):
        text = str(message.get("content") or message.get("tool_calls") or "")[:most]
        words += text.split() if " " in text else list(text)
        most -= len(text)
        if most <= 0:
            break
    return words


def _tokens(messages: Sequence[Message], known: dict[Hashable, int], masks: Masks) -> list[int]:
    """A number for each message, equal for equal ones but for their call ids."""
    found = []
    for place, message in enumerate(messages):
        if masks:
            message = masks.message(place, message)
        content, calls = message.get("content"), message.get("tool_calls")
        name: Hashable
        if type(content) is str and not calls:
            name = (message.get("role"), content)
        else:
            name = (message.get("role"), repr(content or ""), repr([_called(call) for call in calls or ()]))
        try:
            found.append(known.setdefault(name, len(known)))
        except TypeError:  # a role that is a list
            found.append(known.setdefault(repr(name), len(known)))
    return found


def _called(call: Any) -> Any:
    return call.get("function") if isinstance(call, Mapping) else call


def shared(recorded: Request, now: Request, masks: Masks = NO_MASKS) -> tuple[int, int, int]:
    """How many messages are the same, how many the recorded one has, and the other; merged as compared."""
    theirs = [message for _, message in canonical_messages(recorded.messages, masks)]
    ours = [message for _, message in canonical_messages(now.messages, masks)]
    pairs = [
        (left, right) for left, right in _aligned(theirs, ours) if left is not None and right is not None
    ]
    return (
        sum(next(_walk("", theirs[left], ours[right]), None) is None for left, right in pairs),
        len(theirs),
        len(ours),
    )


def differences(recorded: Request, now: Request, masks: Masks = NO_MASKS) -> Iterator[Difference]:
    """Every differing path, messages first, in order; a message is named by its place in the request."""
    theirs = canonical_messages(recorded.messages, masks)
    ours = canonical_messages(now.messages, masks)
    for left, right in _aligned([message for _, message in theirs], [message for _, message in ours]):
        if right is None and left is not None:
            place, message = theirs[left]
            yield Difference(f"messages[{place}] of the recording", message, ABSENT, None)
        elif left is None and right is not None:
            place, message = ours[right]
            yield Difference(f"messages[{place}]", ABSENT, message, place)
        elif left is not None and right is not None:
            place = ours[right][0]
            for path, old, new in _walk(f"messages[{place}]", theirs[left][1], ours[right][1]):
                yield Difference(path, old, new, place)
    old_options = canonical_options(masks.options(recorded.options))
    new_options = canonical_options(masks.options(now.options))
    for name in sorted({*old_options, *new_options}):
        if name == "model" and name not in new_options:
            continue
        for path, old, new in _walk(name, old_options.get(name, ABSENT), new_options.get(name, ABSENT)):
            yield Difference(path, old, new)


def _aligned(
    theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]
) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of places of messages that stand for each other; None where one side has none."""
    known: dict[Hashable, int] = {}
    left, right = _tokens(theirs, known, NO_MASKS), _tokens(ours, known, NO_MASKS)
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        yield start, start
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middle = left[start : len(left) - end], right[start : len(right) - end]
    if len(middle[0]) * len(middle[1]) <= _ALIGNED:
        codes = difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    else:
        codes = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
    for tag, a, b, c, d in codes:
        a, b, c, d = a + start, b + start, c + start, d + start
        if tag == "equal":
            yield from zip(range(a, b), range(c, d), strict=True)
        else:
            yield from _paired(theirs, ours, range(a, b), range(c, d))
    for back in range(end, 0, -1):
        yield len(left) - back, len(right) - back


def _paired(
    theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]], left: range, right: range
) -> Iterator[tuple[int | None, int | None]]:
    """Changed messages beside each other: in order, those of one role; the rest was put in or taken out."""
    a, c = left.start, right.start
    while a < left.stop and c < right.stop:
        if theirs[a].get("role") == ours[c].get("role") or left.stop - a == right.stop - c:
            yield a, c
            a, c = a + 1, c + 1
        elif left.stop - a > right.stop - c:
            yield a, None
            a += 1
        else:
            yield None, c
            c += 1
    yield from ((place, None) for place in range(a, left.stop))
    yield from ((None, place) for place in range(c, right.stop))


def _walk(path: str, recorded: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted({*recorded, *now}, key=lambda key: (key != "role", str(key))):
            yield from _walk(f"{path}.{name}", recorded.get(name, ABSENT), now.get(name, ABSENT))
    elif isinstance(recorded, list) and isinstance(now, list):
        for number in range(max(len(recorded), len(now))):
            left = recorded[number] if number < len(recorded) else ABSENT
            right = now[number] if number < len(now) else ABSENT
            yield from _walk(f"{path}[{number}]", left, right)
    # In Python true is 1; in JSON it is not.
    elif recorded != now or isinstance(recorded, bool) != isinstance(now, bool):
        yield path, recorded, now
