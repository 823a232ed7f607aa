"""`react-replay verify`: asks the live model a recorded question again, and compares the shape of the run."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from react_replay.errors import BackendError, CassetteError

if TYPE_CHECKING:
    from react_replay.cassettes.reading import Cassette, Recorded
    from react_replay.messages import Message, Request
    from react_replay.result import RunResult
    from react_replay.tools.base import Toolbox

__all__ = ["EPILOG", "verify"]

OTHER = 1
EPILOG = (
    "Exit codes: 0 the same shape, 1 another shape, 2 usage or no key, "
    "3 the cassette is missing, unreadable or holds no chat request."
)
_NOT_OPTIONS = frozenset({"model", "tools", "stream", "stream_options", "parallel_tool_calls"})


def verify(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A cassette.", show_default=False)],
    model: Annotated[str | None, typer.Option(help="Another model. Default: the recorded one.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible endpoint, ending in /v1.")
    ] = None,
    env_file: Annotated[Path | None, typer.Option(help="Read keys from this .env file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print both shapes as one JSON.")] = False,
) -> int:
    """Ask the first recorded question once more, live, and compare the tools called, the end and the turns.

    Needs a key: DEEPSEEK_API_KEY or OPENAI_API_KEY. The messages, tools and settings are the recorded
    ones; a tool call is answered with what was recorded for it, so nothing but the model runs. Nothing
    is written. Of text protocols, the tools of this package run.

    Example: react-replay verify cassettes/000-population-ratio.yaml
    """
    from react_replay.backends.live import LiveBackend
    from react_replay.backends.scripted import ScriptedBackend
    from react_replay.cassettes.reading import read_cassette

    cassette = read_cassette(path)
    turns = _first_run(cassette)
    first = turns[0].request
    assert first is not None
    settings = cassette.metadata.get("agent")
    settings = settings if isinstance(settings, Mapping) else {}
    dialect = str(settings.get("dialect") or "native")
    kept = settings.get("max_steps")
    most = kept if type(kept) is int and kept > 0 else max(len(turns), 10)

    replies = [_reply(turn) for turn in turns]
    box = _tools(first, turns, settings, dialect)
    recorded = _run(ScriptedBackend(replies), box, first, dialect, len(turns))
    if recorded.stop_reason == "max_steps":  # the recording was cut, and so is the live run
        most = len(turns)
    asked = model or first.options.get("model")
    live = LiveBackend.from_env(model=str(asked) if asked else None, env_file=env_file)
    if base_url is not None:
        live = LiveBackend(model=live.model, api_key=live.secrets[0], base_url=base_url)
    with live:
        now = _run(live, _tools(first, turns, settings, dialect), first, dialect, most)
    if now.stop_reason == "backend_error" and recorded.stop_reason != "backend_error":
        raise BackendError(f"the live run failed: {now.error}")
    before, after = _shape(recorded), _shape(now)
    if as_json:
        text = json.dumps({"same": before == after, "recorded": before, "live": after}, ensure_ascii=False)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    else:
        _show(before, after)
    return 0 if before == after else OTHER


def _first_run(cassette: Cassette) -> list[Recorded]:
    """The turns of the first question: those whose messages go on from its request."""
    turns = [turn for turn in cassette.recorded if turn.request is not None]
    if not turns:
        raise CassetteError(f"the cassette {cassette.path} holds no chat request", path=str(cassette.path))
    assert turns[0].request is not None
    opening, length = list(turns[0].request.messages), 0
    found: list[Recorded] = []
    for turn in turns:
        assert turn.request is not None
        messages = turn.request.messages
        if found and (len(messages) <= length or list(messages[: len(opening)]) != opening):
            break  # a retry, or another question
        found.append(turn)
        length = len(messages)
    return found


def _reply(turn: Recorded) -> Any:
    try:
        return turn.completion()
    except BackendError as error:
        return error


def _run(backend: Any, box: Toolbox, first: Request, dialect: str, most: int) -> RunResult:
    from react_replay.agent import Agent
    from react_replay.result import Limits

    left_out = _NOT_OPTIONS if dialect == "native" else _NOT_OPTIONS | {"stop"}
    options = {name: value for name, value in first.options.items() if name not in left_out}
    agent = Agent(backend, tools=box, dialect=dialect, options=options, limits=Limits(max_steps=most))
    return agent.resume(list(first.messages))


def _tools(first: Request, turns: Sequence[Recorded], settings: Mapping[str, Any], dialect: str) -> Toolbox:
    from react_replay.cli.run import toolbox
    from react_replay.tools import Toolbox

    if dialect != "native":
        names = settings.get("tools")
        found: Toolbox = toolbox(names if isinstance(names, list) else None, dialect)
        return found
    box = Toolbox()
    results = _results(turns)
    entries = first.options.get("tools")
    for entry in entries if isinstance(entries, list) else ():
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if isinstance(function, Mapping) and function.get("name"):
            schema = function.get("parameters")
            usable = isinstance(schema, Mapping) and schema.get("type") == "object"
            box.register(
                name=str(function["name"]),
                description=str(function.get("description") or ""),
                schema=schema if usable and isinstance(schema, Mapping) else {},
                func=_replayed(str(function["name"]), results),
            )
    return box


def _results(turns: Sequence[Recorded]) -> dict[tuple[str, str], deque[str]]:
    """What each recorded call gave, in order, by tool and arguments."""
    last = turns[-1].request
    messages: Sequence[Message] = last.messages if last is not None else ()
    calls: dict[str, tuple[str, str]] = {}
    found: dict[tuple[str, str], deque[str]] = {}
    for message in messages:
        listed = message.get("tool_calls")
        for call in listed if isinstance(listed, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                calls[str(call.get("id"))] = (str(function.get("name")), _same(function.get("arguments")))
        if message.get("role") == "tool":
            key = calls.get(str(message.get("tool_call_id")), ("", ""))
            found.setdefault(key, deque()).append(str(message.get("content")))
    return found


def _same(arguments: Any) -> str:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return str(arguments)
    return json.dumps(arguments, sort_keys=True, default=str)


def _replayed(name: str, results: Mapping[tuple[str, str], deque[str]]) -> Any:
    def tool(**arguments: Any) -> str:
        kept = results.get((name, _same(arguments)))
        if not kept:
            return f"error: nothing was recorded for {name} with these arguments"
        return kept.popleft() if len(kept) > 1 else kept[0]

    return tool


def _shape(result: RunResult) -> dict[str, Any]:
    return {
        "tools": [seen.call.name for step in result.steps for seen in step.observations],
        "stop_reason": str(result.stop_reason),
        "turns": len(result.steps),
    }


def _show(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    from react_replay.cli.terminal import plain, wrapped

    print("the same shape" if before == after else "another shape")
    for name, was in before.items():
        now = after[name]
        texts = [
            ", ".join(value) or "none" if isinstance(value, list) else str(value) for value in (was, now)
        ]
        said = texts[0] if was == now else f"{texts[0]} (recorded), {texts[1]} (live)"
        for number, line in enumerate(wrapped(plain(said), 64)):
            print(f"  {name if number == 0 else '':<12} {line}")
