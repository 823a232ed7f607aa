"""Where a test's cassette stands: never outside its folder, never in another test's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from react_replay.pytest_plugin.naming import LONGEST, named_cassette, safe_name

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


@given(st.text(min_size=1))
@example("..")
@example(".")
@example("a/../../b")
@example("con")
@example("x" * 500)
@example("北" * 200)
@example("a\\ud800")
@example("\ud800")
@example("a.")
def test_a_safe_name_is_one_part_of_a_path(name: str) -> None:
    """Any text gives a short name that every file system takes, and that is no way out of a folder."""
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= LONGEST
    assert not set(safe) & set('<>:"/\\|?*\0\n')
    assert safe not in (".", "..")
    assert not safe.endswith((".", " "))


@given(st.lists(st.text(alphabet="aA/:\\-.é", min_size=1), min_size=2, max_size=2, unique=True))
def test_two_names_are_two_files(names: list[str]) -> None:
    """What differs before stays apart: a name that had to be changed carries a digest."""
    first, second = map(safe_name, names)
    assert first != second


@given(st.text())
def test_a_named_cassette_stays_in_its_folder(name: str) -> None:
    """A marker's name is refused, or is a path below the folder."""
    try:
        path = PurePosixPath(named_cassette(name))
    except pytest.UsageError:
        return
    assert not path.is_absolute()
    assert ".." not in path.parts


@pytest.mark.parametrize(
    ("name", "file"),
    [("a", "a.yaml"), ("a.yaml", "a.yaml"), ("v1.2", "v1.2.yaml"), ("b/a", "b/a.yaml"), ("a.json", "a.json")],
)
def test_a_name_may_have_folders_and_an_ending(name: str, file: str) -> None:
    """`.yaml` is added where no cassette's ending is given."""
    assert named_cassette(name) == file


def test_parametrised_tests_have_readable_files_of_their_own(project: pytest.Pytester, run: Run) -> None:
    """Ids with slashes, colons, Chinese text or 300 characters: each test its own file, in the folder."""
    project.makepyfile(
        test_it="""
        import pytest
        @pytest.mark.parametrize(
            "q", ["plain", "a/b", "a:b", "a::b", "../../x", "北京", "x" * 300, "x" * 301]
        )
        def test_asks(react_agent, q):
            react_agent.run(q)
        class TestMore:
            def test_asks(self, react_agent):
                react_agent.run("?")
        """
    )
    run("--react-record=once").assert_outcomes(passed=9)
    names = sorted(path.name for path in Path("cassettes/test_it").iterdir())
    assert len(names) == 9
    assert {"test_asks[plain].yaml", "TestMore.test_asks.yaml"} <= set(names)
    assert any(name.startswith("test_asks[北京]-") for name in names)
    assert list(Path().rglob("*.yaml")) == list(Path("cassettes/test_it").iterdir())
    run().assert_outcomes(passed=9)
