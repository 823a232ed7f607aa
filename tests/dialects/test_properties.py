"""What holds for every reply: an outcome and no exception, and the seeds' own reading where they have one."""

from __future__ import annotations

import json
import re
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from react_replay.dialects import parse
from tests.properties import parser
from tests.properties.parser import READERS, TEXT_DIALECTS, line, objects, replies, tool_names


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=100)
@given(reply=replies, finish=parser.finishes, tools=st.booleans())
def test_every_reply_has_one_consistent_outcome(
    reader: str, reply: str, finish: str | None, tools: bool
) -> None:
    """Parsing never raises; each outcome is a call, an answer or a refusal, with fitting fields."""
    parser.one_consistent_outcome({"dialect": reader, "reply": reply, "finish": finish, "tools": tools})


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@settings(max_examples=200)
@given(reply=replies)
def test_what_is_kept_reads_the_same(name: str, reply: str) -> None:
    """A run resumed from the history sees the calls or the answer that it saw in the reply."""
    parser.kept_reads_the_same({"dialect": name, "reply": reply})


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@settings(max_examples=100)
@given(reply=replies)
def test_no_call_has_half_a_payload_and_no_invented_observation(name: str, reply: str) -> None:
    """No free text of a call holds an observation's line, and no history does behind its action."""
    parser.no_invented_observation({"dialect": name, "reply": reply})


@settings(max_examples=200)
@given(written=parser.written)
def test_what_the_prompts_ask_for_is_read_as_written(written: dict[str, Any]) -> None:
    """Thought, name and payload, or the answer, of a well-formed reply are what was meant."""
    parser.reads_what_was_written(written)


@settings(max_examples=20)
@given(shape=parser.shapes)
def test_any_repetition_is_read_in_linear_time(shape: dict[str, str]) -> None:
    """64,000 characters of any pieces, repeated, are read at once."""
    parser.time_grows_with_the_length(shape)


# The seeds' own patterns, on replies that are as well formed as their prompts ask for.


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
