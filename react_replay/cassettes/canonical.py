"""What a request means, apart from how it was spelled: the form in which requests are compared.

Pure. Call ids are numbered by appearance, arguments are compared as JSON, texts of one role in a row are
one text, and what only steers the transport (`stream`), or what a `Provider` may leave out, is left out. So a
request has the same form whatever service it was shaped for. A message is digested once: a history that
grew is digested from where the last one ended.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import marshal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from react_replay.cassettes.apart import NOTHING, Apart
from react_replay.cassettes.masks import NO_MASKS, Masks
from react_replay.log import Log
from react_replay.messages import Message, Request
from react_replay.wire.shaping import BLANK_LINE, REASONING, plain_text

__all__ = ["Digester", "Key", "canonical_messages", "canonical_options"]

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


def canonical_messages(
    messages: Iterable[Message], masks: Masks = NO_MASKS
) -> list[tuple[int, dict[str, Any]]]:
    """The messages of a request, neighbours merged, each with the place where it begins in the request."""
    ids: dict[str, str] = {}
    merged: list[tuple[int, dict[str, Any]]] = []
    open_role = None
    for place, message in enumerate(messages):
        message = masks.message(place, message)
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


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)


def _dumped(value: Any) -> bytes:
    try:
        return _bytes(_ENCODER.encode(value))
    except (TypeError, ValueError, RecursionError):  # keys of mixed types, or a cycle: equal only to itself
        return _bytes(repr(value))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _dumped_arguments(written: str) -> bytes:
    try:
        return _dumped(json.loads(written))
    except (ValueError, RecursionError):
        return _dumped(written)


_remembered_arguments = functools.lru_cache(4096)(_dumped_arguments)
_REMEMBERED = 4096  # characters: of longer arguments the memory would cost more than the reading


_BLANK_LINE = _bytes(BLANK_LINE)
_OF_CALLS = frozenset({"role", "content", "tool_calls", *REASONING})
_CLOSED = ("", False)
"""The role of a text that may go on, and whether it has any yet: here none."""


def _usual_calls(plain: Mapping[str, Any]) -> list[bytes] | None:
    """A canonical message with calls as what is digested of it; None where it is no usual one."""
    calls, content = plain.get("tool_calls"), plain.get("content", "")
    if plain.get("role") != "assistant" or type(calls) is not list or plain.keys() - _OF_CALLS:
        return None
    if type(content) is not str:
        return None
    parts = [b"\xffc" + _bytes(content)]
    for call in calls:
        function = call.get("function") if type(call) is dict else None
        if type(function) is not dict or function.keys() != {"name", "arguments"}:
            return None
        if type(function["name"]) is not str:
            return None
        parts += (_bytes(call["id"]), _bytes(function["name"]), _dumped(function["arguments"]))
    return parts


class Digester:
    """Keys of requests. Remembers the last history, so that one more turn costs one more turn.

    `masks` are applied first; what `apart` names is left out.
    """

    def __init__(self, *, masks: Masks = NO_MASKS, apart: Apart = NOTHING) -> None:
        self._masks = masks
        self._apart = apart
        self._plain = not masks and apart is NOTHING
        self._log: Log[Message] = Log()
        self._options: tuple[Any, bytes] = (None, b"")
        self._known_options: dict[bytes, bytes] = {}
        self._begin()

    def _begin(self) -> None:
        self._ids: dict[str, str] = {}
        self._hash = hashlib.blake2b(digest_size=16)
        self._parts: list[bytes] = []  # not digested yet
        self._open = _CLOSED
        self._place = 0
        self._opening = True

    def key(self, request: Request) -> Key:
        return self.history(request.messages), self._options_digest(request.options)

    def history(self, messages: Sequence[Message]) -> bytes:
        """The digest of messages alone."""
        self.histories(messages, len(messages))
        return self._hash.digest()

    def histories(self, messages: Sequence[Message], start: int) -> list[bytes]:
        """The digests of the messages up to each from `start` on, itself included."""
        known, log = len(self._log), messages if isinstance(messages, Log) else None
        if log is None or not known or known > start or not log.continues(self._log):
            self._begin()
            known = 0
        new = messages[known:] if known else messages
        self._log = Log()  # where a message cannot be digested, nothing is remembered
        digests = []
        for place, message in enumerate(new, known):
            self._add(message)
            if place >= start:
                self._digest()
                digests.append(self._hash.digest())
        self._digest()
        if log is not None:
            self._log = log
        return digests

    def _digest(self) -> None:
        self._hash.update(b"".join(self._parts))
        self._parts.clear()

    # What is digested are texts with marks between them. A mark begins with FF, which no UTF-8 text holds.
    # A text has no end before the next mark, so the next one of its role can go on from it.

    def _add(self, message: Message) -> None:
        if not self._plain:
            place, self._place = self._place, self._place + 1
            self._opening = self._opening and message.get("role") != "assistant"
            if self._apart.leaves_out(message, opening=self._opening):
                return
            if self._masks:
                message = self._masks.message(place, message)
        role, content, size = message.get("role"), message.get("content"), len(message)
        if role == "tool":
            identity = message.get("tool_call_id")
            if size == 3 and type(content) is str and type(identity) is str:
                self._result(self._number(identity), content)
                return
        elif role == "assistant" and message.get("tool_calls"):
            if self._calls(message, content):
                return
        elif type(content) is str and size == 2 and (role in ("user", "assistant")):
            self._text(role, content)
            return
        text = plain_text(message)
        if text is None:
            self._other(message)
        else:
            self._text(str(role), text)

    def _text(self, role: str, text: str) -> None:
        before, said = self._open
        if role != before:
            said = False
            self._parts.append(b"\xfft" + _bytes(role) + b"\xff")
        elif said and text:
            self._parts.append(_BLANK_LINE)
        self._parts.append(_bytes(text))
        self._open = (role, said or bool(text))

    def _result(self, number: str, content: str) -> None:
        self._parts += (b"\xffr", _bytes(number), b"\xff", _bytes(content))
        self._open = _CLOSED

    def _calls(self, message: Message, content: Any) -> bool:
        """Add an assistant's calls in their usual shape, spelled as `_other` would; False in another one."""
        calls = message["tool_calls"]
        if type(calls) is not list or not (content is None or type(content) is str):
            return False
        if len(message) > 3 and message.keys() - _OF_CALLS:
            return False
        parts = [b"\xffc" + _bytes(content or "")]
        for call in calls:
            function = call.get("function") if type(call) is dict else None
            if type(function) is not dict or len(function) != 2:
                return False
            name, arguments = function.get("name"), function.get("arguments")
            if type(name) is not str or type(arguments) is not str:
                return False
            read = _remembered_arguments if len(arguments) <= _REMEMBERED else _dumped_arguments
            parts += (b"", _bytes(name), read(arguments))
        # Numbered at the end: a call in another shape, above, leaves the numbers as they were.
        parts[1::3] = [_bytes(self._number(call.get("id"))) for call in calls]
        self._parts.append(b"\xff".join(parts))
        self._open = _CLOSED
        return True

    def _other(self, message: Message) -> None:
        """Add a message of any shape: as the usual one that it means, or as JSON."""
        plain = canonical_message(message, self._ids)
        role, content = plain.get("role"), plain.get("content")
        if role == "tool" and len(plain) == 3 and type(content) is str and "tool_call_id" in plain:
            self._result(plain["tool_call_id"], content)
            return
        self._open = _CLOSED
        if len(plain) == 2 and type(role) is str and type(content) is str:
            self._parts += (b"\xffp", _bytes(role), b"\xff", _bytes(content))
            return
        parts = _usual_calls(plain)
        self._parts.append(b"\xffj" + _dumped(plain) if parts is None else b"\xff".join(parts))

    def _number(self, identity: Any) -> str:
        name = identity if type(identity) is str else str(identity)
        number = self._ids.get(name)
        return _numbered(name, self._ids) if number is None else number

    def _options_digest(self, options: Mapping[str, Any]) -> bytes:
        # A run sends the same options object with every request, and another process's equal ones.
        if options is self._options[0]:
            return self._options[1]
        try:
            same = marshal.dumps(
                options if type(options) is dict else dict(options), 2
            )  # 2: without references
        except ValueError:
            same = b""
        digest = self._known_options.get(same) if same else None
        if digest is None:
            plain = self._apart.options_of(canonical_options(self._masks.options(options)))
            plain.pop("model", None)
            digest = hashlib.blake2b(_dumped(plain), digest_size=16).digest()
            if same and len(self._known_options) < 256:
                self._known_options[same] = digest
        self._options = (options, digest)
        return digest
