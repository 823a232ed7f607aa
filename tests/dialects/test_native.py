"""Native histories that are gone on from: which calls are still open, and how a broken history is mended."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from react_replay import Agent, ScriptedBackend
from react_replay.dialects import dialect

NATIVE = dialect("native")
USER = {"role": "user", "content": "q"}
LOST = "error: this call was not answered"


def asked(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "ping", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def told(identity: str, text: str = "pong") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def mended(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return list(NATIVE.pending(messages).messages)


def test_a_whole_history_stays_as_it_is() -> None:
    """What is in order is not touched."""
    whole = [USER, asked("a", "b"), told("a"), told("b"), {"role": "assistant", "content": "x"}, USER]
    assert mended(*whole) == whole


def test_open_calls_of_the_last_turn_are_run_and_not_answered_for() -> None:
    """A history that stops within a turn is that turn, unfinished."""
    history = [USER, asked("a", "b"), told("a")]
    pending = NATIVE.pending(history)
    assert list(pending.messages) == history
    assert [call.id for call in pending.calls] == ["b"]


def test_an_open_call_in_the_middle_is_answered_with_an_error() -> None:
    """Every id is closed before any other message, in call order."""
    assert mended(USER, asked("a", "b"), told("b"), USER, asked("c")) == [
        USER,
        asked("a", "b"),
        told("a", LOST),
        told("b"),
        USER,
        asked("c"),
    ]


def test_a_result_that_stands_too_far_down_is_moved_up() -> None:
    """A result behind another message goes back to its call."""
    assert mended(asked("a"), USER, told("a"), USER) == [asked("a"), told("a"), USER, USER]


def test_an_id_that_is_used_again_takes_no_other_turns_result() -> None:
    """Results are looked for up to the next turn with calls."""
    history = [asked("a"), USER, asked("a"), told("a", "second"), USER]
    assert mended(*history) == [
        asked("a"),
        told("a", LOST),
        USER,
        asked("a"),
        told("a", "second"),
        USER,
    ]


def test_a_result_of_no_call_is_kept() -> None:
    """Nothing is lost: what answers no call stays where it stood."""
    history = [told("z"), asked("a"), told("a"), told("y"), USER]
    assert mended(*history) == history


def test_a_mended_history_leaves_the_given_one_alone() -> None:
    """`resume` changes a copy."""
    history = [asked("a"), USER]
    Agent(ScriptedBackend(["done"])).resume(history)
    assert history == [asked("a"), USER]


MESSAGES = st.lists(
    st.one_of(
        st.just(USER),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(lambda ids: asked(*ids)),
        st.sampled_from("abcd").map(told),
    ),
    max_size=10,
)


@given(MESSAGES)
def test_every_history_is_closed_and_loses_nothing(history: list[dict[str, Any]]) -> None:
    """Behind each turn but an open last one stand its results, in call order; mending twice is as once."""
    closed = mended(*history)
    for message in history:
        assert closed.count(message) >= history.count(message)
    assert mended(*closed) == closed
    for place, message in enumerate(closed):
        ids = [call["id"] for call in message.get("tool_calls", ())]
        rest = closed[place + 1 :]
        if ids and not all(m["role"] == "tool" for m in rest):
            assert [m.get("tool_call_id") for m in rest[: len(ids)]] == ids
