"""What a request means, apart from how it was spelled: the form in which requests are compared.

Pure. Call ids are numbered by appearance, arguments are compared as JSON, texts of one role in a row are
one text, and what only steers the transport (`stream`), or what a `Provider` may leave out, is left out. So a
request has the same form whatever service it was shaped for. A message is digested once: a history that
grew is digested from where the last one ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from react_replay.log import Log
from react_replay.messages import Message, Request
from react_replay.wire.shaping import BLANK_LINE, REASONING, plain_text

__all__ = ["Digester", "Key", "canonical_message", "canonical_messages", "canonical_options"]

Key = tuple[bytes, bytes]
"""The digests of a request's messages and of its options without the model."""

_TRANSPORT = frozenset({"stream", "stream_options"})

# Services refuse these, so a recording may lack them. The dialects cut at stop words on our side as well, and
# whether calls came in parallel is seen in the replies.
_REFUSABLE = frozenset({"stop", "parallel_tool_calls"})

_LEFT_OUT = _TRANSPORT | _REFUSABLE | {"messages"}


def canonical_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a request's options ask of the model. None and an empty list are absent."""
    plain = {
        name: _number(value)
        for name, value in options.items()
        if value is not None and name not in _LEFT_OUT and value != []
    }
    if not plain.get("tools"):
        plain.pop("tool_choice", None)  # no service takes a choice between no tools
    return plain


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical_message(message: Message, ids: dict[str, str]) -> dict[str, Any]:
    """A message with its call ids numbered (`ids` is carried along) and its arguments as JSON.

    Of an assistant's, null, "" and no content at all are one thing, and its reasoning is not compared:
    services differ in what they take.
    """
    plain = {name: value for name, value in message.items() if value is not None}
    if plain.get("role") == "assistant":
        for name in REASONING:
            plain.pop(name, None)
        if not plain.get("content"):
            plain.pop("content", None)
    calls = plain.get("tool_calls")
    if isinstance(calls, list):
        plain["tool_calls"] = [_canonical_call(call, ids) for call in calls]
        if not calls:
            del plain["tool_calls"]
    if "tool_call_id" in plain:
        plain["tool_call_id"] = _numbered(plain["tool_call_id"], ids)
    return plain


def canonical_messages(messages: Iterable[Message]) -> list[tuple[int, dict[str, Any]]]:
    """The messages of a request, neighbours merged, each with the place where it begins in the request."""
    ids: dict[str, str] = {}
    merged: list[tuple[int, dict[str, Any]]] = []
    open_role = None
    for place, message in enumerate(messages):
        text = plain_text(message)
        if text is None:
            merged.append((place, canonical_message(message, ids)))
        elif message["role"] != open_role:
            merged.append((place, {"role": message["role"], "content": text}))
        elif text:
            before = merged[-1][1]
            before["content"] += BLANK_LINE + text if before["content"] else text
        open_role = None if text is None else message["role"]
    return merged


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
        self._open = ("", False)  # the role of a text that may go on, and whether it has any yet
        self._options: tuple[Any, bytes] = (None, b"")

    def key(self, request: Request) -> Key:
        messages = request.messages
        if isinstance(messages, Log) and len(self._log) and messages.continues(self._log):
            new: Iterable[Message] = messages[len(self._log) :]
        else:
            self._ids = {}
            self._hash = hashlib.blake2b(digest_size=16)
            self._open = ("", False)
            new = messages
        for message in new:
            self._add(message)
        self._log = messages if isinstance(messages, Log) else Log()
        return self._hash.digest(), self._options_digest(request.options)

    def _add(self, message: Message) -> None:
        """Digest one more message. A text has no end before the next message begins, so it can go on."""
        text = plain_text(message)
        if text is None:
            self._hash.update(b"\n" + _bytes(canonical_message(message, self._ids)))
            self._open = ("", False)
            return
        role, said = self._open
        written = _bytes(text)[1:-1]  # escaped: it holds no line break and no bare quotation mark
        if message["role"] != role:
            role, said = message["role"], False
            self._hash.update(f'\n{role}"'.encode())
        elif said and text:
            self._hash.update(_bytes(BLANK_LINE)[1:-1])
        self._hash.update(written)
        self._open = (role, said or bool(text))

    def _options_digest(self, options: Mapping[str, Any]) -> bytes:
        # A run sends the same options object with every request.
        if options is not self._options[0]:
            plain = canonical_options(options)
            plain.pop("model", None)
            digest = hashlib.blake2b(_bytes(plain), digest_size=16).digest()
            self._options = (options, digest)
        return self._options[1]
