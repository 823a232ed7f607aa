"""Why a request found no answer: the nearest recorded turn, the changed words, their cause, what mends it.

Pure: requests in, errors out. Each text stays under 25 lines and 2,000 characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from react_replay.cassettes.likeness import Difference, differences, nearest
from react_replay.cassettes.masks import NO_MASKS, Masks
from react_replay.cassettes.reading import Recorded
from react_replay.cassettes.words import clipped, one_line, shown_change
from react_replay.errors import CassetteMiss, UnplayedTurns
from react_replay.messages import Message, Request, ToolCall

__all__ = ["bounded", "explain_miss", "explain_results", "explain_unplayed", "tool_behind"]

_MEND = (
    "To record it: react-replay run ... --cassette PATH --record new_episodes (needs a key), "
    'or CassetteBackend(path, record="new_episodes").'
)
_LINES, _LINE, _TEXT = 24, 420, 2000


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
    known: Sequence[int] = (),
    masks: Masks = NO_MASKS,
) -> CassetteMiss:
    """The error for a request without an answer. `known`: the turns that recorded it, all played."""
    head = f"{_shown_path(path)} has no answer to request {turn} of this session ({_size(request)})"
    if known:
        lines = [
            f"{head}: the same request was recorded as {_turns(known)}, but each of its answers has been "
            "played.",
            "The run asks it once more than the recording did.",
            f"  asked: {_question(request)}",
            _MEND,
        ]
        return CassetteMiss(bounded(lines), path=path, turn=turn)
    asked = [recorded.request for recorded in turns if recorded.request is not None]
    place = nearest(request, asked, masks)
    if place is None:
        lines = [f"{head}: it holds no chat request at all.", _MEND]
        return CassetteMiss(bounded(lines), path=path, turn=turn)
    closest = asked[place]
    number = [recorded.number for recorded in turns if recorded.request is not None][place]
    found = list(islice(differences(closest, request, masks), 200))
    first, *more = found or [Difference("model", closest.options.get("model"), request.options.get("model"))]
    tool, cause = tool_behind(request, first)
    offset, shown = shown_change(first.recorded, first.now)
    at = f", at character {offset} ([-recorded-] {{+now+}})" if offset is not None else ""
    others = ", ".join(clipped(difference.path, 60).strip('"') for difference in more[:6])
    lines = [
        f"{head}.",
        f"Nearest: recorded turn {number}; the first difference is {clipped(first.path).strip(chr(34))}{at}:",
        *shown,
        *([f"Also different: {others}{', ...' if len(more) > 6 else ''}"] if others else []),
        *([cause] if cause else []),
        *_ways_out(request, first, tool),
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


def explain_results(path: str, calls: Sequence[ToolCall], *, turn: int) -> CassetteMiss:
    """The error where the results of calls were to be taken from a recording that does not hold them."""
    asked = ", ".join(f"{call.name}({clipped(call.arguments, 80)})" for call in calls[:4])
    lines = [
        f"{_shown_path(path)} holds no recorded result, behind request {turn} of this session, for {asked}.",
        "The history differs from the recording's, or the recording ends before a result went to the model.",
        'To run the tools instead: tools="run" (--tool-results run), which also shows what differs.',
    ]
    return CassetteMiss(bounded(lines), path=path, turn=turn, tool=calls[0].name if calls else "")


def explain_unplayed(path: str, turns: Sequence[Recorded]) -> UnplayedTurns:
    """The error for recorded turns that no request asked for."""
    numbers = [turn.number for turn in turns]
    lines = [f"{_shown_path(path)} has {len(turns)} turn{'s' * (len(turns) != 1)} that no request asked for:"]
    for turn in turns[:12]:
        if turn.request is not None:
            lines.append(f"  turn {turn.number} ({_size(turn.request)}): {_question(turn.request)}")
    lines += [f"  and {len(turns) - 12} more"] if len(turns) > 12 else []
    lines.append(
        "The run took another way than the recording, or the file holds turns of an older one: look at it "
        "with react-replay show, record it anew with --record all."
    )
    return UnplayedTurns(bounded(lines), path=path, turns=numbers)


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


def _ways_out(request: Request, first: Difference, tool: str) -> list[str]:
    """What mends it; the last line asks the model."""
    lines = []
    if tool:
        lines.append(
            'To take the recorded results: CassetteBackend(path, tools="recorded") (--tool-results recorded).'
        )
    elif first.path.startswith("tools"):
        lines.append(
            "The tools that are offered differ: offer those of the recording (run: --tools a,b or --tools '')."
        )
    role = _role(first.recorded) if first.place is None else request.messages[first.place].get("role")
    field = "system" if role in ("system", "developer") else first.path.partition("[")[0].partition(".")[0]
    if field != "messages":
        lines.append(
            "If the answers stand: --record rekey keeps them; "
            f'CassetteBackend(path, tolerate=["{field[:40]}"]) allows it.'
        )
    return [*lines, _MEND]


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
        f"Cause: the tool call {clipped(name, 60)[1:-1]}({clipped(arguments, 80)[1:-1]}) gave another result "
        "than when it was recorded."
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
