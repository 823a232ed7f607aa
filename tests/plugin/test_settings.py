"""One order of settings: command line, marker, ini file, default; and what is refused before a run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


def test_the_order_is_command_line_marker_ini_default(pytester: pytest.Pytester) -> None:
    """For each of the three settings, and each of the eight ways to say it or not, the first one wins."""
    from react_replay.pytest_plugin.settings import SETTINGS, resolve

    for name, setting in SETTINGS.items():
        first, second, third = (*setting.choices, *setting.choices)[-3:]
        for option, marker, ini in product((True, False), repeat=3):
            pytester.makeini(f"[pytest]\nreact_{name} = {third if ini else ''}")
            config = pytester.parseconfig(*([f"--react-{name}={first}"] if option else []))
            wanted = first if option else second if marker else third if ini else setting.default
            assert resolve(config, name, {name: second} if marker else {})[0] == wanted


@pytest.mark.parametrize("marker", ["", "@pytest.mark.react_cassette(record='once')\n"])
def test_a_marker_records_one_test(project: pytest.Pytester, run: Run, marker: str) -> None:
    """`record=` of the marker counts for its test where the command line says nothing."""
    project.makepyfile(
        test_it=f"import pytest\n{marker}def test_asks(react_agent):\n    react_agent.run('?')"
    )
    run()
    assert Path("cassettes").exists() == bool(marker)


def test_the_nearest_marker_wins_name_by_name(project: pytest.Pytester, run: Run) -> None:
    """A test's marker adds to its module's."""
    project.makepyfile(
        test_it="""
        import pytest
        pytestmark = pytest.mark.react_cassette("of-the-module", record="once")
        @pytest.mark.react_cassette("of-the-test")
        def test_asks(react_agent):
            react_agent.run("?")
        """
    )
    run().assert_outcomes(passed=1)
    assert [path.name for path in Path("cassettes/test_it").iterdir()] == ["of-the-test.yaml"]


def test_the_header_says_what_is_not_the_default(project: pytest.Pytester, run: Run) -> None:
    """A run that records says so at its top, and from where that comes."""
    run("--react-record=once").stdout.fnmatch_lines(["react_replay: record=once (--react-record)"])
    run().stdout.no_fnmatch_line("react_replay:*")


@pytest.mark.parametrize(
    ("arguments", "ini"), [(["--react-record=once"], ""), ([], "[pytest]\nreact_record = all")]
)
def test_in_ci_nothing_is_recorded(
    project: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], ini: str
) -> None:
    """With CI set, a mode other than `none` is a usage error, wherever it comes from."""
    monkeypatch.setenv("CI", "true")
    project.makeini(ini or "[pytest]")
    done = run(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*CI is set*--react-allow-network*"])
    assert not Path("cassettes").exists()


def test_in_ci_a_marker_that_records_is_refused_before_the_run(
    project: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usage error names the test; `--react-record=none` overrules the marker."""
    monkeypatch.setenv("CI", "1")
    project.makepyfile(
        test_it="import pytest\n@pytest.mark.react_cassette(record='all')\ndef test_a(react_agent): pass"
    )
    done = run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*test_it.py::test_a: *CI is set*"])
    run("--react-record=none").assert_outcomes(errors=1)  # nothing to replay, and nothing recorded


@pytest.mark.parametrize(("ci", "extra"), [("true", "--react-allow-network"), ("false", ""), ("", "")])
def test_what_ci_allows(
    project: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, ci: str, extra: str
) -> None:
    """`--react-allow-network` records in CI; an empty or false CI is none."""
    monkeypatch.setenv("CI", ci)
    run("--react-record=once", *filter(None, [extra])).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("recrod='once'", "*has no argument 'recrod' (did you mean 'record'?)*"),
        ("record='onse'", "*unknown value 'onse' (did you mean 'once'?)*"),
        ("match='body'", "*unknown matcher 'body'*the matchers are: chat*"),
        ("'a', 'b'", "*one positional argument*"),
        ("'../../a'", "*'../../a' leaves the folder*"),
        ("'/etc/a'", "*'/etc/a' leaves the folder*"),
        ("'C:/a'", "*'C:/a' leaves the folder*"),
        ("'a?b'", "*'a?b' is no file's name*"),
        ("7", "*a cassette's name is a text, got 7*"),
    ],
)
def test_a_wrong_marker_is_a_usage_error(project: pytest.Pytester, run: Run, marker: str, said: str) -> None:
    """What a marker cannot mean is refused before the run, with the test's name and the choices."""
    project.makepyfile(
        test_it=f"import pytest\n@pytest.mark.react_cassette({marker})\ndef test_a(react_agent): pass"
    )
    done = run("--react-record=all")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([said])
    assert not Path("cassettes").exists()


def test_tests_that_do_not_run_are_not_judged(project: pytest.Pytester, run: Run) -> None:
    """A wrong marker on a deselected test is no error of this run."""
    project.makepyfile(
        test_it="import pytest\n@pytest.mark.react_cassette(x=1)\ndef test_a(): pass\ndef test_b(): pass"
    )
    run("-k", "test_b").assert_outcomes(passed=1, deselected=1)


def test_a_misspelt_ini_setting_is_a_usage_error(project: pytest.Pytester, run: Run) -> None:
    """The ini file's values are checked before anything runs."""
    project.makeini("[pytest]\nreact_unplayed = warm")
    done = run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*react_unplayed*'warm' (did you mean 'warn'?)*"])


def test_the_help_names_options_and_markers(project: pytest.Pytester, run: Run) -> None:
    """`--help`, `--markers` and `--fixtures` say what the plugin has."""
    shown = run("--help").stdout.str()
    for name in ("record", "drift", "unplayed", "live", "allow-network"):
        assert f"--react-{name}" in shown
    run("--markers").stdout.fnmatch_lines(["@pytest.mark.react_cassette(name=None, record=None*"])
    fixtures = run("--fixtures").stdout.str()
    for name in ("backend", "agent", "cassette_dir", "config"):
        assert f"react_{name}" in fixtures
