"""What the command line, a test's markers and the ini file say, and which of them wins: decided here alone.

Read when pytest starts: nothing of the package but its errors is imported, and nothing is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from react_replay.errors import did_you_mean

__all__ = ["LIVE_MARKER", "MARKER", "SETTINGS", "Setting", "add_options", "goes_live", "marked", "resolve"]

MARKER = "react_cassette"
LIVE_MARKER = "react_live"

_MARKERS = (
    f"{MARKER}(name=None, record=None, match='chat', tolerate=(), masks=(), tools='run', drift=None, "
    "unplayed=None): what react_backend replays in this test, and how; see pytest --fixtures",
    f"{LIVE_MARKER}: talks to a real model; runs only with --react-live",
)
_MATCHERS = ("chat",)
_FALSE = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting with a list of values: `--react-NAME`, `react_NAME` in the ini file, NAME in the marker."""

    name: str
    choices: tuple[str, ...]
    default: str
    help: str

    @property
    def option(self) -> str:
        return f"--react-{self.name}"

    @property
    def ini(self) -> str:
        return f"react_{self.name}"

    def checked(self, value: object, where: str) -> str:
        """`value` if it is a choice; else a `UsageError` that names the place."""
        if value in self.choices:
            return str(value)
        raise pytest.UsageError(
            f"{where}: unknown value {value!r}{did_you_mean(str(value), self.choices)}; "
            f"{self.name} is one of: {', '.join(self.choices)}"
        )


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            name="record",
            choices=("none", "once", "new_episodes", "all", "rekey"),
            default="none",
            help="none: only replay. once: record where there is no cassette. new_episodes: record what a "
            "cassette does not answer. all: record anew. rekey: keep the answers, rewrite the requests.",
        ),
        Setting(
            name="drift",
            choices=("fail", "warn"),
            default="warn",
            help="What a request does that differs from its recording in a tolerated field only.",
        ),
        Setting(
            name="unplayed",
            choices=("fail", "warn", "ignore"),
            default="fail",
            help="What a passing test does that left recorded turns unplayed.",
        ),
    )
}

_MARKER_NAMES = ("name", "match", "tolerate", "masks", "tools", *SETTINGS)


def add_options(parser: pytest.Parser) -> None:
    """Register options and ini settings."""
    group = parser.getgroup("react_replay", "recorded models (react_replay)")
    for setting in SETTINGS.values():
        shown = f"{setting.help} Default: {setting.default}."
        # No default here: an option that was not given must not hide the marker's or the ini file's.
        group.addoption(setting.option, choices=setting.choices, default=None, help=shown)
        parser.addini(setting.ini, shown, type="string", default="")
    live = f"Run the tests marked {LIVE_MARKER}, which talk to a real model."
    group.addoption("--react-live", action="store_true", default=None, help=live)
    parser.addini("react_live", live, type="bool", default=False)
    group.addoption(
        "--react-allow-network",
        action="store_true",
        default=False,
        help="Allow recording where the environment variable CI is set.",
    )


def register_markers(config: pytest.Config) -> None:
    for line in _MARKERS:
        config.addinivalue_line("markers", line)


def goes_live(config: pytest.Config) -> bool:
    """Whether tests marked `react_live` run."""
    return bool(config.getoption("react_live") or config.getini("react_live"))


def resolve(config: pytest.Config, name: str, said: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """The value of a setting and where it comes from: command line, then marker, ini file, default.

    `said` is what `marked` gave for the test. Raises `pytest.UsageError` for an ini value that is none.
    """
    setting = SETTINGS[name]
    if (value := config.getoption(setting.ini)) is not None:
        return str(value), setting.option
    if said and (value := said.get(name)) is not None:
        return str(value), f"the marker {MARKER}"
    if value := config.getini(setting.ini):
        return setting.checked(value, f"the ini setting {setting.ini}"), f"the ini setting {setting.ini}"
    return setting.default, "the default"


def marked(item: pytest.Item) -> dict[str, Any]:
    """What the `react_cassette` markers of a test say; the nearest wins, name by name.

    Raises `pytest.UsageError` for arguments that the marker does not have.
    """
    said: dict[str, Any] = {}
    for mark in item.iter_markers(MARKER):
        given = dict(mark.kwargs)
        if len(mark.args) > 1 or (mark.args and "name" in given):
            raise pytest.UsageError(f"{MARKER} takes one positional argument, the cassette's name")
        if mark.args:
            given["name"] = mark.args[0]
        for name, value in given.items():
            if name not in _MARKER_NAMES:
                raise pytest.UsageError(
                    f"{MARKER} has no argument {name!r}{did_you_mean(name, _MARKER_NAMES)}; "
                    f"it takes: {', '.join(_MARKER_NAMES)}"
                )
            if name in SETTINGS and value is not None:
                SETTINGS[name].checked(value, f"the marker {MARKER}")
            said.setdefault(name, value)
    check_match(said)
    return said


def check_match(said: Mapping[str, Any]) -> None:
    """Refuse a matcher that does not exist."""
    match = said.get("match", "chat")
    if match not in _MATCHERS:
        raise pytest.UsageError(
            f"unknown matcher {match!r}{did_you_mean(str(match), _MATCHERS)}; "
            f"the matchers are: {', '.join(_MATCHERS)}. What else may differ: tolerate=, masks="
        )


def may_record(config: pytest.Config, mode: str, source: str) -> str:
    """The empty string, or why a record mode is refused: in CI only `none` goes without saying."""
    in_ci = os.environ.get("CI", "").strip().lower() not in _FALSE
    if mode == "none" or not in_ci or config.getoption("react_allow_network"):
        return ""
    return (
        f"the record mode is {mode!r} (from {source}), and the environment variable CI is set: record on a "
        "machine of yours and commit the cassettes, replay with --react-record=none, or allow it with "
        "--react-allow-network"
    )
