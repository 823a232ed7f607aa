"""Projects to run the plugin in: a folder, a scripted model to record, and tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml  # noqa: F401

# Inner runs in this process forget what they were the first to import, and yaml cannot be imported twice.
import react_replay.agent
import react_replay.backends.cassette
import react_replay.cassettes.recording  # noqa: F401

CONFTEST = """
import pytest
from react_replay import ScriptedBackend, ToolCall
from react_replay.tools import calculator

def live():
    return ScriptedBackend(lambda request: (
        "42." if request.messages[-1]["role"] == "tool"
        else ToolCall(name="calculator", arguments={"expression": "6 * 7"})
    ))

@pytest.fixture(scope="session")
def react_config():
    return {"agent": {"tools": [calculator]}, "live": live}
"""

ASKS = """
def test_asks(react_agent):
    assert react_agent.run("What is 6 * 7?").answer == "42."
"""


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs our tests, the inner runs are not in CI, and not workers of an outer xdist."""
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a conftest whose live model is scripted, and one test that asks it."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=ASKS)
    return pytester


@pytest.fixture
def run(project: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run pytest in the project, in this process, without the plugins that are tested elsewhere."""

    def run(*arguments: str) -> pytest.RunResult:
        quiet = [f"no:{name}" for name in ("asyncio", "randomly", "recording", "xdist", "hypothesispytest")]
        return project.runpytest_inprocess(*(part for name in quiet for part in ("-p", name)), *arguments)

    return run


@pytest.fixture
def recorded(project: pytest.Pytester, run: Callable[..., pytest.RunResult]) -> pytest.Pytester:
    """The project, its test recorded."""
    run("--react-record=once").assert_outcomes(passed=1)
    return project
