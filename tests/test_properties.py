"""Whatever the model says: the loop ends, pairs every id, runs only what was asked, in every shell alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_replay import Completion
from react_replay.dialects import dialect
from react_replay.tools.base import Toolbox
from tests.properties import loop
from tests.properties.loop import DIALECTS, Tools, scripts


@pytest.mark.parametrize("name", DIALECTS)
@given(script=scripts)
@settings(max_examples=60)
def test_the_loop_ends_and_is_honest(name: str, script: list[Any]) -> None:
    """Within its limits, every id paired, only asked-for tools run, no answer but from `answer`."""
    loop.ends_and_is_honest({"dialect": name, "script": script})


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "native"])
@given(script=scripts)
@settings(max_examples=50)
def test_no_history_holds_an_observation_of_the_models_own(name: str, script: list[Any]) -> None:
    """What the model makes up after its action never goes back to it, whatever else it wrote."""
    loop.no_history_holds_an_invented_observation({"dialect": name, "script": script})


@pytest.mark.parametrize("name", DIALECTS)
@given(script=scripts)
@settings(max_examples=30)
def test_the_four_shells_cannot_be_told_apart(name: str, script: list[Any]) -> None:
    """run, arun, stream and astream give the same document."""
    loop.shells_cannot_be_told_apart({"dialect": name, "script": script})


@pytest.mark.parametrize("name", DIALECTS)
@given(script=scripts, streamed=st.booleans())
@settings(max_examples=15)
def test_a_replay_is_the_recording_to_the_byte(name: str, script: list[Any], streamed: bool) -> None:
    """Fake, recorded and replayed runs give the same document; so does the run without a recorder."""
    loop.replay_is_the_recording({"dialect": name, "script": script, "streamed": streamed})


@pytest.mark.parametrize("name", DIALECTS)
@given(text=loop.soup | st.text(), finish=loop.finishes | st.none(), with_tools=st.booleans())
def test_parsing_never_raises(name: str, text: str, finish: str | None, with_tools: bool) -> None:
    """Any text is calls, an answer or a reason; what is kept can be written down."""
    loop.parsing_never_raises({"dialect": name, "text": text, "finish": finish, "tools": with_tools})


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        "Action: " * 20_000,
        "\n" * 100_000,
        "```" * 30_000,
        "(" * 100_000,
    ],
    ids=["brackets", "objects", "labels", "lines", "fences", "parentheses"],
)
def test_deep_and_long_replies_are_read(name: str, text: str) -> None:
    """No `RecursionError` leaves the parser, whatever is nested in what."""
    tools = Toolbox(Tools().all).specs
    for head in ("", "Action: get_weather[", "Action: get_weather\nAction Input: ", "行动输入: "):
        dialect(name).parse(Completion(content=head + text), tools)
