"""Streams: bytes to events, chunks to one completion, a completion to chunks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from react_replay import BackendError
from react_replay.messages import Flag
from react_replay.wire import StreamFold, decode_events, encode_event, fold
from tests.properties import stream
from tests.properties.stream import chunk, decoded, piece


def calls(*chunks: dict[str, Any]) -> list[tuple[str, str, Any]]:
    done = fold([*chunks, chunk("tool_calls")])
    return [(call.id, call.name, call.error or call.arguments) for call in done.tool_calls]


@given(stream.cut_streams)
def test_a_stream_folds_the_same_however_its_bytes_were_cut(given: dict[str, Any]) -> None:
    """Cut inside a UTF-8 character or a CRLF, with LF, CRLF or CR: the fold is that of the whole."""
    stream.folds_the_same_however_it_was_cut(given)


@given(stream.byte_bodies)
def test_any_bytes_decode_the_same_however_they_were_cut(given: dict[str, Any]) -> None:
    """The decoder's events do not depend on the cutting, for bytes of any kind."""
    stream.decodes_the_same_however_it_was_cut(given)


@given(stream.streamed_calls)
def test_calls_survive_every_way_of_streaming(given: dict[str, Any]) -> None:
    """However a server streams its calls, each is read as it was meant: id, name and arguments."""
    stream.calls_survive_every_way_of_streaming(given)


@given(stream.any_chunks)
def test_chunks_of_any_shape_fold_or_are_refused(given: list[dict[str, Any]]) -> None:
    """Whatever JSON the chunks are, they fold to a consistent completion or raise `BackendError`."""
    stream.any_chunks_fold_or_are_refused(given)


def test_one_byte_at_a_time_is_enough() -> None:
    """A multi-byte character and a CRLF that arrive byte by byte are read whole."""
    body = 'data: {"a": "北京🌤"}\r\n\r\ndata: x\r\ndata: y\r\n\r\n'.encode()
    assert decoded([body[n : n + 1] for n in range(len(body))]) == ['{"a": "北京🌤"}', "x\ny"]


def test_comments_and_other_fields_are_skipped() -> None:
    """Keep-alive comments, `event:` and `id:` lines are no data."""
    body = b": keep-alive\n\nevent: message\nid: 7\nretry: 3\ndata: x\n\n"
    assert decoded([body]) == ["x"]


def test_a_last_event_without_a_blank_line_is_read() -> None:
    """A server that closes after the last line loses nothing."""
    assert decoded([b"data: x"]) == ["x"]


def test_nothing_after_done_is_read() -> None:
    """`[DONE]` ends the chunks."""
    body = encode_event({"a": 1}) + encode_event(None) + b"data: garbage\n\n"
    assert list(decode_events([body])) == [{"a": 1}]


@pytest.mark.parametrize("data", [b"data: {oops\n\n", b"data: 7\n\n", b"data: [1]\n\n"])
def test_an_event_that_is_no_object_is_a_fault(data: bytes) -> None:
    """What is no JSON object is the provider's fault, and shown."""
    with pytest.raises(BackendError, match="event that is no"):
        list(decode_events([data]))


def test_pieces_join_by_index() -> None:
    """Arguments in pieces under one index are one call."""
    assert calls(
        piece(0, "a", name="get_weather", arguments=""),
        piece(0, arguments='{"city": '),
        piece(0, arguments='"Oslo"}'),
    ) == [("a", "get_weather", {"city": "Oslo"})]


def test_interleaved_calls_keep_apart() -> None:
    """Pieces of two calls that alternate go each to its own."""
    assert calls(
        piece(0, "a", name="f", arguments="{"),
        piece(1, "b", name="g", arguments='{"x"'),
        piece(0, arguments="}"),
        piece(1, arguments=": 1}"),
    ) == [("a", "f", {}), ("b", "g", {"x": 1})]


def test_a_missing_index_continues_the_last_call() -> None:
    """Without an index, a new id opens a call and a piece without an id continues the last."""
    assert calls(
        piece(None, "a", name="f", arguments=""),
        piece(None, arguments='{"x": 1}'),
        piece(None, "b", name="f", arguments="{}"),
    ) == [("a", "f", {"x": 1}), ("b", "f", {})]


def test_a_new_id_on_a_used_index_opens_a_call() -> None:
    """Servers that always send index 0 still make two calls."""
    assert calls(
        piece(0, "a", name="f", arguments='{"x": 1}'),
        piece(0, "b", name="f", arguments='{"x":'),
        piece(0, arguments=" 2}"),
    ) == [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]


def test_a_repeated_name_is_not_appended() -> None:
    """The whole name in every delta is one name; a name in pieces is joined."""
    whole = calls(piece(0, "a", name="ping", arguments="{"), piece(0, "a", name="ping", arguments="}"))
    cut = calls(piece(0, "a", name="pi", arguments=""), piece(0, name="ng", arguments="{}"))
    assert whole == cut == [("a", "ping", {})]


def test_a_drifting_index_continues_the_last_call() -> None:
    """A piece under a new index without id and name belongs to the last open call."""
    assert calls(piece(0, "a", name="f", arguments='{"x"'), piece(1, arguments=": 1}")) == [
        ("a", "f", {"x": 1})
    ]


def test_two_objects_in_one_call_are_not_chosen_between() -> None:
    """Glued argument objects are an error for the model."""
    [(_, _, error)] = calls(piece(0, "a", name="f", arguments='{"c":1}'), piece(0, arguments='{"c":2}'))
    assert "one JSON object" in error


def test_an_error_event_keeps_the_text_so_far() -> None:
    """An error in the middle of a stream raises with the text in `partial`."""
    with pytest.raises(BackendError, match="upstream died") as caught:
        fold([chunk(content="par"), {"error": {"message": "upstream died", "code": 502}}])
    assert caught.value.partial == "par"


def test_a_stream_without_a_finish_reason_is_unfinished() -> None:
    """A stream that broke off is marked, and its finish reason is None."""
    done = fold([chunk(content="The answer")])
    assert (done.content, done.finish_reason, done.flags) == (
        "The answer",
        None,
        (Flag.UNFINISHED,),
    )


def test_usage_of_the_last_chunk_counts() -> None:
    """Usage in a chunk without choices, and in one with a null, is read."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    done = fold([{**chunk("stop", content="x"), "usage": None}, {"choices": [], "usage": usage}])
    assert done.usage.total_tokens == 5


def test_only_the_first_choice_is_the_reply() -> None:
    """A stream of two choices gives the text of the first."""
    second = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": None}]}
    assert fold([chunk(content="A"), second, chunk("stop")]).content == "A"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": None}}]},
        {"choices": [{"delta": {"tool_calls": [None, 7]}}]},
        {"choices": [{"delta": {"tool_calls": [{}]}}]},
        {"choices": [{"delta": {"content": 7}}]},
        {"choices": [{"delta": {"function_call": {}}}]},
        {"choices": [{"delta": {"function_call": {"name": None, "arguments": None}}}]},
    ],
    ids=repr,
)
def test_odd_chunks_are_skipped(odd: dict[str, Any]) -> None:
    """A chunk of a strange shape neither raises nor adds text."""
    folding = StreamFold()
    assert folding.add(odd) == ""
    assert folding.add(chunk("stop", content="x")) == "x"
    assert folding.result().content == "x"


@given(stream.split_bodies)
def test_splitting_and_folding_is_the_identity(given: dict[str, Any]) -> None:
    """A completion cut into chunks of any size folds back to what it was."""
    stream.splitting_and_folding_is_the_identity(given)


def test_a_line_feed_after_a_cut_crlf_is_a_line_of_its_own() -> None:
    """CR, LF and another LF, each in a piece of its own, end a line and then the event."""
    assert decoded([b"data: x\r", b"\n", b"\n", b"data: y"]) == ["x", "y"]
