"""Our layout for long runs: a request is the earlier one that it continues, and what is new. O(n) bytes.

A file holds `turns` in place of `interactions`, so vcrpy refuses it and takes it for nothing else. A turn is
flat: `request` and `response` are bodies; what is absent is as in the turn before. With `continues: N` the
messages in `request` follow those of turn N, counted from 1; where it holds nothing but messages, all else in
the request is turn N's too. Folding and unfolding are cuts of texts, so one gives back what the other took.

    turns:
      - method: POST
        uri: https://...
        request_headers: '{"content-type": ["application/json"]}'
        request: |-
          {"model": ..., "messages": [...]}
        status: 200 OK
        response_headers: '{...}'
        response: |-
          {...}
      - continues: 1
        request: |-
          {"messages": [...]}
        response: |-
          {...}
        chunks: 12 40 33
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from react_replay.cassettes.documents import Unreadable
from react_replay.cassettes.layouts.parts import only
from react_replay.cassettes.layouts.vcrpy import METADATA

__all__ = ["NAME", "TURNS", "Turns", "Unfolded", "Whole", "compressed", "entries"]

NAME = "delta"
TURNS = "turns"

_OPEN, _CLOSE = '\n  "messages": [\n', "\n  ]"
_BARE = ("{" + _OPEN, _CLOSE + "\n}")  # of a body that holds nothing but messages
_NO_MORE = '{\n  "messages": []\n}'
_COMMON = ("method", "uri", "request_headers", "status", "response_headers")
_NEAR = 64
"""How many turns back a request is sought that another one continues."""


class _Cut(NamedTuple):
    """A body before its messages, the messages, and what follows them."""

    head: str
    messages: str
    tail: str


def _cut(body: Any) -> _Cut | None:
    """An indented body, cut; None where it has another shape. Only a line of its own level matches."""
    if not isinstance(body, str) or not body.startswith("{\n") or not body.endswith("\n}"):
        return None
    start = body.find(_OPEN)
    end = body.find(_CLOSE, start)
    if start < 0 or end < start + len(_OPEN) or '\n  "messages":' in (body[:start] + body[end:]):
        return None
    start += len(_OPEN)
    return _Cut(body[:start], body[start:end], body[end:])


def compressed(interactions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Interactions of vcrpy's layout as turns of this one, without loss. Linear in what is given."""
    turns: list[dict[str, Any]] = []
    common: dict[str, Any] = {}
    near: deque[tuple[int, _Cut]] = deque(maxlen=_NEAR)
    for number, interaction in enumerate(interactions, 1):
        flat = _flat(interaction)
        if flat is None:
            turns.append({"interaction": interaction})
            continue
        body = flat.pop("request")
        cut = _cut(body)
        turn: dict[str, Any] = {}
        if cut is not None:
            base = _continued(cut, near)
            if base is not None:
                turn["continues"], body = base
            near.append((number, cut))
        turn |= {name: flat[name] for name in _COMMON[:3] if common.get(name) != flat[name]}
        turn["request"] = body
        turn |= {name: flat[name] for name in _COMMON[3:] if common.get(name) != flat[name]}
        turn |= {name: flat[name] for name in ("response", "chunks") if name in flat}
        common = flat
        turns.append(turn)
    return turns


def _continued(cut: _Cut, near: deque[tuple[int, _Cut]]) -> tuple[int, str] | None:
    """The turn whose messages these continue, the longest of several, and what is new."""
    best: tuple[int, _Cut] | None = None
    for number, earlier in reversed(near):
        longer = best is None or len(earlier.messages) > len(best[1].messages)
        if longer and _follows(cut.messages, earlier.messages):
            best = (number, earlier)
    if best is None:
        return None
    number, earlier = best
    new = cut.messages[len(earlier.messages) + 2 :]
    if (cut.head, cut.tail) == (earlier.head, earlier.tail):
        return number, _BARE[0] + new + _BARE[1] if new else _NO_MORE
    if not new or (cut.head, cut.tail) == _BARE:  # it would be read as turn N's own options
        return None
    return number, cut.head + new + cut.tail


def _follows(messages: str, earlier: str) -> bool:
    if not messages.startswith(earlier):
        return False
    return len(messages) == len(earlier) or messages.startswith(",\n    {", len(earlier))


def _flat(interaction: Mapping[str, Any]) -> dict[str, Any] | None:
    """An interaction's values by their names here; None where this layout has no name for one."""
    try:
        asked, answered = interaction["request"], interaction["response"]
        own = answered.get(METADATA)
        flat = {
            "method": asked["method"],
            "uri": asked["uri"],
            "request_headers": json.dumps(asked["headers"], ensure_ascii=False),
            "request": asked["body"],
            "status": f"{answered['status']['code']} {answered['status']['message']}",
            "response_headers": json.dumps(answered["headers"], ensure_ascii=False),
            "response": answered["body"]["string"],
        }
        if own is not None:
            flat["chunks"] = " ".join(map(str, own["chunks"]))
        return flat if _full(flat) == interaction else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _full(flat: Mapping[str, Any], read: dict[str, Any] | None = None) -> dict[str, Any]:
    """The interaction of what stands flat. Headers that are in `read` already are not read again."""
    read = {} if read is None else read
    for name in ("request_headers", "response_headers"):
        if flat[name] not in read:
            read[flat[name]] = json.loads(flat[name])
    code, _, message = flat["status"].partition(" ")
    response: dict[str, Any] = {
        "body": {"string": flat["response"]},
        "headers": read[flat["response_headers"]],
        "status": {"code": int(code), "message": message},
    }
    if "chunks" in flat:
        response[METADATA] = {"chunks": [int(length) for length in flat["chunks"].split()]}
    asked = {
        "body": flat["request"],
        "headers": read[flat["request_headers"]],
        "method": flat["method"],
        "uri": flat["uri"],
    }
    return {"request": asked, "response": response}


def entries(documents: Sequence[Any]) -> list[Any] | None:
    """The turns of a file of this layout, folded; None where it is of another. Raises `Unreadable`."""
    document = only(documents)
    if not isinstance(document, Mapping) or TURNS not in document or "interactions" in document:
        return None
    own = document.get(METADATA)
    if not isinstance(own, Mapping) or own.get("layout") != NAME:
        return None
    if document.get("version") != 1:
        found = str(document.get("version"))[:40]
        raise Unreadable(f"its format version is {found}; this release reads version 1")
    turns = document[TURNS]
    if not isinstance(turns, list):
        raise Unreadable(f"`{TURNS}` must be a list, found {type(turns).__name__}")
    return turns


Mark = tuple[int, int]
"""Equal for requests of the same bytes: of their messages, and of what stands around them. In one process."""


class Whole(NamedTuple):
    """A turn that is no continuation: its interaction, whole."""

    interaction: Mapping[str, Any]
    mark: Mark


class Unfolded(NamedTuple):
    """A turn that continues turn `base`, from 1: `new` is its own part, `bare` where that is only messages.

    `interaction` is its interaction, but that the request's body is `new`.
    """

    interaction: Mapping[str, Any]
    mark: Mark
    base: int
    new: str
    bare: bool


class Turns(Sequence[Mapping[str, Any]]):
    """The turns of a file as interactions of vcrpy's layout, each made when it is asked for.

    `steps` gives them as they stand. Raises `Unreadable`, on making, where a turn is none.
    """

    def __init__(self, found: Sequence[Any]) -> None:
        self.steps: list[Whole | Unfolded] = []
        common: dict[str, Any] = {}
        headers: dict[str, Any] = {}
        for number, turn in enumerate(found, 1):
            try:
                step, common = _step(turn, common, self.steps, headers)
            except Unreadable as why:
                raise Unreadable(f"turn {number} is not readable: {why}") from why
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise Unreadable(
                    f"turn {number} is not readable: {type(error).__name__}: {str(error)[:120]}"
                ) from error
            self.steps.append(step)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(place, slice):
            return list(self)[place]
        step = self.steps[place]
        if isinstance(step, Whole):
            return step.interaction
        chain: list[Unfolded] = []
        at: Whole | Unfolded = step
        while isinstance(at, Unfolded):
            chain.append(at)
            at = self.steps[at.base - 1]
        cut = _known_cut(at.interaction["request"]["body"])
        messages = [cut.messages]
        for link in reversed(chain):
            cut, new = _joined(cut, link)
            messages += [new] if new else []
        return _with_body(step, cut.head + ",\n".join(messages) + cut.tail)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        # Each is whole, so it is kept only until the last turn that continues it has been made.
        needed = {s.base: number for number, s in enumerate(self.steps, 1) if isinstance(s, Unfolded)}
        cuts: dict[int, _Cut] = {}
        for number, step in enumerate(self.steps, 1):
            if isinstance(step, Whole):
                if number in needed:
                    cuts[number] = _known_cut(step.interaction["request"].get("body"))
                yield step.interaction
                continue
            base = cuts[step.base] if needed[step.base] > number else cuts.pop(step.base)
            cut, new = _joined(base, step)
            cut = cut._replace(messages=f"{base.messages},\n{new}" if new else base.messages)
            if number in needed:
                cuts[number] = cut
            yield _with_body(step, "".join(cut))


def _known_cut(body: Any) -> _Cut:
    cut = _cut(body)
    assert cut is not None, "it was cut when the file was read"
    return cut


def _joined(base: _Cut, step: Unfolded) -> tuple[_Cut, str]:
    """The head and tail of a continuation, and its new messages."""
    if step.new == _NO_MORE:
        return base, ""
    cut = _known_cut(step.new)
    return (base if step.bare else cut), cut.messages


def _with_body(step: Unfolded, body: str) -> Mapping[str, Any]:
    interaction = step.interaction
    return {**interaction, "request": {**interaction["request"], "body": body}}


def _step(
    turn: Any, common: dict[str, Any], steps: Sequence[Whole | Unfolded], headers: dict[str, Any]
) -> tuple[Whole | Unfolded, dict[str, Any]]:
    """The next of `steps`, and what the turn after it has in common with it; `headers` are those read."""
    if not isinstance(turn, Mapping):
        raise Unreadable(f"it must be a mapping, found {type(turn).__name__}")
    if "interaction" in turn:
        interaction = turn["interaction"]
        if not isinstance(interaction, Mapping) or not isinstance(interaction.get("request"), Mapping):
            raise Unreadable("`interaction` must be a mapping with a `request` and a `response`")
        return Whole(interaction, _mark(interaction["request"].get("body"))), common
    flat = {**{name: common[name] for name in _COMMON if name in common}, **turn}
    base = flat.pop("continues", None)
    interaction = _full(flat, headers)
    body = flat["request"]
    if base is None:
        return Whole(interaction, _mark(body)), flat
    if type(base) is not int or not 0 < base <= len(steps):
        raise Unreadable(f"`continues` must be the number of an earlier turn, found {str(base)[:40]}")
    cut = _cut(body)
    if cut is None and body != _NO_MORE:
        raise Unreadable("its `request` must be indented JSON with `messages`, as it was written")
    earlier = steps[base - 1]
    if isinstance(earlier, Whole) and _cut(earlier.interaction["request"].get("body")) is None:
        raise Unreadable(f"turn {base}, which it continues, has no indented `messages`")
    if cut is None:
        return Unfolded(interaction, earlier.mark, base, body, True), flat
    bare = cut[::2] == _BARE
    around = earlier.mark[1] if bare else hash(cut[::2])
    return Unfolded(interaction, (_grown(earlier.mark[0], cut.messages), around), base, body, bare), flat


def _mark(body: Any) -> Mark:
    cut = _cut(body)
    return (0, hash(str(body))) if cut is None else (_grown(0, cut.messages), hash(cut[::2]))


def _grown(mark: int, messages: str) -> int:
    """The mark of a history that goes on, however it was divided into turns."""
    for message in messages.split("\n    },\n    {"):
        mark = hash((mark, message.strip("\n {}")))
    return mark
