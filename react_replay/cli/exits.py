"""The exit codes of `react-replay`: they stand in `--help` and in the README."""

from __future__ import annotations

from react_replay.result import RunResult

__all__ = ["ANSWERED", "CASSETTE", "EPILOG", "INTERRUPTED", "NO_ANSWER", "USAGE", "code_of"]

ANSWERED = 0
NO_ANSWER = 1
USAGE = 2
CASSETTE = 3
INTERRUPTED = 130

EPILOG = (
    "Exit codes: 0 answered, 1 ended without an answer, 2 usage, "
    "3 replay miss or missing or unreadable cassette, 130 interrupted."
)


def code_of(result: RunResult) -> int:
    return ANSWERED if result.answer is not None else NO_ANSWER
