"""A stream's bytes: however they are written and cut, the fold is that of the chunks, and all is bounded."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from react_replay import (
    Agent,
    BackendError,
    CassetteBackend,
    Completion,
    LiveBackend,
    Request,
    RunFinished,
    RunResult,
)
from react_replay.wire import ChunkDecoder, decode_events, encode_event, events, fold

# Chunks with the oddities that servers send.


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index: Any = None, identity: Any = None, **function: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"function": function}
    if index is not None:
        entry["index"] = index
    if identity is not None:
        entry["id"] = identity
    return chunk(tool_calls=[entry])


TEXT = st.text(st.sampled_from('ab {}[]":,\\\n\r\t北京🌤\u2028\x85\ufeff\ud83d'), max_size=6)
CALL = st.builds(
    lambda index, identity, name, arguments: call(
        index, identity, **({"name": name} if name else {}), arguments=arguments
    ),
    st.none() | st.integers(0, 2),
    st.none() | st.sampled_from(["", "a", "b"]),
    st.sampled_from([None, "ping", "get_", "weather"]),
    st.none() | TEXT | st.just('{"x": 1}') | st.just("{}") | st.just({"x": [1]}),
)
CHUNK = st.one_of(
    TEXT.map(lambda text: chunk(content=text)),
    TEXT.map(lambda text: chunk(reasoning_content=text)),
    CALL,
    st.sampled_from(["stop", "tool_calls", "length"]).map(chunk),
    st.sampled_from(
        [
            {"choices": []},
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
            {"choices": None, "usage": None},
            {"choices": [{"index": 0, "delta": None}]},
            {"choices": [{"index": 1, "delta": {"content": "not ours"}, "finish_reason": "length"}]},
            chunk(tool_calls=[]),
            chunk(function_call={"name": "ping", "arguments": "{}"}),
            {"id": "c", "model": "m", "created": 1, **chunk(role="assistant", content="")},
        ]
    ),
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[dict[str, Any]], bytes]:
    """Chunks, and one of the many ways to write them as a stream's body."""
    chunks = draw(st.lists(CHUNK, max_size=6))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    body = draw(st.sampled_from(["", "\ufeff"]))
    for one in chunks:
        body += draw(st.sampled_from(["", f": keep-alive{end}{end}", f":{end}", f"data:{end}{end}", end]))
        body += draw(st.sampled_from(["", f"event: message{end}", f"id: 7{end}retry: 3{end}", f"data{end}"]))
        text = json.dumps(one, ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(1)))
        field = draw(st.sampled_from(["data:", "data: "]))
        body += "".join(field + line + end for line in text.split("\n")) + end
    body += draw(st.sampled_from(["", f"data: [DONE]{end}{end}", f"data:[DONE]{end}", "data: [DONE]"]))
    if draw(st.booleans()):
        body = body.removesuffix(end)
    # A server cannot write half a surrogate pair but escaped.
    return json.loads(json.dumps(chunks).encode("utf-8", "replace")), body.encode("utf-8", "replace")


CUTS = st.lists(st.integers(0, 10_000), max_size=12)


def cut(body: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({at % (len(body) + 1) for at in cuts}), len(body)]
    return [body[start:end] for start, end in zip(edges, edges[1:], strict=False)]  # noqa: RUF007


def outcome(read: Callable[[], Any]) -> Any:
    """What came of it; a fault with its words and its partial text."""
    try:
        return read()
    except BackendError as error:
        return (str(error), error.partial)


def replaced(value: Any) -> Any:
    """Half a surrogate pair as an unescaped one arrives: as a question mark."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@settings(max_examples=300)
@given(streams(), CUTS)
def test_the_fold_is_that_of_the_chunks_however_they_were_written_and_cut(
    stream: tuple[list[dict[str, Any]], bytes], cuts: list[int]
) -> None:
    """LF, CRLF or CR, BOM, comments, fields, data in lines, [DONE] or none; cut anywhere or at every byte."""
    chunks, body = stream
    expected = [replaced(one) for one in chunks]
    folded = outcome(lambda: fold(expected))
    for pieces in (cut(body, cuts), cut(body, range(len(body)))):
        assert [replaced(one) for one in decode_events(pieces)] == expected
        assert outcome(functools.partial(folded_bytes, pieces)) == folded


def folded_bytes(pieces: list[bytes]) -> Completion:
    return fold(replaced(one) for one in decode_events(pieces))


SOUP = st.lists(
    st.sampled_from(
        [b"data: ", b"data:", b"{", b"}", b"[DONE]", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xe5"]
    )
    | st.sampled_from([b'{"choices": []}', b": c", b'{"error": "x"}', b"7", b" ", b"event: e"])
    | st.binary(max_size=3),
    max_size=14,
).map(b"".join)


@settings(max_examples=300)
@given(SOUP, CUTS)
def test_any_bytes_give_the_same_chunks_or_the_same_fault(body: bytes, cuts: list[int]) -> None:
    """Chunks before a fault, and the fault, do not depend on the cutting."""

    def read(pieces: list[bytes]) -> tuple[list[Any], Any]:
        got: list[Any] = []
        return got, outcome(lambda: got.extend(decode_events(pieces)))

    whole = read([body])
    assert read(cut(body, cuts)) == whole
    assert read(cut(body, range(len(body)))) == whole


def test_a_crlf_that_is_cut_in_two_hides_no_blank_line() -> None:
    """CR, then LF alone, then the LF of a blank line: three pieces, one line end and an empty line."""
    pieces = [b'data: {"a": 1}\r', b"\n", b"\n", b'data: {"b": 2}\n\n']
    assert list(decode_events(pieces)) == [{"a": 1}, {"b": 2}]


def test_events_without_blank_lines_between_are_read_apart() -> None:
    """A proxy that drops empty lines: each line that is JSON by itself is an event."""
    body = b'data: {"a": 1}\ndata: {"b": 2}\ndata: [DONE]\ndata: {"c": 3}\n'
    assert list(decode_events([body])) == [{"a": 1}, {"b": 2}]


def test_empty_events_say_nothing() -> None:
    """A heartbeat of an empty `data:` is skipped."""
    assert list(decode_events([b'data:\n\ndata: \n\ndata: {"a": 1}\n\n'])) == [{"a": 1}]


def test_a_body_that_is_no_stream_is_read_whole() -> None:
    """A server that does not stream answers with one object; it is an answer all the same."""
    whole = {
        "choices": [{"message": {"content": "北京"}, "finish_reason": "stop"}],
        "usage": {"total_tokens": 3},
    }
    body = b"\xef\xbb\xbf\n" + json.dumps(whole, ensure_ascii=False, indent=1).encode()
    done = fold(decode_events(cut(body, range(len(body)))))
    assert (done.content, done.finish_reason, done.usage.total_tokens) == ("北京", "stop", 3)


def test_an_error_body_that_is_no_stream_is_a_fault() -> None:
    """An error object with status 200 is told in the provider's words."""
    with pytest.raises(BackendError, match="out of quota"):
        fold(decode_events([b'{"error": {"message": "out of quota"}}']))


@pytest.mark.parametrize(
    ("event", "match"),
    [
        (b"data: {oops\n\n", "no JSON: '{oops'"),
        (b"data: " + b"[" * 100_000 + b"\n\n", r"no JSON: '\[\["),
        (b"data: 7\n\n", "no object: '7'"),
        (encode_event({"error": {"message": "upstream died"}}), "upstream died"),
    ],
    ids=["no json", "nested", "no object", "error"],
)
def test_a_bad_event_is_a_fault_that_keeps_the_text_so_far(event: bytes, match: str) -> None:
    """What had arrived before it is in `partial`."""
    with pytest.raises(BackendError, match=match) as caught:
        fold(decode_events([encode_event(chunk(content="par")), event]))
    assert caught.value.partial == "par"


def test_arguments_nested_too_deeply_are_an_error_of_the_call() -> None:
    """A call whose arguments cannot be written back does not run."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    [done] = fold([call(0, "a", name="ping", arguments={"x": deep}), chunk("tool_calls")]).tool_calls
    assert done.error


def test_an_event_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that never ends a line does not fill the memory; nor does a body that is no stream."""
    monkeypatch.setattr(events, "LONGEST_EVENT", 1000)
    for body in (b"data: ", b"", b": ", b"{"):
        decoder, fed = ChunkDecoder(), 0

        def feed(decoder: ChunkDecoder = decoder, body: bytes = body) -> None:
            nonlocal fed
            list(decoder.feed(body))
            for _ in range(100):
                list(decoder.feed(b"x" * 64))
                fed += 64

        with pytest.raises(BackendError, match="more than 1000"):
            feed()
        assert fed <= 1000


def test_many_short_events_do_not_add_up() -> None:
    """The bound is for one event: a long stream of short ones passes, comments and all."""
    decoder = ChunkDecoder()
    held = []
    for _ in range(200):
        assert len(list(decoder.feed(b": c\r\nevent: e\r\ndata: {}\r\n\r\n"))) == 1
        held.append(decoder._events._held)
    assert set(held) == {0}


def test_one_event_may_be_large() -> None:
    """A megabyte in one event, without a line end behind it, is read."""
    body = encode_event(chunk("stop", content="x" * 2**20)).rstrip(b"\n")
    assert fold(decode_events([body])).content == "x" * 2**20


@pytest.mark.parametrize(
    "delta",
    [
        chunk(content="x"),
        call(0, arguments="x"),
        call(0, name="x"),
        chunk(function_call={"name": "x", "arguments": "y"}),
    ],
    ids=["content", "arguments", "name", "legacy"],
)
def test_a_hundred_thousand_deltas_fold_in_one_go(delta: dict[str, Any]) -> None:
    """Pieces are kept and joined once. (Were they joined at every delta, this would take minutes.)"""
    done = fold([delta] * 100_000)
    assert isinstance(done, Completion)


# The same through a live backend.

ASK = Request([{"role": "user", "content": "?"}])


@pytest.fixture
def live(server: Any) -> Iterable[LiveBackend]:
    with LiveBackend(model="m", api_key="k" * 24, base_url=server.url, max_retries=0) as backend:
        yield backend


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams(), cuts=CUTS)
def test_a_live_stream_is_read_as_a_recorded_one(
    server: Any, live: LiveBackend, stream: tuple[list[dict[str, Any]], bytes], cuts: list[int]
) -> None:
    """Over HTTP, cut anywhere: the chunks of the same bytes read from a file."""
    _, body = stream
    server.events(*(piece for piece in cut(body, cuts) if piece))
    assert list(live.stream(ASK)) == list(decode_events([body]))


def last(live: LiveBackend) -> RunResult:
    finished = list(Agent(live).stream("?"))[-1]
    assert isinstance(finished, RunFinished)
    return finished.result


@pytest.mark.parametrize(
    "event", [b"data: {oops\n\n", b"data: " + b"[" * 100_000 + b"\n\n", encode_event({"error": "died"})]
)
def test_a_live_stream_that_goes_bad_ends_the_run_with_its_text(
    server: Any, live: LiveBackend, event: bytes
) -> None:
    """A named end, never a traceback."""
    server.events(encode_event(chunk(content="par")), event)
    result = last(live)
    assert (str(result.stop_reason), result.partial) == ("backend_error", "par")


def test_a_live_answer_that_is_nested_too_deeply_is_a_fault(
    server: Any, live: LiveBackend, reply: Any
) -> None:
    """The same for an answer that is no stream."""
    headers = {"content-type": "application/json"}
    server.replies.append(reply(pieces=[b"[" * 100_000], headers=headers))
    with pytest.raises(BackendError, match="no JSON"):
        live.complete(ASK)


def test_a_server_that_does_not_stream_answers_a_stream(server: Any, live: LiveBackend) -> None:
    """One JSON object in answer to `stream: true` is the reply."""
    server.json({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]})
    assert last(live).answer == "whole"


def test_what_a_server_that_does_not_stream_said_replays(
    server: Any, live: LiveBackend, tmp_path: Path
) -> None:
    """The recording of such an answer streams as the live one did."""
    server.json({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]})
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=live) as recording:
        recorded = list(recording.stream(ASK))
    with CassetteBackend(path) as replay:
        assert list(replay.stream(ASK)) == recorded


def test_only_the_first_of_several_choices_is_ours(server: Any, live: LiveBackend) -> None:
    """Text, calls and the finish reason of other choices are not mixed in."""
    other = [{"index": 1, "delta": {"content": "B", "tool_calls": [{"id": "x"}]}, "finish_reason": "length"}]
    both = [*chunk(content="A")["choices"], *other]
    server.events(
        encode_event({"choices": both}), encode_event({"choices": other}), encode_event(chunk("stop"))
    )
    result = last(live)
    assert (result.answer, result.flags) == ("A", ())


def test_a_compressed_stream_is_read(server: Any, live: LiveBackend) -> None:
    """gzip, cut anywhere."""
    body = encode_event(chunk(content="北京")) + encode_event(chunk("stop")) + encode_event(None)
    packed = gzip.compress(body)
    server.events(*cut(packed, range(0, len(packed), 7))[1:], **{"content-encoding": "gzip"})
    assert last(live).answer == "北京"


@pytest.mark.parametrize("streaming", [True, False])
def test_a_broken_compression_is_a_fault(server: Any, live: LiveBackend, streaming: bool) -> None:
    """What cannot be unpacked ends the run by name."""
    server.events(b"this is no gzip", **{"content-encoding": "gzip"})
    result = last(live) if streaming else Agent(live).run("?")
    assert str(result.stop_reason) == "backend_error"
