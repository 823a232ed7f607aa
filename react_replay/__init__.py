"""A ReAct agent whose every run can be recorded once and replayed for ever, offline and to the byte.

Importing this costs next to nothing: a name is loaded, with what it needs, when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from react_replay.agent import Agent as Agent
    from react_replay.backends.base import ChatBackend as ChatBackend
    from react_replay.backends.cassette import CassetteBackend as CassetteBackend
    from react_replay.backends.guard import GuardBackend as GuardBackend
    from react_replay.backends.live import LiveBackend as LiveBackend
    from react_replay.backends.scripted import ScriptedBackend as ScriptedBackend
    from react_replay.dialects import Answer as Answer
    from react_replay.dialects import LabelledDialect as LabelledDialect
    from react_replay.dialects import Malformed as Malformed
    from react_replay.dialects import ToolCalls as ToolCalls
    from react_replay.errors import BackendError as BackendError
    from react_replay.errors import CalculatorError as CalculatorError
    from react_replay.errors import CassetteDrift as CassetteDrift
    from react_replay.errors import CassetteError as CassetteError
    from react_replay.errors import CassetteMiss as CassetteMiss
    from react_replay.errors import CassetteMissing as CassetteMissing
    from react_replay.errors import ConfigurationError as ConfigurationError
    from react_replay.errors import LiveCallRefused as LiveCallRefused
    from react_replay.errors import ReactReplayError as ReactReplayError
    from react_replay.errors import ScriptExhausted as ScriptExhausted
    from react_replay.errors import ToolDefinitionError as ToolDefinitionError
    from react_replay.errors import UnplayedTurns as UnplayedTurns
    from react_replay.events import ModelAsked as ModelAsked
    from react_replay.events import ModelReplied as ModelReplied
    from react_replay.events import RunFinished as RunFinished
    from react_replay.events import TextDelta as TextDelta
    from react_replay.events import ToolFinished as ToolFinished
    from react_replay.events import ToolStarted as ToolStarted
    from react_replay.messages import Completion as Completion
    from react_replay.messages import Observation as Observation
    from react_replay.messages import Request as Request
    from react_replay.messages import ToolCall as ToolCall
    from react_replay.messages import Usage as Usage
    from react_replay.result import Limits as Limits
    from react_replay.result import RunResult as RunResult
    from react_replay.result import Step as Step
    from react_replay.result import StopReason as StopReason
    from react_replay.tools.base import Tool as Tool
    from react_replay.tools.base import Toolbox as Toolbox
    from react_replay.tools.base import tool as tool

_HOMES = {
    "agent": ("Agent",),
    "backends.base": ("ChatBackend",),
    "backends.cassette": ("CassetteBackend",),
    "backends.guard": ("GuardBackend",),
    "backends.live": ("LiveBackend",),
    "backends.scripted": ("ScriptedBackend",),
    "dialects": ("Answer", "LabelledDialect", "Malformed", "ToolCalls"),
    "errors": (
        "BackendError",
        "CalculatorError",
        "CassetteDrift",
        "CassetteError",
        "CassetteMiss",
        "CassetteMissing",
        "ConfigurationError",
        "LiveCallRefused",
        "ReactReplayError",
        "ScriptExhausted",
        "ToolDefinitionError",
        "UnplayedTurns",
    ),
    "events": (
        "ModelAsked",
        "ModelReplied",
        "RunFinished",
        "TextDelta",
        "ToolFinished",
        "ToolStarted",
    ),
    "messages": ("Completion", "Observation", "Request", "ToolCall", "Usage"),
    "result": ("Limits", "RunResult", "Step", "StopReason"),
    "tools.base": ("Tool", "Toolbox", "tool"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("react-replay")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'react_replay' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"react_replay.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
