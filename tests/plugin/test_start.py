"""What the plugin costs a run that does not use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

HEAVY = ("openai", "vcr", "pydantic", "hypothesis", "typer", "rich", "yaml", "dotenv", "httpx2", "sqlite3")
LOADED = f"""
import sys
def test_nothing():
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    ours = sorted(name for name in sys.modules if name.startswith("react_replay"))
    print("LOADED", loaded, ours)
"""


def test_a_run_without_our_fixtures_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    """Until a fixture is used only the plugin's own light modules are there."""
    pytester.makepyfile(LOADED)
    others = ("anyio", "asyncio", "hypothesispytest", "randomly", "recording", "xdist")
    quiet = [part for name in others for part in ("-p", f"no:{name}")]
    done = pytester.runpytest_subprocess("-s", *quiet)
    done.assert_outcomes(passed=1)
    light = ["", ".errors", ".pytest_plugin"]
    light += [f".pytest_plugin.{name}" for name in ("collecting", "fixtures", "naming", "settings", "stash")]
    done.stdout.fnmatch_lines(
        [f"*LOADED {[]} {[f'react_replay{name}' for name in light]}".replace("[", "[[]")]
    )


def test_importing_the_plugin_needs_pytest_alone() -> None:
    """The plugin's own import adds none of the heavy packages to what pytest loads."""
    code = (
        "import pytest, sys; before = set(sys.modules); import react_replay.pytest_plugin; "
        f"print(*[name for name in {HEAVY!r} if name in sys.modules and name not in before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
