"""The wire's own spelling, to the letter: what we write for a completion, a chunk and an error."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay import BackendError, Completion, ToolCall
from react_replay.messages import Flag, Usage
from react_replay.wire import (
    StreamFold,
    completion_dict,
    decode_events,
    encode_event,
    excerpt,
    fold,
    read_arguments,
    read_completion,
    split_completion,
)
from tests.properties.stream import chunk, decoded, piece

FUNCTION = {"name": "ping", "arguments": '{"x": 1}'}
WHOLE: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "0123456789abcdefg",
                "reasoning_content": "so",
                "refusal": "no",
                "tool_calls": [{"id": "a", "type": "function", "function": FUNCTION}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def chunks_of(message: dict[str, Any], finish: str = "stop") -> list[Any]:
    """The deltas and finish reasons that a body of this message is split into."""
    raw = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    parts = [part["choices"][0] for part in split_completion(read_completion(raw))]
    return [(part["delta"], part["finish_reason"]) for part in parts]


# --- Events --------------------------------------------------------------------------------------


def test_an_event_is_compact_and_unescaped() -> None:
    """No blanks between, no escapes of other scripts, and a lone surrogate is a question mark."""
    assert encode_event({"a": "北\ud800", "b": [1, 2]}) == 'data: {"a":"北?","b":[1,2]}\n\n'.encode()
    assert encode_event(None) == b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data:x\n\n", ["x"]),
        (b"data:  x\n\n", [" x"]),
        (b"data: x\r\ndata: y\r\n\r\n", ["x\ny"]),
        (b"data: x\rdata: y\r\r", ["x\ny"]),
        (b"data: x\n\ndata: y", ["x", "y"]),
        (b"data: x\xe4", ["x\ufffd"]),
        (b"\ndata\ndatum: x\n\n", []),
    ],
)
def test_events_are_read_by_the_letter(body: bytes, events: list[str]) -> None:
    """One blank after the colon is dropped, a line's end is any of three, the last event may be open."""
    assert decoded([body]) == events


def test_a_crlf_cut_in_two_loses_no_character() -> None:
    """The line feed that ends a CRLF is dropped from the next piece, and nothing else is."""
    assert decoded([b"data: x\r", b"\ndata: y\r\n\r\n"]) == ["x\ny"]
    assert decoded([b"data: x\r", b"data: y\r\r"]) == ["x\ny"]


@pytest.mark.parametrize(
    ("body", "chunks"),
    [
        (b'data: {"a": 1}', [{"a": 1}]),
        (b'data: {"a": 1}\n\ndata: [DONE]', [{"a": 1}]),
        (b"data:  [DONE] \n\ndata: garbage\n\n", []),
    ],
)
def test_a_body_may_end_in_the_middle_of_its_last_line(body: bytes, chunks: list[Any]) -> None:
    """A last event or `[DONE]` without its line's end counts."""
    assert list(decode_events([body])) == chunks


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{" + "x" * 200, "the stream holds an event that is no JSON: '{" + "x" * 119 + "'"),
        ('"' + "é" * 200 + '"', "the stream holds an event that is no object: '\"" + "\\xe9" * 119 + "'"),
    ],
)
def test_what_is_no_chunk_is_shown_cut_and_escaped(data: str, said: str) -> None:
    """120 characters of an event that cannot be read stand in the error."""
    with pytest.raises(BackendError) as caught:
        list(decode_events([f"data: {data}\n\n".encode()]))
    assert str(caught.value) == said


# --- Splitting and folding -----------------------------------------------------------------------


def test_a_completion_is_split_into_these_chunks() -> None:
    """The head in every chunk, 16 characters of text in each, calls whole, finish and usage last."""
    head = {"id": "chatcmpl-1", "created": 7, "model": "m", "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None},
        {"reasoning_content": "so"},
        {"refusal": "no"},
        {"content": "0123456789abcdef"},
        {"content": "g"},
        {"tool_calls": [{"id": "a", "type": "function", "function": FUNCTION, "index": 0}]},
    ]
    expected = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    expected.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    expected.append({**head, "choices": [], "usage": WHOLE["usage"]})
    assert list(split_completion(read_completion(WHOLE))) == expected


def test_folding_the_chunks_gives_the_body_back() -> None:
    """The folded dict is the one that was split, to the last field."""
    folding = StreamFold()
    said = [folding.add(part) for part in split_completion(read_completion(WHOLE))]
    assert folding.to_dict() == WHOLE
    assert "".join(said) == folding.text == "0123456789abcdefg"


def test_text_in_parts_is_streamed_as_text() -> None:
    """Content, reasoning and refusal that came as lists of parts are text in a stream."""
    message = {
        "content": [{"type": "text", "text": "c"}],
        "reasoning": [{"text": "r"}],
        "refusal": ["n", "o"],
    }
    start = ({"role": "assistant", "content": None}, None)
    texts: list[Any] = [({"reasoning": "r"}, None), ({"refusal": "no"}, None), ({"content": "c"}, None)]
    assert chunks_of(message) == [start, *texts, ({}, "stop")]


def test_empty_text_is_streamed_as_such() -> None:
    """An empty content is one empty piece, and no content is none."""
    start = ({"role": "assistant", "content": None}, None)
    assert chunks_of({"content": ""}) == [start, ({"content": ""}, None), ({}, "stop")]
    assert chunks_of({"content": None}) == [start, ({}, "stop")]


def test_odd_calls_are_streamed_as_odd_as_they_are() -> None:
    """An entry that is no object is a call without a name; a legacy call is passed on."""
    start = ({"role": "assistant", "content": None}, None)
    nameless = ({"tool_calls": [{"function": {"name": ""}, "index": 0}]}, None)
    assert chunks_of({"tool_calls": [7]}, "tool_calls") == [start, nameless, ({}, "tool_calls")]
    legacy = ({"function_call": FUNCTION}, None)
    assert chunks_of({"function_call": FUNCTION}, "function_call") == [start, legacy, ({}, "function_call")]


def test_the_head_of_a_stream_is_that_of_its_first_chunks() -> None:
    """Id, time, model, fingerprint and tier are taken where they first stand."""
    names = ("id", "created", "model", "system_fingerprint", "service_tier")
    folding = StreamFold()
    folding.add(dict.fromkeys(names))
    folding.add({name: f"first {name}" for name in names})
    folding.add({name: f"second {name}" for name in names})
    folded = folding.to_dict()
    assert {name: folded[name] for name in names} == {name: f"first {name}" for name in names}


def test_an_empty_stream_folds_to_an_empty_body() -> None:
    """No chunk, no field but those that every body has."""
    message = {"role": "assistant", "content": None}
    assert StreamFold().to_dict() == {
        "id": "",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": None}],
    }


def test_a_streamed_legacy_call_is_joined() -> None:
    """Name and arguments of a `function_call` may come in pieces."""
    done = fold(
        [
            chunk(function_call={"name": "pi"}),
            chunk(function_call={"name": "ng", "arguments": '{"x"'}),
            chunk(function_call={"arguments": ": 1}"}),
            chunk("function_call"),
        ]
    )
    assert [(call.name, call.arguments) for call in done.tool_calls] == [("ping", {"x": 1})]
    assert done.raw["choices"][0]["message"]["function_call"] == {"name": "ping", "arguments": '{"x": 1}'}


def test_arguments_that_are_no_text_are_kept_as_json() -> None:
    """A server that streams an object instead of its text loses nothing."""
    done = fold([piece(0, "a", name="f", arguments={"城市": "北京"}), chunk("tool_calls")])
    function = done.raw["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function == {"name": "f", "arguments": '{"城市": "北京"}'}


def test_what_json_cannot_hold_is_kept_in_words() -> None:
    """Arguments of a backend's own making lose nothing unseen, and those too deep give the call an error."""

    def arguments(given: Any) -> Any:
        done = fold([piece(0, "a", name="f", arguments=given), chunk("tool_calls")])
        return done.raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert arguments({"x": {1}}) == '{"x": "{1}"}'
    assert arguments(deep) == "[nested too deeply]"


def test_an_id_may_come_late_and_a_name_again() -> None:
    """A call opened without an id takes the next one; a whole name after its pieces adds nothing."""
    pieces = [piece(0, name="pi"), piece(0, "a", name="ng"), piece(0, name="ping", arguments="{}")]
    done = fold([*pieces, chunk("tool_calls")])
    assert [(call.id, call.name) for call in done.tool_calls] == [("a", "ping")]
    nameless = fold([piece(0, name="f", arguments="{}"), chunk("tool_calls")])
    assert nameless.raw["choices"][0]["message"]["tool_calls"][0]["id"] == ""


def test_one_character_a_chunk_is_one_chunk() -> None:
    """A text of one character is not followed by an empty piece."""
    parts = list(split_completion(Completion(content="x", finish_reason="stop"), size=1))
    assert [part["choices"][0]["delta"] for part in parts[1:-1]] == [{"content": "x"}]


def test_the_message_of_a_chunk_stands_in_for_its_delta() -> None:
    """Some servers send `message` in place of `delta`; an empty delta is a delta."""
    said = {"content": "x"}
    assert fold([{"choices": [{"message": said, "finish_reason": "stop"}]}]).content == "x"
    both = {"choices": [{"delta": {}, "message": said, "finish_reason": "stop"}]}
    assert fold([both]).content is None


# --- Whole bodies --------------------------------------------------------------------------------


def test_a_body_is_read_field_by_field() -> None:
    """Every field of a completion comes from its place in the body."""
    assert read_completion(WHOLE) == Completion(
        content="0123456789abcdefg",
        tool_calls=(ToolCall(name="ping", arguments={"x": 1}, id="a", written='{"x": 1}'),),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        model="m",
        id="chatcmpl-1",
        reasoning="so",
        refusal="no",
        flags=(),
        raw=WHOLE,
    )


def test_a_completion_without_a_body_gets_this_one() -> None:
    """A scripted completion is spelled as a provider would."""
    made = Completion(
        content="hm",
        reasoning="so",
        refusal="no",
        tool_calls=(
            ToolCall(name="f", arguments={"城": 1}, id="a"),
            ToolCall(name="g", arguments="x", id="b"),
        ),
        finish_reason="tool_calls",
        model="m",
        id="i",
        usage=Usage(
            prompt_tokens=3, completion_tokens=2, total_tokens=5, cached_tokens=1, reasoning_tokens=4
        ),
    )
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"城": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "x"}},
    ]
    message = {
        "role": "assistant",
        "content": "hm",
        "reasoning_content": "so",
        "refusal": "no",
        "tool_calls": calls,
    }
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    assert completion_dict(made) == {
        "id": "i",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": usage,
    }


def test_a_bare_completion_has_a_bare_body() -> None:
    """What is not there is left out."""
    assert completion_dict(Completion(content="x", finish_reason="stop", usage=Usage(total_tokens=1))) == {
        "id": "",
        "object": "chat.completion",
        "created": 0,
        "model": "",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 1},
    }
    assert "usage" not in completion_dict(Completion(content="x"))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "the provider sent list, not a chat.completion object"),
        (
            {"error": {"message": "m" * 600, "code": 502}},
            f"the provider answered with an error (code 502): {'m' * 500}",
        ),
        ({"error": {"message": "m"}}, "the provider answered with an error: m"),
        (
            {"error": {}, "choices": 7},
            "the provider's answer holds no choice: \"{'error': {}, 'choices': 7}\"",
        ),
        ({"error": "plain"}, "the provider answered with an error: plain"),
        ({"x": "y" * 300}, f"the provider's answer holds no choice: \"{{'x': '{'y' * 193}...\""),
    ],
)
def test_faults_are_told_in_these_words(raw: Any, said: str) -> None:
    """An error of the provider's is quoted, with its code where there is one, and cut."""
    with pytest.raises(BackendError) as caught:
        read_completion(raw)
    assert str(caught.value) == said


def body(finish: Any, *entries: Any, **message: Any) -> Completion:
    if entries:
        message["tool_calls"] = list(entries)
    return read_completion({"choices": [{"message": message, "finish_reason": finish}]})


@pytest.mark.parametrize(
    ("finish", "called", "flags"),
    [
        ("stop", False, ()),
        ("stop", True, (Flag.LYING_FINISH,)),
        ("tool_calls", True, ()),
        ("tool_calls", False, (Flag.LYING_FINISH,)),
        ("function_call", True, ()),
        ("function_call", False, (Flag.LYING_FINISH,)),
        ("length", True, (Flag.TRUNCATED,)),
        ("eos", True, (Flag.LYING_FINISH,)),
        ("done!", True, (Flag.UNKNOWN_FINISH,)),
        ("", True, ()),
    ],
)
def test_a_finish_reason_is_compared_with_the_reply(
    finish: str, called: bool, flags: tuple[str, ...]
) -> None:
    """Where it says stop or calls and the reply says otherwise, that is flagged; an unknown one is too."""
    entries = [{"id": "a", "function": FUNCTION}] if called else []
    assert body(finish, *entries).flags == flags


def test_only_the_last_call_of_a_cut_reply_can_be_cut() -> None:
    """Empty arguments are none in an earlier call, and unknown in the last one."""
    empty = {"name": "f", "arguments": " "}
    done = body("length", {"id": "a", "function": empty}, {"id": "b", "function": empty})
    assert [call.error for call in done.tool_calls] == [
        "",
        "the reply was cut before the arguments of this call",
    ]
    assert done.flags == (Flag.TRUNCATED,)
    missing = body("length", {"id": "a", "function": {"name": "f"}})
    assert missing.tool_calls[0].error == "the reply was cut before the arguments of this call"
    assert missing.flags == (Flag.TRUNCATED,)
    for given in ('{"x": 1}', {"x": 1}):
        whole = body("length", {"id": "a", "function": {"name": "f", "arguments": given}})
        assert [(call.error, call.arguments) for call in whole.tool_calls] == [("", {"x": 1})]


def test_a_call_without_a_name_says_so() -> None:
    """A missing, empty or odd name is an error of its own, unless the arguments have one."""
    for name in (None, "", "  ", 7):
        done = body("tool_calls", {"id": "a", "function": {"name": name, "arguments": "{}"}})
        assert [(call.name, call.error) for call in done.tool_calls] == [("", "the call names no tool")]
    done = body("tool_calls", {"id": "a", "function": {"name": "", "arguments": "[1]"}})
    assert done.tool_calls[0].error == "arguments must be a JSON object, got an array"


def test_a_call_without_its_wrapper_is_read() -> None:
    """Name and arguments may stand in the entry itself; what is no entry is a call without a name."""
    done = body("tool_calls", {"id": "a", "name": "f", "arguments": "{}"}, 7)
    assert [(call.id, call.name) for call in done.tool_calls] == [("a", "f"), ("", "")]


def test_tool_calls_take_the_place_of_a_legacy_call() -> None:
    """A legacy call counts where there are no others, and is flagged."""
    entry = {"id": "a", "function": {"name": "g", "arguments": "{}"}}
    assert [call.name for call in body("tool_calls", entry, function_call=FUNCTION).tool_calls] == ["g"]
    legacy = body("function_call", function_call=FUNCTION)
    assert [call.name for call in legacy.tool_calls] == ["ping"]
    assert legacy.flags == (Flag.LEGACY_CALL,)


# --- Arguments -----------------------------------------------------------------------------------


def test_an_excerpt_is_escaped_and_cut() -> None:
    """120 characters, or as many as asked for, and three dots behind what was cut."""
    assert excerpt("é\n") == "'\\xe9\\n'"
    assert excerpt("x" * 120) == f"'{'x' * 120}'"
    assert excerpt("x" * 121) == f"'{'x' * 120}...'"
    assert excerpt("abc", 2) == "'ab...'"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("[1]", "arguments must be a JSON object, got an array"),
        ("7", "arguments must be a JSON object, got a number"),
        ("true", "arguments must be a JSON object, got a boolean"),
        ('"x"', "arguments must be a JSON object, got a string"),
        (7, "arguments must be a JSON object, got a number"),
        ([], "arguments must be a JSON object, got an array"),
        ({1, 2}, "arguments must be a JSON object, got set"),
        (
            '{"a": 1} and {',
            "arguments must be one JSON object; after it stands 'and {' at character 8",
        ),
        (
            '{"a": 1,\n b}',
            "arguments are not valid JSON: Expecting property name enclosed in double quotes "
            "at line 2 column 2 (character 10) of '{\"a\": 1,\\n b}'",
        ),
        (
            '{"a": "x',
            "arguments are not valid JSON: the JSON breaks off at line 1 column 7 (character 6) "
            'of \'{"a": "x\'',
        ),
        ('{"a": NaN}', "arguments are not valid JSON: NaN is no JSON number"),
        ('{"a": 1}X', "arguments must be one JSON object; after it stands 'X' at character 8"),
        ('json {"a": 1}```', "arguments must be one JSON object; after it stands '```' at character 8"),
        (
            '{"a": 1}' + "x" * 100,
            f"arguments must be one JSON object; after it stands '{'x' * 60}...' at character 8",
        ),
        (
            {"a": {1}},
            "arguments are not a JSON object: TypeError: Object of type set is not JSON serializable",
        ),
        ('{"a":' * 100_000, "arguments are nested too deeply to read"),
    ],
    ids=range(16),
)
def test_arguments_are_refused_in_these_words(raw: Any, said: str) -> None:
    """The model learns what was expected, where it went wrong and how the text looked there."""
    read = read_arguments(raw)
    assert (read.error, read.value, read.text) == (said, {}, "{}")
    assert read.cut == ("breaks off" in said)


@pytest.mark.parametrize(
    ("raw", "value", "text", "flags"),
    [
        (None, {}, "{}", ()),
        ("", {}, "{}", ()),
        (" null ", {}, "{}", ()),
        ('""', {}, "{}", ()),
        ("None", {}, "{}", ()),
        ({"a": "é"}, {"a": "é"}, '{"a": "é"}', ()),
        (' {"a":1} ', {"a": 1}, ' {"a":1} ', ()),
        ('{"a":"\\u00e9"}', {"a": "é"}, '{"a":"\\u00e9"}', ()),
        ('{} {"a": 1} ', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('{"a": "\\ud800"}', {"a": "\ud800"}, '{"a": "?"}', ()),
        ('{"a": "\ud800"}', {"a": "\ud800"}, '{"a": "?"}', ()),
        ('"{\\"a\\": 1}"', {"a": 1}, '{"a": 1}', (Flag.DOUBLE_ENCODED,)),
        ('"{}"', {}, "{}", (Flag.DOUBLE_ENCODED,)),
        ('"null"', {}, "{}", (Flag.DOUBLE_ENCODED,)),
        ('```json\n{"a": 1}\n```', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('```{"a": 1}```', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('json {"a": 1}', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('{}{"a": 1}', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('{"a": 1}}', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('{"a": 1} ]}\n', {"a": 1}, '{"a": 1}', (Flag.REPAIRED,)),
        ('{"a": "x\ny"}', {"a": "x\ny"}, '{"a": "x\\ny"}', (Flag.REPAIRED,)),
        ('{"a": "x\ty"}', {"a": "x\ty"}, '{"a": "x\\ty"}', (Flag.REPAIRED,)),
        ('{"a": "x\ry"}', {"a": "x\ry"}, '{"a": "x\\ry"}', (Flag.REPAIRED,)),
        ('"{\\"a\\":\\n 1}"', {"a": 1}, '{"a": 1}', (Flag.DOUBLE_ENCODED,)),
    ],
    ids=range(24),
)
def test_arguments_are_read_and_written_like_this(
    raw: Any, value: dict[str, Any], text: str, flags: tuple[str, ...]
) -> None:
    """The value, its spelling in the history, and what had to be repaired."""
    read = read_arguments(raw)
    assert (read.value, read.text, read.flags, read.error, read.cut) == (value, text, flags, "", False)


@pytest.mark.parametrize("text", ['```json\n{"a": 1}', 'json{"a": 1} tail', "```\n[1]\n```", '"{\\"a\\": "'])
def test_a_wrapper_makes_nothing_of_what_is_no_object(text: str) -> None:
    """A fence, the word json and a string are taken off only round one whole object."""
    read = read_arguments(text)
    assert (read.value == {"a": 1}) != bool(read.error)
