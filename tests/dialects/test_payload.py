"""JSON, fences and brackets by themselves: what is read, where it ends, and the reason where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay.dialects.actions import clean_name, spelled
from react_replay.dialects.payload import (
    Payload,
    bracketed,
    read_json,
    unfenced,
    whole_json,
    without_outer_fence,
)
from react_replay.dialects.scanner import ACTION, ANSWER, INPUT, OBSERVATION, THOUGHT, Label, Scanner
from react_replay.messages import Flag

LABELS = {
    THOUGHT: ("Thought",),
    ACTION: ("Act", "Action"),
    INPUT: ("Action Input",),
    OBSERVATION: ("Observation", "观察"),
    ANSWER: ("Final Answer",),
}


def nested(depth: int, begin: str, end: str) -> str:
    return begin * depth + "1" + end * depth


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a": ', "}"), ('[{"a": ', "}]")])
def test_json_is_read_a_hundred_levels_deep(begin: str, end: str) -> None:
    """Objects, arrays and both of them: what is deeper could not be written again."""
    steps = 100 // (begin.count("[") + begin.count("{"))
    assert whole_json(nested(steps, begin, end)) is not None
    deeper = nested(steps, begin, end).replace("1", "[1]")
    assert whole_json(deeper) is None
    assert read_json(f"x{deeper}y", 1, len(deeper) + 1, strict=True).error == "it is nested too deeply"


@pytest.mark.parametrize("text", ["[" + "[], " * 200 + "{}]", '["' + "[{" * 200 + '"]'])
def test_many_brackets_are_not_deep(text: str) -> None:
    """Brackets side by side, or in a string, are no levels."""
    assert whole_json(text) is not None


def test_only_a_small_payload_is_mended() -> None:
    """Twenty thousand characters at most, counted from where it begins."""
    text = "{'q': '" + "x" * (20_000 - 9) + "'}"
    assert len(text) == 20_000
    assert read_json(text, 0, len(text)).flags == (Flag.REPAIRED,)
    assert read_json("  " + text, 2, len(text) + 2).flags == (Flag.REPAIRED,)
    assert read_json(text + " ", 0, len(text) + 1).error.startswith("Expecting property name")


def test_a_payload_that_is_no_json_says_where() -> None:
    """The reason counts from the input's begin, and nothing is read."""
    text = "ab{x"
    reason = "Expecting property name enclosed in double quotes at character 1 of the input"
    assert read_json(text, 2, 4) == Payload(None, 4, (), reason)


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        ("```\n```", (4, 4, 7)),
        ("```\nx\n```", (4, 5, 9)),
        ("```\r\nx\r\n```", (5, 7, 11)),
        ("~~~\nx", (4, 5, 5)),
        ("```", (3, 3, 3)),
        ("```json", (7, 7, 7)),
        ("```a``` ```b```", (3, 4, 7)),
        ("``` a b ``` c", (4, 7, 11)),
        ("```json{}```", (7, 9, 12)),
        ("```json {}```", (8, 10, 13)),
        ("``x``", None),
        ("x", None),
    ],
)
def test_a_fence_and_what_it_holds(text: str, fence: tuple[int, int, int] | None) -> None:
    """Begin and end of the inside, end of the fence: on its own lines, on one line, and never closed."""
    assert unfenced(text, 0, len(text)) == fence


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (" ```\n x \n``` ", "x"),
        ("```", ""),
        ("```a``` b ```c```", "```a``` b ```c```"),
        ("```\na", "```\na"),
        ("a\n```", "a\n```"),
        (" a ", "a"),
    ],
)
def test_a_fence_round_the_whole(text: str, inside: str) -> None:
    """Only a fence that holds all of a reply is taken off."""
    assert without_outer_fence(text) == inside


@pytest.mark.parametrize(
    ("text", "start", "limit", "lines", "payload"),
    [
        ("[a [b] c] d", 0, 11, False, Payload("a [b] c", 9)),
        ("[ab\ncd", 0, 2, False, Payload("a", 2, (Flag.REPAIRED,))),
        ("[ab]", 0, 3, False, Payload("ab", 3, (Flag.REPAIRED,))),
        ("\n[x\ny", 1, 5, False, Payload("x", 3, (Flag.REPAIRED,), "the bracket is not closed")),
        ("[x\ny\nz", 0, 6, False, Payload("x", 2, (Flag.REPAIRED,), "the bracket is not closed")),
        ("[x\ny\nz", 0, 6, True, Payload("x\ny\nz", 6, (Flag.REPAIRED,))),
        ("[abc)", 0, 5, False, Payload("abc", 5, (Flag.REPAIRED,))),
        ("[abc )`*.", 0, 9, False, Payload("abc", 9, (Flag.REPAIRED,))),
        ("[a)X", 0, 4, False, Payload("a)X", 4, (Flag.REPAIRED,))),
        ("[abX", 0, 4, False, Payload("abX", 4, (Flag.REPAIRED,))),
    ],
)
def test_what_a_bracket_holds(text: str, start: int, limit: int, lines: bool, payload: Payload) -> None:
    """Inner pairs are kept; a bracket that does not close ends on its line, or with the text."""
    assert bracketed(text, start, limit, lines=lines) == payload


@pytest.mark.parametrize(
    ("written", "name", "flags"),
    [
        ("search", "search", []),
        ("search()", "search", []),
        ("`search`:", "search", []),
        (" **search.** ", "search", []),
        ("search<|x|>", "search", [Flag.RENAMED_TOOL]),
        ("search<|a|><|b|>", "search", [Flag.RENAMED_TOOL]),
        ("functions.search", "search", [Flag.RENAMED_TOOL]),
        ("Xsearch", "Xsearch", []),
        ("functions.other", "other", []),
        ("other<|x|>", "other", []),
        ("``", "``", []),
    ],
)
def test_a_tools_name_is_cleaned(written: str, name: str, flags: list[str]) -> None:
    """Decoration goes; a name that became a known one by more than that is flagged."""
    found: list[str] = []
    assert clean_name(written, {"search"}, found) == name
    assert found == flags


def test_values_are_spelled_for_a_person() -> None:
    """A string as it is, anything else as JSON, and nothing for what no JSON can hold."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert [spelled(value) for value in ("x", {"城": 1}, None, deep)] == ["x", '{"城": 1}', "null", ""]


def test_the_scanner_finds_each_label_with_its_place() -> None:
    """Kinds, where the line and the text begin, marks that stay open; the longest spelling first."""
    text = "**Thought: a**\n> Action 1 Input : b\n_Act_:c\nnone: d\n**Final  Answer:** e\n观察：f\nAction: g"
    assert list(Scanner(LABELS).scan(text)) == [
        Label(THOUGHT, 0, 11, "**"),
        Label(INPUT, 15, text.index("b\n")),
        Label(ACTION, text.index("_Act"), text.index("c\n")),
        Label(ANSWER, text.index("**Final"), text.index("e\n")),
        Label(OBSERVATION, text.index("观"), text.index("f\n")),
        Label(ACTION, text.index("Action: g"), text.index("g", text.index("Action: g"))),
    ]
    assert [label.kind for label in Scanner(LABELS).scan("ACTION INPUT: x\nactionı: y")] == [INPUT]
    assert list(Scanner(LABELS).scan(text, text.index("观"))) == list(Scanner(LABELS).scan(text))[-2:]


def test_a_scanner_knows_its_stop_words() -> None:
    """The spellings of an observation, none where the table has none."""
    assert Scanner(LABELS).stop_words == ("Observation", "观察")
    assert Scanner({ACTION: ("Act",)}).stop_words == ()
    assert Scanner({ACTION: ("Act",)}).without_stop_word("a\nObserv") == "a\nObserv"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\nb\nObserv", "a\nb"),
        ("a\nObse", "a"),
        ("a\nObs", "a\nObs"),
        ("a\n **OBSERVATION:** ", "a"),
        ("a\nObservation：", "a"),
        ("a\n观", "a"),
        ("a\n", "a\n"),
        ("Observ", "Observ"),
        ("a\nXObserv", "a\nXObserv"),
        ("a\nObservX", "a\nObservX"),
        ("a\n:Observ", "a\n:Observ"),
        ("Observ\nb", "Observ\nb"),
    ],
)
def test_a_rest_of_a_stop_word_is_taken_off(text: str, rest: str) -> None:
    """At least four letters of it, or one that is no ASCII, alone on the last line."""
    assert Scanner(LABELS).without_stop_word(text) == rest
