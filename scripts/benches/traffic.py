"""Generated chat traffic for `bench replay`: the same exchanges for everybody, and their files.

Pure but for `write`; nothing is measured here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from react_replay import Agent, Limits, ScriptedBackend, ToolCall, tool
from react_replay.cassettes.writing import interaction_of, render
from react_replay.wire import Exchange

__all__ = ["KINDS", "TURN", "URL", "exchanges", "long_run", "read_file", "script", "write"]

KINDS = ("small", "agent")
"""Two messages; or twenty and three tools, about 8 kB."""

URL = "http://127.0.0.1:9/v1"
TURN = 1_000  # characters of a tool's result in a long run
_WORDS = "the report names every river of the province, its length, its mouth and who measured it when; "

Pair = tuple[dict[str, Any], dict[str, Any]]


def exchanges(kind: str, count: int) -> Iterator[Pair]:
    """So many distinct requests with their answers."""
    for number in range(count):
        question = {"role": "user", "content": f"Question {number}: which river is longest in part {number}?"}
        body: dict[str, Any] = {"model": "m", "temperature": 0}
        if kind == "small":
            body["messages"] = [{"role": "system", "content": "You are a careful assistant."}, question]
        else:
            body["messages"] = [{"role": "system", "content": _WORDS * 12}, question, *_turns(9, number)]
            body["tools"] = [_tool(name) for name in ("search", "read_file", "calculator")]
        yield body, _answer(number, {"content": f"It is river {number}."})


def _turns(pairs: int, number: int) -> Iterator[dict[str, Any]]:
    for turn in range(pairs):
        arguments = json.dumps({"query": f"rivers of part {number}, page {turn}", "limit": 10})
        call = {"name": "search", "arguments": arguments}
        entry = {"id": f"call_{number}_{turn}", "type": "function", "function": call}
        yield {"role": "assistant", "content": "", "tool_calls": [entry]}
        yield {"role": "tool", "tool_call_id": entry["id"], "content": f"{turn}: {_WORDS * 4}"}


def _tool(name: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": _WORDS},
            "limit": {"type": "integer", "description": "How many at most."},
        },
        "required": ["query"],
    }
    return {"type": "function", "function": {"name": name, "description": _WORDS, "parameters": schema}}


def _answer(number: int, message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    whole = {"role": "assistant", "content": None, **message}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": whole, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


@tool
def read_file(path: str) -> str:
    """A file's text."""
    return f"{path}: {_WORDS * (TURN // len(_WORDS))}"


def script(turns: int) -> list[Any]:
    """What a model says in a run of so many tool calls."""
    calls = [
        ToolCall(name="read_file", arguments={"path": f"src/{n}.py"}, id=f"call_{n}") for n in range(turns)
    ]
    return [*calls, "done"]


def long_run(turns: int) -> Iterator[Pair]:
    """The exchanges of an agent's run, whose every request repeats the whole history."""
    backend = ScriptedBackend(script(turns))
    Agent(backend, tools=[read_file], limits=Limits(max_steps=turns + 1)).run("Read them all.")
    for number, (request, said) in enumerate(zip(backend.requests, script(turns), strict=True)):
        message: dict[str, Any] = {"content": said}
        if isinstance(said, ToolCall):
            function = {"name": said.name, "arguments": json.dumps(said.arguments)}
            message = {"tool_calls": [{"id": said.id, "type": "function", "function": function}]}
        yield {"model": "m", **request}, _answer(number, message)


def write(path: Path, pairs: Iterable[Pair]) -> int:
    """Write a cassette in the layout that we record; its bytes."""
    kind = {"content-type": "application/json"}
    interactions = [
        interaction_of(
            Exchange(
                url=f"{URL}/chat/completions",
                request_body=json.dumps(body, ensure_ascii=False).encode(),
                request_headers=kind,
                response_headers=kind,
                chunks=(json.dumps(answer, ensure_ascii=False).encode(),),
            )
        )
        for body, answer in pairs
    ]
    text = render({"interactions": interactions, "version": 1})
    return path.write_bytes(text.encode())
