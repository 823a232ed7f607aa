"""What a failing run says: its transcript, and why two results are not equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from react_replay import Agent, RunResult, ScriptedBackend, ToolCall
from react_replay.pytest_plugin.comparing import explain_runs
from react_replay.tools import calculator

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


def answered(text: str, expression: str = "6 * 7") -> RunResult:
    call = ToolCall(name="calculator", arguments={"expression": expression}, id="a")
    return Agent(ScriptedBackend([call, text]), tools=[calculator]).run("What is 6 * 7?")


def test_a_failing_test_shows_its_transcript(recorded: pytest.Pytester, run: Run) -> None:
    """The report has a section with what was asked, called, observed and answered."""
    recorded.makepyfile(
        test_it="def test_asks(react_agent):\n    assert react_agent.run('What is 6 * 7?').answer == '43.'"
    )
    run().stdout.fnmatch_lines(
        [
            "*react_replay transcript*",
            "run 1 of 1: 2 requests",
            "  user       What is 6 [*] 7?",
            '  assistant  calculator({"expression": "6 [*] 7"})',
            "  tool       42",
            "  assistant  42.",
        ]
    )


def test_a_passing_test_shows_none(recorded: pytest.Pytester, run: Run) -> None:
    """Nothing is added to a run that passes."""
    run().stdout.no_fnmatch_line("*transcript*")


def test_a_miss_shows_how_far_the_run_came(recorded: pytest.Pytester, run: Run) -> None:
    """The request that was not recorded is the transcript's last, with the error for an answer."""
    recorded.makepyfile(test_it="def test_asks(react_agent):\n    react_agent.run('What is 7 * 6?')")
    done = run()
    done.stdout.fnmatch_lines(
        ["*transcript*", "  user       What is 7 [*] 6?", "  no answer  CassetteMiss: *"]
    )


@pytest.mark.parametrize(
    "way", ["list(agent.stream('?'))", "asyncio.run(agent.arun('?'))", "asyncio.run(drain())"]
)
def test_every_way_to_run_is_in_the_transcript(project: pytest.Pytester, run: Run, way: str) -> None:
    """Streamed and asynchronous runs are shown as plain ones are."""
    project.makepyfile(
        test_it=f"""
        import asyncio
        from react_replay import Agent
        def test_script(scripted_backend):
            agent = Agent(scripted_backend(["Hello."]))
            async def drain():
                return [event async for event in agent.astream("?")]
            {way}
            assert 0
        """
    )
    run().stdout.fnmatch_lines(["*transcript*", "  user       ?", "  assistant  Hello."])


def test_a_models_control_characters_do_not_reach_the_terminal(project: pytest.Pytester, run: Run) -> None:
    """What a terminal would obey is shown escaped."""
    project.makepyfile(
        test_it=r"""
        from react_replay import Agent
        def test_script(scripted_backend):
            Agent(scripted_backend(["\x1b[31mred \u202e \ud800"])).run("?")
            assert 0
        """
    )
    shown = run().stdout.str()
    assert "\x1b[31mred" not in shown
    assert r"\x1b[31mred \u202e \ud800" in shown


def test_a_long_transcript_is_cut(project: pytest.Pytester, run: Run) -> None:
    """Many messages, long messages and many runs are shortened, and it is said."""
    project.makepyfile(
        test_it="""
        from react_replay import Agent, Limits, ToolCall
        def test_script(scripted_backend):
            backend = scripted_backend(lambda request: [ToolCall(name="x", arguments={"n": "y" * 5000})])
            for number in range(5):
                Agent(backend, limits=Limits(max_steps=40)).run(f"run {number}")
            assert 0
        """
    )
    shown = run().stdout.str()
    assert len(shown) < 100_000
    assert "(2 earlier runs are left out)" in shown
    assert "messages left out" in shown


def test_unequal_results_are_explained(project: pytest.Pytester, run: Run) -> None:
    """`assert result == other` names the fields that differ, the steps by number."""
    project.makepyfile(
        test_it="""
        from react_replay import Agent
        def test_script(scripted_backend):
            one = Agent(scripted_backend(["Hello."])).run("Say hello.")
            assert one == Agent(scripted_backend(["Bye."])).run("Say hello.")
        """
    )
    run().stdout.fnmatch_lines(["*RunResult == RunResult", "*answer: 'Hello.' != 'Bye.'"])


def test_the_explanation_names_every_path() -> None:
    """Fields in their order, each as deep as it can be said."""
    lines = explain_runs(answered("42."), answered("49.", "7 * 7"))
    assert lines is not None
    assert lines[0] == "RunResult == RunResult"
    assert "  answer: '42.' != '49.'" in lines
    assert any("steps[0].observations[0].text: '42' != '49'" in line for line in lines)


def test_long_texts_are_shown_around_their_difference() -> None:
    """Of two long texts one sees where they part, and not their common beginning."""
    lines = explain_runs(answered("a" * 500 + "X" * 90), answered("a" * 500 + "Y" * 90))
    assert lines is not None
    text = "\n".join(lines)
    assert "answer, from character 500:" in text
    assert "a" * 100 not in text


def test_results_that_look_alike_are_told_apart() -> None:
    """Where only the providers' own dicts differ, the explanation says how to compare without them."""
    one = answered("42.")
    step = replace(one.steps[0], completion=replace(one.steps[0].completion, raw={"id": "another"}))
    lines = explain_runs(one, replace(one, steps=(step, *one.steps[1:])))
    if lines is not None and one != replace(one, steps=(step, *one.steps[1:])):
        assert lines[-1].endswith("compare result.to_dict()")


@pytest.mark.parametrize("other", [None, "RunResult", {"answer": "42."}])
def test_other_comparisons_are_left_to_pytest(other: object) -> None:
    """Only two results are explained."""
    assert explain_runs(answered("42."), other) is None
