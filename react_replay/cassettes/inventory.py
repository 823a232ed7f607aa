"""What a cassette is, in a few facts, for a list of many. Looks at the file's size and at its test's file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from react_replay.cassettes.canonical import canonical_options
from react_replay.cassettes.reading import Cassette, Recorded
from react_replay.errors import BackendError

__all__ = ["Facts", "facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One cassette. `turns` are its chat turns, `other` what else it holds; tokens as they were counted.

    `drift` names what differs between turns of the file (`model`, `system`, `tools`, ...), as after it was
    recorded anew in part. `orphan` says why no test owns the file any more, where one is named in it.
    """

    path: str
    model: str
    recorded_at: str
    origin: str
    test: str
    turns: int
    other: int
    failed: int
    tokens: int
    drift: tuple[str, ...]
    orphan: str
    layout: str
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def facts(cassette: Cassette) -> Facts:
    """The facts of a cassette. Raises `OSError` where the file is gone."""
    chat = [turn for turn in cassette.recorded if turn.chat]
    models = Counter(
        str(turn.request.options["model"])
        for turn in chat
        if turn.request is not None and turn.request.options.get("model")
    )
    tokens = [_tokens(turn) for turn in chat]
    named = cassette.metadata.get("model") or (models.most_common(1)[0][0] if models else "")
    layout = "full" if cassette.layout == "vcrpy" and cassette.metadata.get("recorder") else cassette.layout
    test = str(cassette.metadata.get("test_id") or "")
    return Facts(
        path=str(cassette.path),
        model=str(named),
        recorded_at=str(cassette.metadata.get("recorded_at") or ""),
        origin=str(cassette.metadata.get("origin") or ""),
        test=test,
        turns=len(chat),
        other=len(cassette.recorded) - len(chat),
        failed=tokens.count(None),
        tokens=sum(count or 0 for count in tokens),
        drift=_drift(chat),
        orphan=_orphan(cassette.path, test),
        layout=layout,
        bytes=cassette.path.stat().st_size,
    )


def _drift(turns: Sequence[Recorded]) -> tuple[str, ...]:
    """The options, and `system`, that are not the same in every turn."""
    seen: dict[str, list[str]] = {}
    read: dict[int, dict[str, str]] = {}  # turns of one run share their options
    asked = [turn.request for turn in turns if turn.request is not None]
    for request in asked:
        options, messages = request.options, request.messages
        if id(options) not in read:
            plain = {"model": options.get("model"), **canonical_options(options)}
            read[id(options)] = {
                name: json.dumps(v, sort_keys=True, default=str) for name, v in plain.items()
            }
        opening = messages[0] if messages else {}
        system = opening.get("content") if opening.get("role") in ("system", "developer") else None
        for name, value in {**read[id(options)], "system": str(system)}.items():
            seen.setdefault(name, []).append(value)
    return tuple(sorted(name for name, values in seen.items() if values != [values[0]] * len(asked)))


def _orphan(path: Path, test: str) -> str:
    """Why the test of that id is none any more; empty where it is there, or where none is named."""
    if not test:
        return ""
    name, *inside = test.split("::")
    file = next((root / name for root in path.absolute().parents if (root / name).is_file()), None)
    if file is None:
        return f"there is no {name}"
    wanted = inside[-1].partition("[")[0] if inside else ""
    if file.suffix != ".py" or re.search(rf"\b{re.escape(wanted)}\b", file.read_text("utf-8", "replace")):
        return ""
    return f"{name} has no {wanted}"


def _tokens(turn: Recorded) -> int | None:
    try:
        return turn.completion().usage.total_tokens
    except BackendError:
        return None
