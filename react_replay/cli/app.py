"""The application: its commands, and how an error of ours becomes a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys

import typer

from react_replay.cli.check import EPILOG as CHECK_EPILOG
from react_replay.cli.check import check
from react_replay.cli.convert import EPILOG as CONVERT_EPILOG
from react_replay.cli.convert import convert
from react_replay.cli.demo import demo
from react_replay.cli.diff import EPILOG as DIFF_EPILOG
from react_replay.cli.diff import diff
from react_replay.cli.exits import CASSETTE, EPILOG, INTERRUPTED, NO_ANSWER, USAGE
from react_replay.cli.ls import EPILOG as LS_EPILOG
from react_replay.cli.ls import ls
from react_replay.cli.prune import EPILOG as PRUNE_EPILOG
from react_replay.cli.prune import prune
from react_replay.cli.run import run as run_command
from react_replay.cli.scrub import EPILOG as SCRUB_EPILOG
from react_replay.cli.scrub import scrub
from react_replay.cli.show import show
from react_replay.cli.verify import EPILOG as VERIFY_EPILOG
from react_replay.cli.verify import verify
from react_replay.errors import CassetteError, ConfigurationError, ReactReplayError

__all__ = ["app", "run"]

app = typer.Typer(
    name="react-replay",
    help="A ReAct agent that records once and replays for ever, offline and to the byte.",
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("run", epilog=EPILOG)(run_command)
app.command("demo", epilog=EPILOG)(demo)
app.command("show", epilog=EPILOG)(show)
app.command("check", epilog=CHECK_EPILOG)(check)
app.command("ls", epilog=LS_EPILOG)(ls)
app.command("diff", epilog=DIFF_EPILOG)(diff)
app.command("prune", epilog=PRUNE_EPILOG)(prune)
app.command("convert", epilog=CONVERT_EPILOG)(convert)
app.command("verify", epilog=VERIFY_EPILOG)(verify)
app.command("scrub", epilog=SCRUB_EPILOG)(scrub)


@app.callback(invoke_without_command=True)
def version(
    show_version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if show_version:
        from importlib.metadata import version as installed

        print(installed("react-replay"))
        raise typer.Exit


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and give its exit code."""
    try:
        code = app(args=arguments, standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that went away is met
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except CassetteError as error:
        return _fail(str(error), CASSETTE)
    except ConfigurationError as error:
        return _fail(str(error), USAGE)
    except ReactReplayError as error:
        return _fail(str(error), NO_ANSWER)
    except typer.TyperException as error:
        return _fail(f"{error.format_message()}\nTry 'react-replay --help'.", USAGE)
    except typer.Abort:
        return _fail("interrupted", INTERRUPTED)
    except SystemExit as end:  # typer ends the process itself where the reader of our output went away
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _closed_output()
    except BrokenPipeError:  # whoever read our output has seen enough
        return _closed_output()
    except OSError as error:
        return _fail(f"the output cannot be written: {error.strerror or error}", NO_ANSWER)
    return code if isinstance(code, int) else 0


def _closed_output() -> int:
    # What is still buffered would raise again while the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _fail(message: str, code: int) -> int:
    from react_replay.cli.terminal import plain

    print(f"react-replay: {plain(message)}", file=sys.stderr)
    return code
