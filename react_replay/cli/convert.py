"""`react-replay convert`: any readable cassette as one that vcrpy plays, or in the layout for long runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EPILOG", "convert"]

EPILOG = "Exit codes: 0 written, 2 usage (or OUT is there), 3 a file is missing, unreadable or unwritable."


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A cassette that we read.", show_default=False)
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A .yaml or .json file.", show_default=False)],
    layout: Annotated[
        str,
        typer.Option(
            help="full: as every vcrpy reads it. delta: each message once, for long runs; ours alone."
        ),
    ] = "full",
    force: Annotated[bool, typer.Option("--force", help="Replace OUT where it is there.")] = False,
    scrub: Annotated[
        bool, typer.Option("--scrub", help="Replace keys in it; else they stop the write.")
    ] = False,
) -> int:
    """Convert a cassette of vcrpy, go-vcr, Ruby VCR, httpmock, ddtrace or httprr, or between our layouts.

    What is written plays in vcrpy and pytest-recording (layout full), with indented bodies: YAML, or JSON
    where OUT ends in .json. The answers are compared before a file is written. Another recorder's
    cassette says `origin: converted`.

    Example: react-replay convert old.yaml cassettes/new.yaml
    """
    from react_replay.cassettes.converting import convert as written
    from react_replay.cli.terminal import plain

    read = written(source, target, layout=layout, force=force, scrub=scrub)
    count = len(read.recorded)
    before, after = source.stat().st_size, target.stat().st_size
    turns = f"{count} turn{'' if count == 1 else 's'}"
    print(plain(f"{target}: {turns} from {read.layout}, {layout}; {before:,} bytes, now {after:,}"))
    return 0
