"""The bracket dialect: `Action: tool[input]`, and the brackets that models write instead."""

from __future__ import annotations

import pytest

from react_replay.dialects import Answer, Malformed, Outcome, ToolCalls, parse
from react_replay.messages import Flag


def read(text: str) -> Outcome:
    return parse("bracket", text)


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("search[华为]", "华为"),
        ("search [ 华为 ]", "华为"),
        ("search(华为)", "华为"),
        ("search（华为）", "华为"),
        ("search【华为】", "华为"),
        ("search［华为］", "华为"),
        ("search[华为］", "华为"),
        ("`search[华为]`", "华为"),
        ("**search[华为]**", "华为"),
        ("search[a [b] c]", "a [b] c"),
        ("search[a［b］c]", "a［b］c"),
        ("search[a)b]", "a)b"),
        ("search[3*(2+1)]", "3*(2+1)"),
        ("search(3*(2+1))", "3*(2+1)"),
        ('search["x"]', '"x"'),
        ("search[two\nlines]", "two\nlines"),
        ('search[{"q": "x]"}]', '{"q": "x]"}'),
        ('search[{"q": 1}, 2]', '{"q": 1}, 2'),
        ("search[]", ""),
    ],
)
def test_the_input_is_what_the_bracket_holds(action: str, value: str) -> None:
    """Any of the brackets, inner pairs and other brackets kept, gives its text."""
    outcome = read(f"Thought: t\nAction: {action}")
    assert isinstance(outcome, ToolCalls)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", value)]
    assert outcome.thought == "t"
    assert outcome.flags == ()


@pytest.mark.parametrize("colon", [":", "：", " : "])
@pytest.mark.parametrize("label", ["Action", "**Action", "action", "Action 1", "行动"])
def test_the_label_may_be_dressed(label: str, colon: str) -> None:
    """Bold, numbered, fullwidth and Chinese labels stand before a bracket too."""
    shut = "**" if label.startswith("**") else ""
    outcome = read(f"{label}{colon}{shut} search[x]")
    assert [call.arguments for call in outcome.calls] == ["x"]


@pytest.mark.parametrize("text", ["Action: search[x", "Action: search[x)", "Action: search（x】"])
def test_a_missing_closer_is_flagged(text: str) -> None:
    """One call on the last line whose bracket does not close is read and flagged."""
    outcome = read(text)
    assert [call.arguments for call in outcome.calls] == ["x"]
    assert outcome.flags == (Flag.REPAIRED,)


def test_a_missing_closer_with_text_behind_is_refused() -> None:
    """Where an open bracket leaves the input's end in doubt nothing runs."""
    outcome = read("Action: search[x\nI will wait.")
    assert isinstance(outcome, Malformed)
    assert "not closed" in outcome.reason


@pytest.mark.parametrize("rest", ["\nI will wait.", " and search[b]", " → result", "]"])
def test_text_behind_the_bracket_is_flagged(rest: str) -> None:
    """What follows the call is dropped from the history and flagged."""
    outcome = read(f"Action: search[a]{rest}")
    assert [call.arguments for call in outcome.calls] == ["a"]
    assert outcome.flags == (Flag.TRAILING_TEXT,)
    assert outcome.kept == "Action: search[a]"


def test_only_the_first_action_runs() -> None:
    """Of several rounds in one reply the first action is taken."""
    outcome = read("Thought 1: t\nAction 1: search[x]\nObservation 1: y\nAction 2: Finish[y]")
    assert [call.arguments for call in outcome.calls] == ["x"]
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Action: Finish[型号 [A] 和 [B] 都好]", "型号 [A] 和 [B] 都好"),
        ("Action: Finish[a\nb\n\nc]", "a\nb\n\nc"),
        ("Action: Finish（42）", "42"),
        ("Action: finish[42]", "42"),
        ("Final Answer: 42", "42"),
        ("最终答案：42", "42"),
    ],
)
def test_finish_and_the_answers_label_answer(text: str, answer: str) -> None:
    """The answer is the text in `Finish[...]`, over lines too, or behind its label."""
    outcome = read(text)
    assert isinstance(outcome, Answer)
    assert outcome.answer == answer
    assert outcome.flags == ()


@pytest.mark.parametrize("text", ["答案是 42", "a\nb"])
def test_an_open_finish_is_an_answer_with_a_flag(text: str) -> None:
    """An answer whose bracket never closes is all that follows, flagged."""
    outcome = read(f"Action: Finish[{text}")
    assert isinstance(outcome, Answer)
    assert outcome.answer == text
    assert outcome.flags == (Flag.REPAIRED,)


@pytest.mark.parametrize("text", ["Action: search\nAction Input: x", "Action: search", "Action: search x"])
def test_an_action_without_brackets_is_asked_for(text: str) -> None:
    """The reason shows the form that was agreed."""
    outcome = read(text)
    assert isinstance(outcome, Malformed)
    assert "tool[input]" in outcome.reason
