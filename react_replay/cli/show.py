"""`react-replay show`: what a cassette holds, turn by turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from react_replay.errors import BackendError

__all__ = ["show"]


def show(
    cassette: Annotated[Path, typer.Argument(help="The cassette's path.", show_default=False)],
    last: Annotated[int | None, typer.Option(min=1, help="Only the last N turns.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show a cassette's provenance and its turns: what was asked, and what came back.

    Example: react-replay show cassettes/000-population-ratio.yaml --last 1
    """
    from react_replay.cassettes.reading import read_cassette

    read = read_cassette(cassette)
    turns = [_turn(recorded) for recorded in read.recorded]
    turns = turns if last is None else turns[-last:]
    if as_json:
        metadata = {str(name): value for name, value in read.metadata.items()}
        document = {"path": str(cassette), "metadata": metadata, "turns": turns}
        text = json.dumps(document, ensure_ascii=False, indent=2, default=str)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
        return 0
    count = len(read.recorded)
    print(f"{_line(str(cassette))}: {count} turn{'' if count == 1 else 's'}")
    for name, value in read.metadata.items():
        print(f"  {_line(name)}: {_line(value)}")
    for turn in turns:
        print(f"turn {turn['number']}: {turn['messages']} messages, status {turn['status']}")
        if turn["last_message"]:
            role = turn["last_message"].get("role")
            print(f"  asked     {_line(role)}: {_line(turn['last_message'].get('content'))}")
        if turn["error"]:
            print(f"  error     {_line(turn['error'])}")
        if turn["content"]:
            print(f"  replied   {_line(turn['content'])}")
        for call in turn["calls"]:
            if call["error"]:  # arguments that could not be read are not those that stand for them
                print(f"  called    {_line(call['name'])}: {_line(call['error'])}")
            else:
                print(f"  called    {_line(call['name'])}({_line(call['arguments'])})")
        if not turn["error"]:
            print(f"  finished  {_line(turn['finish_reason'])}, {turn['tokens']} tokens")
    return 0


def _line(value: Any) -> str:
    from react_replay.cli.terminal import plain

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = plain(" ".join(text.split()))
    return text if len(text) <= 160 else text[:160] + "..."


def _turn(recorded: Any) -> dict[str, Any]:
    turn: dict[str, Any] = {
        "number": recorded.number,
        "url": recorded.url,
        "status": recorded.status,
        "streamed": recorded.streamed,
        "messages": len(recorded.request.messages) if recorded.request else 0,
        "last_message": recorded.request.messages[-1]
        if recorded.request and recorded.request.messages
        else None,
        "content": None,
        "calls": [],
        "finish_reason": None,
        "tokens": 0,
        "error": None,
    }
    try:
        completion = recorded.completion()
    except BackendError as error:
        return {**turn, "error": str(error)}
    return {
        **turn,
        "content": completion.content,
        "calls": [
            {"name": call.name, "arguments": call.arguments, "error": call.error or None}
            for call in completion.tool_calls
        ],
        "finish_reason": completion.finish_reason,
        "tokens": completion.usage.total_tokens,
    }
