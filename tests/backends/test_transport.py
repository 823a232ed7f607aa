"""A cassette as the transport of somebody else's openai client, through the real SDK."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteError,
    CassetteMiss,
    CassetteMissing,
    ConfigurationError,
    LiveBackend,
    Request,
    ScriptedBackend,
    tool,
)
from react_replay.cassettes import async_cassette_transport, cassette_transport

KEY = "local-key-of-no-special-shape"
NOWHERE = "http://127.0.0.1:9/v1"
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "double",
            "description": "Twice a number.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
        },
    }
]


def said(text: str | None, **message: Any) -> dict[str, Any]:
    finish = "tool_calls" if message else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    }


def event(text: str, finish: str | None = None) -> bytes:
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
    }
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def ask(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def client(transport: httpx2.BaseTransport, url: str = NOWHERE, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=url, http_client=httpx2.Client(transport=transport), **options)


def aclient(transport: httpx2.AsyncBaseTransport, url: str = NOWHERE, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=KEY, base_url=url, http_client=httpx2.AsyncClient(transport=transport), **options
    )


def texts(stream: Any) -> list[str]:
    return [chunk.choices[0].delta.content for chunk in stream if chunk.choices]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def recorded(server: Any, path: Path, *questions: str) -> Path:
    """A cassette in which each question is answered by itself in capitals."""
    server.answer = None
    with client(cassette_transport(path, record="all"), server.url) as live:
        for question in questions:
            server.json(said(question.upper()))
            live.chat.completions.create(model="m", messages=ask(question))
    return path


def test_what_was_recorded_is_replayed_without_a_server(server: Any, path: Path) -> None:
    """The same call gives the same object from the file, and nothing is sent."""
    server.json(said("你好"))
    with client(cassette_transport(path, record="once"), server.url) as live:
        first = live.chat.completions.create(model="m", messages=ask("北京?"), temperature=0)
    with client(cassette_transport(path)) as offline:
        again = offline.chat.completions.create(model="m", messages=ask("北京?"), temperature=0)
    assert first == again
    assert again.choices[0].message.content == "你好"
    assert len(server.requests) == 1
    assert "北京?" in path.read_text("utf-8")


def test_the_async_twin_records_and_replays(server: Any, path: Path) -> None:
    """Whole answers and streams, through AsyncOpenAI."""

    async def run(transport: httpx2.AsyncBaseTransport, url: str) -> list[Any]:
        async with aclient(transport, url) as asked:
            whole = await asked.chat.completions.create(model="m", messages=ask("a"))
            stream = await asked.chat.completions.create(model="m", messages=ask("b"), stream=True)
            return [whole, [chunk async for chunk in stream]]

    server.json(said("A"))
    server.events(event("B"), event("", "stop"), DONE)
    first = asyncio.run(run(async_cassette_transport(path, record="once"), server.url))
    assert asyncio.run(run(async_cassette_transport(path), NOWHERE)) == first
    assert len(server.requests) == 2


def test_a_stream_is_passed_on_while_it_is_recorded(server: Any, path: Path) -> None:
    """The first delta reaches the caller before the server sends the second."""
    go_on = threading.Event()
    server.events(event("one "), go_on, event("two"), event("", "stop"), DONE)
    with client(cassette_transport(path, record="once"), server.url) as live:
        stream = iter(live.chat.completions.create(model="m", messages=ask("?"), stream=True))
        assert next(stream).choices[0].delta.content == "one "
        go_on.set()
        assert texts(stream) == ["two", ""]


def test_a_stream_of_another_kind_is_one(server: Any, path: Path) -> None:
    """A server that calls its events plain text is passed on as it comes, recorded and replayed."""
    go_on = threading.Event()
    server.events(
        event("one "), go_on, event("two"), event("", "stop"), DONE, **{"content-type": "text/plain"}
    )
    with client(cassette_transport(path, record="once"), server.url) as live:
        stream = iter(live.chat.completions.create(model="m", messages=ask("?"), stream=True))
        first = next(stream)
        go_on.set()
        whole = [first, *stream]
    with client(cassette_transport(path)) as offline:
        assert [*offline.chat.completions.create(model="m", messages=ask("?"), stream=True)] == whole


def test_an_async_stream_is_passed_on_while_it_is_recorded(server: Any, path: Path) -> None:
    """The same in an event loop."""
    go_on = threading.Event()
    server.events(event("one "), go_on, event("two"), event("", "stop"), DONE)

    async def run() -> list[Any]:
        async with aclient(async_cassette_transport(path, record="once"), server.url) as live:
            stream = await live.chat.completions.create(model="m", messages=ask("?"), stream=True)
            first = await anext(stream)
            go_on.set()
            return [
                first.choices[0].delta.content,
                *[chunk.choices[0].delta.content async for chunk in stream],
            ]

    assert asyncio.run(run()) == ["one ", "two", ""]


def test_the_end_is_handed_on_when_the_exchange_is_kept(server: Any, path: Path) -> None:
    """When the caller sees how the reply ended, a journal holds it: a kill would lose nothing."""
    server.events(event("one "), event("two"), event("", "stop"), DONE)
    with client(cassette_transport(path, record="once"), server.url) as live:
        stream = live.chat.completions.create(model="m", messages=ask("?"), stream=True)
        kept = [(chunk.choices[0].finish_reason, bool([*path.parent.glob("*.journal")])) for chunk in stream]
    assert kept[-1] == ("stop", True)
    assert (None, False) in kept


def test_a_killed_recorder_loses_nothing(server: Any, path: Path) -> None:
    """A process that dies without closing its client leaves a journal, which is replayed, then compiled."""
    server.json(said("kept"))
    code = (
        "import os, openai, httpx2\n"
        "from react_replay.cassettes import cassette_transport\n"
        f"transport = cassette_transport({str(path)!r}, record='once')\n"
        f"client = openai.OpenAI(api_key={KEY!r}, base_url={server.url!r}, "
        "http_client=httpx2.Client(transport=transport))\n"
        "client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'a'}])\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 9
    assert not path.exists()
    with client(cassette_transport(path)) as offline:
        assert (
            offline.chat.completions.create(model="m", messages=ask("a")).choices[0].message.content == "kept"
        )
    with client(cassette_transport(path, record="once"), server.url):
        pass
    assert [path] == [*path.parent.iterdir()]


def test_chunk_boundaries_are_kept(server: Any, path: Path) -> None:
    """A replayed stream's body is cut where the recorded one was."""
    pieces = [event("北京")[:30], event("北京")[30:], event("", "stop") + DONE]
    server.events(*pieces)
    with client(cassette_transport(path, record="once"), server.url) as live:
        texts(live.chat.completions.create(model="m", messages=ask("?"), stream=True))
    request = {"model": "m", "messages": ask("?"), "stream": True}
    with httpx2.Client(transport=cassette_transport(path)) as raw:
        with raw.stream("POST", f"{NOWHERE}/chat/completions", json=request) as answer:
            got = [*answer.iter_raw()]
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert b"".join(got) == b"".join(pieces)
    assert len(got) == len(pieces)


def test_gzip_is_decoded_for_the_file(server: Any, path: Path, reply: Any) -> None:
    """A compressed answer and a compressed stream are text in the file, and read by the client."""
    kinds = {"content-encoding": "gzip"}
    body = gzip.compress(json.dumps(said("zipped")).encode())
    server.replies.append(reply(pieces=[body], headers={"content-type": "application/json", **kinds}))
    server.events(gzip.compress(event("zip") + event("", "stop") + DONE), **kinds)
    for record, url in (("once", server.url), ("none", NOWHERE)):
        with client(cassette_transport(path, record), url) as asked:
            whole = asked.chat.completions.create(model="m", messages=ask("a"))
            stream = asked.chat.completions.create(model="m", messages=ask("b"), stream=True)
            assert (whole.choices[0].message.content, texts(stream)) == ("zipped", ["zip", ""])
    assert '"content": "zipped"' in path.read_text("utf-8")


def test_a_tool_loop_replays(server: Any, path: Path) -> None:
    """A hand-written loop over the SDK replays turn by turn, though its call ids are its own."""

    def loop(asked: openai.OpenAI, prefix: str) -> str | None:
        messages: list[Any] = ask("Twice 21?")
        while True:
            reply = asked.chat.completions.create(model="m", messages=messages, tools=TOOLS)
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content
            turn = message.model_dump(exclude_none=True)
            results = []
            for call, entry in zip(message.tool_calls, turn["tool_calls"], strict=True):
                entry["id"] = prefix + call.id
                number = json.loads(entry["function"]["arguments"])["number"]
                results.append({"role": "tool", "tool_call_id": entry["id"], "content": str(2 * number)})
            messages += [turn, *results]

    called = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "double", "arguments": '{"number":21}'},
    }
    server.json(said(None, tool_calls=[called]))
    server.json(said("42"))
    transport = cassette_transport(path, record="once")
    with client(transport, server.url) as live:
        assert loop(live, "") == "42"
    assert transport.session.recorded_turns == 2
    replaying = cassette_transport(path)
    with client(replaying) as offline:
        assert loop(offline, "other_") == "42"
    assert replaying.session.unplayed == []


def test_parallel_requests_get_their_own_answers(server: Any, path: Path) -> None:
    """24 threads at once record, and replay in another order, each its own."""
    questions = [f"question {number}" for number in range(24)]
    server.answer = _upper
    for record, order in (("once", questions), ("none", questions[::-1])):
        transport = cassette_transport(path, record=record)
        with client(transport, server.url) as asked, ThreadPoolExecutor(24) as pool:
            replies = pool.map(
                lambda q: (q, asked.chat.completions.create(model="m", messages=ask(q))), order
            )
            assert all(reply.choices[0].message.content == q.upper() for q, reply in replies)
    assert len(server.requests) == 24


def test_parallel_requests_of_an_event_loop_get_their_own_answers(server: Any, path: Path) -> None:
    """24 tasks at once, likewise."""
    questions = [f"question {number}" for number in range(24)]
    server.answer = _upper

    async def run(transport: httpx2.AsyncBaseTransport) -> list[str | None]:
        async with aclient(transport, server.url) as asked:
            jobs = [asked.chat.completions.create(model="m", messages=ask(q)) for q in questions]
            return [reply.choices[0].message.content for reply in await asyncio.gather(*jobs)]

    expected = [question.upper() for question in questions]
    assert asyncio.run(run(async_cassette_transport(path, record="once"))) == expected
    assert asyncio.run(run(async_cassette_transport(path))) == expected
    assert len(server.requests) == 24


def _upper(body: Any) -> Any:
    from types import SimpleNamespace

    text = said(body["messages"][-1]["content"].upper())
    headers = {"content-type": "application/json"}
    return SimpleNamespace(pieces=[json.dumps(text).encode()], status=200, headers=headers)


class Counting(httpx2.BaseTransport):
    """Another transport, and how often it was asked."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner = inner
        self.asked = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        return self.inner.handle_request(request)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_miss_passes_through_the_sdk_as_itself(server: Any, path: Path, streaming: bool) -> None:
    """It is our own exception after one call: the SDK neither retries it nor wraps it."""
    counting = Counting(cassette_transport(recorded(server, path, "What is it now?")))
    with client(counting, max_retries=3) as offline, pytest.raises(CassetteMiss) as missed:
        offline.chat.completions.create(model="m", messages=ask("What is it then?"), stream=streaming)
    assert counting.asked == 1
    assert type(missed.value) is CassetteMiss
    assert (missed.value.differing, missed.value.nearest) == ("messages[0].content", 1)
    assert "What is it then?" in str(missed.value)


def test_a_miss_passes_through_the_async_sdk_as_itself(server: Any, path: Path) -> None:
    """The same in an event loop."""

    async def run() -> None:
        transport = async_cassette_transport(recorded(server, path, "now"))
        async with aclient(transport, max_retries=3) as offline:
            await offline.chat.completions.create(model="m", messages=ask("then"))

    with pytest.raises(CassetteMiss, match="then"):
        asyncio.run(run())


def test_one_call_too_many_is_a_miss(server: Any, path: Path) -> None:
    """The same request once more than it was recorded says just that."""
    with client(cassette_transport(recorded(server, path, "a"))) as offline:
        offline.chat.completions.create(model="m", messages=ask("a"))
        with pytest.raises(CassetteMiss, match="each of its answers has been played"):
            offline.chat.completions.create(model="m", messages=ask("a"))


def test_the_same_question_is_answered_in_recorded_order(server: Any, path: Path) -> None:
    """Two answers to one request come as they came."""
    with client(cassette_transport(path, record="once"), server.url) as live:
        for answer in ("first", "second"):
            server.json(said(answer))
            live.chat.completions.create(model="m", messages=ask("a"))
    with client(cassette_transport(path)) as offline:
        replies = [offline.chat.completions.create(model="m", messages=ask("a")) for _ in range(2)]
    assert [reply.choices[0].message.content for reply in replies] == ["first", "second"]


def test_new_episodes_plays_what_is_there_and_records_the_rest(server: Any, path: Path) -> None:
    """The prefix of a run comes from the file, what is new from the server, and both are in the file."""
    recorded(server, path, "a")
    server.json(said("B"))
    transport = cassette_transport(path, record="new_episodes")
    with client(transport, server.url) as asked:
        for question in "ab":
            asked.chat.completions.create(model="m", messages=ask(question))
    assert (transport.session.live_calls, transport.session.recorded_turns) == (1, 1)
    with client(cassette_transport(path)) as offline:
        replies = [offline.chat.completions.create(model="m", messages=ask(q)) for q in "ab"]
    assert [reply.choices[0].message.content for reply in replies] == ["A", "B"]


def test_a_missing_cassette_is_told_at_once(path: Path) -> None:
    """Mode `none` without a file fails before any request."""
    with pytest.raises(CassetteMissing, match="no cassette at"):
        cassette_transport(path)


@pytest.mark.parametrize("place", ["key in use", "key-shaped"])
def test_a_secret_stops_the_recording(server: Any, path: Path, place: str) -> None:
    """A key in a prompt, the client's own or one by its shape, reaches no file."""
    secret = KEY if place == "key in use" else "sk-" + "a1b2" * 8
    server.json(said("ok"))
    with (
        client(cassette_transport(path, record="once"), server.url) as live,
        pytest.raises(CassetteError, match=r"looks like a key.*at request\.body"),
    ):
        live.chat.completions.create(model="m", messages=ask(f"my key is {secret}"))
    assert [*path.parent.iterdir()] == []


def test_a_secret_in_a_stream_stops_its_end(server: Any, path: Path) -> None:
    """The end of a stream that holds a key is not handed on."""
    server.events(event(KEY), event("", "stop"), DONE)
    with client(cassette_transport(path, record="once"), server.url) as live:
        stream = live.chat.completions.create(model="m", messages=ask("?"), stream=True)
        with pytest.raises(CassetteError, match="looks like a key"):
            texts(stream)
    assert [*path.parent.iterdir()] == []


def test_the_file_holds_no_key(server: Any, path: Path) -> None:
    """The authorization header is not in the file, and its provenance says where it came from."""
    said_there = recorded(server, path, "a").read_text("utf-8")
    assert KEY not in said_there
    assert "origin: live" in said_there
    assert "OpenAI/Python" in said_there


def test_failures_that_pass_are_not_kept(server: Any, path: Path) -> None:
    """A 429 goes to the SDK, which asks again; the file has the answer only."""
    server.json({"error": {"message": "slow down"}}, status=429, **{"retry-after-ms": "1"})
    server.json(said("A"))
    with client(cassette_transport(path, record="once"), server.url, max_retries=1) as live:
        live.chat.completions.create(model="m", messages=ask("a"))
    with client(cassette_transport(path), max_retries=0) as offline:
        assert offline.chat.completions.create(model="m", messages=ask("a")).choices[0].message.content == "A"


def test_a_refusal_of_the_request_is_kept(server: Any, path: Path) -> None:
    """A 400 is what this request gets: its replay raises what the SDK raised."""
    server.json({"error": {"message": "too long", "code": "context_length_exceeded"}}, status=400)
    raised = []
    for record, url in (("once", server.url), ("none", NOWHERE)):
        with (
            client(cassette_transport(path, record), url) as asked,
            pytest.raises(openai.BadRequestError) as refused,
        ):
            asked.chat.completions.create(model="m", messages=ask("a"))
        raised.append((str(refused.value), refused.value.code))
    assert raised[0] == raised[1]


def test_a_stream_that_breaks_is_not_kept(server: Any, path: Path) -> None:
    """The SDK gets its error, and the file is not written."""
    server.events(event("one"), None)
    with client(cassette_transport(path, record="once"), server.url, max_retries=0) as live:
        stream = live.chat.completions.create(model="m", messages=ask("?"), stream=True)
        with pytest.raises(openai.APIConnectionError):
            texts(stream)
    assert [*path.parent.iterdir()] == []


def test_a_stream_that_the_caller_leaves_is_not_kept(server: Any, path: Path) -> None:
    """Half a reply is no recording of it."""
    server.events(event("one"), event("two"), event("", "stop"), DONE)
    with (
        client(cassette_transport(path, record="once"), server.url) as live,
        live.chat.completions.create(model="m", messages=ask("?"), stream=True) as stream,
    ):
        next(iter(stream))
    assert [*path.parent.iterdir()] == []


def test_an_error_inside_a_stream_is_replayed(server: Any, path: Path) -> None:
    """An error event raises in the replay what it raised live."""
    server.events(event("one"), b'data: {"error": {"message": "overloaded"}}\n\n', DONE)
    for record, url in (("once", server.url), ("none", NOWHERE)):
        with client(cassette_transport(path, record), url) as asked:
            stream = asked.chat.completions.create(model="m", messages=ask("?"), stream=True)
            with pytest.raises(openai.APIError, match="overloaded"):
                texts(stream)


def test_other_traffic_is_refused_on_replay(server: Any, path: Path) -> None:
    """A request that is no chat completion says what it is, and is not sent."""
    with (
        client(cassette_transport(recorded(server, path, "a")), max_retries=2) as offline,
        pytest.raises(CassetteMiss, match=r"POST http://127\.0\.0\.1:9/v1/embeddings.*chat completions only"),
    ):
        offline.embeddings.create(model="e", input="x")


def test_other_traffic_is_passed_on_while_recording(server: Any, path: Path) -> None:
    """It is answered, is not in the file, and a warning says so."""
    vector = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
    server.json({"object": "list", "data": vector, "model": "e", "usage": {}})
    with (
        client(cassette_transport(path, record="once"), server.url) as live,
        pytest.warns(UserWarning, match="embeddings is passed on and not recorded"),
    ):
        live.embeddings.create(model="e", input="x", encoding_format="float")
    assert not path.exists()


def test_a_chat_request_that_is_none_is_refused(server: Any, path: Path) -> None:
    """A body that cannot be read is named as that, not as a miss by meaning."""
    with httpx2.Client(transport=cassette_transport(recorded(server, path, "a"))) as raw:
        for body, why in ((b"{", "no JSON"), (b"[]", "no chat request"), (b"[" * 100_000, "no JSON")):
            with pytest.raises(CassetteMiss, match=why):
                raw.post(f"{NOWHERE}/chat/completions", content=body)


def test_the_wrong_kind_of_transport_is_told(path: Path) -> None:
    """An async transport behind a sync one fails when it is set up, and the other way round."""
    with pytest.raises(ConfigurationError, match="use async_cassette_transport"):
        cassette_transport(path, "once", live=httpx2.AsyncHTTPTransport())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="use cassette_transport"):
        async_cassette_transport(path, "once", live=httpx2.HTTPTransport())  # type: ignore[arg-type]


def test_a_block_that_fails_keeps_its_turns_in_a_journal(server: Any, path: Path) -> None:
    """The httpx2 client's `with` block tells the recorder that the session broke off."""
    server.json(said("A"))
    with (
        pytest.raises(ZeroDivisionError),
        httpx2.Client(transport=cassette_transport(path, record="once")) as http,
    ):
        asked = openai.OpenAI(api_key=KEY, base_url=server.url, http_client=http)
        asked.chat.completions.create(model="m", messages=ask("a"))
        raise ZeroDivisionError
    assert not path.exists()
    with client(cassette_transport(path, record="once"), server.url) as again:
        assert again.chat.completions.create(model="m", messages=ask("a")).choices[0].message.content == "A"
    assert path.exists()
    assert len(server.requests) == 1


@tool
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


@pytest.mark.parametrize("streaming", [False, True])
def test_a_cassette_of_an_agent_plays_under_the_sdk(server: Any, path: Path, streaming: bool) -> None:
    """What CassetteBackend recorded, stream or not, the transport gives to the SDK, stream or not."""
    if streaming:
        server.events(event("forty-"), event("two"), event("", "stop"), DONE)
    else:
        server.json(said("forty-two"))
    live = LiveBackend(model="m", api_key=KEY, base_url=server.url)
    with CassetteBackend(path, record="once", live=live) as backend:
        if streaming:
            [*backend.stream(Request(ask("a"), {}))]
        else:
            backend.complete(Request(ask("a"), {}))
    live.close()
    with client(cassette_transport(path)) as whole:
        reply = whole.chat.completions.create(model="m", messages=ask("a"))
    assert reply.choices[0].message.content == "forty-two"
    with client(cassette_transport(path)) as streamed:
        stream = streamed.chat.completions.create(model="m", messages=ask("a"), stream=True)
        assert "".join(text or "" for text in texts(stream)) == "forty-two"


def test_a_cassette_of_a_script_plays_under_the_sdk(path: Path) -> None:
    """A scripted recording names no model: it answers a client whatever its model."""
    with CassetteBackend(path, record="once", live=ScriptedBackend(["scripted"])) as backend:
        backend.complete(Request(ask("a"), {}))
    with client(cassette_transport(path)) as offline:
        reply = offline.chat.completions.create(model="any", messages=ask("a"))
    assert reply.choices[0].message.content == "scripted"


def test_a_cassette_of_the_sdk_plays_under_an_agent(server: Any, path: Path) -> None:
    """What the transport recorded of an agent's requests, CassetteBackend replays to that agent."""
    called = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "double", "arguments": '{"number":21}'},
    }
    server.json(said(None, tool_calls=[called]))
    server.json(said("42"))
    live = LiveBackend(
        model="m",
        api_key=KEY,
        base_url=server.url,
        http_client=httpx2.Client(transport=cassette_transport(path, record="once")),
    )
    first = Agent(live, tools=[double]).run("Twice 21?")
    live.close()
    again = Agent(CassetteBackend(path), tools=[double]).run("Twice 21?")
    assert first.answer == again.answer == "42"
    assert first.messages == again.messages
