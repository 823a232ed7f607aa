"""The `react-replay` command. One file a command; typer and rich are imported when it runs."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; ends the process with one of the exit codes of `react_replay.cli.exits`."""
    from react_replay.cli.app import run

    raise SystemExit(run())
