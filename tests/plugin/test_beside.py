"""Beside other plugins: pytest-recording, xdist, randomly, anyio, asyncio, all of them loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]
EVERYTHING = """
import asyncio, urllib.request
import pytest

@pytest.mark.asyncio
async def test_asyncio(react_agent):
    assert (await react_agent.arun("What is 6 * 7?")).answer == "42."

@pytest.mark.anyio
async def test_anyio(react_agent):
    assert (await react_agent.arun("What is 6 * 7?")).answer == "42."

@pytest.mark.vcr
def test_vcr(record_mode):
    assert record_mode == "none"

@pytest.mark.block_network
def test_offline(react_agent):
    assert react_agent.run("What is 6 * 7?").answer == "42."

class TestOfUnittest:
    def test_plain(self, react_agent, vcr_config):
        assert react_agent.run("What is 6 * 7?").answer == "42."
"""


def test_it_works_beside_them_all(project: pytest.Pytester) -> None:
    """One module with tests of every plugin: recorded in random order, replayed by two workers."""
    project.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error")
    project.makeconftest(
        project.path.joinpath("conftest.py").read_text()
        + "\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'"
    )
    project.makepyfile(test_it=EVERYTHING)
    done = project.runpytest_subprocess("--react-record=once", "-p", "randomly", "--randomly-seed=7")
    done.assert_outcomes(passed=5)
    assert len(list(Path("cassettes/test_it").iterdir())) == 4
    project.runpytest_subprocess("-n2").assert_outcomes(passed=5)


def test_both_markers_on_one_test_are_a_usage_error(project: pytest.Pytester) -> None:
    """What one of vcr and react_cassette replays the other would record: refused before the run."""
    project.makepyfile(
        test_it="""
        import pytest
        pytestmark = pytest.mark.vcr
        @pytest.mark.react_cassette
        def test_both(react_agent): pass
        def test_one(): pass
        """
    )
    done = project.runpytest_subprocess()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*test_it.py::test_both: it is marked both vcr and react_cassette*"])


def test_the_plugin_can_be_left_out(project: pytest.Pytester) -> None:
    """`-p no:react_replay` leaves no option and no fixture behind."""
    project.makepyfile(test_it="def test_nothing(): pass")
    project.runpytest_subprocess("-p", "no:react_replay").assert_outcomes(passed=1)
    done = project.runpytest_subprocess("-p", "no:react_replay", "--react-record=once")
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_strict_markers_know_ours(project: pytest.Pytester, run: Run) -> None:
    """The markers are registered, so strict configuration takes them."""
    project.makepyfile(
        test_it="import pytest\n@pytest.mark.react_live\n@pytest.mark.react_cassette\ndef test_a(): pass"
    )
    run("--strict-markers").assert_outcomes(skipped=1)
