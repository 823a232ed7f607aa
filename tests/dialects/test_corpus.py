"""Replies that broke other agents' parsers, each with what a reader takes from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from react_replay.dialects import Answer, Malformed, ToolCalls, parse

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")
CASES: dict[str, dict[str, Any]] = {}
if FOLDER:
    for line in Path(FOLDER, "agent_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] == "parser":
            CASES[case["id"]] = case
CUT = "p41"
CHECKS: dict[str, dict[str, Any]] = {  # these cases state what is expected in words only
    "p62": {"t": "error"},
    "p64": {"t": "final", "out": "42"},
    "p65": {"t": "action", "tool": "search", "inp": {"q": "x"}},
}


def dialect_of(case: dict[str, Any]) -> str:
    if case["family"] in ("bracket", "zh"):
        return str(case["family"])
    return "native" if case["id"].startswith("m") else "labelled"


def test_the_corpus_is_whole() -> None:
    """The corpus holds its 54 parser cases."""
    assert len(CASES) == 54


@pytest.mark.parametrize("name", CASES)
def test_a_reply_of_the_corpus_is_read_as_a_person_reads_it(name: str) -> None:
    """A reply gives the call or the answer that it means, or is refused with a reason."""
    case = CASES[name]
    outcome = parse(dialect_of(case), case["input"])
    check = case.get("check") or CHECKS[name]
    if check["t"] == "error" or (name == CUT and isinstance(outcome, Malformed)):
        assert isinstance(outcome, Malformed)
        assert outcome.reason
    elif check["t"] == "final":
        assert isinstance(outcome, Answer)
        assert outcome.answer == check["out"]
    else:
        assert isinstance(outcome, ToolCalls)
        assert [(call.name, call.arguments) for call in outcome.calls] == [(check["tool"], check["inp"])]
