"""A scripted model: replies from a list or a function, and the requests it saw. No files, no network."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.errors import ConfigurationError, ScriptExhausted
from react_replay.messages import Completion, Request, ToolCall
from react_replay.wire import completion_dict, fold, read_completion, split_completion

__all__ = ["Reply", "RequestLog", "ScriptedBackend"]

Reply: TypeAlias = (
    "str | ToolCall | Completion | BaseException | type[BaseException] | Mapping[str, Any] | Sequence[Any]"
)
"""A str (content, finish `stop`), a `ToolCall` or a list of them (one native turn), a `Completion`, a
`chat.completion` dict, a list of `chat.completion.chunk` dicts, or an exception to raise."""


class ScriptedBackend(ChatBackend):
    """Plays `replies` in order, or asks a function of the request for each. Thread-safe.

    `requests[i]` is the JSON body of the i-th request. Running out raises `ScriptExhausted`.
    """

    def __init__(self, replies: Iterable[Reply] | Callable[[Request], Reply]) -> None:
        self.requests = RequestLog()
        self._lock = threading.Lock()
        self._function = replies if callable(replies) else None
        self._replies: list[Reply] = []
        if not callable(replies):
            if isinstance(replies, (str, Mapping, ToolCall, Completion)):
                raise ConfigurationError(
                    f"a script is a list of replies, got one {type(replies).__name__}; write [...]"
                )
            self._replies = [_prepared(reply, number) for number, reply in enumerate(replies)]

    def complete(self, request: Request) -> Completion:
        reply = self._next(request)
        if isinstance(reply, Completion):
            return reply
        return fold(reply) if isinstance(reply, list) else read_completion(reply)

    async def acomplete(self, request: Request) -> Completion:
        return self.complete(request)

    def stream(self, request: Request) -> Iterator[Chunk]:
        reply = self._next(request)
        if isinstance(reply, list):
            yield from reply
        else:
            whole = reply if isinstance(reply, Completion) else read_completion(reply)
            yield from split_completion(whole)

    async def astream(self, request: Request) -> AsyncIterator[Chunk]:
        for chunk in self.stream(request):
            yield chunk

    def _next(self, request: Request) -> Any:
        request = Request.of(request)
        with self._lock:
            number = len(self.requests)
            self.requests._append(request)
            if self._function is None:
                if number >= len(self._replies):
                    raise ScriptExhausted(_ran_out(len(self._replies), request))
                reply = self._replies[number]
        if self._function is not None:
            reply = _prepared(self._function(request), number)
        if isinstance(reply, (BaseException, type)):
            raise reply
        return reply


class RequestLog(Sequence[dict[str, Any]]):
    """The requests a backend saw, each as a JSON body made when it is asked for: no copy a turn."""

    def __init__(self) -> None:
        self._seen: list[Request] = []

    def _append(self, request: Request) -> None:
        self._seen.append(request)

    def __len__(self) -> int:
        return len(self._seen)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [_body(request) for request in self._seen[index]]
        return _body(self._seen[index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<RequestLog of {len(self)} requests>"


def _body(request: Request) -> dict[str, Any]:
    import copy

    # The messages belong to a run's log; a caller may change what it is given.
    return copy.deepcopy(request.body())


def _prepared(reply: Any, number: int) -> Any:
    """A reply as it is played: a completion as the wire would carry it, chunks, a body or an exception."""
    if isinstance(reply, (BaseException, Mapping)):
        return reply
    if isinstance(reply, type) and issubclass(reply, BaseException):
        return reply
    if isinstance(reply, str):
        return Completion(content=reply)
    if isinstance(reply, ToolCall):
        reply = [reply]
    if isinstance(reply, Completion):
        if reply.finish_reason is None:  # it broke off, which only a stream can say
            return list(split_completion(reply))
        return read_completion(completion_dict(reply))
    if isinstance(reply, Sequence) and reply:
        if all(isinstance(item, ToolCall) for item in reply):
            turn = Completion(tool_calls=tuple(reply), finish_reason="tool_calls")
            return read_completion(completion_dict(turn))
        if all(isinstance(item, Mapping) for item in reply):
            return list(reply)
    raise ConfigurationError(
        f"reply {number} of the script is {type(reply).__name__}: {ascii(reply)[:80]}; expected a str, a "
        "ToolCall or a list of them, a Completion, a chat.completion dict, a list of chunk dicts or an "
        "exception"
    )


def _ran_out(count: int, request: Request) -> str:
    last = request.messages[-1] if len(request.messages) else {}
    said = ascii(str(last.get("content"))[:80])
    return (
        f"the script has {count} replies and was asked for one more, with {len(request.messages)} "
        f"messages, the last from {last.get('role')!r}: {said}; add a reply, or stop the run earlier "
        "with Limits(max_steps=...)"
    )
