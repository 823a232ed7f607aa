"""What the tests of the check build exchanges from: calls, answers, streams, histories, recorded turns."""

from __future__ import annotations

import json
from typing import Any

from react_replay.cassettes.reading import Recorded
from react_replay.check import check_recorded

TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {}}}]
USER = {"role": "user", "content": "?"}
OTHER = {"role": "user", "content": "something else"}
COUNTS = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
MADE_UP = "Action: x\nAction Input: y\nObservation: z"


def call(identity: Any = "a", arguments: Any = "{}", name: Any = "search") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(content: Any = "hi", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish}]}


def called(*entries: Any, finish: Any = "tool_calls", content: Any = None) -> dict[str, Any]:
    return answer(content, finish, tool_calls=list(entries))


def turn(
    number: int = 1,
    messages: Any = (USER,),
    body: Any = None,
    *,
    status: int = 200,
    streamed: bool = False,
    **options: Any,
) -> Recorded:
    data = body if isinstance(body, bytes) else json.dumps(answer() if body is None else body).encode()
    asked = {"messages": list(messages), "tools": TOOLS, **options}
    return Recorded(
        number=number,
        url="https://api.example.com/v1/chat/completions",
        sent=json.dumps(asked).encode(),
        asked=hash(json.dumps(asked)),
        status=status,
        chunks=(data,),
        streamed=streamed,
    )


def stream(*chunks: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)


def delta(finish: Any = None, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def found(*turns: Recorded) -> list[tuple[int | None, int | None, str]]:
    return [(v.interaction, v.message_index, v.code) for v in check_recorded(turns)]


def history(*entries: Any, results: int | None = None) -> list[dict[str, Any]]:
    tools = [{"role": "tool", "tool_call_id": entry["id"], "content": "1"} for entry in entries[:results]]
    return [USER, {"role": "assistant", "content": None, "tool_calls": list(entries)}, *tools]
