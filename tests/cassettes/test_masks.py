"""Masks: what they hide, where, and what cannot be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay.cassettes.canonical import Digester
from react_replay.cassettes.masks import MASKED, NO_MASKS, Masks, masks_of
from react_replay.errors import CassetteError, ConfigurationError
from react_replay.messages import Request

DATE = r"\d{4}-\d\d-\d\d"


def call(arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}],
    }


def said(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def same(one: Any, other: Any, *masks: str, **options: Any) -> bool:
    """Whether two messages are one under these masks; both sides are digested afresh."""
    keys = [Digester(masks=Masks(masks)).key(Request([message], options)) for message in (one, other)]
    return keys[0] == keys[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("on 2026-01-02"), said("on 2027-03-04")),
        (said([{"type": "text", "text": "2026-01-02"}]), said([{"type": "text", "text": "2027-03-04"}])),
        (call('{"day": "2026-01-02"}'), call('{"day": "2027-03-04"}')),
        (call('{"days": [{"is": "2026-01-02"}]}'), call('{"days": [{"is": "2027-03-04"}]}')),
        (call("2026-01-02 {"), call("2027-03-04 {")),
    ],
)
def test_a_pattern_hides_what_it_finds_in_texts(one: Any, other: Any) -> None:
    """In a message's text, in the parts of one, and in the texts inside arguments."""
    assert not same(one, other)
    assert same(one, other, DATE)


def test_a_pattern_hides_no_more_than_it_finds() -> None:
    """The words around it are compared."""
    assert not same(said("on 2026-01-02"), said("at 2026-01-02"), DATE)


def test_a_text_is_hidden_by_all_patterns() -> None:
    """Each pattern in its turn."""
    assert Masks([DATE, r"id-\w+"]).text("id-7f on 2026-01-02") == f"{MASKED} on {MASKED}"


@pytest.mark.parametrize(
    ("pointer", "one", "other"),
    [
        ("/messages/0/content", said("a"), said("b")),
        ("/messages/*/content", said("a"), said("b")),
        ("/messages/*/content/*/text", said([{"text": "a"}]), said([{"text": "b"}])),
        (
            "/messages/*/tool_calls/*/function/arguments/id",
            call('{"id": 1, "q": 2}'),
            call('{"id": 3, "q": 2}'),
        ),
        ("/messages/*/tool_calls/0/function/arguments/a~1b", call('{"a/b": 1}'), call('{"a/b": 3}')),
    ],
)
def test_a_pointer_hides_a_place(pointer: str, one: Any, other: Any) -> None:
    """By number or `*`, through arguments that are JSON text, with `~1` for a slash in a name."""
    assert not same(one, other)
    assert same(one, other, pointer)


def test_a_pointer_hides_no_other_place() -> None:
    """`/messages/1/content` says nothing of the first message; a path that leads nowhere hides nothing."""
    for pointer in ("/messages/1/content", "/messages/*/name", "/messages/*/content/x", "/user"):
        assert not same(said("a"), said("b"), pointer)


def test_a_pointer_hides_an_option() -> None:
    """Options by their path: `/metadata/run`."""
    one, other = ({"metadata": {"run": run, "app": "x"}} for run in (1, 2))
    digester = Digester(masks=Masks(["/metadata/run"]))
    assert digester.key(Request([said("a")], one)) == digester.key(Request([said("a")], other))
    assert Digester().key(Request([said("a")], one)) != Digester().key(Request([said("a")], other))


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        (
            "(",
            r"masks\[0\] \('\('\) is no regular expression: .* at position 0; a JSON pointer begins with /",
        ),
        ("a*", "matches the empty text"),
        ("/", "names no field at position 1"),
        ("/messages", "would hide whole messages"),
        ("/messages/0", "would hide whole messages"),
        ("/messages/first/content", "has 'first' at position 10"),
        ("/messages/*/role", "would hide who speaks"),
        ("/metadata/~x", "~ at position 10 must be written ~0"),
        (7, "must be a text, got int"),
    ],
)
def test_what_is_no_mask_is_refused(mask: Any, told: str) -> None:
    """The error names the mask by its place in the list, and the position in it."""
    with pytest.raises(ConfigurationError, match=told):
        Masks([mask])


def test_a_text_is_no_list_of_masks() -> None:
    """`masks="..."` would be a mask for each character."""
    with pytest.raises(ConfigurationError, match="must be a list of texts"):
        Masks(DATE)


def test_a_cassettes_masks_and_those_given_count() -> None:
    """The file's own first, each once; none at all is the same object for all."""
    masks = masks_of(Path("c.yaml"), {"masks": [DATE]}, ["/user", DATE])
    assert masks.sources == (DATE, "/user")
    assert masks_of(Path("c.yaml"), {}, ()) is NO_MASKS


@pytest.mark.parametrize("kept", ["abc", ["("], {"a": 1}, [None]])
def test_masks_of_a_file_that_are_none_name_the_file(kept: Any) -> None:
    """A cassette is a file that anyone may have edited."""
    with pytest.raises(CassetteError, match=r"the cassette c\.yaml keeps masks"):
        masks_of(Path("c.yaml"), {"masks": kept}, ())


def test_a_long_text_is_searched_to_a_bound() -> None:
    """Of a text the first 100,000 characters are searched: a pattern that backtracks stays bounded."""
    text = "x" * 100_000 + "2026-01-02"
    assert Masks([DATE]).text(text) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])}, optional={"content": JSON}
)


@given(
    st.lists(FIELDS, max_size=4),
    st.lists(
        st.sampled_from(["a", r"\d", "/messages/*/content", "/messages/0/content/0/a", "/messages/*/x"])
    ),
)
def test_masks_change_nothing_that_was_given(messages: list[dict[str, Any]], sources: list[str]) -> None:
    """Whatever the messages, masking gives new ones, and masking those again changes nothing."""
    masks = Masks(sources)
    before = repr(messages)
    once = [masks.message(place, message) for place, message in enumerate(messages)]
    assert repr(messages) == before
    if "a" not in sources:  # which is found in the mark itself
        assert [masks.message(place, message) for place, message in enumerate(once)] == once
