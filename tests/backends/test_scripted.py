"""The scripted backend: what a script may hold, and the requests it saw."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from react_replay import (
    Agent,
    BackendError,
    Completion,
    Request,
    ScriptedBackend,
    ScriptExhausted,
    ToolCall,
)
from react_replay.errors import ConfigurationError

ASK = Request([{"role": "user", "content": "?"}], {"temperature": 0})


def test_a_text_is_content_with_finish_stop() -> None:
    """A str is a whole reply."""
    done = ScriptedBackend(["hi"]).complete(ASK)
    assert (done.content, done.finish_reason, done.tool_calls) == ("hi", "stop", ())


def test_a_call_and_a_list_of_calls_are_one_native_turn() -> None:
    """One `ToolCall`, or several, is a turn with finish `tool_calls`."""
    call = ToolCall(name="f", arguments={"x": 1}, id="a")
    backend = ScriptedBackend([call, [call, call]])
    first, second = backend.complete(ASK), backend.complete(ASK)
    assert (first.tool_calls, first.finish_reason) == ((call,), "tool_calls")
    assert second.tool_calls == (call, call)


def test_a_completion_is_played_as_the_wire_would_carry_it() -> None:
    """A `Completion` keeps its text, finish reason and usage, and has a raw body."""
    done = ScriptedBackend([Completion(content="x", finish_reason="length")]).complete(ASK)
    assert (done.content, done.finish_reason) == ("x", "length")
    assert done.raw["choices"][0]["message"]["content"] == "x"


def test_a_wire_dict_may_lack_id_model_and_usage() -> None:
    """A bare `choices` list is enough."""
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert ScriptedBackend([body]).complete(ASK).content == "x"


def test_chunks_are_folded_for_complete_and_passed_on_for_stream() -> None:
    """A list of chunk dicts is one reply, in both forms."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
        for text, finish in (("a", None), ("b", "stop"))
    ]
    assert ScriptedBackend([chunks]).complete(ASK).content == "ab"
    assert list(ScriptedBackend([chunks]).stream(ASK)) == chunks


@pytest.mark.parametrize("error", [BackendError("503"), KeyError("x"), TimeoutError], ids=repr)
def test_an_exception_is_raised(error: Any) -> None:
    """An exception, or its class, is what the request meets."""
    with pytest.raises(error if isinstance(error, type) else type(error)):
        ScriptedBackend([error]).complete(ASK)


def test_a_function_is_asked_with_each_request() -> None:
    """A function of the request makes each reply, of any kind a list may hold."""
    backend = ScriptedBackend(lambda request: f"{len(request.messages)} message(s)")
    assert backend.complete(ASK).content == "1 message(s)"


def test_the_requests_are_json_bodies() -> None:
    """`requests[i]` is a dict with `messages` and the options; changing it changes nothing."""
    backend = ScriptedBackend(["a", "b"])
    backend.complete(ASK)
    seen = backend.requests[0]
    assert seen == {"messages": [{"role": "user", "content": "?"}], "temperature": 0}
    seen["messages"][0]["content"] = "changed"
    assert backend.requests[0]["messages"][0]["content"] == "?"
    assert ASK.messages[0]["content"] == "?"


def test_each_request_is_kept_as_it_was_sent() -> None:
    """A later turn does not grow an earlier request."""
    backend = ScriptedBackend([ToolCall(name="f"), "done"])
    Agent(backend).run("?")
    assert [len(body["messages"]) for body in backend.requests] == [1, 3]
    assert len(backend.requests[:]) == 2


def test_running_out_says_how_many_replies_there_were() -> None:
    """`ScriptExhausted` names the count and the last message."""
    backend = ScriptedBackend([])
    with pytest.raises(ScriptExhausted, match=r"0 replies.*'user'"):
        backend.complete(ASK)


@pytest.mark.parametrize(
    "script",
    ["hi", {"choices": []}, ToolCall(name="f"), Completion()],
    ids=lambda s: type(s).__name__,
)
def test_one_reply_is_no_script(script: Any) -> None:
    """A lone reply where a list belongs is our misuse."""
    with pytest.raises(ConfigurationError, match="list of replies"):
        ScriptedBackend(script)


@pytest.mark.parametrize("item", [7, None, [], ["a"], [ToolCall(name="f"), "a"], int], ids=repr)
def test_an_item_that_is_no_reply_is_named(item: Any) -> None:
    """The error says which item, what it is and what may stand there."""
    with pytest.raises(ConfigurationError, match="reply 1 of the script"):
        ScriptedBackend(["fine", item])


def test_parallel_requests_each_get_their_own_reply() -> None:
    """A script is played once, whoever asks: 24 threads get 24 replies."""
    backend = ScriptedBackend([str(number) for number in range(24)])
    got: list[str | None] = []
    threads = [threading.Thread(target=lambda: got.append(backend.complete(ASK).content)) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text or "") for text in got) == list(range(24))


def test_the_async_form_is_the_same() -> None:
    """`acomplete` and `astream` play the same script."""
    backend = ScriptedBackend(["a", "b"])

    async def ask() -> list[Any]:
        first = await backend.acomplete(ASK)
        return [first.content, [chunk async for chunk in backend.astream(ASK)]]

    content, chunks = asyncio.run(ask())
    assert content == "a"
    assert chunks == list(ScriptedBackend(["b"]).stream(ASK))
