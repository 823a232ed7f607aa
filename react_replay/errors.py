"""Every exception that this package raises. Imports nothing; holds no logic but the wording.

    ReactReplayError
    ├── BackendError          the provider failed: an agent's run ends as `backend_error`
    ├── ConfigurationError    we were set up wrongly: no key, an unknown dialect or tool
    ├── ToolDefinitionError   a function that cannot be offered as a tool
    ├── CalculatorError       an expression that the calculator refuses
    ├── LiveCallRefused       a guarded test tried to reach a model
    ├── ScriptExhausted       a scripted backend has no reply left
    └── CassetteError         a cassette cannot be read or written
        ├── CassetteMissing   it is not there
        ├── NotACassette      it is there, and is something else
        ├── CassetteMiss      it is there, but holds no answer to this request
        │   └── CassetteDrift     it holds one to a request that differs in what is tolerated, elsewhere
        └── UnplayedTurns     it holds answers that nobody asked for

A model's bad output is none of these: it is data, and goes back to the model as an observation.
All but `BackendError` are our own side's mistakes, so they leave `Agent.run`.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "BackendError",
    "CalculatorError",
    "CassetteDrift",
    "CassetteError",
    "CassetteMiss",
    "CassetteMissing",
    "ConfigurationError",
    "LiveCallRefused",
    "NotACassette",
    "ReactReplayError",
    "ScriptExhausted",
    "ToolDefinitionError",
    "UnplayedTurns",
    "did_you_mean",
]


class ReactReplayError(Exception):
    """The root: `except ReactReplayError` catches whatever this package raises on purpose."""


class BackendError(ReactReplayError):
    """The provider failed or answered with something that is no completion.

    `status` is the HTTP status where there was one; `partial` is the text that had arrived.
    """

    def __init__(self, message: str, *, status: int | None = None, partial: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.partial = partial


class ConfigurationError(ReactReplayError):
    """A setting is missing or wrong; the text names it and says what to set."""


class ToolDefinitionError(ConfigurationError):
    """A function or a registration that no model could call; the text says what it lacks."""


class CalculatorError(ReactReplayError):
    """An expression that the calculator refuses; the text is one line and says what to write."""


class LiveCallRefused(ReactReplayError):
    """A request reached a `GuardBackend`: this test may not talk to a model."""


class ScriptExhausted(ReactReplayError):
    """A `ScriptedBackend` was asked once more than it has replies."""


class CassetteError(ReactReplayError):
    """A cassette cannot be read or written; `path` names it, the text says where and why."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class CassetteMissing(CassetteError):
    """There is no cassette at `path`, and the record mode does not allow to make one."""


class NotACassette(CassetteError):
    """The file at `path` is no recording of HTTP traffic; `found` says in half a sentence what it is."""

    def __init__(self, message: str, *, path: str = "", found: str = "") -> None:
        super().__init__(message, path=path)
        self.found = found or message


class CassetteMiss(CassetteError):
    """The cassette holds no unused answer to a request.

    `turn` is the request's number in this session, from 1; `nearest` the number of the recorded turn
    that is most alike, from 1 (None in an empty cassette); `differing` the first path that differs,
    such as `messages[3].content`; `expected` and `actual` what stands there, recorded and now; `tool` the
    name of the tool whose result differs, if it is one.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        turn: int = 0,
        nearest: int | None = None,
        differing: str = "",
        expected: object = None,
        actual: object = None,
        tool: str = "",
    ) -> None:
        super().__init__(message, path=path)
        self.turn = turn
        self.nearest = nearest
        self.differing = differing
        self.expected = expected
        self.actual = actual
        self.tool = tool


class CassetteDrift(CassetteMiss):
    """A request differs from the recorded one in fields that are tolerated, and `on_drift` is "fail"."""


class UnplayedTurns(CassetteError):
    """Recorded turns that no request asked for; `turns` are their numbers, from 1."""

    def __init__(self, message: str, *, path: str = "", turns: Iterable[int] = ()) -> None:
        super().__init__(message, path=path)
        self.turns = tuple(turns)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` where a known name is close to `name`, else the empty string."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
