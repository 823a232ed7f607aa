"""A matcher for vcrpy that compares chat requests by meaning, as our own cassettes do. vcrpy is not imported.

vcrpy asks a matcher about every recorded request in turn, so what a body means is remembered.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from react_replay.cassettes.canonical import Digester, Key, canonical_messages, canonical_options
from react_replay.messages import Request

__all__ = ["chat_matcher"]

_ABSENT = "(absent)"
_BEFORE, _SHOWN = 40, 160  # characters before the first difference, and of each side in all


class _Meaning(NamedTuple):
    """A chat request by meaning; `places` are those of the merged messages in the request as written."""

    key: Key
    messages: list[dict[str, Any]]
    places: list[int]
    options: dict[str, Any]


def chat_matcher(r1: Any, r2: Any) -> None:
    """Raise `AssertionError`, with the first difference, where two vcrpy requests mean different things.

    `r1` is the request being made, `r2` the recorded one. Call ids, the order of keys, blanks and what only
    steers the transport do not count. What is no chat request is compared as bytes.
    """
    ours, theirs = _body(r1), _body(r2)
    if ours == theirs:
        return
    now, recorded = _meaning(ours), _meaning(theirs)
    if now is None or recorded is None:
        kinds = ["no chat request" if side is None else "a chat request" for side in (recorded, now)]
        raise AssertionError(f"the bodies differ: recorded is {kinds[0]}, now it is {kinds[1]}")
    models = recorded.options.get("model"), now.options.get("model")
    if now.key == recorded.key and (models[0] == models[1] or None in models):
        return
    raise AssertionError(_explained(recorded, now))


def _body(request: Any) -> bytes:
    body = request.body
    if hasattr(body, "read"):
        body = body.read()
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if body is None or isinstance(body, (bytes, bytearray)):
        return bytes(body or b"")
    return b"".join(part.encode() if isinstance(part, str) else bytes(part) for part in body)


@functools.lru_cache(maxsize=1024)
def _meaning(body: bytes) -> _Meaning | None:
    """What a body asks; None where it is no chat request."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    messages = parsed.pop("messages", None) if isinstance(parsed, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        return None
    merged = canonical_messages(messages)
    return _Meaning(
        key=Digester().key(Request(messages, parsed)),
        messages=[message for _, message in merged],
        places=[place for place, _ in merged],
        options=canonical_options(parsed),
    )


def _explained(recorded: _Meaning, now: _Meaning) -> str:
    found = next(_differences(recorded, now), None)
    if found is None:
        return "the requests differ in how a value is written"
    path, was, here = found
    left, right = _text(was), _text(here)
    start = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), -1)
    start = start if start >= 0 else min(len(left), len(right))
    begin = max(start - _BEFORE, 0)
    where = f" at character {start}" if begin else ""
    return (
        f"the requests differ first in {path}{where}:\n"
        f"  recorded: {_window(left, begin)}\n  now:      {_window(right, begin)}"
    )


def _differences(recorded: _Meaning, now: _Meaning) -> Iterator[tuple[str, Any, Any]]:
    """The differing paths, messages first; a message is named by its place in the request being made."""
    for number in range(max(len(recorded.messages), len(now.messages))):
        side = now if number < len(now.messages) else recorded
        yield from _walk(
            f"messages[{side.places[number]}]", _item(recorded.messages, number), _item(now.messages, number)
        )
    for name in sorted({*recorded.options, *now.options}):
        yield from _walk(name, recorded.options.get(name, _ABSENT), now.options.get(name, _ABSENT))


def _walk(path: str, recorded: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted({*recorded, *now}, key=lambda key: (key != "role", str(key))):
            yield from _walk(f"{path}.{name}", recorded.get(name, _ABSENT), now.get(name, _ABSENT))
    elif isinstance(recorded, list) and isinstance(now, list):
        for number in range(max(len(recorded), len(now))):
            yield from _walk(f"{path}[{number}]", _item(recorded, number), _item(now, number))
    # In Python true is 1; in JSON it is not.
    elif recorded != now or isinstance(recorded, bool) != isinstance(now, bool):
        yield path, recorded, now


def _item(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else _ABSENT


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _window(text: str, begin: int) -> str:
    quoted = json.dumps(text[begin : begin + _SHOWN], ensure_ascii=False)
    return f"{'...' if begin else ''}{quoted}{'...' if begin + _SHOWN < len(text) else ''}"
