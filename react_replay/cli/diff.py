"""`react-replay diff`: two cassettes by meaning: which turns, which paths, which words."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from react_replay.errors import CassetteError

if TYPE_CHECKING:
    from react_replay.cassettes.comparing import Change

__all__ = ["EPILOG", "diff"]

DIFFERENT = 1
EPILOG = "Exit codes: 0 the same, 1 different, 2 usage, 3 a file is missing or unreadable."
_MOST = 40


def diff(
    left: Annotated[Path, typer.Argument(metavar="A", help="A cassette.", show_default=False)],
    right: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of every difference.")] = False,
) -> int:
    """Compare two cassettes by what they mean: requests as they are matched, answers as they are read.

    Layout, spelling, call ids and order of fields do not count. A change that stands in many turns,
    such as an edited prompt, is shown once: [-words of A-]{+words of B+}.

    Example: react-replay diff old.yaml new.yaml
    """
    from react_replay.cassettes.comparing import compare, grouped
    from react_replay.cassettes.reading import read_cassette

    cassettes = [read_cassette(path) for path in (left, right)]
    for cassette in cassettes:
        if not any(turn.request is not None for turn in cassette.recorded):
            raise CassetteError(
                f"{cassette.path} holds no chat request, so there is nothing to compare",
                path=str(cassette.path),
            )
    changes = compare(*cassettes)
    if as_json:
        text = json.dumps([change.to_dict() for change in changes], ensure_ascii=False, indent=2, default=str)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
        return DIFFERENT if changes else 0
    groups = grouped(changes)
    for change, places in groups[:_MOST]:
        _show(change, places)
    if len(groups) > _MOST:
        print(f"... and {len(groups) - _MOST} more differences; --json lists them all")
    if not changes:
        print("the same")
    return DIFFERENT if changes else 0


def _show(change: Change, places: Sequence[tuple[int | None, int | None]]) -> None:
    from react_replay.cassettes.comparing import words
    from react_replay.cli.terminal import plain, wrapped

    where = _turns(places)
    if not change.path:
        print(f"{where}: only in {'A' if change.right is None else 'B'}")
        return
    for number, line in enumerate(wrapped(plain(f"{where}: {change.path}"), 78)):
        print(line if number == 0 else f"  {line}")
    for line in wrapped(plain(words(change.before, change.after)), 76):
        print(f"    {line}")


def _turns(places: Sequence[tuple[int | None, int | None]]) -> str:
    """`turns 2, 3, 4/5`: the number in A, and that in B where it is another."""
    names = [
        str(left if right is None else right)
        if left is None or right is None or left == right
        else f"{left}/{right}"
        for left, right in places
    ]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"turn{'' if len(names) == 1 else 's'} {', '.join(names[:8])}{more}"
