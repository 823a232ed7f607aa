"""Two cassettes by meaning: turns aligned by digest, then the paths that differ, with the words. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from react_replay.cassettes.canonical import Digester, canonical_messages, canonical_options
from react_replay.cassettes.reading import Cassette, Recorded
from react_replay.errors import BackendError

__all__ = ["Change", "compare", "grouped", "words"]

_ABSENT = "(absent)"
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|\w+|\s+|[^\w\s]")
_MOST_WORDS = 2_000
"""More differing words than these are shown as one piece: aligning them takes time in the square of them."""
_AROUND = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What differs between turn `left` of one cassette and turn `right` of another, from 1; None: no turn.

    `path` is as `request.messages[3].content` or `answer.content`, empty for a whole turn.
    """

    left: int | None
    right: int | None
    path: str = ""
    before: Any = None
    after: Any = None

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def compare(left: Cassette, right: Cassette) -> list[Change]:
    """Every difference in meaning of two cassettes' chat turns; empty where a run replays alike from both."""
    ours = [turn for turn in left.recorded if turn.request is not None]
    theirs = [turn for turn in right.recorded if turn.request is not None]
    matcher = SequenceMatcher(None, _keys(ours), _keys(theirs), autojunk=False)
    changes: list[Change] = []
    for kind, start, end, begin, stop in matcher.get_opcodes():
        pairs = min(end - start, stop - begin)
        for step in range(pairs):
            changes += _of_pair(ours[start + step], theirs[begin + step], asked=kind != "equal")
        changes += [Change(left=turn.number, right=None) for turn in ours[start + pairs : end]]
        changes += [Change(left=None, right=turn.number) for turn in theirs[begin + pairs : stop]]
    return changes


def _keys(turns: Sequence[Recorded]) -> list[object]:
    digester = Digester()
    keys: list[object] = []
    for turn in turns:
        assert turn.request is not None
        keys.append((*digester.key(turn.request), turn.request.options.get("model")))
    return keys


def _of_pair(left: Recorded, right: Recorded, *, asked: bool) -> Iterator[Change]:
    sides = [("answer", _answer(left), _answer(right))]
    if asked:
        sides.insert(0, ("request", _question(left), _question(right)))
    for name, before, after in sides:
        for path, old, new in _walk(name, before, after):
            yield Change(left=left.number, right=right.number, path=path, before=old, after=new)


def _question(turn: Recorded) -> dict[str, Any]:
    assert turn.request is not None
    messages = [message for _, message in canonical_messages(turn.request.messages)]
    return {"messages": messages, **canonical_options(turn.request.options)}


def _answer(turn: Recorded) -> dict[str, Any]:
    try:
        said = turn.completion()
    except BackendError as error:
        return {"error": str(error)}
    calls = [{"name": call.name, "arguments": call.arguments} for call in said.tool_calls]
    return {"content": said.content, "calls": calls, "finish_reason": said.finish_reason}


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    stack = [(path, before, after)]
    while stack:
        path, old, new = stack.pop()
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            names = sorted({*old, *new}, key=lambda name: (name != "role", str(name)), reverse=True)
            stack += [(f"{path}.{name}", old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in names]
        elif isinstance(old, list) and isinstance(new, list):
            for place in reversed(range(max(len(old), len(new)))):
                one = old[place] if place < len(old) else _ABSENT
                two = new[place] if place < len(new) else _ABSENT
                stack.append((f"{path}[{place}]", one, two))
        else:
            yield path, old, new


def words(before: Any, after: Any) -> str:
    """The changed words of two values with a little around them: `you are [-careful-]{+brave+}.`"""
    old, new = _words(before), _words(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(left) + len(right) > _MOST_WORDS:
        middle = [("replace", 0, len(left), 0, len(right))]
    else:
        middle = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()  # type: ignore[assignment]
    shown = [_cut("".join(old[max(head - 60, 0) : head]), end=True, more=head > 60)]
    for kind, start, end, begin, stop in middle:
        gone, come = "".join(left[start:end]), "".join(right[begin:stop])
        if kind == "equal":
            shown.append(gone if len(gone) <= 2 * _AROUND else f"{gone[:_AROUND]}...{gone[-_AROUND:]}")
        else:
            shown += [f"[-{_short(gone)}-]" if gone else "", f"{{+{_short(come)}+}}" if come else ""]
    after_it = old[len(old) - tail :]
    shown.append(_cut("".join(after_it[:60]), end=False, more=len(after_it) > 60))
    return "".join(shown)


def _words(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _WORD.findall(text)


def _cut(text: str, *, end: bool, more: bool) -> str:
    if len(text) <= _AROUND and not more:
        return text
    return f"...{text[-_AROUND:]}" if end else f"{text[:_AROUND]}..."


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:140]}... ({len(text)} characters) ...{text[-40:]}"


def grouped(changes: Sequence[Change]) -> list[tuple[Change, list[tuple[int | None, int | None]]]]:
    """Changes, each with the turns that have it: an edited prompt stands in every request of its run."""
    places: dict[str, tuple[Change, list[tuple[int | None, int | None]]]] = {}
    for change in changes:
        whole = f"{change.left},{change.right}" if not change.path else ""
        key = json.dumps([change.path, change.before, change.after, whole], default=str, sort_keys=True)
        places.setdefault(key, (change, []))[1].append((change.left, change.right))
    return list(places.values())
