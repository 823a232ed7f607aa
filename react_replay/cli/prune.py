"""`react-replay prune`: turns out of a cassette, by number; the rest stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from react_replay.errors import ConfigurationError

__all__ = ["EPILOG", "prune"]

EPILOG = "Exit codes: 0 done, 2 usage, 3 the file is missing, unreadable or not ours to write."


def prune(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A cassette of ours.", show_default=False)],
    turns: Annotated[str | None, typer.Option(help="Drop these turns: 3,5 or 7-9.")] = None,
    keep: Annotated[str | None, typer.Option(help="Keep these turns and drop the others: 1-4.")] = None,
    duplicates: Annotated[
        bool,
        typer.Option(
            "--duplicates", help="Drop turns whose request and answer stand in an earlier turn, to the byte."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and write nothing.")] = False,
) -> int:
    """Drop turns from a cassette: those that no test plays any more, or that were recorded twice.

    Turns are numbered from 1, as in `react-replay show` and in pytest's report of unplayed turns. The
    layout stays, the file is replaced at once, and not every turn can go: delete the file instead.

    Example: react-replay prune cassettes/long.yaml --keep 1-4 --dry-run
    """
    chosen = [turns is not None, keep is not None, duplicates]
    if sum(chosen) != 1:
        raise ConfigurationError(
            "prune needs one of --turns 3,5, --keep 1-4 and --duplicates: react-replay prune PATH --turns 3"
        )
    from react_replay.cassettes.journal import locked_folder
    from react_replay.cassettes.reading import METADATA, read_cassette, read_document
    from react_replay.cassettes.redact import refuse_secrets
    from react_replay.cassettes.writing import document_of, write_document
    from react_replay.cli.terminal import plain

    with locked_folder(path):
        document = read_document(path)
        cassette = read_cassette(path)
        count = len(cassette.interactions)
        interactions = list(cassette.interactions)
        dropped = (
            _doubled(interactions)
            if duplicates
            else _numbers(turns, count, "--turns")
            if turns is not None
            else sorted({*range(1, count + 1)} - set(_numbers(keep or "", count, "--keep")))
        )
        if len(dropped) == count and count:
            raise ConfigurationError(f"that is every turn of {path}; delete the file instead")
        if dropped and not dry_run:
            kept = [item for number, item in enumerate(interactions, 1) if number not in set(dropped)]
            layout = "delta" if cassette.layout == "delta" else "full"
            new: dict[str, Any] = document_of(kept, cassette.metadata, layout=layout)
            if not cassette.metadata:  # nothing was said of the recording, and nothing is
                del new[METADATA]
            new = {**document, **new}
            refuse_secrets(path, new, mend=f"Replace it first: react-replay scrub {path}")
            write_document(path, new, as_json=path.read_bytes().lstrip()[:1] == b"{")
    said = "would drop" if dry_run else "dropped"
    listed = ", ".join(map(str, dropped)) or "none"
    print(plain(f"{path}: {said} {len(dropped)} of {count} turns ({listed})"))
    return 0


def _numbers(text: str, count: int, option: str) -> list[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
        if match is None:
            raise ConfigurationError(f"{option}: {part.strip()!r} is no turn; write 3,5 or 7-9")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= count:
            raise ConfigurationError(f"{option}: {part.strip()!r} is not among the turns 1 to {count}")
        found |= set(range(first, last + 1))
    return sorted(found)


def _doubled(interactions: Sequence[Any]) -> list[int]:
    seen: set[tuple[str, str]] = set()
    found = []
    for number, item in enumerate(interactions, 1):
        request, response = item["request"], item["response"]
        key = (_text([request.get("uri"), request.get("body")]), _text(response.get("body")))
        if key in seen:
            found.append(number)
        seen.add(key)
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
