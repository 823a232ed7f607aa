"""What `scripts/fuzz` found once: each file of `regressions` is an input that its property must hold for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.properties import judge, properties

FILES = sorted(Path(__file__).with_name("regressions").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_found_input_stays_mended(path: Path) -> None:
    """The property that an input once broke holds for it."""
    found = json.loads(path.read_text(encoding="utf-8"))
    held = {each.name: each for each in properties(found["target"])}
    judge(held[found["property"]], found["input"])
