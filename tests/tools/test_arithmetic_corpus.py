"""The calculator against the corpus of recorded, ordinary and hostile expressions.

The corpus is no part of the repository: `REACT_REPLAY_CORPUS` names its folder.
"""

from __future__ import annotations

import json
import os
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pytest

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate

_FOLDER = os.environ.get("REACT_REPLAY_CORPUS")
_TOLERANCE = Decimal("1e-9")

pytestmark = pytest.mark.skipif(not _FOLDER, reason="REACT_REPLAY_CORPUS does not name a corpus folder")


def _cases() -> list[Any]:
    if not _FOLDER:
        return []
    lines = (Path(_FOLDER) / "calculator_cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(json.loads(line), id=f"line{number}") for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize("case", _cases())
def test_corpus_case(case: dict[str, str]) -> None:
    """A case gives its expected value to nine digits, or is refused where an error is expected."""
    if case["expected"] == "error":
        with pytest.raises(CalculatorError):
            evaluate(case["expression"])
        return
    context = Context(prec=60, Emax=10**6, Emin=-(10**6))
    got, expected = Decimal(evaluate(case["expression"])), Decimal(case["expected"])
    distance = context.abs(context.subtract(got, expected))
    assert distance <= context.multiply(context.abs(expected), _TOLERANCE), case["why"]
