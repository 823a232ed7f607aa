"""After a prompt was edited: the recorded answers under the requests as they are now, without going live.

A request is matched to the recorded turn at the same point of the same conversation. What stands before the
model's first reply, system messages and options may have changed; its replies and what was said to it since
may not, and where two turns could be meant neither is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from react_replay.cassettes.apart import Apart
from react_replay.cassettes.canonical import Digester, Key
from react_replay.cassettes.index import Index
from react_replay.cassettes.journal import locked_folder
from react_replay.cassettes.likeness import differences
from react_replay.cassettes.miss import bounded, opening, tool_behind
from react_replay.cassettes.reading import Cassette, Recorded, read_cassette
from react_replay.cassettes.redact import Redaction
from react_replay.cassettes.ways import Ways
from react_replay.cassettes.words import shown_change
from react_replay.cassettes.writing import check_layout, interaction_of, save
from react_replay.errors import CassetteError, CassetteMiss
from react_replay.messages import Message, Request
from react_replay.wire import Exchange, Provider

__all__ = ["Rekeying"]

_ALL = frozenset({"*"})
# From the strictest to the loosest.
_SAME = (Apart(system=True, options=_ALL), Apart(system=True, opening=True, options=_ALL))
_REPLIES = Apart(results=True, options=_ALL)
_KEPT = ("model", "stream", "stream_options")


class _Known(NamedTuple):
    """A recorded turn by digests: of its history, and of the history that the model's last reply answered."""

    turn: Recorded
    same: tuple[bytes, ...]
    replies: bytes
    key: Key
    before: bytes


class Rekeying:
    """One session's rewriting of a cassette. Not thread-safe: its owner takes one call at a time.

    `layout` is how the file is written, by default as it was; `redaction` takes secrets out before it is.
    """

    def __init__(
        self,
        cassette: Cassette,
        index: Index,
        ways: Ways,
        *,
        layout: str | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self._cassette = cassette
        self._index = index
        self._ways = ways
        self._layout = layout or ("delta" if cassette.layout == "delta" else "full")
        check_layout(self._layout)
        self._redaction = redaction
        self._now: dict[int, Request] = {}
        self._came_from: dict[bytes, Recorded] = {}  # by a history as it is now: the turn recorded for it
        self._same = [Digester(masks=index.masks, apart=apart) for apart in _SAME]
        self._replies = Digester(masks=index.masks, apart=_REPLIES)
        self._whole = Digester(masks=index.masks)
        self._known = {turn.number: self._digested(turn, turn.request) for turn in index.turns}

    def _digested(self, turn: Recorded, request: Request | None) -> _Known:
        assert request is not None
        messages = request.messages
        return _Known(
            turn=turn,
            same=tuple(digester.history(messages) for digester in self._same),
            replies=self._replies.history(messages),
            key=self._whole.key(request),
            before=Digester(masks=self._index.masks).history(_before(messages)),
        )

    @property
    def changed(self) -> bool:
        """Whether the file has to be rewritten: a request of it, or its masks."""
        kept = self._cassette.metadata.get("masks") or []
        return bool(self._now) or list(self._index.masks.sources) != kept

    def note(self, turn: Recorded, request: Request) -> None:
        """Remember which turn answers a request, for the turns that follow it."""
        self._came_from[self._whole.history(request.messages)] = turn

    def as_recorded(self, messages: Sequence[Message]) -> Sequence[Message]:
        """A history of this conversation as it was recorded: what stands before its last reply may differ."""
        before = _before(messages)
        turn = self._came_from.get(Digester(masks=self._index.masks).history(before))
        request = turn.request if turn is not None else None
        return messages if request is None else [*request.messages, *messages[len(before) :]]

    def match(self, request: Request, *, given: Request, turn: int) -> Recorded:
        """The turn that answers a request which was not recorded as it is; `given` is what is to be written.

        Raises `CassetteMiss`.
        """
        unplayed = [self._known[each.number] for each in self._index.unplayed]
        came_from = self._came_from.get(Digester(masks=self._index.masks).history(_before(request.messages)))
        goes_on_from = self._known[came_from.number].key[0] if came_from is not None else None
        found: list[_Known] = []
        for place, digester in enumerate(self._same):
            key = digester.history(request.messages)
            found = [each for each in unplayed if each.same[place] == key]
            if found:
                break
        else:
            raise self._refusal(request, unplayed, turn)
        found = [each for each in found if each.before == goes_on_from] or found
        if len({each.key for each in found}) > 1:
            numbers = ", ".join(str(each.turn.number) for each in found[:8])
            raise self._error(
                turn,
                f"it could be recorded turn {numbers}: they differ only in what may have been edited",
                "Rekey one conversation at a time, each from a cassette of its own, or record it anew:",
                self._ways.mode("all"),
            )
        answering = found[0].turn
        self._index.play(answering.number)
        self._now[answering.number] = Request(list(given.messages), given.options)
        self.note(answering, request)
        return answering

    def save(self, provider: Provider, metadata: Mapping[str, Any], *, today: datetime) -> None:
        """Rewrite the file's requests; `metadata` is added to its provenance.

        Raises `CassetteError` where the file has changed meanwhile, or would hold a secret.
        """
        path = self._cassette.path
        with locked_folder(path):
            if read_cassette(path).recorded != self._cassette.recorded:
                raise CassetteError(
                    f"the cassette {path} was changed by another recorder while it was rekeyed; it is left "
                    "as it is. Run it again",
                    path=str(path),
                )
            interactions = list(self._cassette.interactions)
            if self._redaction is not None:
                self._redaction.follow(path.read_text("utf-8", "replace"))
            for number, request in self._now.items():
                entry = _rewritten(
                    interactions[number - 1], self._cassette.recorded[number - 1], request, provider
                )
                interactions[number - 1] = entry if self._redaction is None else self._redaction(entry)
            told = {**self._provenance(today), **metadata}
            save(path, interactions, told, layout=self._layout)
            self._cassette = read_cassette(path)  # another run of this session goes on from here
        self._now = {}

    def _provenance(self, today: datetime) -> dict[str, Any]:
        """The file's provenance, which says that its requests were not sent."""
        kept = dict(self._cassette.metadata)
        masks = {"masks": list(self._index.masks.sources)} if self._index.masks else {}
        if not self._now:  # masks alone change no request
            return {**kept, **masks}
        origin = kept.get("origin") or "unknown"
        first = kept.get("rekeyed_from") if origin == "rekeyed" else origin
        rekeyed = {"origin": "rekeyed", "rekeyed_from": first, "rekeyed_at": today.isoformat()}
        return {**kept, **rekeyed, **masks}

    def _refusal(self, request: Request, unplayed: list[_Known], turn: int) -> CassetteMiss:
        replies = self._replies.history(request.messages)
        for known in unplayed:
            each, recorded = known.turn, known.turn.request if known.replies == replies else None
            if recorded is None:
                continue
            for item in differences(recorded, request, self._index.masks):
                tool, cause = tool_behind(request, item)
                # Behind the model's first reply, what was said to it has to be what it answered to.
                if tool or (item.place is not None and item.place > opening(request)):
                    shown = shown_change(item.recorded, item.now)[1]
                    return self._error(
                        turn,
                        f"{item.path} is not what recorded turn {each.number} answers to:",
                        *shown,
                        *([cause] if cause else []),
                        "An answer to another result is no answer to this one.",
                        *self._results_instead(tool),
                        f"To record it anew, from a live model: {self._ways.mode('new_episodes')}",
                        nearest=each.number,
                        differing=item.path,
                        expected=item.recorded,
                        actual=item.now,
                        tool=tool,
                    )
        return self._error(
            turn,
            "no unplayed turn stands at this point of a conversation with these replies of the model",
            "Only prompts, tools and options may have changed. To record it anew, from a live model: "
            f"{self._ways.mode('new_episodes')}",
        )

    def _results_instead(self, tool: str) -> list[str]:
        if not (tool and self._ways.runs_tools):
            return []
        return [f"To take the recorded results instead, add: {self._ways.setting('tools', 'recorded')}"]

    def _error(self, turn: int, why: str, *more: str, **found: Any) -> CassetteMiss:
        path = str(self._cassette.path)
        text = bounded([f"{path[-200:]} cannot be rekeyed at request {turn} of this session: {why}", *more])
        return CassetteMiss(text, path=path, turn=turn, **found)


def _before(messages: Sequence[Message]) -> list[Message]:
    """The messages that the model's last reply answered."""
    before = list(messages)
    while before and before.pop().get("role") != "assistant":
        pass
    return before


def _rewritten(
    interaction: Mapping[str, Any], turn: Recorded, request: Request, provider: Provider
) -> dict[str, Any]:
    recorded = turn.request
    assert recorded is not None
    old = recorded.options
    kept = {name: old[name] for name in _KEPT if name in old}
    body = provider.shape({**kept, **request.body(), **{k: v for k, v in kept.items() if k != "model"}})
    ordered = {name: body[name] for name in [*old, *body] if name in body and name != "messages"}
    text = json.dumps({**ordered, "messages": body["messages"]}, ensure_ascii=False, separators=(",", ":"))
    made = interaction_of(Exchange(url=turn.url, request_body=text.encode("utf-8", "replace"), chunks=()))
    return {**interaction, "request": {**interaction["request"], "body": made["request"]["body"]}}
