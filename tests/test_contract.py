"""Every backend x every dialect x every shell: the same script gives the same result and messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from react_replay import (
    Agent,
    CassetteBackend,
    ChatBackend,
    LiveBackend,
    Request,
    RunFinished,
    RunResult,
    ScriptedBackend,
)
from react_replay.dialects import dialect


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 25°C"


def boom(why: str = "") -> str:
    """Always fails."""
    raise RuntimeError("kaput")


TOOLS: list[Callable[..., Any]] = [get_weather, boom]


def turn(content: str | None, *calls: tuple[str, str, str], finish: str = "stop") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        finish = "tool_calls"
        message["tool_calls"] = [
            {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
            for identity, name, arguments in calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "native": [
        turn("先查天气。", ("c1", "get_weather", '{"city": "北京"}'), ("c1", "boom", "{}")),
        turn(None, ("", "nope", "{}"), ("c9", "get_weather", '{"city": ')),
        turn("北京 25°C ☀"),
    ],
    "json": [
        turn('Thought: look it up\nAction: get_weather\nAction Input: {"city": "北京"}'),
        turn('Thought: again\nAction: boom\nAction Input: {"why": "x"}'),
        turn("Thought: now\nAction: nope\nAction Input: {}"),
        turn("Thought: I know.\nFinal Answer: 北京 25°C ☀"),
    ],
    "bracket": [
        turn("Thought: look it up\nAction: get_weather[北京]"),
        turn("Thought: again\nAction: boom[x]"),
        turn("Thought: now\nAction: nope[x]"),
        turn("Thought: I know.\nFinal Answer: 北京 25°C ☀"),
    ],
    "zh": [
        turn("思考: 先查天气\n行动: get_weather\n行动输入: 北京"),
        turn("思考: 再试\n行动: boom\n行动输入: x"),
        turn("思考: 换一个\n行动: nope\n行动输入: x"),
        turn("思考: 知道了\n最终答案: 北京 25°C ☀"),
    ],
}
ENDS = [turn(""), turn("cut of", finish="length"), turn("bad", finish="content_filter")]


def sse(body: dict[str, Any]) -> list[bytes]:
    """A reply as a provider streams it, in small pieces."""
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": 1, "model": "m"}
    [choice] = body["choices"]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    if message["content"] is not None:
        text = message["content"]
        deltas += [{"content": text[at : at + 3]} for at in range(0, max(len(text), 1), 3)]
    for index, call in enumerate(message.get("tool_calls", ())):
        arguments = call["function"]["arguments"]
        first = {**call, "function": {**call["function"], "arguments": arguments[:4]}}
        deltas.append({"tool_calls": [{"index": index, **first}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[4:]}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({"choices": [], "usage": body["usage"]})
    lines = [json.dumps({**head, **chunk}, ensure_ascii=False) for chunk in chunks]
    return [f"data: {line}\n\n".encode() for line in [*lines, "[DONE]"]]


def run(agent: Agent) -> RunResult:
    return agent.run("北京天气?")


def arun(agent: Agent) -> RunResult:
    return asyncio.run(agent.arun("北京天气?"))


def stream(agent: Agent) -> RunResult:
    last = list(agent.stream("北京天气?"))[-1]
    assert isinstance(last, RunFinished)
    return last.result


def astream(agent: Agent) -> RunResult:
    async def collect() -> RunResult:
        last = [event async for event in agent.astream("北京天气?")][-1]
        assert isinstance(last, RunFinished)
        return last.result

    return asyncio.run(collect())


SHELLS: dict[str, Callable[[Agent], RunResult]] = {
    "run": run,
    "arun": arun,
    "stream": stream,
    "astream": astream,
}
BACKENDS = [
    "list",
    "function",
    "recording",
    "cassette",
    "streamed cassette",
    "live",
    "live cassette",
]


def agent_over(backend: ChatBackend, name: str) -> Agent:
    return Agent(backend, tools=TOOLS, dialect=name)


@contextmanager
def made(
    kind: str, script: list[dict[str, Any]], name: str, path: Path, server: Any, reply: Any
) -> Iterator[ChatBackend]:
    """A backend of a kind that plays a script."""
    if kind == "list":
        yield ScriptedBackend(script)
    elif kind == "function":
        left = iter(script)

        def play(request: Request) -> dict[str, Any]:
            return next(left)

        yield ScriptedBackend(play)
    elif kind == "recording":
        yield CassetteBackend(path, record="once", live=ScriptedBackend(script))
    elif kind in ("cassette", "streamed cassette"):
        recorder = CassetteBackend(path, record="once", live=ScriptedBackend(script))
        (run if kind == "cassette" else stream)(agent_over(recorder, name))
        yield CassetteBackend(path)
    else:
        left = iter(script)

        def answer(body: dict[str, Any]) -> Any:
            whole = next(left)
            if body.get("stream"):
                return reply(pieces=sse(whole), headers={"content-type": "text/event-stream"})
            sent = {"content-type": "application/json"}
            return reply(pieces=[json.dumps(whole).encode()], headers=sent)

        server.answer = answer
        with LiveBackend(model="m", api_key="a test's", base_url=server.url, max_retries=0) as live:
            if kind == "live":
                yield live
                return
            stream(agent_over(CassetteBackend(path, record="once", live=live), name))
            server.close()
            yield CassetteBackend(path)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("kind", BACKENDS)
def test_the_same_script_gives_the_same_result(
    kind: str, name: str, shell: str, tmp_path: Path, server: Any, reply: Any
) -> None:
    """Whoever answers, however it is asked: the same steps, messages, flags and answer."""
    script = SCRIPTS[name]
    wanted = agent_over(ScriptedBackend(script), name).run("北京天气?")
    assert wanted.answer == "北京 25°C ☀"
    assert len(wanted.steps) == len(script)
    with made(kind, script, name, tmp_path / "c.yaml", server, reply) as backend:
        result = SHELLS[shell](agent_over(backend, name))
    assert result.to_dict() == wanted.to_dict()
    assert result.messages == wanted.messages


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("kind", BACKENDS)
@pytest.mark.parametrize("end", ENDS, ids=["empty", "length", "content_filter"])
def test_every_ending_is_the_same_everywhere(
    end: dict[str, Any], kind: str, shell: str, tmp_path: Path, server: Any, reply: Any
) -> None:
    """A run that ends without an answer ends so in every backend and shell."""
    script = [SCRIPTS["native"][0], end]
    wanted = agent_over(ScriptedBackend(script), "native").run("北京天气?")
    assert wanted.answer is None
    with made(kind, script, "native", tmp_path / "c.yaml", server, reply) as backend:
        assert SHELLS[shell](agent_over(backend, "native")).to_dict() == wanted.to_dict()


@pytest.mark.parametrize("name", ["json", "bracket", "zh"])
def test_text_dialects_send_observations_as_the_user(name: str) -> None:
    """In a text protocol an observation is a user message, and no `tools` are sent."""
    backend = ScriptedBackend(SCRIPTS[name])
    agent_over(backend, name).run("北京天气?")
    last = backend.requests[1]["messages"][-1]
    assert last["role"] == "user"
    assert "北京: 25°C" in last["content"]
    assert "tools" not in backend.requests[0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_dialect_is_found_by_its_name(name: str) -> None:
    """`Agent(dialect=...)` takes the name or the dialect itself."""
    found = dialect(name)
    by_name = agent_over(ScriptedBackend(SCRIPTS[name]), name).run("北京天气?")
    itself = Agent(ScriptedBackend(SCRIPTS[name]), tools=TOOLS, dialect=found).run("北京天气?")
    assert by_name.to_dict() == itself.to_dict()
