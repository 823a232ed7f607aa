"""The READMEs stay true: their Python blocks run, their console blocks print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
READMES = sorted(ROOT.glob("README*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(readme: Path, kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(readme.read_text("utf-8")) if found == kind]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """An empty working folder, with the bundled cassettes under their usual name."""
    before = Path.cwd()
    (tmp_path / "cassettes").symlink_to(ROOT / "cassettes")
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.name)
def test_the_python_blocks_run_in_order(readme: Path, elsewhere: Path) -> None:
    """Every Python block runs, and the tests that a block defines pass."""
    assert blocks(readme, "python")
    for number, body in enumerate(blocks(readme, "python")):
        scope: dict[str, object] = {"__name__": f"readme_{number}"}
        exec(compile(body, f"{readme.name} block {number}", "exec"), scope)
        for name, value in list(scope.items()):
            if name.startswith("test_") and callable(value):
                value()


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.name)
def test_the_console_blocks_print_what_they_say(readme: Path, elsewhere: Path) -> None:
    """A command of a console block exits with 0 and prints the lines below it, stderr first."""
    ran = 0
    for body in blocks(readme, "console"):
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            python = f'"{sys.executable}" -m react_replay'
            done = subprocess.run(
                command.replace("react-replay", python, 1),
                shell=True,
                capture_output=True,
                text=True,
                encoding="utf-8",
                env={**os.environ, "COLUMNS": "80"},
                timeout=60,
                check=True,
            )
            assert done.stderr + done.stdout == expected
            ran += 1
    assert ran


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.name)
def test_the_scripts_that_are_named_exist(readme: Path) -> None:
    """Every `scripts/...` that a README names is there and can be run."""
    named = set(re.findall(r"scripts/[a-z_]+", readme.read_text("utf-8")))
    assert {"scripts/demo", "scripts/test", "scripts/record"} <= named
    assert all(os.access(ROOT / name, os.X_OK) for name in named)
