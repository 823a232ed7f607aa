"""Two values and what changed between them, in one short line each. Pure; bounded whatever the values."""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

__all__ = ["clipped", "first_change", "one_line", "shown_change"]

_IDEOGRAPHS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # each is a word, as far as a diff is concerned
_WORDLY = re.compile(rf"[^\W{_IDEOGRAPHS}]")
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|{_WORDLY.pattern}+|\s+|.", re.S)
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_AROUND = 60
_LONGEST = 100
_SEARCHED = 600


def one_line(text: str) -> str:
    """A text without what would break a line or a terminal."""
    return _HIDDEN.sub(lambda found: json.dumps(found.group())[1:-1], text)


def clipped(value: Any, most: int = _LONGEST) -> str:
    """A value as JSON in one line, its middle left out where it is longer than `most`."""
    text = value if isinstance(value, str) else _json(value)
    text = one_line(text[: most * 2] if len(text) <= most else _shortened(text, most))
    return f'"{text}"' if isinstance(value, str) else text


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__} that is no JSON"


def _shortened(text: str, most: int) -> str:
    head = most * 2 // 3
    return f"{text[:head]} ... {text[len(text) - (most - head) :]}"


def shown_change(recorded: Any, now: Any) -> tuple[int | None, list[str]]:
    """Where two values part, in characters, and lines that show how; None where they are no texts.

    Of texts the first changed words are marked, `[-recorded-]` and `{+now+}`, with 60 characters around;
    short ones are shown whole beside it.
    """
    if not (isinstance(recorded, str) and isinstance(now, str)):
        return None, [f"  recorded: {clipped(recorded, 160)}", f"  now:      {clipped(now, 160)}"]
    start, old, new = first_change(recorded, now)
    before = recorded[max(start - _AROUND, 0) : start]
    after = now[start + len(new) : start + len(new) + _AROUND]
    line = "".join(
        [
            "..." if start > _AROUND else "",
            '"',
            one_line(before),
            f"[-{_marked(old)}-]" if old else "",
            f"{{+{_marked(new)}+}}" if new else "",
            one_line(after),
            '"',
            "..." if start + len(new) + _AROUND < len(now) else "",
        ]
    )
    if max(len(recorded), len(now)) > _LONGEST:
        return start, [f"  {line}"]
    return start, [f"  recorded: {clipped(recorded)}", f"  now:      {clipped(now)}", f"  changed:  {line}"]


def _marked(text: str) -> str:
    return one_line(text if len(text) <= _LONGEST else _shortened(text, _LONGEST))


def first_change(recorded: str, now: str) -> tuple[int, str, str]:
    """The offset of the first changed words, and the words on both sides."""
    start = _common(recorded, now)
    for _ in range(_LONGEST):  # back to where the word begins
        if not (start and _WORDLY.match(recorded[start - 1])):
            break
        start -= 1
    rest = min(len(recorded), len(now)) - start
    end = _common(recorded[::-1][:rest], now[::-1][:rest])
    old, new = recorded[start : len(recorded) - end], now[start : len(now) - end]
    # The common end may begin within a word.
    tail = recorded[len(recorded) - end :][:_LONGEST] if end else ""
    if _WORDLY.match(old[-1:]) or _WORDLY.match(new[-1:]):
        word = re.match(f"{_WORDLY.pattern}*", tail)
        old, new = old + (word.group() if word else ""), new + (word.group() if word else "")
    if max(len(old), len(new)) <= _LONGEST:
        return start, old, new
    # Much has changed: of that the first words.
    ours, theirs = (_WORD.findall(text[:_SEARCHED]) for text in (old, new))
    for tag, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            lead = len("".join(ours[:a]))
            old_words, new_words = len("".join(ours[a:b])), len("".join(theirs[c:d]))
            at = len("".join(theirs[:c]))
            return start + lead, old[lead : lead + old_words], new[at : at + new_words]
    return start, old, new


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their start; by halves, so fast on long ones."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
