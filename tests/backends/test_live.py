"""The live backend, through the real SDK against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dotenv.main
import pytest

from react_replay import Agent, BackendError, LiveBackend, Request, RunFinished, TextDelta, tool
from react_replay.errors import ConfigurationError

ASK = Request([{"role": "user", "content": "北京?"}], {"temperature": 0})
HELLO = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "你好"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    "x_unknown": {"kept": [1]},
}


def event(finish: str | None = None, **delta: Any) -> bytes:
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


@pytest.fixture
def live(server: Any) -> Iterator[LiveBackend]:
    backend = LiveBackend(model="m", api_key="k" * 24, base_url=server.url, max_retries=0)
    yield backend
    backend.close()


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 25°C"


def test_complete_sends_the_request_and_keeps_the_providers_dict(server: Any, live: LiveBackend) -> None:
    """The body is the request and the model; `raw` is what came, unknown fields too."""
    server.json(HELLO)
    done = live.complete(ASK)
    assert done.raw == HELLO
    assert (done.content, done.usage.total_tokens) == ("你好", 3)
    [seen] = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "北京?"}],
        "temperature": 0,
    }


def test_the_key_goes_out_as_a_bearer_token(server: Any, live: LiveBackend) -> None:
    """The request's headers are the SDK's: authorization, JSON, a user agent."""
    server.json(HELLO)
    live.complete(ASK)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer " + "k" * 24
    assert headers["content-type"] == "application/json"
    assert "openai" in headers["user-agent"].lower()


def test_a_model_of_the_request_wins(server: Any, live: LiveBackend) -> None:
    """`options={"model": ...}` overrides the backend's model."""
    server.json(HELLO)
    live.complete(Request(ASK.messages, {"model": "other"}))
    assert server.requests[0].body["model"] == "other"


def test_options_that_the_sdk_does_not_know_go_along(server: Any, live: LiveBackend) -> None:
    """A provider's own parameter reaches the wire as it is."""
    server.json(HELLO)
    live.complete(Request(ASK.messages, {"thinking": {"type": "enabled"}, "seed": 1}))
    assert server.requests[0].body["thinking"] == {"type": "enabled"}
    assert server.requests[0].body["seed"] == 1


def test_a_lone_surrogate_does_not_stop_a_request(server: Any, live: LiveBackend) -> None:
    """Half a surrogate pair in a message is replaced, since UTF-8 cannot carry it."""
    server.json(HELLO)
    live.complete(Request([{"role": "user", "content": "a\ud83db"}]))
    assert server.requests[0].body["messages"][0]["content"] == "a?b"


def test_acomplete_is_complete(server: Any, live: LiveBackend) -> None:
    """The async form sends the same body and reads the same reply."""
    server.json(HELLO)
    server.json(HELLO)
    assert asyncio.run(live.acomplete(ASK)) == live.complete(ASK)
    first, second = server.requests
    assert first.body == second.body


def test_one_backend_serves_several_event_loops(server: Any, live: LiveBackend) -> None:
    """A second `asyncio.run` with the same backend works as the first did."""
    for _ in range(3):
        server.json(HELLO, connection="keep-alive")
        assert asyncio.run(live.acomplete(ASK)).content == "你好"


def test_streams_ask_for_usage(server: Any, live: LiveBackend) -> None:
    """A streamed request says `stream` and asks for the usage chunk."""
    server.events(event(content="x"), event("stop"), DONE)
    list(live.stream(ASK))
    assert server.requests[0].body["stream"] is True
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


def test_the_first_delta_arrives_before_the_last_is_sent(server: Any, live: LiveBackend) -> None:
    """The server holds the rest back until the caller has seen the first text."""
    seen = threading.Event()
    server.events(event(content="first"), seen, event(content=" last"), event("stop"), DONE)
    texts = []
    for item in Agent(live).stream("?"):
        if isinstance(item, TextDelta):
            texts.append(item.text)
            seen.set()
        if isinstance(item, RunFinished):
            assert item.result.answer == "first last"
    assert texts == ["first", " last"]


def test_the_first_delta_arrives_early_in_an_async_stream_too(server: Any, live: LiveBackend) -> None:
    """The same on an event loop, which is free while the server waits."""
    seen = threading.Event()
    server.events(event(content="first"), seen, event(content=" last"), event("stop"), DONE)

    async def texts() -> list[str]:
        got = []
        async for item in Agent(live).astream("?"):
            if isinstance(item, TextDelta):
                got.append(item.text)
                seen.set()
        return got

    assert asyncio.run(texts()) == ["first", " last"]


def test_events_cut_inside_a_character_are_read_whole(server: Any, live: LiveBackend) -> None:
    """The cuts of the network mean nothing."""
    body = event(content="北京") + event("stop") + DONE
    server.events(*[body[place : place + 1] for place in range(len(body))])
    texts = [item.text for item in Agent(live).stream("?") if isinstance(item, TextDelta)]
    assert "".join(texts) == "北京"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
@pytest.mark.parametrize("form", ["complete", "acomplete", "stream", "astream"])
def test_an_http_error_is_a_fault_with_its_status(
    server: Any, live: LiveBackend, status: int, form: str
) -> None:
    """The provider's own words and the status are in the `BackendError`."""
    server.json({"error": {"message": "no such luck", "type": "x"}}, status=status)

    async def astream() -> None:
        async for _ in live.astream(ASK):
            pass

    forms: dict[str, Callable[[], Any]] = {
        "complete": lambda: live.complete(ASK),
        "acomplete": lambda: asyncio.run(live.acomplete(ASK)),
        "stream": lambda: list(live.stream(ASK)),
        "astream": lambda: asyncio.run(astream()),
    }
    with pytest.raises(BackendError, match=rf"HTTP {status}: .*no such luck") as caught:
        forms[form]()
    assert caught.value.status == status


def test_an_answer_that_is_no_json_is_a_fault(server: Any, live: LiveBackend, reply: Any) -> None:
    """A gateway's HTML page is shown, not read."""
    page = reply(pieces=[b"<html>busy</html>"], headers={"content-type": "text/html"})
    server.replies.append(page)
    with pytest.raises(BackendError, match=r"no JSON.*busy"):
        live.complete(ASK)


def test_a_refused_connection_is_a_fault(server: Any) -> None:
    """Nobody listening ends the run as `backend_error`, with the cause named."""
    server.close()
    with LiveBackend(model="m", api_key="k", base_url=server.url, max_retries=0) as live:
        result = Agent(live).run("?")
    assert str(result.stop_reason) == "backend_error"
    assert "APIConnectionError" in result.error


def test_a_stream_that_is_cut_off_keeps_its_text(server: Any, live: LiveBackend) -> None:
    """A connection lost in the middle of a stream leaves the text in `partial`, and no answer."""
    server.events(event(content="half an ans"), None)
    last = list(Agent(live).stream("?"))[-1]
    assert isinstance(last, RunFinished)
    assert last.result.answer is None
    assert last.result.partial == "half an ans"
    assert str(last.result.stop_reason) in ("backend_error", "incomplete")


def test_a_stream_without_a_finish_reason_is_incomplete(server: Any, live: LiveBackend) -> None:
    """A stream that ends politely but early is `incomplete`."""
    server.events(event(content="half an ans"))
    last = list(Agent(live).stream("?"))[-1]
    assert isinstance(last, RunFinished)
    assert (str(last.result.stop_reason), last.result.partial) == ("incomplete", "half an ans")


def test_a_whole_run_over_http(server: Any, live: LiveBackend) -> None:
    """A call, its observation with the right id, and the answer."""
    call = {"id": "call_1", "type": "function"}
    call |= {"function": {"name": "get_weather", "arguments": '{"city": "北京"}'}}  # type: ignore[dict-item]
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    server.json({**HELLO, "choices": [{"message": message, "finish_reason": "tool_calls"}]})
    server.json(HELLO)
    result = Agent(live, tools=[get_weather]).run("?")
    assert result.answer == "你好"
    assert server.requests[1].body["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "北京: 25°C",
    }


def test_closing_twice_is_fine(live: LiveBackend, server: Any) -> None:
    """`close` may be called again, and the backend works once more after it."""
    server.json(HELLO)
    live.close()
    live.close()
    assert live.complete(ASK).content == "你好"


def test_from_env_without_a_key_names_the_variables() -> None:
    """The error says what to set."""
    with pytest.raises(ConfigurationError, match=r"DEEPSEEK_API_KEY.*OPENAI_API_KEY"):
        LiveBackend.from_env()


@pytest.mark.parametrize(
    ("settings", "model", "url"),
    [
        ({"DEEPSEEK_API_KEY": "d"}, "deepseek-chat", "https://api.deepseek.com"),
        ({"DEEPSEEK_API_KEY": "d", "MODEL": "r"}, "r", "https://api.deepseek.com"),
        ({"DEEPSEEK_API_KEY": "d", "DEEPSEEK_BASE_URL": "http://x"}, "deepseek-chat", "http://x"),
        (
            {"DEEPSEEK_API_KEY": "d", "OPENAI_API_KEY": "o", "OPENAI_MODEL": "g"},
            "deepseek-chat",
            None,
        ),
        ({"OPENAI_API_KEY": "o"}, "gpt-4o-mini", None),
        ({"OPENAI_API_KEY": "o", "MODEL": "a"}, "a", None),
        ({"OPENAI_API_KEY": "o", "MODEL": "a", "OPENAI_MODEL": "b"}, "b", None),
        ({"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://y"}, "gpt-4o-mini", "http://y"),
        ({"DEEPSEEK_API_KEY": "", "OPENAI_API_KEY": "o"}, "gpt-4o-mini", None),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_from_env_takes_deepseek_then_openai(
    settings: dict[str, str], model: str, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepSeek's key wins; an empty variable is as good as none; models have defaults."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    live = LiveBackend.from_env()
    assert live.model == model
    if url is not None:
        assert live.base_url == url
    assert LiveBackend.from_env(model="mine").model == "mine"


def test_from_env_reads_an_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `.env` file fills in what the environment lacks; the environment wins; nothing leaks into it."""
    path = tmp_path / "keys"
    path.write_text("OPENAI_API_KEY=from-file\nMODEL=file-model\n")
    monkeypatch.setenv("MODEL", "env-model")
    live = LiveBackend.from_env(env_file=path)
    assert (live.secrets, live.model) == (("from-file",), "env-model")
    with pytest.raises(ConfigurationError):
        LiveBackend.from_env()


def test_from_env_finds_a_dotenv_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path the nearest `.env` from the working folder upwards is read."""
    (tmp_path / ".env").write_text("DEEPSEEK_API_KEY=found\n")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    monkeypatch.setattr("dotenv.find_dotenv", dotenv.main.find_dotenv)
    assert LiveBackend.from_env().secrets == ("found",)


def test_a_missing_env_file_is_an_error(tmp_path: Path) -> None:
    """A path that was given must be there."""
    with pytest.raises(ConfigurationError, match="no env file"):
        LiveBackend.from_env(env_file=tmp_path / "none")


def test_sixteen_async_calls_at_once(server: Any, live: LiveBackend, reply: Any) -> None:
    """Parallel requests of one event loop each get their own answer."""

    def answer(body: dict[str, Any]) -> Any:
        said = body["messages"][0]["content"]
        message = {"role": "assistant", "content": f"re {said}"}
        whole = {**HELLO, "choices": [{"message": message, "finish_reason": "stop"}]}
        headers = {"content-type": "application/json"}
        return reply(pieces=[0.02, json.dumps(whole).encode()], headers=headers)

    server.answer = answer

    async def many() -> list[str | None]:
        results = await asyncio.gather(*(Agent(live).arun(f"q{n}") for n in range(16)))
        return [result.answer for result in results]

    assert asyncio.run(many()) == [f"re q{n}" for n in range(16)]
