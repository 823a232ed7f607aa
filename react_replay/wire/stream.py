"""Chunks of a stream, folded into one completion, and a completion cut into chunks. No bytes: see `events`.

Folding is by rule, never by trust in `index`: servers leave it out, always send 0, or let it drift.
A fold does not depend on how the deltas were cut, and costs as much as its text is long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from react_replay.errors import BackendError
from react_replay.messages import Completion
from react_replay.wire.completion import completion_dict, read_completion, reasoning_of, text_of

__all__ = ["StreamFold", "fold", "split_completion"]


class StreamFold:
    """Chunks of a `chat.completion.chunk` stream, folded into one completion as they come.

    `add` returns the chunk's new text, for display. `result` may be asked at any time.
    """

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._content: list[str] | None = None
        self._extra: dict[str, list[str]] = {}
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}
        self._legacy: _OpenCall | None = None
        self._finish: str | None = None
        self._usage: Any = None

    @property
    def text(self) -> str:
        """The content so far."""
        return "".join(self._content or ())

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk. Raises `BackendError` on an error event, with the text so far in `partial`."""
        if chunk.get("error"):
            try:
                read_completion({"error": chunk["error"]})
            except BackendError as error:
                error.partial = self.text
                raise
        for name in ("id", "created", "model", "system_fingerprint", "service_tier"):
            if chunk.get(name):
                self._head.setdefault(name, chunk[name])
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return ""
        new = ""
        for choice in choices:
            # We ask for one choice; a stream of several interleaves them, and the first is the reply.
            if isinstance(choice, Mapping) and not choice.get("index"):
                new += self._add_choice(choice)
        return new

    def _add_choice(self, choice: Mapping[str, Any]) -> str:
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
        if not isinstance(delta, Mapping):
            return ""
        for name in ("reasoning_content", "reasoning", "refusal"):
            if isinstance(delta.get(name), str) and delta[name]:
                self._extra.setdefault(name, []).append(delta[name])
        for entry in _listed(delta.get("tool_calls")):
            if isinstance(entry, Mapping):
                self._add_call(entry)
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            self._legacy = self._legacy or _OpenCall()
            self._legacy.add(legacy)
        content = delta.get("content")
        if isinstance(content, list):  # Mistral's parts: text, and thinking
            if thought := reasoning_of(delta):
                self._extra.setdefault("reasoning_content", []).append(thought)
            content = text_of(content) or None
        if not isinstance(content, str):
            return ""
        if self._content is None:
            self._content = []
        self._content.append(content)
        return content

    def _add_call(self, entry: Mapping[str, Any]) -> None:
        function = entry.get("function")
        # Some local servers leave the wrapper out.
        function = function if isinstance(function, Mapping) else entry
        call = self._call_for(entry, function)
        identity = entry.get("id")
        if identity and not call.id:
            call.id = identity
            if isinstance(identity, str):
                self._by_id.setdefault(identity, call)
        call.add(function)

    def _call_for(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> _OpenCall:
        """The open call that a piece belongs to: by id, then by index, then the last one."""
        identity, index = entry.get("id"), entry.get("index")
        known = self._by_index.get(index) if isinstance(index, int) else None
        if identity:
            if known is not None and known.id in ("", identity):
                return known
            if not isinstance(index, int) and isinstance(identity, str) and identity in self._by_id:
                return self._by_id[identity]
        elif known is not None:
            return known
        elif self._calls and not function.get("name"):
            return self._calls[-1]
        opened = _OpenCall()
        self._calls.append(opened)
        if isinstance(index, int):
            self._by_index[index] = opened
        return opened

    def to_dict(self) -> dict[str, Any]:
        """The `chat.completion` dict that the same reply, unstreamed, would have been."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if self._content is None else self.text,
        }
        for name, parts in self._extra.items():
            message[name] = "".join(parts)
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": call.function()} for call in self._calls
            ]
        if self._legacy:
            message["function_call"] = self._legacy.function()
        head = dict(self._head)
        folded: dict[str, Any] = {"id": head.pop("id", ""), "object": "chat.completion", **head}
        folded["choices"] = [{"index": 0, "message": message, "finish_reason": self._finish}]
        if self._usage is not None:
            folded["usage"] = self._usage
        return folded

    def result(self) -> Completion:
        return read_completion(self.to_dict(), ended=self._finish is not None)


class _OpenCall:
    """A call whose name and arguments are still coming, in pieces."""

    __slots__ = ("_arguments", "_name", "_named", "id")

    def __init__(self) -> None:
        self.id: Any = ""
        self._name: list[str] = []
        self._named = 0  # characters of the name so far
        self._arguments: list[str] = []

    def add(self, function: Mapping[str, Any]) -> None:
        name = function.get("name")
        # Some servers send the whole name with every piece.
        if isinstance(name, str) and not (len(name) == self._named and name == "".join(self._name)):
            self._name.append(name)
            self._named += len(name)
        self._arguments.append(_piece(function.get("arguments")))

    def function(self) -> dict[str, str]:
        return {"name": "".join(self._name), "arguments": "".join(self._arguments)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _piece(value: Any) -> str:
    """A piece of text; what is no text is kept as JSON, so that nothing is dropped unseen."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "[nested too deeply]"  # no JSON, so that the call gets an error and does not run


def fold(chunks: Iterable[Mapping[str, Any]]) -> Completion:
    """One completion from the chunks of a stream. A `BackendError` on the way has the text so far."""
    folding = StreamFold()
    try:
        for chunk in chunks:
            folding.add(chunk)
    except BackendError as error:
        error.partial = error.partial or folding.text
        raise
    return folding.result()


def split_completion(completion: Completion, *, size: int = 16) -> Iterator[dict[str, Any]]:
    """The chunks of a completion, `size` characters of text each; `fold` makes them whole again."""
    raw = completion_dict(completion)
    head = {name: value for name, value in raw.items() if name not in ("object", "choices", "usage")}
    choice = raw["choices"][0]
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {**head, "object": "chat.completion.chunk", "choices": choices}

    yield chunk({"role": "assistant", "content": None})
    if completion.reasoning and not (message.get("reasoning_content") or message.get("reasoning")):
        message = {"reasoning_content": completion.reasoning, **message}
    for name in ("reasoning_content", "reasoning", "refusal", "content"):
        text = message.get(name)
        if isinstance(text, list):
            texts = {"content": completion.content, "refusal": completion.refusal}
            text = texts.get(name, completion.reasoning)
        if not isinstance(text, str):
            continue
        for start in range(0, max(len(text), 1), size):
            yield chunk({name: text[start : start + size]})
    for index, call in enumerate(_listed(message.get("tool_calls"))):
        entry = call if isinstance(call, Mapping) else {"function": {"name": ""}}
        yield chunk({"tool_calls": [{**entry, "index": index}]})
    if message.get("function_call"):
        yield chunk({"function_call": message["function_call"]})
    yield chunk({}, completion.finish_reason)
    if raw.get("usage") is not None:
        yield {**head, "object": "chat.completion.chunk", "choices": [], "usage": raw["usage"]}
