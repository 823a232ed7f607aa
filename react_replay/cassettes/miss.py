"""Why a request found no answer: the nearest recorded turn, the changed words, their cause, what mends it.

Pure: requests in, errors out. Each text stays under 25 lines and 2,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from react_replay.cassettes.likeness import ABSENT, Difference, differences, nearest, shared
from react_replay.cassettes.masks import NO_MASKS, Masks
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.ways import Ways
from react_replay.cassettes.words import clipped, first_change, one_line, shown_change
from react_replay.errors import CassetteMiss, UnplayedTurns
from react_replay.messages import Message, Request

__all__ = ["bounded", "explain_miss", "explain_unplayed", "opening", "tool_behind"]

_LINES, _LINE, _TEXT = 24, 420, 2000
_VARYING = re.compile(r"\d[\d:./-]{3}")
_NEAR = 40
_A_DATE = r"\d{4}-\d\d-\d\d"


def bounded(lines: Iterable[str]) -> str:
    """Lines as one text of at most 24 lines and 2,000 characters."""
    kept = [one_line(line) for line in lines][:_LINES]
    kept = [line if len(line) <= _LINE else f"{line[:_LINE]}..." for line in kept]
    last = kept.pop() if len("\n".join(kept)) > _TEXT else ""  # what mends it stands last, and stays
    text = "\n".join(kept)
    return f"{text[: _TEXT - len(last) - 5]}...\n{last}" if last else text


def explain_miss(
    path: str,
    request: Request,
    turns: Sequence[Recorded],
    *,
    turn: int,
    ways: Ways,
    known: Sequence[int] = (),
    masks: Masks = NO_MASKS,
) -> CassetteMiss:
    """The error for a request without an answer. `known`: the turns that recorded it, all played."""
    mend = f"To record it, from a live model: {ways.mode('new_episodes')}"
    head = f"{_shown_path(path)} has no answer to request {turn} of this session ({_size(request)})"
    if known:
        lines = [
            f"{head}: the same request was recorded as {_turns(known)}, but each of its answers has been "
            "played.",
            "The run asks it once more than the recording did.",
            f"  asked: {_question(request)}",
            mend,
        ]
        return CassetteMiss(bounded(lines), path=path, turn=turn)
    numbers, asked = _requests(turns)
    place = nearest(request, asked, masks)
    if place is None:
        lines = [f"{head}: it holds no chat request at all.", mend]
        return CassetteMiss(bounded(lines), path=path, turn=turn)
    closest = asked[place]
    number = numbers[place]
    found = list(islice(differences(closest, request, masks), 200))
    first, *more = found or [Difference("model", closest.options.get("model"), request.options.get("model"))]
    tool, cause = tool_behind(request, first)
    offset, shown = shown_change(first.recorded, first.now)
    at = f", at character {offset} ([-recorded-] {{+now+}})" if offset is not None else ""
    others = ", ".join(clipped(difference.path, 60).strip('"') for difference in more[:6])
    same, recorded_size, size = shared(closest, request, masks)
    ends = same == recorded_size < size
    lines = [
        f"{head}.",
        f"Nearest: recorded turn {number}, which has {same} of these {size} messages. The first difference:",
        f"{clipped(first.path).strip(chr(34))}{at}:",
        *shown,
        *(["The conversation goes on where the recording ends."] if ends else []),
        *([f"Also different: {others}{', ...' if len(more) > 6 else ''}"] if others else []),
        *([cause] if cause else []),
        *_ways_out(request, first, tool, ways),
        mend,
    ]
    return CassetteMiss(
        bounded(lines),
        path=path,
        turn=turn,
        nearest=number,
        differing=first.path,
        expected=first.recorded,
        actual=first.now,
        tool=tool,
    )


def explain_unplayed(path: str, turns: Sequence[Recorded], ways: Ways) -> UnplayedTurns:
    """The error for recorded turns that no request asked for."""
    numbers = [turn.number for turn in turns]
    lines = [f"{_shown_path(path)} has {len(turns)} turn{'s' * (len(turns) != 1)} that no request asked for:"]
    for turn in turns[:12]:
        if (request := turn.request) is not None:
            lines.append(f"  turn {turn.number} ({_size(request)}): {_question(request)}")
    lines += [f"  and {len(turns) - 12} more"] if len(turns) > 12 else []
    lines += [
        "The run ended early or took another way, or the file holds turns of an older one.",
        f"To look at them: react-replay show {_shown_path(path)}",
        f"To record it anew, from a live model: {ways.mode('all')}",
    ]
    return UnplayedTurns(bounded(lines), path=path, turns=numbers)


def _requests(turns: Sequence[Recorded]) -> tuple[list[int], list[Request]]:
    """The numbers of turns that can be read, and their requests; each is read from the file but once."""
    read = [(turn.number, request) for turn in turns if (request := turn.request) is not None]
    return [number for number, _ in read], [request for _, request in read]


def _shown_path(path: str) -> str:
    return path if len(path) <= 200 else f"...{path[-200:]}"


def _turns(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
    return f"turn{'s' * (len(numbers) != 1)} {listed}"


def _size(request: Request) -> str:
    last = request.messages[-1] if len(request.messages) else {}
    return f"{len(request.messages)} messages, the last from {clipped(last.get('role', 'nobody'), 20)}"


def _question(request: Request) -> str:
    """The last words of a person, and what a tool gave behind them."""
    asked = next((m for m in reversed(request.messages) if m.get("role") == "user"), {})
    last = request.messages[-1] if len(request.messages) else {}
    behind = f", behind the result {clipped(last.get('content'), 40)}" if last.get("role") == "tool" else ""
    return f"{clipped(asked.get('content'), 60)}{behind}"


def _ways_out(request: Request, first: Difference, tool: str, ways: Ways) -> list[str]:
    """What mends it without asking a model."""
    if tool:
        return (
            [f"To take the recorded results instead: {ways.setting('tools', 'recorded')}"]
            if ways.runs_tools
            else []
        )
    lines = []
    if first.path.startswith("tools"):
        lines.append(
            "The tools that are offered differ: offer those of the recording (run: --tools a,b or --tools '')"
        )
    role = _role(first.recorded) if first.place is None else request.messages[first.place].get("role")
    field = "system" if role in ("system", "developer") else first.path.partition("[")[0].partition(".")[0]
    if field == "tools" and first.path.endswith(".description"):
        field = "tool_descriptions"
    if field != "messages":
        lines.append(f"If it may differ: {ways.setting('tolerate', [field[:40]])}")
    elif _varies(first):
        lines.append(f"If it differs in every run, like a date: {ways.setting('masks', [_A_DATE])}")
    if field != "messages" or (first.place is not None and first.place < opening(request)):
        lines.append(f"If the answers stand: {ways.mode('rekey')} keeps them and rewrites the requests")
    return lines


def opening(request: Request) -> int:
    """How many messages stand before the model's first reply."""
    replies = (place for place, m in enumerate(request.messages) if m.get("role") == "assistant")
    return next(replies, len(request.messages))


def _varies(first: Difference) -> bool:
    """Whether the first changed words look like a date, a time or a number that is new in every run."""
    if not (isinstance(first.recorded, str) and isinstance(first.now, str)) or ABSENT in first:
        return False
    start = first_change(first.recorded, first.now)[0]
    return all(
        _VARYING.search(text[:start][-_NEAR:].split(" ")[-1] + text[start : start + _NEAR].split(" ")[0])
        for text in (first.recorded, first.now)
    )


def _role(value: Any) -> str:
    return str(value.get("role")) if isinstance(value, Mapping) else ""


def tool_behind(request: Request, first: Difference) -> tuple[str, str]:
    """The name of the tool whose result differs, and a line on its call; both empty where it is none."""
    place = first.place
    if place is None or place >= len(request.messages) or not isinstance(first.now, str):
        return "", ""
    message = request.messages[place]
    name, arguments = "", ""
    if message.get("role") == "tool":
        name, arguments = _native_call(request.messages[:place], message)
    elif message.get("role") == "user":
        name, arguments = _written_call(request.messages[:place], first)
    if not name:
        return "", ""
    return name, (
        f"Cause: the tool call {clipped(name, 60)[1:-1]}({clipped(arguments, 80)[1:-1]}) gave "
        f"{clipped(first.now, 60)}; when it was recorded, {clipped(first.recorded, 60)}"
    )


def _native_call(history: Sequence[Message], result: Message) -> tuple[str, str]:
    for earlier in reversed(history):
        calls = earlier.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and call.get("id") == result.get("tool_call_id"):
                function = call.get("function")
                function = function if isinstance(function, Mapping) else {}
                arguments = function.get("arguments")
                return str(function.get("name")), arguments if isinstance(arguments, str) else str(arguments)
    return "", ""


def _written_call(history: Sequence[Message], first: Difference) -> tuple[str, str]:
    """The call that a reply of a text protocol asked for, where its result is what differs."""
    reply = history[-1] if history else {}
    if reply.get("role") != "assistant" or not isinstance(first.recorded, str):
        return "", ""
    from react_replay.dialects import parse

    calls = parse("labelled", str(reply.get("content") or "")).calls
    return (calls[0].name, clipped(calls[0].arguments, 80)) if calls else ("", "")
