"""What a stream's pieces say together: a model's texts, joined over the events that carried them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Joined", "joined_texts"]

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal", "text")


@dataclass(slots=True)
class Joined:
    """One text of a stream: its name, what its pieces say together, and on which line each piece stands."""

    name: str
    pieces: list[tuple[int, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(said for _, said in self.pieces)

    def rewritten(self, stream: str, edits: Sequence[tuple[int, int, str]]) -> str:
        """The stream with parts of the joined text replaced, each in the first of its pieces."""
        lines = stream.split("\n")
        at, edit = 0, 0
        for line, said in self.pieces:
            end, kept, place = at + len(said), [], at
            while edit < len(edits) and edits[edit][0] < end:
                start, stop, new = edits[edit]
                if start >= at:
                    kept += [said[place - at : start - at], new]
                place = min(stop, end)
                if stop > end:
                    break
                edit += 1
            kept.append(said[place - at :])
            changed = "".join(kept)
            if changed != said:
                lines[line] = _with(lines[line], self.name, changed)
            at = end
        return "\n".join(lines)


def joined_texts(stream: str) -> list[Joined]:
    """The texts of a stream by their place in the choices."""
    found: dict[str, Joined] = {}
    for number, line in enumerate(stream.split("\n")):
        event = _event(line)
        if event is not None:
            for name, holder, key in _holders(event):
                found.setdefault(name, Joined(name)).pieces.append((number, holder[key]))
    return list(found.values())


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("data:"):
        return None
    try:
        event = json.loads(line[5:])
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _holders(event: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    choices = event.get("choices")
    for place, choice in enumerate(choices if isinstance(choices, list) else ()):
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if not isinstance(delta, dict):
            continue
        at = f"choices[{choice.get('index', place)}].delta"
        for key in _TEXTS:
            if isinstance(delta.get(key), str) and delta[key]:
                yield f"{at}.{key}", delta, key
        calls = delta.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                index = call.get("index", number)
                yield f"{at}.tool_calls[{index}].function.arguments", function, "arguments"


def _with(line: str, name: str, text: str) -> str:
    """A line of a stream, one text of it replaced; compact or spaced as it was."""
    event = _event(line)
    assert event is not None
    spaced = json.dumps(event, ensure_ascii=False)
    separators = None if spaced in line or json.dumps(event) in line else (",", ":")
    for found, holder, key in _holders(event):
        if found == name:
            holder[key] = text
    blank = " " if line.startswith("data: ") else ""
    end = "\r" if line.endswith("\r") else ""
    return f"data:{blank}{json.dumps(event, ensure_ascii=line.isascii(), separators=separators)}{end}"
