"""The pytest plugin: markers, options, fixtures, and what a failing run says. Loaded by pytest itself.

Every test run of an environment pays for what is imported here: pytest, and modules that import nothing
heavier. What the fixtures are made of loads when one is used.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from react_replay.pytest_plugin import settings
from react_replay.pytest_plugin.fixtures import (
    react_agent,
    react_backend,
    react_cassette_dir,
    react_config,
    scripted_backend,
)
from react_replay.pytest_plugin.stash import PASSED, PLAYED, TRANSCRIPTS

__all__ = ["react_agent", "react_backend", "react_cassette_dir", "react_config", "scripted_backend"]

_PROBLEMS = "react_replay_problems"


def pytest_addoption(parser: pytest.Parser) -> None:
    settings.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    settings.register_markers(config)
    for name in settings.SETTINGS:
        settings.resolve(config, name)  # a misspelt ini setting is told before anything runs
    mode, source = settings.resolve(config, "record")
    if refused := settings.may_record(config, mode, source):
        raise pytest.UsageError(refused)


def pytest_report_header(config: pytest.Config) -> str | None:
    """What is not the default, and where it comes from."""
    said = []
    for name, setting in settings.SETTINGS.items():
        value, source = settings.resolve(config, name)
        if value != setting.default:
            said.append(f"{name}={value} ({source})")
    if settings.goes_live(config):
        said.append("live tests run")
    return f"react_replay: {', '.join(said)}" if said else None


@pytest.hookimpl(trylast=True)  # after what is not to run has been taken out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from react_replay.pytest_plugin.collecting import check_tests, skip_live_tests

    skip_live_tests(config, items)
    if not (problems := check_tests(config, items)):
        return
    output = getattr(config, "workeroutput", None)
    if output is None:
        raise pytest.UsageError("\n".join(problems))
    # A worker of xdist: an error here would crash it. It runs nothing, and its controller is told why.
    output[_PROBLEMS] = problems
    items.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """In the controller of xdist: what a worker refused to run is a usage error here as well."""
    if problems := getattr(node, "workeroutput", {}).get(_PROBLEMS):
        raise pytest.UsageError("\n".join(problems))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that has passed is judged by what it left unplayed: it fails as a test, not in its teardown."""
    __tracebackhide__ = True
    outcome = yield
    if (played := item.stash.get(PLAYED, None)) is not None:
        played.judge()
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[PASSED] = call.when == "call" and report.passed
    if report.failed:
        transcripts = item.stash.get(TRANSCRIPTS, [])
        for text in filter(None, map(str, transcripts)):
            report.sections.append(("react_replay transcript", text))
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    if op != "==":
        return None
    from react_replay.pytest_plugin.comparing import explain_runs

    return explain_runs(left, right)
