"""`react-replay ls`: cassettes in a table: model, date, origin, turns, tokens, layout, size."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from react_replay.cli.exits import CASSETTE
from react_replay.cli.files import cassette_files
from react_replay.errors import CassetteError, NotACassette

if TYPE_CHECKING:
    from react_replay.cassettes.inventory import Facts

__all__ = ["EPILOG", "ls"]

EPILOG = "Exit codes: 0 listed, 2 usage, 3 a file is missing or unreadable, or there is no cassette."


def ls(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="A cassette, or a folder of them.", show_default=False),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list, one object a cassette.")
    ] = False,
) -> int:
    """List cassettes: model, date, origin, chat turns, tokens, layout and size.

    A line below says what differs between a cassette's own turns (drift), and which test is named in it
    and is not there any more (orphan). In a folder, what is no cassette of chat completions is left out.

    Example: react-replay ls cassettes
    """
    from react_replay.cassettes.inventory import facts
    from react_replay.cassettes.reading import read_cassette
    from react_replay.cli.terminal import plain

    found: list[Facts] = []
    refused: list[CassetteError] = []
    for path, named in cassette_files(paths):
        try:
            entry = facts(read_cassette(path))
        except NotACassette as error:
            if named:
                refused.append(error)
            continue
        except CassetteError as error:
            refused.append(error)
            continue
        if named or entry.turns:
            found.append(entry)
    if as_json:
        text = json.dumps([entry.to_dict() for entry in found], ensure_ascii=False, indent=2)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    elif found:
        for line in _table(found):
            print(line)
    for refusal in refused:
        print(f"react-replay: {plain(str(refusal))}", file=sys.stderr)
    if not found and not refused:
        print("react-replay: there is no cassette of chat completions", file=sys.stderr)
    return CASSETTE if refused or not found else 0


def _table(found: list[Facts]) -> list[str]:
    """Lines of at most 80 columns; the end of a long path is kept."""
    lines = [_line(("path", "model", "date", "origin", "turns", "tokens", "layout", "size"))]
    for entry in found:
        texts = (entry.path, entry.model, entry.recorded_at[:10], entry.origin)
        counts = (str(entry.turns), _short(entry.tokens), entry.layout, _size(entry.bytes))
        lines.append(_line((*texts, *counts)))
        if entry.drift:
            lines += _note(f"drift: its turns differ in {', '.join(entry.drift)}")
        if entry.orphan:
            lines += _note(f"orphan of {entry.test}: {entry.orphan}")
    total = (str(sum(e.turns for e in found)), _short(sum(e.tokens for e in found)))
    last = (f"{len(found)} cassettes", "", "", "", *total, "", _size(sum(e.bytes for e in found)))
    return [*lines, _line(last)] if len(found) > 1 else lines


def _note(text: str) -> list[str]:
    from react_replay.cli.terminal import plain, wrapped

    return [f"  {line}" for line in wrapped(plain(text).replace("\n", " "), 76)]


def _line(row: tuple[str, ...]) -> str:
    path, model, date, origin, turns, tokens, layout, size = row
    cells = (_fit(path, 20, end=True), _fit(model, 12), _fit(date, 10), _fit(origin, 9))
    return " ".join((*cells, f"{turns:>5} {tokens:>6}", _fit(layout, 6), f"{size:>5}")).rstrip()


def _fit(text: str, width: int, *, end: bool = False) -> str:
    """The text in so many columns, cut with `~` at the start or the end where it is longer."""
    from react_replay.cli.terminal import columns, plain

    text = plain(text).replace("\n", " ").replace("\t", " ")
    if columns(text) > width:
        while columns(text) >= width:
            text = text[1:] if end else text[:-1]
        text = f"~{text}" if end else f"{text}~"
    return text + " " * (width - columns(text))


def _short(number: int) -> str:
    if number < 10_000:
        return str(number)
    return f"{number / 1e3:.0f}k" if number < 10_000_000 else f"{number / 1e6:.0f}M"


def _size(count: int) -> str:
    return f"{count / 1024:.0f}K" if count < 10 << 20 else f"{count / (1 << 20):.0f}M"
