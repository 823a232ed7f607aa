"""A cassette's exchanges, one by one and beside each other: histories against the answers recorded before.

A request that continues an earlier one is checked from where that ended; what was found in the shared part is
said again for it, since it was sent again, up to `_CARRIED` times. Reads the file through `cassettes`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from react_replay.cassettes.lines import first_lines
from react_replay.cassettes.reading import Cassette, Recorded, read_cassette
from react_replay.check.answers import Answer, calls_of, message_of, read_answer
from react_replay.check.calls import arguments_fault, called_name, quoted, starts_with
from react_replay.check.choices import check_answer
from react_replay.check.codes import Violation
from react_replay.check.history import History
from react_replay.messages import Request

__all__ = ["check_cassette", "check_recorded"]

_CARRIED = 50
"""How many violations of earlier messages are said again for each request that sends them again."""
_CONVERSATIONS = 16
"""How many histories are kept to be continued; agents that talk in turns take one each."""


def check_cassette(cassette: str | Path | Cassette) -> list[Violation]:
    """What is wrong with a recorded file, in its order; given by its path, or as it was read.

    Raises `CassetteError` where it cannot be read. A file without any chat traffic has no violation.
    """
    if not isinstance(cassette, Cassette):
        cassette = read_cassette(Path(cassette))
    path = cassette.path
    found = check_recorded(cassette.recorded)
    lines = first_lines(path) if found else ()
    return [
        replace(
            violation,
            path=str(path),
            line=lines[violation.interaction]
            if violation.interaction is not None and violation.interaction < len(lines)
            else None,
        )
        for violation in found
    ]


def check_recorded(recorded: Iterable[Recorded]) -> list[Violation]:
    """What is wrong with exchanges that follow each other; other traffic among them is passed over."""
    session = _Session()
    return [violation for turn in recorded if turn.chat for violation in session.check(turn)]


@dataclass(slots=True, kw_only=True)
class _Given:
    """The calls of one recorded choice, by id, and the request that they answered."""

    interaction: int
    calls: dict[str, Mapping[str, Any]]
    asked: Request


@dataclass(slots=True, kw_only=True)
class _Conversation:
    """A history that later requests may continue, and what was found in it beside the answers."""

    messages: list[Any]
    history: History = field(default_factory=lambda: History(recorded=True))


class _Session:
    def __init__(self) -> None:
        self._conversations: list[_Conversation] = []
        self._given: dict[str, _Given | None] = {}  # by call id; None where two answers gave the same id
        self._requests: dict[tuple[str, str, int], tuple[int, int, bytes | None]] = {}

    def check(self, turn: Recorded) -> Iterator[Violation]:
        here = turn.number - 1
        answer = read_answer(turn)
        options: Mapping[str, Any] = {}
        if turn.request is None:
            yield Violation(
                code="request-unreadable",
                message=f"{turn.unread}; the answer cannot be matched by what was asked, so record it again",
                interaction=here,
            )
        else:
            options = turn.request.options
            for violation in self._check_request(turn.request):
                yield replace(violation, interaction=here)
            for violation in self._repeated(turn, answer):
                yield replace(violation, interaction=here)
        for violation in check_answer(answer, options):
            if turn.request is None and violation.code == "answer-unknown-tool":
                continue  # what was offered is not known
            yield replace(violation, interaction=here)
        if turn.request is not None:
            self._remember(turn.request, answer, here)

    def _check_request(self, request: Request) -> list[Violation]:
        messages = list(request.messages)
        if not messages:
            return [Violation(code="request-without-messages", message="`messages` is empty; ask something")]
        conversation = self._continued(messages)
        history = conversation.history
        carried = history.violations[:_CARRIED]
        before = len(history.violations)
        new: list[tuple[int, str]] = []
        for place in range(len(conversation.messages), len(messages)):
            new += [(place, identity) for identity in history.feed(messages[place])]
        conversation.messages = messages
        history.violations += self._beside_answers(history, new, messages)
        found = [*carried, *history.violations[before:], *history.ending()]
        offers = any(request.options.get(name) for name in ("tools", "functions"))
        if history.pairing.first_call is not None and not offers:
            found.append(
                Violation(
                    code="calls-without-tools",
                    message="the history has tool calls but the request offers no tools, which several "
                    "servers refuse; send the tools along, with tool_choice none where no call is wanted",
                    message_index=history.pairing.first_call,
                )
            )
        return sorted(found, key=lambda violation: violation.message_index or 0)

    def _continued(self, messages: list[Any]) -> _Conversation:
        best: _Conversation | None = None
        for known in self._conversations:
            longer = best is None or len(known.messages) > len(best.messages)
            if longer and starts_with(messages, known.messages):
                best = known
        if best is not None:
            self._conversations.remove(best)
        else:
            best = _Conversation(messages=[])
        self._conversations.insert(0, best)
        del self._conversations[_CONVERSATIONS:]
        return best

    def _beside_answers(
        self, history: History, new: list[tuple[int, str]], messages: list[Any]
    ) -> Iterator[Violation]:
        """The calls of the new messages against the answers that gave them."""
        answered: dict[int, tuple[int, _Given]] = {}
        for place, identity in new:
            given = self._given.get(identity)
            if given is not None:
                yield from _arguments(given, identity, history.pairing.calls[identity][1], place)
                answered.setdefault(given.interaction, (place, given))
        for place, given in answered.values():
            yield from _lost(given, history, place)
        for place, given in [*answered.values()][-1:]:  # an earlier one shows in the last as well
            yield from _rewritten(given, messages, place)

    def _repeated(self, turn: Recorded, answer: Answer) -> Iterator[Violation]:
        # By its bytes: the same words in another spelling are another client's, such as after an upgrade.
        key = (turn.method.upper(), turn.url, turn.asked)
        here = turn.number - 1
        said = _digest(answer.meaning())
        first, status, before = self._requests.setdefault(key, (here, turn.status, said))
        if first == here:
            return
        statuses = f"(status {status} then {turn.status})"
        if (status, before) == (turn.status, said):
            yield Violation(
                code="same-request-again",
                message=f"the same request as #{first}, with the same answer; one of the two is enough",
            )
        elif status >= 400 or turn.status >= 400:
            yield Violation(
                code="same-request-again",
                message=f"the same request as #{first} {statuses}: a retry; keep the one that the test needs",
            )
        else:
            yield Violation(
                code="same-request-other-answer",
                message=f"the same request as #{first} with another answer {statuses}; they "
                "replay right only "
                "in recorded order, so make the requests differ, or rely on the order on purpose",
            )

    def _remember(self, request: Request, answer: Answer, here: int) -> None:
        for choice in answer.choices:
            calls = {
                identity: function
                for identity, function in calls_of(message_of(choice))
                if isinstance(identity, str) and identity
            }
            given = _Given(interaction=here, calls=calls, asked=request)
            for identity in calls:
                self._given[identity] = None if identity in self._given else given


def _arguments(given: _Given, identity: str, function: Mapping[str, Any], place: int) -> Iterator[Violation]:
    ours, theirs = function.get("arguments"), given.calls[identity].get("arguments")
    if ours == theirs:
        return
    if _meaning(ours) == {} and arguments_fault(given.calls[identity])[0]:
        return  # what could not be read goes back as an empty object; the answer has its own violation
    if _meaning(ours) == _meaning(theirs):
        yield Violation(
            code="reformatted-arguments",
            message=f"the arguments of {quoted(identity)} are those of answer "
            f"#{given.interaction} in another "
            "spelling; keep the model's own, and the provider's cache keeps its prefix",
            message_index=place,
        )
    else:
        yield Violation(
            code="changed-arguments",
            message=f"the arguments of {quoted(identity)} are {quoted(ours)}, but answer "
            f"#{given.interaction} gave "
            f"{quoted(theirs)}; send back what the model wrote",
            message_index=place,
        )


def _meaning(arguments: Any) -> Any:
    if isinstance(arguments, str):
        try:
            return json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return arguments
    return {} if arguments is None else arguments


def _lost(given: _Given, history: History, place: int) -> Iterator[Violation]:
    # An answer's calls may stand in several messages: some frameworks part them.
    lost = [identity for identity in given.calls if identity not in history.pairing.calls]
    if lost:
        names = ", ".join(f"{called_name(given.calls[identity])} {identity}" for identity in lost)
        yield Violation(
            code="lost-calls",
            message=f"the history keeps {len(given.calls) - len(lost)} of the {len(given.calls)} tool_calls "
            f"that answer #{given.interaction} gave (lost: {quoted(names, 160)}); keep and answer each of "
            "them, with an error for those that did not run",
            message_index=place,
        )


def _rewritten(given: _Given, messages: list[Any], place: int) -> Iterator[Violation]:
    """Instructions are left out: agents that hand over to each other change them on purpose."""
    sent = [message for _, message in _spoken(given.asked.messages)]
    now = _spoken(messages[:place])
    if len(sent) > len(now) or starts_with([message for _, message in now], sent):
        return
    pairs = zip(sent, now, strict=False)
    first = next(index for before, (index, message) in pairs if not starts_with([message], [before]))
    yield Violation(
        code="rewritten-history",
        message=f"messages[{first}] is not what request #{given.interaction} sent before this call; append "
        "to a history, and the provider's cache keeps its prefix",
        message_index=first,
    )


def _spoken(messages: Iterable[Any]) -> list[tuple[int, Any]]:
    return [
        (index, message)
        for index, message in enumerate(messages)
        if not (isinstance(message, Mapping) and message.get("role") in ("system", "developer"))
    ]


def _digest(value: Any) -> bytes | None:
    try:
        text = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.blake2b(text.encode()).digest()
