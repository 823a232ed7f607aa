"""Records cassettes/local-model over real HTTP from a small model: `scripts/record --local`.

It is a weak model, and that is the use of it: it cuts its JSON, forgets formats and never ends. Whatever it
does is kept as it came. A recording that does not replay to the very same result is a fault of ours.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import local_model

from react_replay import CassetteBackend, LiveBackend, RunFinished, RunResult
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import save
from react_replay.seeds import Seed, seed

FOLDER = Path(__file__).parent.parent / "cassettes" / "local-model"
LARGEST = 60_000  # bytes of a cassette


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One recording: a question of an article, and what is asked of the model with it."""

    article: str
    slug: str
    max_tokens: int = 96
    max_steps: int = 3
    streamed: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    reworded: str = ""  # the question in other words, such as in English

    @property
    def seed(self) -> Seed:
        """The article, with few steps of few tokens, and no chance in them unless the run wants some."""
        article = seed(self.article)
        fixed = {"temperature": 0, "max_tokens": self.max_tokens}
        options = {**article.options, **fixed, **self.options}
        return replace(article, max_steps=self.max_steps, options=options)

    @property
    def question(self) -> str:
        asked = next(question for question in self.seed.questions if question.slug == self.slug)
        return self.reworded or asked.text


def _forced(tool: str) -> dict[str, Any]:
    """This server calls a tool in a stream only if it must, and always says `tool_calls` then, cut or not."""
    return {"tool_choice": {"type": "function", "function": {"name": tool}}}


RUNS: dict[str, Run] = {
    "000-answer-cut": Run(article="000", slug="population-ratio", max_tokens=64),
    "000-arguments-cut": Run(
        article="000", slug="population-ratio", max_tokens=128, options=_forced("calculator")
    ),
    # Name, id and a legacy `function_call` come with every piece.
    "000-arguments-cut-streamed": Run(
        article="000",
        slug="population-ratio",
        max_tokens=24,
        max_steps=2,
        streamed=True,
        options=_forced("lookup_fact"),
    ),
    # Left to choose, the server forgets max_tokens: after one step it may go on to the end of its context.
    "004-tool-chosen": Run(article="004", slug="recovery", max_steps=1),
    # ... and a stream it then breaks off before its first event.
    "004-stream-broken": Run(article="004", slug="recovery", streamed=True),
    "001-arithmetic": Run(article="001", slug="arithmetic"),
    "001-weather-streamed": Run(article="001", slug="weather", streamed=True, options={"temperature": 0.4}),
    "002-rivers": Run(
        article="002",
        slug="rivers",
        max_tokens=160,
        options={"temperature": 0.7},
        reworded="How many kilometres longer is the Yangtze than the Yellow River?",
    ),
    "002-heights-streamed": Run(
        article="002", slug="everest-eiffel", streamed=True, options={"temperature": 0.4}
    ),
    "003-weather": Run(article="003", slug="weather"),
    "003-arithmetic-streamed": Run(
        article="003", slug="arithmetic", streamed=True, reworded="Calculate (123 + 456) * 789."
    ),
}


def _record(name: str, run: Run, served: local_model.LocalModel) -> str:
    article = run.seed
    about = {
        "origin": "local-model",
        **({"server": served.server} if served.server else {}),
        "question": run.question,
        "seed": run.article,
        "streamed": run.streamed,
        "agent": {
            "dialect": article.dialect,
            "tools": list(article.tools()),
            "max_steps": article.max_steps,
            "options": dict(article.options),
        },
    }
    path = FOLDER / f"{name}.yaml"
    client = {"provider": "local", "max_retries": 0, "timeout": 300}
    ask = LiveBackend(model=served.model, api_key="local", base_url=served.url, **client)
    with ask as live, CassetteBackend(path, record="all", live=live, metadata=about) as backend:
        result = _run(article, backend, run)
    if result.error:
        raise SystemExit(f"{name}: {result.error}")
    with CassetteBackend(path) as backend:
        if _run(article, backend, run).to_dict() != result.to_dict():
            raise SystemExit(f"{name}: the replay differs from the run that was recorded: a fault of ours")
    # How it ended is known by now; a reader, and the tests, find it at the top of the file.
    read = read_cassette(path)
    ended = {"stop_reason": str(result.stop_reason), "steps": len(result.steps)}
    save(path, read.interactions, {**read.metadata, "ended": ended})
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{name}: {size} bytes; ask for fewer steps or tokens")
    return f"{name}: {len(result.steps)} steps, {result.stop_reason}, {size} bytes, {', '.join(result.flags)}"


def _run(article: Seed, backend: CassetteBackend, run: Run) -> RunResult:
    agent = article.agent(backend)
    events = agent.stream if run.streamed else agent.steps
    return next(event.result for event in events(run.question) if isinstance(event, RunFinished))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/record", description=__doc__)
    parser.add_argument("--local", action="store_true", required=True, help="record a local model")
    parser.add_argument("--url", help="an OpenAI-compatible endpoint that runs already, such as .../v1")
    parser.add_argument("--model", help="the model's name there; default: the first that it lists")
    parser.add_argument("names", nargs="*", help=f"recordings; none means all: {', '.join(RUNS)}")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(RUNS):
        parser.error(f"no such recording: {', '.join(sorted(unknown))}; there are: {', '.join(RUNS)}")
    endpoint = (
        contextlib.nullcontext(local_model.at(asked.url.rstrip("/"), model=asked.model))
        if asked.url
        else local_model.running()
    )
    with endpoint as served:
        for name in asked.names or RUNS:
            print(_record(name, RUNS[name], served), flush=True)


if __name__ == "__main__":
    main()
