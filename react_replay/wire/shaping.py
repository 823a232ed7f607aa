"""A request's body as one service takes it: content, ids, options, roles, reasoning, encodable text.

Pure: a body and a `Provider` in, a new body out. Messages are never reordered and none is added, so a call
stays beside its results. What changes here may not change the canonical form in which requests are compared.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from react_replay.wire.provider import Provider

__all__ = ["BLANK_LINE", "REASONING", "plain_text", "shaped"]

BLANK_LINE = "\n\n"
"""What stands between the texts of two messages that are merged."""

REASONING = ("reasoning_content", "reasoning")
"""The fields in which services hand out, and some want back, what the model thought."""

# By name and not by service: gateways pass these models on under the same names, with a prefix.
_REFUSES_STOP = re.compile(r"(?:.*[/:])?(?:o[1-9]\d*|gpt-(?:[5-9]|\d\d))(?![a-z0-9])", re.S)
_REFUSES_PARALLEL = re.compile(r"(?:.*[/:])?o[1-9]\d*(?![a-z0-9])", re.S)

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_EXACT_ID = re.compile(r"[A-Za-z0-9]+\Z")


def shaped(body: Mapping[str, Any], provider: Provider) -> dict[str, Any]:
    """The body to send: a new dict; `body` and all it holds stay as they are."""
    sent = dict(body)
    model = str(sent.get("model") or "")
    if not sent.get("tools"):
        # Each of the three is refused by some service where there is no tool.
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            sent.pop(name, None)
    if not sent.get("stop") or not provider.stop or _REFUSES_STOP.match(model):
        # The dialects cut at their stop words on our side as well.
        sent.pop("stop", None)
    if not provider.parallel_tool_calls or _REFUSES_PARALLEL.match(model):
        sent.pop("parallel_tool_calls", None)
    messages = sent.get("messages")
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        ids = _ids(messages, provider)
        shaped_messages = [_message(message, provider, ids) for message in messages]
        sent["messages"] = [*_merged(shaped_messages)] if provider.merge_roles else shaped_messages
    return _encodable(sent)


def plain_text(message: Mapping[str, Any]) -> str | None:
    """The text of a message that says nothing else, so that it can be merged with its neighbour."""
    if message.get("role") not in ("user", "assistant"):
        return None
    for name, value in message.items():
        if name not in ("role", "content", *REASONING) and value is not None and value != []:
            return None
    content = message.get("content")
    return content if isinstance(content, str) else "" if content is None else None


def _message(message: Any, provider: Provider, ids: Mapping[str, str]) -> Any:
    if not isinstance(message, Mapping):
        return message
    sent = dict(message)
    if "tool_call_id" in sent:
        sent["tool_call_id"] = ids.get(str(sent["tool_call_id"]), sent["tool_call_id"])
    calls = sent.get("tool_calls")
    if not calls:
        sent.pop("tool_calls", None)
    elif ids and isinstance(calls, Sequence):
        sent["tool_calls"] = [_call(call, ids) for call in calls]
    if sent.get("role") != "assistant":
        return sent
    asks = bool(calls or sent.get("function_call"))
    if not sent.get("content"):
        if not asks or provider.content == "empty":
            sent["content"] = ""
        elif provider.content == "null":
            sent["content"] = None
        else:
            sent.pop("content", None)
    if provider.reasoning == "drop" or (provider.reasoning == "keep_with_tool_calls" and not asks):
        for name in REASONING:
            sent.pop(name, None)
    return sent


def _call(call: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(call, Mapping) and "id" in call and str(call["id"]) in ids:
        return {**call, "id": ids[str(call["id"])]}
    return call


def _ids(messages: Sequence[Any], provider: Provider) -> dict[str, str]:
    """The ids that the service would refuse, each with the one that is sent: the same in every request."""
    seen: dict[str, None] = {}
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, Sequence) else ():
            if isinstance(call, Mapping) and "id" in call:
                seen[str(call["id"])] = None
        if "tool_call_id" in message:
            seen[str(message["tool_call_id"])] = None
    refused = [identity for identity in seen if not _fits(identity, provider)]
    if not refused:
        return {}
    taken = {identity for identity in seen if _fits(identity, provider)}
    mapped: dict[str, str] = {}
    for identity in refused:
        attempt = 0
        while (made := _made_id(identity, attempt, provider)) in taken:
            attempt += 1
        taken.add(made)
        mapped[identity] = made
    return mapped


def _fits(identity: str, provider: Provider) -> bool:
    if not _can_encode(identity):
        return False
    if provider.id_length is None:
        return True
    if provider.id_exact:
        return len(identity) == provider.id_length and bool(_EXACT_ID.match(identity))
    return len(identity) <= provider.id_length


def _made_id(identity: str, attempt: int, provider: Provider) -> str:
    length = provider.id_length if provider.id_exact and provider.id_length else 9
    length = min(length, provider.id_length or length)
    data = f"{attempt}:{identity}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.blake2b(data, digest_size=64).digest(), "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(digits)


def _merged(messages: Sequence[Any]) -> Iterator[Any]:
    """The messages with neighbours of one role joined, where they are nothing but text."""
    waiting: dict[str, Any] | None = None  # the last message, where more text may follow
    for message in messages:
        text = plain_text(message) if isinstance(message, Mapping) else None
        if text is not None and waiting is not None and waiting["role"] == message["role"]:
            _join(waiting, message, text)
            continue
        if waiting is not None:
            yield waiting
        waiting = message if text is not None else None
        if waiting is None:
            yield message
    if waiting is not None:
        yield waiting


def _join(earlier: dict[str, Any], later: Mapping[str, Any], text: str) -> None:
    # `earlier` is a copy that `_message` made, so it may grow.
    texts = {"content": text, **{name: later.get(name) for name in REASONING}}
    for name, more in texts.items():
        if isinstance(more, str) and more:
            before = earlier.get(name)
            earlier[name] = before + BLANK_LINE + more if isinstance(before, str) and before else more


def _can_encode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encodable(body: dict[str, Any]) -> dict[str, Any]:
    """The body as UTF-8 can carry it: half a surrogate pair becomes a question mark."""
    try:
        if _can_encode(json.dumps(body, ensure_ascii=False)):
            return body
    except (TypeError, ValueError, RecursionError):
        return body  # whoever sends it says what is wrong with it
    replaced: dict[str, Any] = _replaced(body)
    return replaced


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_replaced(name): _replaced(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(item) for item in value]
    return value
