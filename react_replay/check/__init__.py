"""The invariants of a tool-calling conversation, checked on any transcript and any recorded traffic.

`check_messages` looks at a history, `check_cassette` at a file of any layout, whoever recorded it. Both give
a list of `Violation` and never raise on what a message holds; `CODES` is the one table of what is looked for.
"""

from react_replay.check.codes import CODES, Code, Severity, Violation
from react_replay.check.exchanges import check_cassette, check_recorded
from react_replay.check.history import check_messages

__all__ = [
    "CODES",
    "Code",
    "Severity",
    "Violation",
    "check_cassette",
    "check_messages",
    "check_recorded",
]
