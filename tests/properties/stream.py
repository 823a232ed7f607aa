"""The wire: a stream folds to its whole however it was cut; JSON of any shape is read or a `BackendError`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from react_replay import BackendError, Completion, ToolCall
from react_replay.wire import (
    EventDecoder,
    StreamFold,
    completion_dict,
    decode_events,
    fold,
    read_arguments,
    read_completion,
    split_completion,
)
from tests.properties import Property


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index: Any = None, identity: Any = None, **function: Any) -> dict[str, Any]:
    """A chunk with one piece of a call; an index or id of None is left out."""
    entry: dict[str, Any] = {"function": function}
    if index is not None:
        entry["index"] = index
    if identity is not None:
        entry["id"] = identity
    return chunk(tool_calls=[entry])


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    """`body` in pieces, cut at each place (taken modulo its length)."""
    edges = [0, *sorted({place % (len(body) + 1) for place in places}), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(edges)]


def decoded(pieces: Sequence[bytes]) -> list[str]:
    """The data of the events in a body that arrives in pieces."""
    decoder = EventDecoder()
    found = [data for part in pieces for data in decoder.feed(part)]
    return [*found, *decoder.feed(b"", final=True)]


def folded(pieces: Sequence[bytes]) -> Completion | str:
    """The completion of a body that arrives in pieces, or the words of its `BackendError`."""
    try:
        return fold(decode_events(pieces))
    except BackendError as error:
        return f"{error} {error.partial}"


# --- Cutting -------------------------------------------------------------------------------------

_simple_deltas = st.one_of(
    st.text(max_size=8).map(lambda text: chunk(content=text)),
    st.builds(lambda index, text: piece(index, arguments=text), st.integers(0, 1), st.text(max_size=6)),
    st.just(piece(0, "a", name="ping", arguments="")),
    st.just(chunk("stop")),
    st.just({"error": {"message": "upstream died", "code": 502}}),
)
_places = st.lists(st.integers(0, 4000), max_size=12)
cut_streams = st.fixed_dictionaries(
    {
        "chunks": st.lists(_simple_deltas, max_size=6),
        "ending": st.sampled_from(["\n", "\r\n", "\r"]),
        "between": st.sampled_from(["", ": keep-alive", "event: message", "id: 7", "retry: 3"]),
        "done": st.booleans(),
        "open": st.booleans(),
        "places": _places,
    }
)


def folds_the_same_however_it_was_cut(given: Mapping[str, Any]) -> None:
    """Cut inside a UTF-8 character or a CRLF, with LF, CRLF or CR: the fold is that of the whole."""
    ending = given["ending"]
    between = given["between"] + ending if given["between"] else ""
    events = [json.dumps(delta, ensure_ascii=False) for delta in given["chunks"]]
    events += ["[DONE]"] if given["done"] else []
    text = "".join(f"{between}data: {event}{ending}{ending}" for event in events)
    if given.get("open"):
        text = text.removesuffix(ending * 2)  # a server that closes after its last character
    body = text.encode("utf-8", "replace")
    pieces = cut(body, given["places"])
    assert decoded(pieces) == decoded([body])
    assert decoded([body]) == [event.encode("utf-8", "replace").decode() for event in events]
    assert folded(pieces) == folded([body])
    assert folded([body[n : n + 1] for n in range(len(body))]) == folded([body])


_bytes = st.binary(max_size=80) | st.lists(
    st.sampled_from(
        [b"data:", b"data: ", b"\n", b"\r", b"\n\n", b"{}", b"[DONE]", b"\xe4\xba", b"\xac", b":", b"{"]
    ),
    max_size=20,
).map(b"".join)
byte_bodies = st.fixed_dictionaries({"body": _bytes.map(bytes.hex), "places": _places})


def decodes_the_same_however_it_was_cut(given: Mapping[str, Any]) -> None:
    """For bytes of any kind (hexadecimal), the decoder's events do not depend on the cutting."""
    body = bytes.fromhex(given["body"])
    assert decoded(cut(body, given["places"])) == decoded([body])
    assert folded(cut(body, given["places"])) == folded([body])


# --- Servers' ways of streaming calls ------------------------------------------------------------

_calls = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["ping", "get_weather", "搜索"]),
        "arguments": st.dictionaries(
            st.text(max_size=3),
            st.integers() | st.text(max_size=4) | st.lists(st.none(), max_size=2),
            max_size=2,
        ),
    }
)
WAYS = (
    "by index",
    "interleaved",
    "without index",
    "always index 0",
    "all in every piece",
    "all in every piece, without index",
    "drifting index",
    "whole",
    "whole, without id",
)
streamed_calls = st.fixed_dictionaries(
    {
        "way": st.sampled_from(WAYS),
        "calls": st.lists(_calls, min_size=1, max_size=3),
        "size": st.integers(1, 12),
        "empty": st.sampled_from([None, "", "both"]),
        "name_in_pieces": st.booleans(),
        "braces_first": st.booleans(),
        "content": st.text(max_size=4),
    }
)


def _stream_call(
    given: Mapping[str, Any], number: int, called: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The entries of one call, in this server's way. Indexes of a drifting server are set later."""
    way, size, identity = given["way"], given["size"], f"id{number}"
    text = json.dumps(called["arguments"], ensure_ascii=False)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    if given["braces_first"] and called["arguments"]:
        parts.insert(0, "{}")
    if given["empty"] is not None:
        parts.insert(1, "")
        parts.append("")
    index = {} if "without index" in way else {"index": 0 if way == "always index 0" else number}
    if way.startswith("whole"):
        named = {} if "without id" in way else {"id": identity}
        yield {**index, **named, "function": {"name": called["name"], "arguments": "".join(parts)}}
        return
    if way.startswith("all in every piece"):
        for part in parts:
            yield {**index, "id": identity, "function": {"name": called["name"], "arguments": part}}
        return
    name, rest = called["name"], ""
    if given["name_in_pieces"] and way in ("by index", "interleaved"):
        name, rest = name[:2], name[2:]
    yield {**index, "id": identity, "function": {"name": name, "arguments": parts[0]}}
    if rest:
        yield {**index, "function": {"name": rest}}
    silent = {"name": "", "id": ""} if given["empty"] == "both" else {}
    for part in parts[1:]:
        entry: dict[str, Any] = {**index, "function": {"arguments": part}}
        if silent:
            entry = {**entry, "id": "", "function": {"name": "", "arguments": part}}
        yield entry


def calls_survive_every_way_of_streaming(given: Mapping[str, Any]) -> None:
    """However a server streams its calls, each is read as it was meant: id, name and arguments."""
    entries = [list(_stream_call(given, number, called)) for number, called in enumerate(given["calls"])]
    ordered = [entry for of_call in entries for entry in of_call]
    if given["way"] == "interleaved":
        rows = itertools.zip_longest(*entries)
        ordered = [entry for row in rows for entry in row if entry is not None]
    if given["way"] == "drifting index":
        ordered = [{**entry, "index": place} for place, entry in enumerate(ordered)]
    said = [chunk(content=given["content"])] if given["content"] else []
    whole = fold([*said, *(chunk(tool_calls=[entry]) for entry in ordered), chunk("tool_calls")])
    identities = [
        "" if given["way"] == "whole, without id" else f"id{number}" for number in range(len(given["calls"]))
    ]
    assert [(call.id, call.name, call.error, call.arguments) for call in whole.tool_calls] == [
        (identity, called["name"], "", called["arguments"])
        for identity, called in zip(identities, given["calls"], strict=True)
    ]
    assert whole.content == (given["content"] or None)


# --- Any JSON ------------------------------------------------------------------------------------

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=()), max_size=4),
    st.sampled_from(["a", "stop", "tool_calls", "length", "ping", "{}", '{"x": 1}', '{"x"', "", "assistant"]),
)
_keys = st.sampled_from(
    [
        *(
            "choices",
            "delta",
            "message",
            "tool_calls",
            "function",
            "function_call",
            "name",
            "arguments",
            "id",
        ),
        *("index", "content", "refusal", "reasoning_content", "reasoning", "finish_reason", "usage", "error"),
        *(
            "model",
            "created",
            "text",
            "type",
            "code",
            "prompt_tokens",
            "prompt_tokens_details",
            "cached_tokens",
        ),
    ]
)
json_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_keys | st.text(max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
_functions = st.fixed_dictionaries({}, optional={"name": json_values, "arguments": json_values})
_entries = json_values | st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "index": json_values,
        "type": json_values,
        "function": _functions | json_values,
    },
)
_messages = json_values | st.fixed_dictionaries(
    {},
    optional={
        "role": json_values,
        "content": json_values,
        "tool_calls": json_values | st.lists(_entries, max_size=3),
        "function_call": _functions | json_values,
        "refusal": json_values,
        "reasoning_content": json_values,
        "reasoning": json_values,
    },
)
_choices = json_values | st.fixed_dictionaries(
    {},
    optional={"index": json_values, "delta": _messages, "message": _messages, "finish_reason": json_values},
)
any_bodies = json_values | st.fixed_dictionaries(
    {"choices": json_values | st.lists(_choices, max_size=2)},
    optional={"id": json_values, "model": json_values, "usage": json_values, "created": json_values},
)
any_chunks = st.lists(
    (any_bodies | st.dictionaries(_keys, json_values, max_size=3)).filter(
        lambda body: isinstance(body, dict)
    ),
    max_size=4,
)


def _check_read(completion: Completion) -> None:
    assert completion.content is None or isinstance(completion.content, str)
    for text in (completion.reasoning, completion.refusal, completion.model, completion.id):
        assert isinstance(text, str)
    for call in completion.tool_calls:
        assert isinstance(call, ToolCall)
        assert isinstance(call.name, str)
        assert isinstance(call.id, str)
        assert isinstance(call.arguments, dict)
        assert isinstance(json.loads(call.written), dict)
        call.written.encode()
        assert call.name or call.error
        assert not call.error or not call.arguments or call.error == "the call names no tool"
    assert completion.usage.total_tokens >= 0


def any_body_is_read_or_refused(given: Any) -> None:
    """JSON of any shape is a consistent completion or a `BackendError`."""
    try:
        completion = read_completion(given)
    except BackendError as error:
        assert str(error)
        assert len(str(error)) < 1000
        return
    _check_read(completion)
    completion_dict(completion)
    _check_read(fold(split_completion(completion)))


def any_chunks_fold_or_are_refused(given: Sequence[Mapping[str, Any]]) -> None:
    """Chunks of any shape fold to a consistent completion or a `BackendError`; `text` is what was added."""
    folding, said = StreamFold(), ""
    try:
        for part in given:
            said += folding.add(part)
        _check_read(folding.result())
    except BackendError as error:
        assert len(str(error)) < 1000
    assert folding.text == said
    assert json.loads(json.dumps(folding.to_dict(), default=str))["object"] == "chat.completion"


# --- Arguments -----------------------------------------------------------------------------------

_plain_json: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
argument_objects = st.fixed_dictionaries(
    {
        "value": st.dictionaries(st.text(max_size=5), _plain_json, max_size=3),
        "cut": st.integers(1, 200),
        "ascii": st.booleans(),
    }
)
_ODD_ARGUMENTS = [
    *("{", "}", "[", "]", '"', "'", ":", ",", "\\", "\n", "\t", " ", "```json", "```", "json", "null", "NaN"),
    *("{}", '"x"', "1", "1e999", "-", "true", "\\u00e9", "\\ud800", "\ud800", "/"),
    *("[" * 200, '{"a":' * 200, "9" * 5000),
]
_argument_pieces = st.sampled_from(_ODD_ARGUMENTS)
any_arguments = json_values | st.lists(_argument_pieces, max_size=12).map("".join)


def whole_arguments_are_read_and_cut_ones_refused(given: Mapping[str, Any]) -> None:
    """A JSON object is read as it is, also encoded twice; one that breaks off is an error, never a guess."""
    text = json.dumps(given["value"], ensure_ascii=given["ascii"])
    read = read_arguments(text)
    assert (read.value, read.error, read.flags) == (given["value"], "", ())
    assert json.loads(read.text) == given["value"]
    twice = read_arguments(json.dumps(text))
    assert (twice.value, twice.error) == (given["value"], "")
    short = text[: -min(given["cut"], len(text) - 1)]
    broken = read_arguments(short)
    assert broken.error
    assert broken.cut
    assert broken.value == {}
    # What was streamed whole is the same as what was sent as an object.
    assert read_arguments(given["value"]).value == given["value"]


def any_arguments_are_an_object_or_an_error(given: Any) -> None:
    """Arguments of any kind are an object that is complete JSON, or a reason in one short line."""
    read = read_arguments(given)
    assert isinstance(read.value, dict)
    assert isinstance(json.loads(read.text), dict)
    read.text.encode()
    assert not (read.error and read.value)
    assert len(read.error) < 1500
    assert read.error.isprintable()
    assert read_arguments(read.text).value == json.loads(read.text)


# --- Splitting -----------------------------------------------------------------------------------

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
split_bodies = st.fixed_dictionaries(
    {
        "content": st.none() | _text,
        "reasoning": _text,
        "refusal": _text,
        "calls": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.sampled_from(["f", "g"]),
                    "id": st.sampled_from(["a", "b", "c", ""]),
                    "arguments": st.dictionaries(_text, st.integers() | _text, max_size=2),
                }
            ),
            max_size=3,
            unique_by=lambda call: str(call["id"]),
        ),
        "finish": st.sampled_from(["stop", "tool_calls", "length"]),
        "size": st.integers(1, 50),
    }
)


def splitting_and_folding_is_the_identity(given: Mapping[str, Any]) -> None:
    """A completion cut into chunks of any size folds back to what it was."""
    whole = Completion(
        content=given["content"],
        reasoning=given["reasoning"],
        refusal=given["refusal"],
        tool_calls=tuple(ToolCall(**call) for call in given["calls"]),
        finish_reason=given["finish"],
    )
    plain = read_completion(completion_dict(whole))
    again = fold(split_completion(plain, size=given["size"]))
    names = ("content", "tool_calls", "finish_reason", "usage", "reasoning", "refusal", "flags")
    for name in names:
        assert getattr(again, name) == getattr(plain, name), name


PROPERTIES = (
    Property(name="folds however cut", inputs=cut_streams, check=folds_the_same_however_it_was_cut),
    Property(name="decodes however cut", inputs=byte_bodies, check=decodes_the_same_however_it_was_cut),
    Property(
        name="every way of streaming", inputs=streamed_calls, check=calls_survive_every_way_of_streaming
    ),
    Property(name="any body", inputs=any_bodies, check=any_body_is_read_or_refused),
    Property(name="any chunks", inputs=any_chunks, check=any_chunks_fold_or_are_refused),
    Property(
        name="whole and cut arguments",
        inputs=argument_objects,
        check=whole_arguments_are_read_and_cut_ones_refused,
    ),
    Property(name="any arguments", inputs=any_arguments, check=any_arguments_are_an_object_or_an_error),
    Property(name="split and fold", inputs=split_bodies, check=splitting_and_folding_is_the_identity),
)
