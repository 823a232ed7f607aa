"""What an import costs: third-party packages load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import react_replay

HEAVY = ("asyncio", "openai", "vcr", "pydantic", "hypothesis", "typer", "rich", "yaml", "dotenv", "httpx2")


def loaded(code: str) -> list[str]:
    """Which of the heavy packages a fresh interpreter holds after `code`."""
    report = f"import sys\n{code}\nprint(*[n for n in {HEAVY!r} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import react_replay` loads none of openai, vcr, pydantic, hypothesis, typer."""
    assert loaded("import react_replay") == []


def test_the_public_names_import_nothing_heavy() -> None:
    """Not even naming everything in the package loads a third-party package."""
    assert loaded("from react_replay import *") == []


def test_a_scripted_run_without_tools_imports_nothing_heavy() -> None:
    """A scripted run needs the standard library only."""
    code = "from react_replay import *; assert Agent(ScriptedBackend(['x'])).run('?').answer == 'x'"
    assert loaded(code) == []


def test_cassettes_import_nothing_heavy() -> None:
    """Neither the package's names nor its matcher for vcrpy load httpx2 or vcrpy; the transport does."""
    assert loaded("from react_replay import cassettes; cassettes.chat_matcher; dir(cassettes)") == []
    assert loaded("from react_replay.cassettes import cassette_transport") == ["httpx2"]


@pytest.mark.parametrize("name", react_replay.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Each name of `__all__` resolves, and is listed by `dir`."""
    assert getattr(react_replay, name) is not None
    assert name in dir(react_replay)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails as in any module."""
    with pytest.raises(AttributeError, match="Agnet"):
        react_replay.Agnet  # noqa: B018


def test_the_version_is_the_distributions() -> None:
    """`__version__` is looked up when it is asked for."""
    from importlib.metadata import version

    assert react_replay.__version__ == version("react-replay")
