"""The `react-replay` command. One file a command; typer and rich are imported when it runs."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; ends the process with one of the exit codes of `react_replay.cli.exits`."""
    import os
    import sys
    from pathlib import Path

    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without our characters shows escapes
            stream.reconfigure(errors="backslashreplace")
    from react_replay.cli.app import run

    raise SystemExit(run())
