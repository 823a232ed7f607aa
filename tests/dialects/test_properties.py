"""What holds for every reply: an outcome and no exception, and the seeds' own reading where they have one."""

from __future__ import annotations

import json
import re
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from react_replay.dialects import Answer, Malformed, Outcome, ToolCalls, dialect, names, parse
from react_replay.dialects.labelled import LabelledDialect
from react_replay.messages import Completion, Flag
from react_replay.wire import dump_arguments

TEXT_DIALECTS = [name for name in names() if name != "native"]
READERS = [
    *(dialect(name) for name in names()),
    LabelledDialect(name="strict", strict=True),
    LabelledDialect(name="strict brackets", strict=True, input="bracket"),
]
FLAGS = {value for name, value in vars(Flag).items() if name.isupper()}

any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates too
PIECES = [
    *("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Observ", "Question:"),
    *(
        "思考：",
        "行动：",
        "行动输入：",
        "观察：",
        "最终答案：",
        "**Action:**",
        "1. Action:",
        "Actıon:",
        "**Action: ",
    ),
    *(
        "**",
        "`",
        "```",
        "```json",
        "````",
        "~~~",
        "> ",
        "- ",
        "[",
        "]",
        "(",
        ")",
        "（",
        "）",
        "【",
        "】",
        "［",
        "］",
    ),
    *("search", "finish", "None", "无", "北京", "42", "x", "{", "}", "｛", '{"q": "x"}', "{'q': 'x'}"),
    *('{"q": 1e999}', "{“q”：“x”}", '"', "'", "“", "”", "\\", ",", ":", "|", "<", ">", "<|", "<｜"),
    *("<think>", "</think>", "<|channel|>", "<|im_end|>", "<tool_call>", "</tool_call>"),
    *('{"name": "search", "arguments": {}}', '{"action": "search", "action_input": {}}', '{"answer": 1}'),
    *("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *("\n", "\n\n", "\r\n", "\r", " ", "\t", "\u3000", "\ud800", "\ufeff", "\u2028"),
]
pieces = st.sampled_from(PIECES)
soup = st.lists(pieces, max_size=30).map("".join)
replies = st.one_of(any_text, soup, st.lists(st.one_of(pieces, any_text), max_size=12).map("".join))


def check_fields(outcome: Outcome, reply: str) -> None:
    """Exactly one of the three, with the fields that go with it and no others."""
    assert type(outcome) in (ToolCalls, Answer, Malformed)
    assert bool(outcome.calls) == isinstance(outcome, ToolCalls)
    assert (outcome.answer is not None) == isinstance(outcome, Answer)
    assert bool(outcome.reason) == isinstance(outcome, Malformed)
    assert set(outcome.flags) <= FLAGS
    assert len(set(outcome.flags)) == len(outcome.flags)
    for call in outcome.calls:
        assert call.name
        assert isinstance(call.arguments, (dict, str))
        if isinstance(call.arguments, dict):
            dump_arguments(call.arguments)
    assert len(outcome.kept) <= len(reply)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@settings(max_examples=100)
@given(reply=replies, finish=st.sampled_from(["stop", "length", None]))
def test_every_reply_has_one_consistent_outcome(reader: Any, reply: str, finish: str | None) -> None:
    """Parsing never raises; each outcome is a call, an answer or a refusal, with fitting fields."""
    completion = Completion(content=reply, finish_reason=finish)
    outcome = reader.parse(completion)
    check_fields(outcome, reply)
    assert outcome == reader.parse(completion)


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@settings(max_examples=200)
@given(reply=replies)
def test_what_is_kept_reads_the_same(name: str, reply: str) -> None:
    """A run resumed from the history sees the calls or the answer that it saw in the reply."""
    outcome = parse(name, reply)
    again = parse(name, outcome.kept)
    assert again.calls == outcome.calls
    assert again.answer == outcome.answer


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@settings(max_examples=100)
@given(reply=replies)
def test_no_call_has_half_a_payload_and_no_invented_observation(name: str, reply: str) -> None:
    """No free text of a call holds an observation's line, and no history does behind its action."""
    outcome = parse(name, reply)
    for call in outcome.calls:
        if isinstance(call.arguments, str) and "```" not in reply and "~~~" not in reply:
            assert not re.search(r"^Observation:", call.arguments, re.M)


# The seeds' own patterns, on replies that are as well formed as their prompts ask for.

line = st.text(
    st.sampled_from("abcdefghij 北京天气如何 0123456789 +-*/.?!，。"), min_size=1, max_size=30
).filter(lambda text: text.strip() == text and not text.startswith(("*", "-", "+", "#", ">", "`", "~")))
tool_names = st.from_regex(r"\A[a-z][a-z0-9_]{0,15}\Z").filter(
    lambda name: not re.match(r"(?:none|null|na|finish|no)\b", name)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@settings(max_examples=100)
@given(thought=line, name=tool_names, given_input=line)
def test_seed_001_reads_its_action_as_we_do(thought: str, name: str, given_input: str) -> None:
    """Seed 001 finds name and input by one pattern; ours are equal."""
    reply = f"思考: {thought}\n行动: {name}\n行动输入: {given_input}"
    theirs = re.search(r"行动:\s*(.*?)\n行动输入:\s*(.*)", reply, re.S)
    assert theirs is not None
    call = parse("zh", reply).calls[0]
    assert (call.name, call.arguments) == (theirs[1].strip(), theirs[2].strip())


@settings(max_examples=100)
@given(thought=line, answer=st.lists(line, min_size=1, max_size=3).map("\n".join))
def test_seed_001_reads_its_answer_as_we_do(thought: str, answer: str) -> None:
    """Seed 001 splits at the answer's label; ours is equal."""
    reply = f"思考: {thought}\n最终答案: {answer}"
    assert parse("zh", reply).answer == reply.partition("最终答案:")[2].strip()


@settings(max_examples=100)
@given(
    thought=line,
    colon=st.sampled_from([":", "：", ": "]),
    name=st.sampled_from(["search", "calculator"]),
    brackets=st.sampled_from(["[]", "【】", "()", "（）"]),
    given_input=line,
)
def test_seed_002_reads_its_action_as_we_do(
    thought: str, colon: str, name: str, brackets: str, given_input: str
) -> None:
    """Seed 002 takes any of its brackets and colons; ours is equal where the input holds none."""
    reply = f"Thought: {thought}\nAction{colon}{name}{brackets[0]}{given_input}{brackets[1]}"
    theirs = re.search(r"Action[:：]\s*(search|calculator)\s*[\[【(（](.*?)[\]】)）]", reply)
    assert theirs is not None
    call = parse("bracket", reply).calls[0]
    assert (call.name, call.arguments) == (theirs[1], theirs[2].strip())


@settings(max_examples=100)
@given(thought=line, name=tool_names, given_input=objects, indent=st.sampled_from([None, 2]))
def test_seed_003_reads_its_action_as_we_do(
    thought: str, name: str, given_input: dict[str, Any], indent: int | None
) -> None:
    """Seed 003 takes the name and a JSON object; ours are equal, and the object is what was written."""
    reply = f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps(given_input, indent=indent)}"
    theirs = re.search(r"Action:\s*(\w+)\s*\nAction Input:\s*(\{.*\})", reply, re.S)
    assert theirs is not None
    outcome = parse("json", reply)
    call = outcome.calls[0]
    assert (call.name, call.arguments) == (theirs[1], json.loads(theirs[2]))
    assert call.arguments == given_input
    assert outcome.thought == thought
    assert outcome.flags == ()


@pytest.mark.parametrize("name", ["json", "bracket", "labelled"])
@settings(max_examples=100)
@given(thought=line, answer=st.lists(line, min_size=1, max_size=3).map("\n".join))
def test_seed_003_reads_its_answer_as_we_do(name: str, thought: str, answer: str) -> None:
    """Seeds 002 and 003 take all behind the answer's label; ours is equal."""
    reply = f"Thought: {thought}\nFinal Answer: {answer}"
    theirs = re.search(r"Final Answer:\s*(.*)", reply, re.S)
    assert theirs is not None
    assert parse(name, reply).answer == theirs[1].strip()
