"""`react-replay run`: one question through the agent, live, from a cassette or from a script."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from react_replay.backends.base import ChatBackend
from react_replay.cli.exits import code_of
from react_replay.errors import CassetteError, ConfigurationError, did_you_mean

__all__ = ["run", "toolbox"]


def run(
    question: Annotated[str, typer.Argument(help="The question to answer.", show_default=False)],
    dialect: Annotated[
        str | None,
        typer.Option(help="native, json, bracket or zh. Default: the cassette's, else native."),
    ] = None,
    cassette: Annotated[
        Path | None, typer.Option(help="Replay this cassette, or record into it (see --record).")
    ] = None,
    record: Annotated[
        str,
        typer.Option(
            help="none: only replay. once: record where there is no file. new_episodes: record what the "
            "file does not answer. all: record anew. rekey: keep the answers, rewrite the requests."
        ),
    ] = "none",
    tool_results: Annotated[
        str,
        typer.Option(
            help="run: tools run, and a cassette is compared with what they give. recorded: they do not run, "
            "and their results are the cassette's."
        ),
    ] = "run",
    script: Annotated[
        Path | None, typer.Option(help="Play replies from a JSON file: a list, one entry a reply.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The live model's name.")] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="At most so many model calls. Default: the cassette's, else 10.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="Tools by name, with commas between. Default: the cassette's, else all."),
    ] = None,
    system: Annotated[str | None, typer.Option(help="A system message of your own.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Show text as the model writes it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as one JSON.")] = False,
    env_file: Annotated[Path | None, typer.Option(help="Read keys from this .env file.")] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="How to record: full, or delta for long runs. Default: the file's, else full."),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Replace keys in what is recorded; else they stop it."),
    ] = False,
) -> int:
    """Answer a question; the answer goes to stdout, the steps to stderr.

    Without --cassette or --script the model is live: set DEEPSEEK_API_KEY or OPENAI_API_KEY.

    Example: react-replay run "台北人口除以纽约人口是多少？保留 4 位小数。" --cassette
    cassettes/000-population-ratio.yaml
    """
    from react_replay.agent import Agent
    from react_replay.cli.terminal import StepPrinter, console, notices, plain, summary
    from react_replay.result import Limits

    _check(cassette, record, script, model, env_file, dialect)
    if tool_results != "run" and cassette is None:
        raise ConfigurationError("--tool-results needs --cassette: the recording that holds them")
    if layout is not None and record in ("none", "rekey"):
        raise ConfigurationError("--layout says how to record: it needs --record once, new_episodes or all")
    settings: dict[str, Any] = {
        "dialect": dialect,
        "tools": None if tools is None else [name.strip() for name in tools.split(",") if name.strip()],
        "max_steps": max_steps,
        "system": system,
        "temperature": temperature,
        "options": None,  # what a cassette's agent sent with every request
    }
    how = {"layout": layout, "redact": redact, "tools": tool_results}
    backend, source = _backend(cassette, record, script, model, env_file, settings, how)
    with notices(), backend:
        agent = Agent(
            backend,
            tools=toolbox(settings["tools"], settings["dialect"] or "native"),
            dialect=settings["dialect"] or "native",
            system=settings["system"],
            options=_options(settings),
            limits=Limits(max_steps=10 if settings["max_steps"] is None else settings["max_steps"]),
        )
        events = agent.stream(question) if stream else agent.steps(question)
        printer = StepPrinter(console(), streaming=stream)
        result = printer.watch(events)
    printer.target.print(f"  {summary(result, source())}", style="dim")
    if as_json:
        text = json.dumps(result.to_dict(), ensure_ascii=False, indent=2)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    elif result.answer is not None:
        sys.stdout.write(plain(result.answer) + "\n")
    return code_of(result)


def _check(
    cassette: Path | None,
    record: str,
    script: Path | None,
    model: str | None,
    env_file: Path | None,
    dialect: str | None,
) -> None:
    """Refuse what is misspelt, and options that could have no effect."""
    from react_replay.backends.cassette import record_mode
    from react_replay.dialects import dialect as find_dialect

    mode = record_mode(record)
    if dialect is not None:
        find_dialect(dialect)
    if mode != "none" and cassette is None:
        raise ConfigurationError("--record needs --cassette: the file to record into")
    if mode in ("none", "rekey") and cassette is not None and script is not None:
        raise ConfigurationError(
            "--cassette replays and --script plays: give one of them, or record the script with --record once"
        )
    if env_file is not None and not env_file.is_file():
        raise ConfigurationError(f"there is no env file at {env_file}")
    offline = script is not None or (cassette is not None and mode in ("none", "rekey"))
    for name, value in (("--model", model), ("--env-file", env_file)):
        if offline and value is not None:
            raise ConfigurationError(f"{name} is for a live model, and nothing here is asked of one")


def _backend(
    cassette: Path | None,
    record: str,
    script: Path | None,
    model: str | None,
    env_file: Path | None,
    settings: dict[str, Any],
    how: Mapping[str, Any],
) -> tuple[ChatBackend, Any]:
    """The backend that the options name, and a function that says where its replies came from."""
    if cassette is not None:
        return _cassette(cassette, record, script, model, env_file, settings, how)
    if script is not None:
        return _script(script), lambda: "scripted, 0 network calls"
    from react_replay.backends.live import LiveBackend

    live = LiveBackend.from_env(model=model, env_file=env_file)
    return live, lambda: f"live from {live.model}"


def _cassette(
    path: Path,
    record: str,
    script: Path | None,
    model: str | None,
    env_file: Path | None,
    settings: dict[str, Any],
    how: Mapping[str, Any],
) -> tuple[ChatBackend, Any]:
    from react_replay.backends.cassette import CassetteBackend

    def live() -> ChatBackend:  # made when something must be recorded: what replays needs no key
        from react_replay.backends.live import LiveBackend

        return LiveBackend.from_env(model=model, env_file=env_file)

    asked = live if script is None else _script(script)
    backend = CassetteBackend(path, record=record, live=asked, **how)
    kept = backend.metadata.get("agent")
    for name, value in (kept if isinstance(kept, Mapping) else {}).items():
        if settings.get(name, "") is None:  # a setting of ours that the command line left open
            settings[name] = _kept_setting(path, name, value)
    if settings["tools"] is None and not kept and settings["dialect"] in (None, "native"):
        settings["tools"] = _recorded_tools(backend.offered_tools)
    if settings["tools"] is None:
        settings["tools"] = list(toolbox(None, settings["dialect"] or "native"))
    backend.describe({"agent": {name: value for name, value in settings.items() if value is not None}})

    def source() -> str:
        if not backend.live_calls:
            return "replayed offline, 0 network calls"
        turns = backend.recorded_turns
        asked = f"{backend.live_calls} calls of the model, " if backend.live_calls > turns else ""
        return f"{asked}recorded {turns} turn{'' if turns == 1 else 's'} into {path}"

    return backend, source


_SETTINGS: dict[str, type | tuple[type, ...]] = {
    "dialect": str,
    "tools": list,
    "max_steps": int,
    "system": str,
    "temperature": (int, float),
    "options": Mapping,
}


def _kept_setting(path: Path, name: str, value: Any) -> Any:
    """A setting of the agent that recorded; a cassette is a file that anyone may have edited."""
    wrong = value is not None and not isinstance(value, _SETTINGS[name])
    if wrong or (name == "tools" and not all(isinstance(item, str) for item in value or ())):
        raise CassetteError(
            f"the cassette {path} says agent.{name}: {value!r}, which is no such setting; mend it by hand",
            path=str(path),
        )
    return value


def _recorded_tools(offered: Sequence[str] | None) -> list[str] | None:
    """The tools that a recording offered, where all of them are ours to run."""
    from react_replay.tools import BUILTIN

    if offered is None or not all(name in BUILTIN for name in offered):
        return None
    return list(offered)


def _options(settings: Mapping[str, Any]) -> dict[str, Any]:
    options = settings["options"]
    kept = dict(options) if isinstance(options, Mapping) else {}
    if settings["temperature"] is not None:
        kept["temperature"] = settings["temperature"]
    return kept


def _script(path: Path) -> ChatBackend:
    """A scripted backend from a JSON file: texts, `chat.completion` bodies, lists of chunks or of calls."""
    from react_replay.backends.scripted import ScriptedBackend
    from react_replay.messages import ToolCall

    try:
        replies = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ConfigurationError(f"the script {path} cannot be read: {why}") from error
    if not isinstance(replies, list):
        raise ConfigurationError(f"the script {path} must be a JSON list of replies, one entry each")

    def reply(item: Any) -> Any:
        calls = item if isinstance(item, list) else [item]
        if calls and all(isinstance(c, dict) and "name" in c and "choices" not in c for c in calls):
            return [
                ToolCall(name=c["name"], arguments=c.get("arguments", {}), id=c.get("id", "")) for c in calls
            ]
        return item

    return ScriptedBackend([reply(item) for item in replies])


def toolbox(names: Any, dialect: str) -> Any:
    """The tools of these names; without names those that the dialect's article uses, or all."""
    from react_replay.seeds import SEEDS
    from react_replay.tools import BUILTIN, Toolbox

    article = next((item for item in SEEDS if item.dialect == dialect and dialect != "native"), None)
    own = article.tools() if article else Toolbox()
    available = {**BUILTIN, **own}
    if names is None:
        names = list(own) or [name for name in BUILTIN if name != "calculate"]
    for name in names:
        if name not in available:
            raise ConfigurationError(
                f"unknown tool {name!r}{did_you_mean(name, available)}; the tools are: {', '.join(available)}"
            )
    return Toolbox([available[name] for name in names])
