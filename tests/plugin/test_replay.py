"""What the fixtures do: replay, record, keep what must be kept, and fail a test for what it left unplayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]
CASSETTE = Path("cassettes/test_it/test_asks.yaml")

ASKS_OTHERWISE = """
def test_asks(react_agent):
    assert react_agent.run("What is 7 * 6?").answer == "42."
"""
ASKS_AND_FAILS = """
def test_asks(react_agent):
    react_agent.run("What is 7 * 6?")
    assert 0
"""
ASKS_NOTHING = "def test_asks(react_agent): pass"


def test_what_was_recorded_replays_without_a_model(recorded: pytest.Pytester, run: Run) -> None:
    """After one recording the default mode replays: the live model is not even made."""
    recorded.makeconftest(
        "import pytest\n"
        "from react_replay.tools import calculator\n"
        "@pytest.fixture(scope='session')\n"
        "def react_config():\n"
        "    return {'agent': {'tools': [calculator]}, 'live': lambda: 1 / 0}"
    )
    run().assert_outcomes(passed=1)


def test_a_recording_says_which_test_made_it(recorded: pytest.Pytester) -> None:
    """The provenance holds the test's node id."""
    assert 'test_id: "test_it.py::test_asks"' in CASSETTE.read_text("utf-8")


def test_a_missing_cassette_is_an_error_with_the_command_that_records_it(project: object, run: Run) -> None:
    """Mode `none` without a file: one sentence, no traceback through our code, nothing written."""
    done = run()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["there is no cassette at *test_asks.yaml; record it: pytest *=once*"])
    done.stdout.no_fnmatch_line("*Traceback*")
    assert not Path("cassettes").exists()


def test_once_leaves_a_standing_cassette_alone(recorded: pytest.Pytester, run: Run) -> None:
    """Where a file stands `once` replays; another question is a miss, and the file stays to the byte."""
    before = CASSETTE.read_bytes()
    recorded.makepyfile(test_it=ASKS_OTHERWISE)
    done = run("--react-record=once")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*CassetteMiss*"])
    assert CASSETTE.read_bytes() == before


def test_all_records_anew(recorded: pytest.Pytester, run: Run) -> None:
    """`all` replaces the file by what the test asks now."""
    recorded.makepyfile(test_it=ASKS_OTHERWISE)
    run("--react-record=all").assert_outcomes(passed=1)
    assert "6 * 7?" not in CASSETTE.read_text("utf-8")
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["new_episodes", "all"])
def test_a_failing_test_keeps_its_old_cassette(recorded: pytest.Pytester, run: Run, mode: str) -> None:
    """What a failing test recorded does not reach the file; it waits in a journal."""
    before = CASSETTE.read_bytes()
    recorded.makepyfile(test_it=ASKS_AND_FAILS)
    run(f"--react-record={mode}").assert_outcomes(failed=1)
    assert CASSETTE.read_bytes() == before
    assert len(list(CASSETTE.parent.glob("*.journal"))) == 1


@pytest.mark.parametrize("end", ["pytest.skip('enough')", "pytest.xfail('known')"])
def test_a_test_that_did_not_pass_keeps_its_old_cassette(
    recorded: pytest.Pytester, run: Run, end: str
) -> None:
    """A test that was skipped half-way, or failed as expected, replaces nothing either."""
    before = CASSETTE.read_bytes()
    recorded.makepyfile(test_it=f"import pytest\n{ASKS_AND_FAILS.replace('assert 0', end)}")
    run("--react-record=all")
    assert CASSETTE.read_bytes() == before


def test_what_a_failing_test_paid_for_is_not_asked_again(recorded: pytest.Pytester, run: Run) -> None:
    """The mended test replays the journal of the failed one: no request goes live twice."""
    recorded.makepyfile(test_it=ASKS_AND_FAILS)
    run("--react-record=new_episodes").assert_outcomes(failed=1)
    recorded.makepyfile(
        test_it="""
        def test_asks(react_agent, react_backend):
            react_agent.run("What is 7 * 6?")
            assert react_backend.live_calls == 0
        """
    )
    run("--react-record=new_episodes").assert_outcomes(passed=1)


def test_an_unplayed_turn_fails_a_passing_test(recorded: pytest.Pytester, run: Run) -> None:
    """The test itself fails, not its teardown, and is told which turns were left."""
    recorded.makepyfile(test_it=ASKS_NOTHING)
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*2 recorded turns*", "*turn 1,*6 [*] 7?*", "*--react-record=all*"])


def test_unplayed_turns_may_warn(recorded: pytest.Pytester, run: Run) -> None:
    """`--react-unplayed=warn` lets the test pass and says it among the warnings."""
    recorded.makepyfile(test_it=ASKS_NOTHING)
    done = run("--react-unplayed=warn", "-W", "default")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(["*CassetteWarning*2 recorded turns*"])


def test_unplayed_turns_may_be_ignored(recorded: pytest.Pytester, run: Run) -> None:
    """`--react-unplayed=ignore` says nothing."""
    recorded.makepyfile(test_it=ASKS_NOTHING)
    run("--react-unplayed=ignore").assert_outcomes(passed=1, warnings=0)


def test_a_failing_test_is_not_blamed_for_unplayed_turns(recorded: pytest.Pytester, run: Run) -> None:
    """A test that stopped early says why it failed, and nothing of the turns behind."""
    recorded.makepyfile(test_it="def test_asks(react_agent): assert 0")
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.no_fnmatch_line("*recorded turn*")


def test_the_agent_can_be_set_up_otherwise(recorded: pytest.Pytester, run: Run) -> None:
    """`react_agent(...)` is an agent over the same backend with other settings."""
    recorded.makepyfile(
        test_it="""
        from react_replay import Limits
        def test_asks(react_agent):
            result = react_agent(limits=Limits(max_steps=1)).run("What is 6 * 7?")
            assert result.stop_reason == "max_steps"
        """
    )
    run("--react-unplayed=ignore").assert_outcomes(passed=1)


def test_the_event_loop_may_be_the_tests_own(recorded: pytest.Pytester, run: Run) -> None:
    """An asynchronous run replays what a synchronous one recorded."""
    recorded.makepyfile(
        test_it="""
        import asyncio
        def test_asks(react_agent):
            assert asyncio.run(react_agent.arun("What is 6 * 7?")).answer == "42."
        """
    )
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("scope", ["session", "package", "module", "class", "function"])
def test_the_configuration_has_any_scope(recorded: pytest.Pytester, run: Run, scope: str) -> None:
    """`react_config` and `react_cassette_dir` can be overridden in any scope."""
    recorded.makepyfile(
        test_it=f"""
        import pytest
        from react_replay.tools import calculator
        @pytest.fixture(scope="{scope}")
        def react_config():
            return {{"agent": {{"tools": [calculator]}}}}
        @pytest.fixture(scope="{scope}")
        def react_cassette_dir():
            return "elsewhere"
        def test_asks(react_agent):
            assert react_agent.run("What is 6 * 7?").answer == "42."
        """
    )
    Path("elsewhere").mkdir()
    CASSETTE.rename("elsewhere/test_asks.yaml")
    run().assert_outcomes(passed=1)


def test_a_configuration_that_is_not_used_is_not_made(project: pytest.Pytester, run: Run) -> None:
    """Without our fixtures in a test, `react_config` is not evaluated."""
    project.makeconftest(
        "import pytest\n@pytest.fixture(scope='session')\ndef react_config():\n    raise RuntimeError"
    )
    project.makepyfile(test_it="def test_nothing(): pass")
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{'agnet': {}}", "react_config has no setting 'agnet' (did you mean 'agent'?)*"),
        ("['agent']", "react_config must return a dict, got list"),
        ("{'match': 'body'}", "*unknown matcher 'body'*the matchers are: chat*"),
    ],
)
def test_a_wrong_configuration_is_explained(
    project: pytest.Pytester, run: Run, config: str, said: str
) -> None:
    """A misspelt setting is an error of the test that uses it, with the list of settings."""
    project.makeconftest(f"import pytest\n@pytest.fixture\ndef react_config():\n    return {config}")
    done = run()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([said])


def test_a_cassette_that_cannot_be_read_is_said_and_kept(recorded: pytest.Pytester, run: Run) -> None:
    """A broken file is an error of the test, also where it might record, and is not overwritten."""
    CASSETTE.write_bytes(b"\x00\x01 no cassette")
    done = run("--react-record=all")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*test_asks.yaml*"])
    assert CASSETTE.read_bytes() == b"\x00\x01 no cassette"


def test_a_script_is_a_backend(project: pytest.Pytester, run: Run) -> None:
    """`scripted_backend` plays a list of replies and keeps the requests."""
    project.makepyfile(
        test_it="""
        from react_replay import Agent
        def test_script(scripted_backend):
            backend = scripted_backend(["Hello."])
            assert Agent(backend).run("Say hello.").answer == "Hello."
            assert len(backend.requests) == 1
        """
    )
    run().assert_outcomes(passed=1)


LIVE = """
import pytest
@pytest.mark.react_live
def test_asks(react_agent):
    assert react_agent.run("What is 6 * 7?").answer == "42."
"""


def test_live_tests_are_skipped_unless_asked_for(project: pytest.Pytester, run: Run) -> None:
    """A test marked `react_live` is skipped with the option that runs it."""
    project.makepyfile(test_it=LIVE)
    done = run("-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*--react-live*"])


def test_live_tests_talk_to_the_model_and_record_nothing(project: pytest.Pytester, run: Run) -> None:
    """With `--react-live` the backend is the live model; no cassette is looked for or written."""
    project.makepyfile(test_it=LIVE)
    run("--react-live").assert_outcomes(passed=1)
    assert not Path("cassettes").exists()


def test_a_live_test_without_a_key_says_what_to_set(project: pytest.Pytester, run: Run) -> None:
    """Without a model in `react_config` and a key in the environment the error names the variables."""
    project.makeconftest("")
    project.makepyfile(test_it=LIVE)
    done = run("--react-live")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["a live model needs a key*"])
