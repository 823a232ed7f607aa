"""`react-replay scrub`: keys out of cassettes that exist. Says where they stood, and never what they were."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from react_replay.cli.exits import CASSETTE
from react_replay.cli.files import cassette_files
from react_replay.errors import CassetteError, NotACassette

if TYPE_CHECKING:
    from react_replay.cassettes.redact import Redaction

__all__ = ["EPILOG", "scrub"]

FOUND = 1
EPILOG = (
    "Exit codes: 0 clean or cleaned, 1 something was found (--check) or could not be replaced, 2 usage, "
    "3 a file is missing, unreadable or not ours to write."
)


def scrub(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="A cassette, or a folder of them.", show_default=False),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Only report; exit with 1 where one is found.")
    ] = False,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="Replace what matches too, or its first group. May be repeated.",
        ),
    ] = None,
) -> int:
    """Replace keys in cassettes, in place: the same key by the same placeholder, [redacted-1], [redacted-2].

    Looks for the key shapes of the known services, bearer tokens, JSON web tokens, private keys and
    passwords in URLs, in bodies, headers and metadata, and replaces authorization and cookie headers
    whole. A key in use should be revoked all the same: it stays in the history of the repository.

    Example: react-replay scrub tests/cassettes --check
    """
    from react_replay.cassettes.redact import compiled

    patterns = compiled(pattern or ())
    found = left = files = 0
    refused: list[CassetteError] = []
    for path, named in cassette_files(paths):
        try:
            places, remaining = _scrubbed(path, patterns, check=check)
        except NotACassette as error:
            if named:
                refused.append(error)
            continue
        except CassetteError as error:
            refused.append(error)
            continue
        files += 1
        found += places
        left += remaining
    from react_replay.cli.terminal import plain

    for refusal in refused:
        print(f"react-replay: {plain(str(refusal))}", file=sys.stderr)
    said = "clean" if not found else f"{found} found" if check else f"{found - left} replaced"
    print(
        f"{files} cassette{'' if files == 1 else 's'}: {said}{f', {left} left' if left and not check else ''}"
    )
    if refused or not files:
        return CASSETTE
    return FOUND if left or (check and found) else 0


def _scrubbed(path: Path, patterns: Sequence[re.Pattern[str]], *, check: bool) -> tuple[int, int]:
    """How many secrets a file held, and how many are still there."""
    from react_replay.cassettes.journal import locked_folder
    from react_replay.cassettes.reading import read_document
    from react_replay.cassettes.redact import Redaction, leaks
    from react_replay.cassettes.writing import write_document
    from react_replay.cli.terminal import plain

    def listed(document: object) -> list[tuple[str, str]]:
        return [(leak.place, leak.kind) for leak in leaks(document, (), patterns, headers=True)]

    with locked_folder(path):
        document = read_document(path, writing=False)
        places = listed(document)
        if not places:
            return 0, 0
        remaining = places
        if not check:
            document, data = read_document(path), path.read_bytes()
            redaction = Redaction(patterns, shapes=True, headers=True)
            redaction.follow(data.decode("utf-8", "replace"))
            clean = _clean(path, document, redaction)
            remaining = listed(clean)
            if clean != document:
                write_document(path, clean, as_json=data.lstrip()[:1] == b"{")
    print(plain(str(path)))
    for (place, kind), times in _counted(places):
        done = "found" if check else "not replaced" if (place, kind) in remaining else "replaced"
        print(plain(f"  {place}: {kind} {done}{f' {times} times' if times > 1 else ''}"))
    return len(places), len(remaining)


def _clean(path: Path, document: Any, redaction: Redaction) -> Any:
    from react_replay.cassettes.reading import read_cassette
    from react_replay.cassettes.writing import document_of

    cassette = read_cassette(path)
    if cassette.layout != "delta":
        return redaction(document)
    # Turn by turn and whole: in a continuation the lengths of a stream's pieces are apart from it.
    turns = map(redaction, cassette.interactions)
    return {**document, **document_of(turns, redaction(cassette.metadata), layout="delta")}


def _counted(places: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    from collections import Counter

    return list(Counter(places).items())
