"""Records the bundled cassettes over real HTTP: from a live model where a key is set, else from replies.

Called by `scripts/record`; arguments name cassettes (`000-population-ratio`), none means all.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import replies

from react_replay import CassetteBackend, LiveBackend, RunFinished
from react_replay.seeds import SEEDS, Question, Seed
from react_replay.serve import serving

FOLDER = Path(__file__).parent.parent / "cassettes"
PORT = 8931  # always the same, so that recording again changes no address in a cassette


@contextlib.contextmanager
def _model(name: str) -> Iterator[tuple[LiveBackend, str]]:
    """The model to record, and what the cassette must say of its origin."""
    if os.environ.get("DEEPSEEK_API_KEY") or os.environ.get("OPENAI_API_KEY"):
        yield LiveBackend.from_env(), "live"
        return
    with serving(replies.backend(name), model=replies.MODEL, port=PORT) as url:
        yield LiveBackend(model=replies.MODEL, api_key="loopback", base_url=url, max_retries=0), "scripted"


def _record(seed: Seed, question: Question) -> str:
    name = f"{seed.number}-{question.slug}"
    with _model(name) as (live, origin):
        agent: dict[str, Any] = {
            "dialect": seed.dialect,
            "tools": list(seed.tools()),
            "max_steps": seed.max_steps,
            "options": dict(seed.options),
        }
        about = {"origin": origin, "question": question.text, "seed": seed.number, "agent": agent}
        path = FOLDER / seed.cassette(question)
        with live, CassetteBackend(path, record="all", live=live, metadata=about) as backend:
            runner = seed.agent(backend)
            events = runner.stream if name in replies.STREAMED else runner.steps
            result = next(e.result for e in events(question.text) if isinstance(e, RunFinished))
    said = result.answer or result.error or result.partial
    if result.answer is None or not all(part in result.answer for part in question.holds):
        raise SystemExit(f"{name}: expected {question.holds}, got {result.stop_reason}: {said}")
    return f"{name}: {len(result.steps)} steps, {origin}: {said}"


def main() -> None:
    wanted = set(sys.argv[1:])
    for seed in SEEDS:
        for question in seed.questions:
            if not wanted or f"{seed.number}-{question.slug}" in wanted:
                print(_record(seed, question))


if __name__ == "__main__":
    main()
