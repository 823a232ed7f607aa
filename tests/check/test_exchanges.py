"""Exchanges: one answer's faults, histories beside the answers before them, and what is no fault at all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import CassetteError
from react_replay.cassettes.reading import Recorded
from react_replay.check import CODES, check_cassette, check_recorded
from tests.check.building import (
    COUNTS,
    MADE_UP,
    OTHER,
    USER,
    answer,
    call,
    called,
    delta,
    found,
    history,
    stream,
    turn,
)

CLEAN = {
    "an answer": turn(),
    "a call": turn(body=called(call())),
    "a call under stop": turn(body=called(call(), finish="stop")),
    "a refusal": turn(body=answer(None, refusal="no")),
    "audio": turn(body=answer(None, audio={"id": "x"})),
    "a list of parts": turn(body=answer([{"type": "text", "text": "hi"}])),
    "usage": turn(body=answer() | {"usage": COUNTS}),
    "half a usage": turn(body=answer() | {"usage": {"total_tokens": 3}}),
    "an error": turn(body={"error": {"message": "no"}}, status=401),
    "a prefix": turn(messages=[USER, {"role": "assistant", "content": "{", "prefix": True}]),
    "markup without tools": turn(body=answer("<tool_call>\n{}"), tools=None),
    "JSON without tools": turn(body=answer('{"name": "x", "arguments": {}}')),
    "an XML lesson": turn(body=answer("write <tool_call> around it")),
    "a custom call": turn(body=called({"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}})),
    "a stream": turn(body=stream(delta(content="hi"), delta("stop")), streamed=True),
    "two choices": turn(
        body=stream(delta(content="a"), delta("stop"), delta("stop", 1, content="b")), streamed=True
    ),
    "calls without index, one": turn(
        body=stream(delta(tool_calls=[call()]), delta("tool_calls")), streamed=True
    ),
}

FAULTS = {
    "text": (turn(body=b"fine"), {"answer-not-json"}),
    "a list": (turn(body=[]), {"answer-not-json"}),
    "an error under 200": (
        turn(body={"error": {"message": "x"}}),
        {"error-under-200", "answer-without-choices"},
    ),
    "no choices": (turn(body={"choices": []}), {"answer-without-choices"}),
    "an error without object": (turn(body={"detail": "x"}, status=500), {"error-without-object"}),
    "an HTML error": (turn(body=b"<html>", status=502), {"error-without-object"}),
    "silence": (turn(body=answer(None)), {"empty-answer"}),
    "only reasoning": (turn(body=answer("", reasoning_content="hm")), {"empty-answer"}),
    "no finish": (turn(body=answer(finish=None)), {"finish-missing"}),
    "an empty finish": (turn(body=answer(finish="")), {"finish-missing"}),
    "another finish": (turn(body=answer(finish="eos")), {"finish-unknown"}),
    "cut": (turn(body=called(call("a", '{"x'), finish="length")), {"cut-calls", "answer-arguments-not-json"}),
    "empty arguments": (turn(body=called(call("a", ""))), {"answer-arguments-empty"}),
    "no arguments": (turn(body=called(call("a", None))), {"answer-arguments-missing"}),
    "null arguments": (turn(body=called(call("a", "null"))), {"answer-arguments-not-object"}),
    "no id": (turn(body=called(call(None))), {"answer-missing-id"}),
    "one id twice": (turn(body=called(call(), call())), {"answer-repeated-id"}),
    "no name": (turn(body=called(call(name=None))), {"answer-missing-name"}),
    "another tool": (turn(body=called(call(name="rm"))), {"answer-unknown-tool"}),
    "markup": (turn(body=answer('<tool_call>{"name": "search"}</tool_call>')), {"call-as-text"}),
    "a function tag": (turn(body=answer("<function=search>{}</function>")), {"call-as-text"}),
    "a mistral mark": (turn(body=answer('[TOOL_CALLS] [{"name": "search"}]')), {"call-as-text"}),
    "bare JSON": (turn(body=answer('```json\n{"name": "search", "arguments": {}}\n```')), {"call-as-text"}),
    "made up": (turn(body=answer(MADE_UP)), {"answer-invented-observation"}),
    "sums": (turn(body=answer() | {"usage": {**COUNTS, "total_tokens": 9}}), {"usage-sum"}),
    "no messages": (turn(messages=[]), {"request-without-messages"}),
    "assistant last": (turn(messages=[USER, {"role": "assistant", "content": "x"}]), {"ends-with-assistant"}),
    "system last": (turn(messages=[USER, {"role": "system", "content": "x"}]), {"ends-with-instructions"}),
    "open calls": (turn(messages=[USER, {"role": "assistant", "tool_calls": [call()]}]), {"unanswered-call"}),
    "an error in the stream": (
        turn(body=stream(delta(content="hi"), {"error": {"message": "x"}}), streamed=True),
        {"stream-error", "finish-missing"},
    ),
    "no JSON in the stream": (turn(body=b"data: {\n\n", streamed=True), {"stream-unreadable"}),
    "an empty stream": (turn(body=b"data: [DONE]\n\n", streamed=True), {"answer-without-choices"}),
    "a second choice that breaks off": (
        turn(body=stream(delta("stop", content="a"), delta(index=1, content="b")), streamed=True),
        {"finish-missing"},
    ),
    "two calls without index": (
        turn(body=stream(delta(tool_calls=[call("a"), call("b")]), delta("tool_calls")), streamed=True),
        {"call-without-index"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CLEAN)
def test_a_sound_exchange_raises_no_alarm(kind: str) -> None:
    """What an API may send, and what is only unusual, has no violation."""
    assert found(CLEAN[kind]) == []


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_of_an_exchange_has_its_code(kind: str) -> None:
    """The codes, all at the exchange itself."""
    exchange, codes = FAULTS[kind]
    assert {(place, code) for place, _, code in found(exchange)} == {(0, code) for code in codes}


FIRST = turn(body=called(call("a", '{"q":1}'), call("b")))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (history(call("a", '{"q":1}'), call("b")), []),
        (history(call("a", '{"q": 1}'), call("b")), [(1, 1, "reformatted-arguments")]),
        (history(call("a", '{"q":2}'), call("b")), [(1, 1, "changed-arguments")]),
        (history(call("a", '{"q":1}')), [(1, 1, "lost-calls")]),
        ([OTHER, *history(call("a", '{"q":1}'), call("b"))[1:]], [(1, 0, "rewritten-history")]),
        ([{"role": "system", "content": "new"}, *history(call("a", '{"q":1}'), call("b"))], []),
        ([*history(call("a", '{"q":1}')), *history(call("b"))[1:]], []),
        ([USER, OTHER], []),
    ],
)  # fmt: skip
def test_a_history_is_held_against_the_answers_before_it(sent: Any, expected: Any) -> None:
    """Lost calls, changed or reformatted arguments and rewritten messages are found; the rest is silent."""
    assert found(FIRST, turn(2, sent)) == expected


def test_arguments_that_nobody_can_read_go_back_as_an_empty_object() -> None:
    """Where the answer's arguments are no JSON object, `{}` in the history is what they mean."""
    broken = turn(body=called(call("a", '{"q":')))
    assert found(broken, turn(2, history(call("a", "{}")))) == [(0, None, "answer-arguments-not-json")]
    guessed = found(broken, turn(2, history(call("a", '{"q":1}'))))
    assert (1, 1, "changed-arguments") in guessed


def test_what_is_sent_again_is_found_again_where_it_is_sent() -> None:
    """Each later request that carries the fault has it, at the same message."""
    sent = history(call("a", '{"q":1}'))
    longer = [*sent, {"role": "assistant", "content": "1"}, USER]
    expected = [(1, 1, "lost-calls"), (2, 1, "lost-calls")]
    assert found(FIRST, turn(2, sent), turn(3, longer)) == expected


def test_a_history_with_calls_needs_the_tools() -> None:
    """The first message with a call is named where a request offers no tools."""
    assert found(turn(messages=history(call()), tools=None)) == [(0, 1, "calls-without-tools")]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        ({"body": answer("other")}, "same-request-other-answer"),
        ({"body": answer()}, "same-request-again"),
        ({"body": {"error": {"message": "busy"}}, "status": 429}, "same-request-again"),
    ],
)
def test_the_same_request_twice_is_said(second: Any, code: str) -> None:
    """Another answer is a warning; the same one, or a retry after an error, is a note."""
    assert found(turn(), turn(2, **second)) == [(1, None, code)]


def test_other_traffic_is_passed_over_and_an_unreadable_request_is_not() -> None:
    """A GET has no violation; a chat request without a body has one."""
    nothing = Recorded(
        number=1, url="/v1/models", sent=(None, ""), status=200, chunks=(b"[]",), streamed=False
    )
    empty = Recorded(
        number=2,
        url="x",
        sent=(None, "the request has no body"),
        status=200,
        chunks=(json.dumps(called(call())).encode(),),
        streamed=False,
    )
    assert found(nothing, empty) == [(1, None, "request-unreadable")]


def conversation(turns: int) -> list[Recorded]:
    """A recorded run in which each request repeats the whole history; every turn has a fault."""
    messages: list[Any] = [USER]
    recorded = []
    for number in range(turns):
        recorded.append(turn(number + 1, messages, called(call(f"c{number}", '{"n":1}'))))
        tool = {"role": "tool", "tool_call_id": f"c{number}", "content": "1"}
        again = call(f"c{number}", '{"n": 1}')
        messages = [*messages, {"role": "assistant", "content": None, "tool_calls": [again]}, tool]
    return recorded


def test_a_thousand_turns_with_full_histories_are_checked_in_time() -> None:
    """Only what is new is checked, and what is said again is bounded; the time is a watchdog."""
    recorded = conversation(1000)
    start = time.perf_counter()
    assert {code for _, _, code in found(*recorded)} == {"reformatted-arguments"}
    assert time.perf_counter() - start < 30


def test_a_cassette_is_checked_by_its_path(tmp_path: Path) -> None:
    """Path, interaction and line stand in the violation; what cannot be read is an error."""
    path = tmp_path / "c.json"
    request = {
        "method": "POST",
        "uri": "https://x/v1/chat/completions",
        "body": json.dumps({"messages": [USER]}),
    }
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps(answer(None))}}
    entry = {"request": request, "response": response}
    other = entry | {"request": request | {"body": json.dumps({"messages": [USER, USER]})}}
    path.write_text(json.dumps({"interactions": [entry, other]}, indent=1))
    first, second = check_cassette(path)
    assert (first.path, first.interaction, first.line) == (str(path), 0, 3)
    assert (second.interaction, second.line) == (1, 19)
    with pytest.raises(CassetteError):
        check_cassette(tmp_path / "none.yaml")


TEXTS = st.sampled_from(
    ["choices", "message", "delta", "content", "tool_calls", "function", "name", "arguments", "id", "index"]
) | st.sampled_from(
    ["finish_reason", "usage", "error", "role", "assistant", "prompt_tokens", "total_tokens", "stop", "{}"]
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
CHOICES = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": JSON, "delta": JSON}))}
)


@given(
    st.lists(
        st.builds(
            lambda body, streamed, status, messages, options: turn(
                1,
                messages,
                stream(*body) if streamed else body[0],
                status=status,
                streamed=streamed,
                tools=options,
            ),
            st.lists(JSON | CHOICES, min_size=1, max_size=3),
            st.booleans(),
            st.sampled_from([200, 500]),
            st.lists(st.dictionaries(TEXTS, JSON, max_size=4), max_size=3),
            JSON,
        ),
        max_size=3,
    )
)
def test_nothing_that_was_recorded_makes_it_raise(turns: list[Recorded]) -> None:
    """Whatever stands in requests, answers and chunks, the result is violations with known codes."""
    for violation in check_recorded(turns):
        assert violation.code in CODES
        json.dumps(violation.to_dict())
