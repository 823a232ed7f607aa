"""Why a request found no answer: the nearest recorded turn, the first path that differs, how to mend it.

Pure: requests in, a `CassetteMiss` out. Its text stays under 25 lines and 2,000 characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from react_replay.cassettes.canonical import canonical_messages, canonical_options
from react_replay.cassettes.reading import Recorded
from react_replay.errors import CassetteMiss
from react_replay.messages import Request

__all__ = ["explain_miss"]

_ABSENT = "(absent)"


class _Difference(NamedTuple):
    path: str
    recorded: Any
    now: Any


def explain_miss(
    path: str, request: Request, turns: Sequence[Recorded], *, turn: int, known: bool
) -> CassetteMiss:
    """The error for a request without an answer. `known`: it was recorded, but its answers are played."""
    head = f"{path} has no answer to request {turn} of this session ({_size(request)})"
    mend = (
        "To record it: react-replay run ... --cassette PATH --record new_episodes (needs a key), "
        'or CassetteBackend(path, record="new_episodes").'
    )
    if known:
        text = (
            f"{head}: the same request was recorded, but each of its answers has been played.\n"
            f"The run asks it once more than the recording did.\n{mend}"
        )
        return CassetteMiss(text, path=path, turn=turn)
    asked = _canonical(request)
    best: tuple[int, Recorded] | None = None
    for recorded in turns:
        assert recorded.request is not None
        likeness = _likeness(asked, _canonical(recorded.request))
        if best is None or likeness > best[0]:
            best = (likeness, recorded)
    if best is None:
        return CassetteMiss(f"{head}: it holds no chat request at all.\n{mend}", path=path, turn=turn)
    nearest = best[1]
    assert nearest.request is not None
    places = [place for place, _ in canonical_messages(request.messages)]
    first, *more = [*_differences(_canonical(nearest.request), asked, places)] or [
        _Difference("model", nearest.request.options.get("model"), request.options.get("model"))
    ]
    others = ", ".join(difference.path for difference in more[:6])
    lines = [
        f"{head}.",
        f"Nearest: recorded turn {nearest.number}; the first difference is {first.path}:",
        *_shown(first),
        *([f"Also different: {others}{', ...' if len(more) > 6 else ''}"] if others else []),
        *_cause(request, first),
        *_offered(first),
        mend,
    ]
    return CassetteMiss(
        "\n".join(lines),
        path=path,
        turn=turn,
        nearest=nearest.number,
        differing=first.path,
        expected=first.recorded,
        actual=first.now,
    )


def _size(request: Request) -> str:
    last = request.messages[-1] if len(request.messages) else {}
    return f"{len(request.messages)} messages, the last from {last.get('role', 'nobody')!r}"


def _canonical(request: Request) -> dict[str, Any]:
    messages = [message for _, message in canonical_messages(request.messages)]
    return {"messages": messages, **canonical_options(request.options)}


def _likeness(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> int:
    """How alike two requests are: whole equal messages first, then equal options, then length."""
    ours, theirs = asked["messages"], recorded["messages"]
    equal = sum(a == b for a, b in zip(ours, theirs, strict=False))
    options = sum(asked[name] == recorded.get(name) for name in asked if name != "messages")
    return int(equal * 1000 + options * 10 - min(abs(len(ours) - len(theirs)), 9))


def _differences(
    recorded: Mapping[str, Any], now: Mapping[str, Any], places: Sequence[int]
) -> Iterator[_Difference]:
    """Every differing path, messages first, in order; a message is named by its place in the request."""
    theirs, ours = recorded["messages"], now["messages"]
    for number in range(max(len(theirs), len(ours))):
        place = places[number] if number < len(places) else number + (places[-1] + 1 - len(places))
        left = theirs[number] if number < len(theirs) else _ABSENT
        right = ours[number] if number < len(ours) else _ABSENT
        yield from _walk(f"messages[{place}]", left, right)
    for name in sorted({*recorded, *now} - {"messages"}):
        if name == "model" and name not in now:
            continue
        yield from _walk(name, recorded.get(name, _ABSENT), now.get(name, _ABSENT))


def _walk(path: str, recorded: Any, now: Any) -> Iterator[_Difference]:
    if recorded == now:
        return
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted({*recorded, *now}, key=lambda key: (key != "role", str(key))):
            yield from _walk(f"{path}.{name}", recorded.get(name, _ABSENT), now.get(name, _ABSENT))
    elif isinstance(recorded, list) and isinstance(now, list):
        for number in range(max(len(recorded), len(now))):
            left = recorded[number] if number < len(recorded) else _ABSENT
            right = now[number] if number < len(now) else _ABSENT
            yield from _walk(f"{path}[{number}]", left, right)
    else:
        yield _Difference(path, recorded, now)


def _shown(difference: _Difference) -> list[str]:
    recorded, now = _text(difference.recorded), _text(difference.now)
    start = 0
    while start < min(len(recorded), len(now)) and recorded[start] == now[start]:
        start += 1
    where = f" (from character {start})" if start > 40 else ""
    begin = max(start - 40, 0) if start > 40 else 0
    return [
        f"  recorded{where}: {_window(recorded, begin)}",
        f"  now{where}: {_window(now, begin)}",
    ]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _window(text: str, begin: int) -> str:
    part = text[begin : begin + 160]
    quoted = json.dumps(part, ensure_ascii=False)
    return f"{'...' if begin else ''}{quoted}{'...' if begin + 160 < len(text) else ''}"


def _offered(first: _Difference) -> list[str]:
    """The tools on both sides, where these are what differs."""
    if not first.path.startswith("tools"):
        return []
    return [
        "The tools that are offered differ: offer those of the recording (run: --tools a,b or --tools '')."
    ]


def _cause(request: Request, first: _Difference) -> list[str]:
    """The tool behind a changed observation, where it is one."""
    if not first.path.startswith("messages["):
        return []
    place = int(first.path[len("messages[") :].split("]", 1)[0])
    message = request.messages[place] if place < len(request.messages) else {}
    if message.get("role") != "tool":
        return []
    for earlier in request.messages[:place]:
        calls = earlier.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and call.get("id") == message.get("tool_call_id"):
                function = call.get("function")
                function = function if isinstance(function, Mapping) else {}
                return [
                    f"Cause: the tool call {function.get('name')}({_text(function.get('arguments'))[:80]}) "
                    "gave another result than when it was recorded."
                ]
    return []
