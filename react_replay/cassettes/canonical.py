"""What a request means, apart from how it was spelled: the form in which requests are compared.

Pure. Call ids are numbered by appearance, arguments are compared as JSON, and what only steers the
transport (`stream`) is left out. A message is digested once: a history that grew is digested from where
the last one ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from react_replay.log import Log
from react_replay.messages import Message, Request

__all__ = ["Digester", "Key", "canonical_message", "canonical_options"]

Key = tuple[bytes, bytes]
"""The digests of a request's messages and of its options without the model."""

_TRANSPORT = frozenset({"stream", "stream_options"})


def canonical_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Everything of a request but its messages and what only steers the transport; None is absent."""
    return {
        name: _number(value)
        for name, value in options.items()
        if value is not None and name not in _TRANSPORT and name != "messages" and value != []
    }


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical_message(message: Message, ids: dict[str, str]) -> dict[str, Any]:
    """A message with its call ids numbered (`ids` is carried along) and its arguments as JSON."""
    plain = {name: value for name, value in message.items() if value is not None}
    calls = plain.get("tool_calls")
    if isinstance(calls, list):
        plain["tool_calls"] = [_canonical_call(call, ids) for call in calls]
        # null, "" and no content at all are one thing beside calls; servers differ in what they take.
        if not plain.get("content"):
            plain.pop("content", None)
        if not calls:
            del plain["tool_calls"]
    if "tool_call_id" in plain:
        plain["tool_call_id"] = _numbered(plain["tool_call_id"], ids)
    return plain


def _canonical_call(call: Any, ids: dict[str, str]) -> Any:
    if not isinstance(call, Mapping):
        return call
    function = call.get("function")
    function = dict(function) if isinstance(function, Mapping) else {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            function["arguments"] = json.loads(arguments)
    return {"id": _numbered(call.get("id"), ids), "function": function}


def _numbered(identity: Any, ids: dict[str, str]) -> str:
    return ids.setdefault(str(identity), f"call#{len(ids) + 1}")


def _bytes(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError):  # keys of mixed types, or a cycle: equal only to itself
        text = repr(value)
    return text.encode("utf-8", "replace")


class Digester:
    """Keys of requests. Remembers the last history, so that one more turn costs one more turn."""

    def __init__(self) -> None:
        self._log: Log[Message] = Log()
        self._ids: dict[str, str] = {}
        self._hash = hashlib.blake2b(digest_size=16)
        self._options: tuple[Any, bytes] = (None, b"")

    def key(self, request: Request) -> Key:
        messages = request.messages
        if isinstance(messages, Log) and len(self._log) and messages.continues(self._log):
            new: Iterable[Message] = messages[len(self._log) :]
        else:
            self._ids = {}
            self._hash = hashlib.blake2b(digest_size=16)
            new = messages
        for message in new:
            self._hash.update(_bytes(canonical_message(message, self._ids)))
            self._hash.update(b"\n")
        self._log = messages if isinstance(messages, Log) else Log()
        return self._hash.digest(), self._options_digest(request.options)

    def _options_digest(self, options: Mapping[str, Any]) -> bytes:
        # A run sends the same options object with every request.
        if options is not self._options[0]:
            plain = canonical_options(options)
            plain.pop("model", None)
            digest = hashlib.blake2b(_bytes(plain), digest_size=16).digest()
            self._options = (options, digest)
        return self._options[1]
