"""Recorded traffic: its files, its matching, its secrets. The only package that knows vcrpy.

Files are vcrpy's version 1 layout, so that vcrpy and pytest-recording play what we write. For other people's
clients there are `cassette_transport` and `chat_matcher`, loaded on first use. The transports are backends
inside and live above this package, which names them and imports nothing of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from react_replay.backends.transport import async_cassette_transport as async_cassette_transport
    from react_replay.backends.transport import cassette_transport as cassette_transport
    from react_replay.cassettes.vcr_matcher import chat_matcher as chat_matcher

_HOMES = {
    "async_cassette_transport": "react_replay.backends.transport",
    "cassette_transport": "react_replay.backends.transport",
    "chat_matcher": "react_replay.cassettes.vcr_matcher",
}

__all__ = ["async_cassette_transport", "cassette_transport", "chat_matcher"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'react_replay.cassettes' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
