"""When recording, one test owns one cassette; replaying is safe for any number of workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]
SHARED = """
import pytest
pytestmark = pytest.mark.react_cassette("shared")
def test_one(react_agent):
    assert react_agent.run("What is 6 * 7?").answer == "42."
def test_two(react_agent):
    assert react_agent.run("What is 6 * 7?").answer == "42."
"""
MANY = """
import pytest
@pytest.mark.parametrize("n", range(6))
def test_asks(react_agent, n):
    assert react_agent.run(f"What is 6 * 7? {n}").answer == "42."
"""


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_two_recorders_of_one_cassette_are_a_usage_error(
    project: pytest.Pytester, run: Run, mode: str
) -> None:
    """Refused before the run, with both tests named; nothing is written."""
    project.makepyfile(test_it=SHARED)
    done = run(f"--react-record={mode}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*shared.yaml would be recorded by 2 tests: *test_one, *test_two;*"])
    assert not Path("cassettes").exists()


def test_under_xdist_the_usage_error_is_the_controllers(project: pytest.Pytester) -> None:
    """Workers that find two recorders of one cassette do not crash: the run ends with the sentence."""
    project.makepyfile(test_it=SHARED)
    done = project.runpytest_subprocess("--react-record=all", "-n2", "-p", "no:randomly")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*shared.yaml would be recorded by 2 tests: *test_one, *test_two;*"])
    assert not Path("cassettes").exists()


def test_a_shared_cassette_replays(project: pytest.Pytester, run: Run) -> None:
    """Recorded by one test alone, a cassette is replayed by both, also in mode `once`."""
    project.makepyfile(test_it=SHARED)
    run("--react-record=once", "-k", "test_one").assert_outcomes(passed=1, deselected=1)
    run().assert_outcomes(passed=2)
    run("--react-record=once").assert_outcomes(passed=2)


def test_names_that_differ_in_case_only_are_one_file(project: pytest.Pytester, run: Run) -> None:
    """Where file names ignore case, two such tests would record over each other: refused everywhere."""
    project.makepyfile(test_it="def test_a(react_agent): pass\ndef test_A(react_agent): pass")
    assert run("--react-record=all").ret == pytest.ExitCode.USAGE_ERROR


def test_a_folder_that_brings_two_tests_together_is_told(project: pytest.Pytester, run: Run) -> None:
    """Tests of one name in two modules, sent to one folder: the second fails, the first one's file stays."""
    project.makeconftest(
        project.path.joinpath("conftest.py").read_text()
        + "\n@pytest.fixture\ndef react_cassette_dir(request):\n    return request.config.rootpath / 'all'"
    )
    project.makepyfile(test_more=project.path.joinpath("test_it.py").read_text())
    done = run("--react-record=all")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["*is being recorded by test_it.py::test_asks;*"])


def test_workers_that_meet_in_one_folder_are_told(project: pytest.Pytester) -> None:
    """The same across the processes of xdist: one records, the other is refused."""
    project.makeconftest(
        project.path.joinpath("conftest.py").read_text()
        + "\n@pytest.fixture\ndef react_cassette_dir(request):\n    return request.config.rootpath / 'all'"
    )
    project.makepyfile(test_more=project.path.joinpath("test_it.py").read_text())
    done = project.runpytest_subprocess("--react-record=all", "-n2", "-p", "no:randomly")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["*is being recorded by test_*.py::test_asks;*"])


def test_workers_record_and_replay(project: pytest.Pytester) -> None:
    """Under xdist each test records its own cassette, and all of them replay."""
    project.makepyfile(test_it=MANY)
    project.runpytest_subprocess("-n2", "--react-record=once").assert_outcomes(passed=6)
    assert len(list(Path("cassettes/test_it").iterdir())) == 6
    project.runpytest_subprocess("-n2").assert_outcomes(passed=6)
