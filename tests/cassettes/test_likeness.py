"""Which recorded request is nearest, how messages are aligned, and how a change is shown."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay.cassettes.canonical import Digester
from react_replay.cassettes.likeness import ABSENT, differences, nearest, shared
from react_replay.cassettes.words import clipped, shown_change
from react_replay.messages import Request


def talk(*texts: str, **options: Any) -> Request:
    roles = ["user", "assistant"]
    return Request([{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)], options)


def paths(recorded: Request, now: Request) -> list[str]:
    return [difference.path for difference in differences(recorded, now)]


def test_the_nearest_is_found_by_content_and_not_by_place() -> None:
    """The turn that has the most messages, wherever it stands in the file."""
    turns = [talk("x"), talk("a", "b", "C"), talk("a", "b", "C", "d", "e"), talk("a", "y", "z")]
    assert nearest(talk("a", "b", "c"), turns) == 1
    assert nearest(talk("a", "b", "C", "d", "E"), turns) == 2
    assert nearest(talk("a"), []) is None


def test_options_decide_between_equal_messages() -> None:
    """Of turns with the same messages the one with the same options."""
    assert (
        nearest(talk("a", temperature=1), [talk("a", temperature=0), talk("a", temperature=1, seed=2)]) == 1
    )


def test_words_decide_where_no_message_is_equal() -> None:
    """A one-word edit of a question finds that question among others."""
    turns = [talk("How long is the Nile?"), talk("How high is the Etna?"), talk("Who wrote Faust?")]
    assert nearest(talk("How high is the Fuji?"), turns) == 1


@pytest.mark.parametrize("place", range(6))
def test_a_message_put_in_leaves_those_behind_it_equal(place: int) -> None:
    """One inserted tool message is one difference, and all others are shared."""
    messages = list(talk("a", "b", "c", "d", "e").messages)
    more: dict[str, Any] = {"role": "tool", "tool_call_id": "1", "content": "x"}
    now = Request([*messages[:place], more, *messages[place:]], {})
    [found] = differences(Request(messages, {}), now)
    assert (found.path, found.recorded, found.place) == (f"messages[{place}]", ABSENT, place)
    assert shared(Request(messages, {}), now) == (5, 5, 6)
    [back] = differences(now, Request(messages, {}))
    assert (back.path, back.now) == (f"messages[{place}] of the recording", ABSENT)


def test_a_place_is_that_of_the_request_and_not_of_merged_texts() -> None:
    """Two texts of one role in a row are compared as one; a path behind them counts them as two."""
    two = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    one = [{"role": "user", "content": "a\n\nb"}]
    old, new = ({"role": "assistant", "content": text} for text in "xy")
    assert paths(Request([*one, old], {}), Request([*two, new], {})) == ["messages[2].content"]


def test_what_is_true_is_not_one() -> None:
    """In JSON `true` and `1` are two things."""
    assert paths(talk("a", store=1), talk("a", store=True)) == ["store"]


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d e", ""]), max_size=6)
OPTIONS = st.dictionaries(st.sampled_from(["seed", "n", "user"]), st.sampled_from([0, 1, True, "x", None]))


@given(TEXTS, OPTIONS, TEXTS, OPTIONS)
def test_requests_differ_exactly_where_their_keys_do(
    one: list[str], ours: dict[str, Any], other: list[str], theirs: dict[str, Any]
) -> None:
    """No difference is found where requests match, and at least one where they do not."""
    left, right = talk(*one, **ours), talk(*other, **theirs)
    equal = Digester().key(left) == Digester().key(right)
    assert (paths(left, right) == []) == equal


def test_long_histories_are_compared_in_bounded_time() -> None:
    """Two histories of 2,000 messages without one in common."""
    began = time.perf_counter()
    found = list(differences(talk(*map(str, range(2000))), talk(*map(str, range(5000, 7000)))))
    assert len(found) == 2000
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("recorded", "now", "offset", "shown"),
    [
        ("Be brief.", "Be verbose.", 3, '"Be [-brief-]{+verbose+}."'),
        ("a b c", "a c", 2, '"a [-b -]c"'),
        ("one", "one two", 0, '"[-one-]{+one two+}"'),
        ("长江有多长", "长江有多宽", 4, '"长江有多[-长-]{+宽+}"'),
        ("", "x", 0, '"{+x+}"'),
        ("value 12", "value 13", 6, '"value [-12-]{+13+}"'),
    ],
)
def test_the_changed_words_are_marked(recorded: str, now: str, offset: int, shown: str) -> None:
    """Whole words, ideographs one by one, and where they begin."""
    at, lines = shown_change(recorded, now)
    assert at == offset
    assert lines[-1].endswith(shown)


def test_a_change_in_a_long_text_is_shown_with_its_surroundings() -> None:
    """One word of 100,000 characters: its offset, and some 60 characters on both sides."""
    text = "word " * 20_000
    at, [line] = shown_change(f"{text}old {text}", f"{text}new {text}")
    assert at == len(text)
    assert "[-old-]{+new+}" in line
    assert len(line) < 250


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_change_is_found_in_any_two_texts(recorded: str, now: str) -> None:
    """The offset lies in both; what is shown is short, printable and in one line each."""
    if recorded == now:
        return
    at, lines = shown_change(recorded, now)
    assert at is not None
    assert recorded[:at] == now[:at]
    assert all(len(line) < 1500 and "\n" not in line and "\x1b" not in line for line in lines)


@given(st.recursive(st.text() | st.integers(), st.lists), st.integers(10, 100))
def test_a_value_is_clipped_to_its_measure(value: Any, most: int) -> None:
    """Any value in one line; escapes may make a character six."""
    shown = clipped(value, most)
    assert len(shown) <= most * 6 + 8
    assert shown.splitlines() in ([shown], [])
