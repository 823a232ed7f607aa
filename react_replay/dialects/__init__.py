"""How we talk to a model: the native protocol, and text protocols read by one line scanner."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from react_replay.dialects.base import Answer, Dialect, History, Malformed, Opening, Outcome, ToolCalls
from react_replay.errors import ConfigurationError, did_you_mean
from react_replay.messages import Completion, ToolSpec

__all__ = [
    "Answer",
    "Dialect",
    "History",
    "LabelledDialect",
    "Malformed",
    "Opening",
    "Outcome",
    "ToolCalls",
    "dialect",
    "names",
    "parse",
]


def _native() -> Dialect:
    from react_replay.dialects.native import NativeDialect

    return NativeDialect()


def _labelled(**settings: Any) -> Callable[[], Dialect]:
    def make() -> Dialect:
        from react_replay.dialects.labelled import LabelledDialect

        return LabelledDialect(**settings)

    return make


_MADE: Mapping[str, Callable[[], Dialect]] = {
    "native": _native,
    "json": _labelled(name="json", input="json", prompt="json"),
    "bracket": _labelled(name="bracket", input="bracket", prompt="bracket"),
    "zh": _labelled(name="zh", input="any", prompt="zh", language="zh", one_message=True, stop=("观察:",)),
    "labelled": _labelled(name="labelled", input="any"),
}


def names() -> tuple[str, ...]:
    """The dialects that have a name."""
    return tuple(_MADE)


def dialect(name: str | Dialect) -> Dialect:
    """The dialect of that name, or the one given. Raises `ConfigurationError` with the list."""
    if isinstance(name, Dialect):
        return name
    if not isinstance(name, str) or name not in _MADE:
        raise ConfigurationError(
            f"unknown dialect {name!r}{did_you_mean(str(name), _MADE)}; the dialects are: {', '.join(_MADE)}"
        )
    return _made(name)


@functools.cache  # dialects hold no state
def _made(name: str) -> Dialect:
    return _MADE[name]()


def parse(name: str | Dialect, text: str, tools: Iterable[Any] = ()) -> Outcome:
    """Read one reply's text as a dialect does. `tools`: names, specs, or anything with a `spec`."""
    specs = tuple(_spec(item) for item in tools)
    return dialect(name).parse(Completion(content=text), specs)


def _spec(item: Any) -> ToolSpec:
    if isinstance(item, ToolSpec):
        return item
    if isinstance(item, str):
        return ToolSpec(name=item)
    spec = getattr(item, "spec", None)
    if isinstance(spec, ToolSpec):
        return spec
    raise ConfigurationError(f"a tool must be a name, a ToolSpec or a Tool, got {type(item).__name__}")


def __getattr__(name: str) -> Any:
    if name == "LabelledDialect":
        from react_replay.dialects.labelled import LabelledDialect

        return LabelledDialect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
