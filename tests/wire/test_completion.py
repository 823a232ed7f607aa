"""The provider's `chat.completion` read into values, and the reading of a call's arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import Agent, BackendError, Completion, ScriptedBackend, ToolCall
from react_replay.messages import Flag, Usage
from react_replay.wire import (
    completion_dict,
    fold,
    read_arguments,
    read_completion,
    read_usage,
    split_completion,
)
from tests.properties import stream


def body(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def test_the_providers_dict_is_kept() -> None:
    """`raw` is the body itself, untouched."""
    raw = body(content="hi") | {"id": "x", "model": "m", "system_fingerprint": "fp"}
    before = json.dumps(raw)
    done = read_completion(raw)
    assert done.raw is raw
    assert json.dumps(raw) == before
    assert (done.id, done.model, done.content) == ("x", "m", "hi")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "no choice"),
        ({"choices": []}, "no choice"),
        ({"choices": None}, "no choice"),
        ({"choices": [None]}, "no choice"),
        ({"error": {"message": "upstream overloaded", "code": 502}}, "upstream overloaded"),
        ({"error": "plain"}, "plain"),
        ([], "list"),
        (None, "NoneType"),
    ],
    ids=repr,
)
def test_what_is_no_completion_is_a_fault_in_the_providers_words(raw: Any, said: str) -> None:
    """A body without a choice raises `BackendError` and quotes what came."""
    with pytest.raises(BackendError, match=said):
        read_completion(raw)


def test_content_parts_are_joined() -> None:
    """Text parts of a content list are the text; other parts are skipped."""
    parts = [{"type": "text", "text": "he"}, {"type": "image"}, {"type": "text", "text": "llo"}]
    assert read_completion(body(content=parts)).content == "hello"


def test_a_legacy_function_call_is_one_call() -> None:
    """`function_call` is read as a call and flagged."""
    done = read_completion(
        body("function_call", content=None, function_call={"name": "f", "arguments": '{"x": 1}'})
    )
    [call] = done.tool_calls
    assert (call.name, call.arguments, call.id) == ("f", {"x": 1}, "")
    assert Flag.LEGACY_CALL in done.flags


@pytest.mark.parametrize("finish", [None, "", 7])
def test_a_missing_finish_reason_is_plain_from_the_reply(finish: Any) -> None:
    """A whole body has ended: with calls it is `tool_calls`, without `stop`."""
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]
    assert read_completion(body(finish, content="x")).finish_reason == "stop"
    assert read_completion(body(finish, tool_calls=calls)).finish_reason == "tool_calls"


@pytest.mark.parametrize("message", [None, 7, {}])
def test_a_choice_without_a_message_is_an_empty_reply(message: Any) -> None:
    """It neither raises nor invents a text."""
    done = read_completion({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (done.content, done.tool_calls) == (None, ())


def test_usage_is_read_in_both_spellings() -> None:
    """Cached and reasoning tokens of OpenAI and of DeepSeek are counted."""
    openai = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    deepseek = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}
    assert read_usage(openai) == Usage(
        prompt_tokens=10, completion_tokens=5, total_tokens=15, cached_tokens=4, reasoning_tokens=3
    )
    assert read_usage(deepseek) == Usage(
        prompt_tokens=10, completion_tokens=5, total_tokens=15, cached_tokens=4
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_odd_usage_counts_as_nothing(raw: Any) -> None:
    """Whatever stands under `usage`, reading it gives counts of at least 0."""
    usage = read_usage(raw)
    assert min(usage.to_dict().values()) >= 0


@given(stream.any_arguments)
def test_reading_arguments_never_raises(raw: Any) -> None:
    """Any value is an object or an error, and its history text is always a JSON object."""
    stream.any_arguments_are_an_object_or_an_error(raw)


@given(stream.argument_objects)
def test_a_json_object_is_read_as_it_is_and_never_completed(given: dict[str, Any]) -> None:
    """A strict JSON object is its own reading, without a flag; a prefix of it is an error."""
    stream.whole_arguments_are_read_and_cut_ones_refused(given)


@pytest.mark.parametrize(
    "text",
    ['{"a": nul', '{"a": t', '{"a": -', '{"a": 1.', '{"a": 1e', '{"a": "\\u4', '{"a": "\\u4e2d', '{"a": "\\'],
)
def test_a_cut_inside_a_value_is_called_a_cut(text: str) -> None:
    """Arguments that break off in a literal, a number or an escape are cut, not just wrong."""
    read = read_arguments(text)
    assert read.cut
    assert "breaks off" in read.error


@pytest.mark.parametrize(
    ("raw", "flag"),
    [
        ('"{\\"x\\": 1}"', Flag.DOUBLE_ENCODED),
        ('{"x": 1}}', Flag.REPAIRED),
        ('```json\n{"x": 1}\n```', Flag.REPAIRED),
        ('json\n{"x": 1}', Flag.REPAIRED),
        ('{}{"x": 1}', Flag.REPAIRED),
    ],
)
def test_what_is_beyond_doubt_is_read_and_flagged(raw: str, flag: str) -> None:
    """Wrapping and stray closers do not hide an object, and never pass silently."""
    read = read_arguments(raw)
    assert (read.value, read.error) == ({"x": 1}, "")
    assert flag in read.flags


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("[1]", "got an array"),
        ("7", "got a number"),
        ("true", "got a boolean"),
        ('"x"', "got a string"),
        ('{"x": NaN}', "NaN"),
        ('{"x": Infinity}', "Infinity"),
        ('{"a": 1}{"b": 2}', "one JSON object"),
        ('{"a": 1} and text', "one JSON object"),
        ("{'a': 1}", "column 2"),
        ('{"a": 1,', "breaks off"),
        ('{"a": "x', "breaks off"),
        ("[" * 9000, ""),
        ('{"a":' + "[" * 9000, ""),
        ('{"a":' + "1" * 5000 + "}", "digits"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_object_is_an_error_that_teaches(raw: str, said: str) -> None:
    """The text for the model says what is wrong and where."""
    read = read_arguments(raw)
    assert read.error
    assert said in read.error
    assert read.text == "{}"


def test_a_completion_survives_its_dict() -> None:
    """A completion without a body gets one that reads back to the same values."""
    whole = Completion(
        content="hm",
        reasoning="so",
        tool_calls=(ToolCall(name="f", arguments={"城市": "北京"}, id="a"),),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=2, completion_tokens=1, total_tokens=3, cached_tokens=1),
    )
    read = read_completion(completion_dict(whole))
    for name in ("content", "reasoning", "tool_calls", "finish_reason", "usage"):
        assert getattr(read, name) == getattr(whole, name)


@pytest.mark.parametrize(
    "reason", ["insufficient_system_resource", "error", "abort", "cancelled", "network_error"]
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_reply_that_the_provider_broke_off_is_no_answer(reason: str, streamed: bool) -> None:
    """DeepSeek's and others' words for an interrupted reply end a run as incomplete, text kept."""
    whole = {"choices": [{"message": {"content": "The answer is"}, "finish_reason": reason}]}
    chunks = [{"choices": [{"delta": {"content": "The answer is"}, "finish_reason": reason}]}]
    result = Agent(ScriptedBackend([chunks if streamed else whole])).run("?")
    assert (result.answer, result.stop_reason, result.partial) == (None, "incomplete", "The answer is")


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        *[(name, name) for name in ("stop", "length", "tool_calls", "function_call", "content_filter")],
        ("eos", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("tool_use", "tool_calls"),
        ("sensitive", "content_filter"),
    ],
)
def test_other_servers_words_for_an_end_are_read(reason: str, read: str) -> None:
    """A finish_reason in another server's words is OpenAI's; the raw body keeps what was said."""
    raw = {"choices": [{"message": {"content": "x"}, "finish_reason": reason}]}
    completion = read_completion(raw)
    assert completion.finish_reason == read
    assert completion.raw["choices"][0]["finish_reason"] == reason


def test_an_unknown_finish_reason_is_flagged() -> None:
    """A reason that nobody documents counts as an end, and is said."""
    result = Agent(
        ScriptedBackend([{"choices": [{"message": {"content": "x"}, "finish_reason": "done!"}]}])
    ).run("?")
    assert (result.answer, result.flags) == ("x", (Flag.UNKNOWN_FINISH,))


def test_a_scripted_completion_that_broke_off_is_incomplete() -> None:
    """A Completion without finish_reason is what its docstring says: a reply that broke off."""
    result = Agent(ScriptedBackend([Completion(content="half", finish_reason=None)])).run("?")
    assert (result.answer, result.stop_reason, result.partial) == (None, "incomplete", "half")


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}, {"type": "text", "text": "m"}]},
    {"type": "text", "text": "42"},
]


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_parts_of_a_content_list_are_reasoning(streamed: bool) -> None:
    """Mistral's content list holds thinking and text; neither is lost, whole or streamed."""
    if streamed:
        completion = fold(
            [
                *({"choices": [{"delta": {"content": [part]}}]} for part in PARTS),
                {"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]},
            ]
        )
    else:
        completion = read_completion({"choices": [{"message": {"content": PARTS}, "finish_reason": "stop"}]})
    assert (completion.content, completion.reasoning) == ("42", "hmm")
    again = fold(split_completion(completion))
    assert (again.content, again.reasoning) == ("42", "hmm")


@given(stream.any_bodies)
def test_reading_a_completion_raises_nothing_but_a_fault(raw: Any) -> None:
    """Any JSON in any place is a consistent completion or a `BackendError`, whole or in chunks."""
    stream.any_body_is_read_or_refused(raw)
