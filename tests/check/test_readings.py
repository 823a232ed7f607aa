"""How the check reads what it was given: odd shapes, several chunks, parts, answers beside each other."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from react_replay.cassettes.reading import Recorded, read_cassette
from react_replay.check import check_cassette, check_messages, check_recorded
from react_replay.messages import Request
from tests.check.building import (
    COUNTS,
    OTHER,
    TOOLS,
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


def codes(*turns: Recorded) -> list[str]:
    """The codes at the last of these exchanges."""
    return [code for place, _, code in found(*turns) if place == turns[-1].number - 1]


def streamed(*chunks: Any) -> Recorded:
    return turn(body=stream(*chunks), streamed=True)


def parts(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


def unnamed(arguments: str) -> dict[str, Any]:
    return {"function": {"arguments": arguments}}


def named(name: str) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": "{}"}}


NO_INDEX = {"choices": [{"delta": {"content": "hi"}, "finish_reason": None}]}
WRONG = {"choices": [], "usage": {**COUNTS, "total_tokens": 9}}
SEARCH = '{"name": "search", "arguments": {}}'


def fenced(length: int) -> str:
    """A call in a fence, blanks in it up to `length` characters."""
    text = f"```json\n{SEARCH}%s\n```"
    return text % (" " * (length - len(text) + 2))


ANSWERS: list[tuple[Recorded, list[str]]] = [
    # Shapes that are none.
    (turn(body={"choices": [{"message": 7, "finish_reason": "stop"}]}), ["empty-answer"]),
    (turn(body={"choices": [7]}), ["answer-without-choices"]),
    (turn(body=called(7)), ["answer-missing-id", "answer-missing-name", "answer-arguments-missing"]),
    (turn(body=called({"id": "a", "name": "search"})), ["answer-arguments-missing"]),
    (turn(body=called(call(7))), ["answer-missing-id"]),
    (turn(body=called(call([1]))), ["answer-missing-id"]),
    (turn(body=called(call("a", "1" * 5000))), ["answer-arguments-not-json"]),
    (turn(body=called(call("a", "[" * 9999))), ["answer-arguments-not-json"]),
    (turn(body=answer("\ud800")), []),
    # A stream: its chunks, its choices, its usage.
    (streamed({"choices": 7}, delta("stop", content="hi")), []),
    (streamed({"choices": [{"index": 0, "delta": 7}]}, delta("stop", content="hi")), []),
    (streamed(NO_INDEX, delta("stop")), []),
    (streamed(delta(content="a"), {"error": "busy"}, delta("stop")), ["stream-error"]),
    (streamed(delta("stop", content="a"), WRONG), ["usage-sum"]),
    (streamed(delta(content="a"), WRONG, delta("stop")), ["usage-sum"]),
    # Its calls, with and without an index.
    (streamed(delta(tool_calls=[7, call("a"), call("b")]), delta("tool_calls")), ["call-without-index"]),
    (
        streamed(delta(tool_calls=[{"id": "a"}, {"id": "b"}]), delta("tool_calls")),
        ["call-without-index", "answer-arguments-empty", "answer-arguments-empty"],
    ),
    (
        streamed(
            delta(tool_calls=[named("search")]), delta(tool_calls=[named("search")]), delta("tool_calls")
        ),
        ["call-without-index", "answer-missing-id", "answer-missing-id"],
    ),
    (streamed(delta(tool_calls=[call("a", "{")]), delta(tool_calls=[unnamed("}")]), delta("tool_calls")), []),
    (
        streamed(
            delta(tool_calls=[call("a")]),
            delta(index=1, tool_calls=[call("b")]),
            delta("tool_calls"),
            delta("tool_calls", 1),
        ),
        [],
    ),
    # A body in two chunks.
    (
        replace(
            turn(), chunks=(b'{"choices": [{"message": {"content": "hi"}, ', b'"finish_reason": "stop"}]}')
        ),
        [],
    ),
    # A content in parts.
    (turn(body=answer(parts(""))), ["empty-answer"]),
    (turn(body=answer([{"type": "image_url"}])), []),
    (turn(body=answer(parts("<func", "tion=search>"))), ["call-as-text"]),
    # A call as text.
    (turn(body=answer(f"[{SEARCH}]")), ["call-as-text"]),
    (turn(body=answer(f"  {SEARCH} ")), ["call-as-text"]),
    (turn(body=answer(f'{{"type": "function", "function": {SEARCH}}}')), ["call-as-text"]),
    (turn(body=answer('{"name": "search", "parameters": {}}')), ["call-as-text"]),
    (turn(body=answer('{"name": "search"}')), []),
    (turn(body=answer('{"name": "other", "arguments": {}}')), []),
    (turn(body=answer("{hello}")), []),
    (turn(body=answer("[]")), []),
    (turn(body=answer("[1]")), []),
    (turn(body=answer(fenced(19_999))), ["call-as-text"]),
    (turn(body=answer(fenced(20_000))), []),
    # The older function call, beside the same one in `tool_calls`.
    (
        turn(
            body=answer(
                None,
                "function_call",
                function_call={"name": "search", "arguments": ""},
                tool_calls=[call("a", "")],
            )
        ),
        ["answer-arguments-empty"],
    ),
    # What the request offers and how it ends.
    (turn(body=called(call(name="f")), tools=[{"type": "custom", "custom": {"name": "f"}}]), []),
    (turn(body=called(call(name="f")), tools=[{"function": 7}, {"name": "f"}]), []),
    (turn(messages=[USER, {"role": "assistant", "content": "{", "partial": True}]), []),
    (
        turn(
            messages=[
                USER,
                {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "1"},
            ],
            tools=None,
            functions=[{"name": "f"}],
        ),
        [],
    ),
]


@pytest.mark.parametrize(("exchange", "expected"), ANSWERS, ids=range(len(ANSWERS)))
def test_what_an_exchange_holds_is_read_as_it_is(exchange: Recorded, expected: list[str]) -> None:
    """The codes of one exchange, in the order in which they are found."""
    assert codes(exchange) == expected


def test_an_error_in_two_chunks_is_one_text() -> None:
    """What is quoted of a body is the whole of it."""
    (only,) = check_recorded([replace(turn(status=500), chunks=(b"<ht", b"ml>"))])
    assert "'<html>'" in only.message


def test_a_request_that_cannot_be_read_hides_no_fault_of_its_answer() -> None:
    """Only what the request would have said is left out: a call of an unknown tool."""
    unreadable = replace(turn(body=called(call("a", "[]", "rm"))), sent=(None, "there is no body"))
    assert codes(unreadable) == ["request-unreadable", "answer-arguments-not-object"]


def test_a_cassette_whose_file_is_gone_is_checked_without_lines(tmp_path: Path) -> None:
    """What was read is checked; where it stands in the file is not known."""
    path = tmp_path / "c.json"
    request = {
        "method": "POST",
        "uri": "https://x/v1/chat/completions",
        "body": json.dumps({"messages": [USER]}),
    }
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps(answer(None))}}
    path.write_text(json.dumps({"interactions": [{"request": request, "response": response}]}))
    cassette = read_cassette(path)
    path.unlink()
    (only,) = check_cassette(cassette)
    assert (only.code, only.path, only.interaction, only.line) == ("empty-answer", str(path), 0, None)


SAID: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"body": answer(None, refusal="no")},
        {"body": answer(None, refusal="never")},
        "same-request-other-answer",
    ),
    ({"body": called(call("a", "{}"))}, {"body": called(call("a", "[]"))}, "same-request-other-answer"),
    ({"body": called(call("a"))}, {"body": called(call("b"))}, "same-request-other-answer"),
    ({"body": called(call("a"))}, {"body": called(call("a"), content="")}, "same-request-again"),
    ({"body": called(call("a"))}, {"body": called(call("a"), content="X")}, "same-request-other-answer"),
    (
        {"body": called(call("a", {"q": 1, "r": 2}))},
        {"body": called(call("a", {"r": 2, "q": 1}))},
        "same-request-again",
    ),
    ({"body": answer("\ud800")}, {"body": answer("\ud800")}, "same-request-again"),
    ({"body": b"a"}, {"body": b"b"}, "same-request-other-answer"),
    ({"body": b"a"}, {"body": b"a"}, "same-request-again"),
    ({"body": {"error": "a"}}, {"body": {"error": "b"}}, "same-request-other-answer"),
    ({"body": {"error": "a"}}, {"body": {"error": "a", "id": 1}}, "same-request-again"),
    (
        {"body": stream({"error": "a"}), "streamed": True},
        {"body": stream({"error": "b"}), "streamed": True},
        "same-request-other-answer",
    ),
]


@pytest.mark.parametrize(("first", "second", "code"), SAID, ids=range(len(SAID)))
def test_what_makes_two_answers_the_same(first: Any, second: Any, code: str) -> None:
    """Words, refusals, calls with ids and arguments, or the error; neither spelling nor order of keys."""
    assert [each for each in codes(turn(**first), turn(2, **second)) if each.startswith("same-")] == [code]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (b"<html>a", b"<html>a", True),
        (b"<html>a", b"<html>b", False),
        (b'{"error": {"message": "a"}}', b'{"error":{"message":"a"}}', True),
        (b'{"error": {"message": "a"}}', b'{"error": {"message": "b"}}', False),
    ],
    ids=range(4),
)
def test_a_repeated_error_is_told_from_a_retry(first: bytes, second: bytes, same: bool) -> None:
    """An error is the same by what its JSON holds, or by its bytes."""
    violations = check_recorded([turn(body=first, status=500), turn(2, body=second, status=500)])
    (again,) = [violation for violation in violations if violation.code == "same-request-again"]
    assert again.message.startswith(
        "the same request as #0, with the same answer"
        if same
        else "the same request as #0 (status 500 then 500)"
    )


GAVE = turn(body=called(call("a", '{"q":1}'), call("b")))


@pytest.mark.parametrize(
    ("given", "sent", "expected"),
    [
        # Arguments that are no text.
        ("{}", "", [(1, "arguments-empty"), (1, "reformatted-arguments")]),
        ("{}", None, [(1, "arguments-empty"), (1, "reformatted-arguments")]),
        ('{"q":1}', {"q": 1}, [(1, "arguments-not-text"), (1, "reformatted-arguments")]),
        ('{"q":1}', None, [(1, "arguments-empty"), (1, "changed-arguments")]),
    ],
    ids=range(4),
)
def test_arguments_are_held_against_what_they_mean(given: Any, sent: Any, expected: Any) -> None:
    """None and an empty text mean an empty object, and an object means what its text does."""
    pair = [turn(body=called(call("a", given))), turn(2, history(call("a", sent)))]
    assert [(place, code) for at, place, code in found(*pair) if at == 1] == expected


ASSISTANT = {"role": "assistant", "content": "so"}


@pytest.mark.parametrize(
    ("asked", "sent", "expected"),
    [
        # The first message that differs is named, instructions not counted.
        ([USER, ASSISTANT, USER], [USER, OTHER, USER], [(1, "rewritten-history")]),
        (
            [{"role": "system", "content": "a"}, USER],
            [{"role": "system", "content": "b"}, {"role": "developer", "content": "c"}, OTHER],
            [(2, "rewritten-history")],
        ),
        ([{"role": "developer", "content": "a"}, USER], [{"role": "developer", "content": "b"}, USER], []),
        # One that was shortened is another matter.
        ([USER, ASSISTANT, OTHER], [OTHER], []),
    ],
    ids=range(4),
)
def test_a_rewritten_history_is_named_where_it_begins(asked: Any, sent: Any, expected: Any) -> None:
    """The index counts in the request that was sent last."""
    later = [*sent, *history(call("a"))[1:]]
    pair = [turn(messages=asked, body=called(call("a"))), turn(2, later)]
    assert [(place, code) for at, place, code in found(*pair) if at == 1] == expected


def deep(depth: int) -> dict[str, Any]:
    content: Any = ""
    for _ in range(depth):
        content = [content]
    return {"role": "user", "content": [{"type": "text", "text": content}]}


def test_messages_too_deep_to_be_compared_do_not_make_it_raise() -> None:
    """What cannot be compared counts as changed."""
    first = replace(
        turn(body=called(call("a"))), sent=(Request.of({"messages": [deep(5000)], "tools": TOOLS}), "")
    )
    sent = {"messages": [deep(5000), *history(call("a"))[1:]], "tools": TOOLS}
    second = replace(turn(2), sent=(Request.of(sent), ""), asked=2)
    assert found(first, second) == [(1, 0, "rewritten-history")]


def test_each_answer_of_a_history_is_looked_for() -> None:
    """Calls lost from two answers are two faults; a history rewritten before both is one."""
    first = turn(body=called(call("a"), call("b")))
    kept = history(call("a"))
    second = turn(2, kept, called(call("c"), call("d")))
    both = [*kept, *history(call("c"))[1:]]
    third = found(first, second, turn(3, both))
    assert [each for each in third if each[0] == 2] == [(2, 1, "lost-calls"), (2, 3, "lost-calls")]
    rewritten = found(first, second, turn(3, [OTHER, *both[1:]]))
    assert [each for each in rewritten if each[0] == 2] == [
        (2, 0, "rewritten-history"),
        (2, 1, "lost-calls"),
        (2, 3, "lost-calls"),
    ]


@pytest.mark.parametrize(("length", "shown"), [(75, "...'"), (74, "xxx'")], ids=range(2))
def test_lost_calls_are_named_up_to_160_characters(length: int, shown: str) -> None:
    """Each with its tool and its id."""
    ids = ["x" * 70, "x" * length]
    first = turn(body=called(call(), *(call(identity) for identity in ids)))
    (lost,) = [
        each for each in check_recorded([first, turn(2, history(call()))]) if each.code == "lost-calls"
    ]
    names = f"search {ids[0]}, search {ids[1]}"
    assert f"(lost: '{names[:160]}" in lost.message
    assert shown + ")" in lost.message


def test_an_id_that_two_answers_gave_says_nothing() -> None:
    """Which of the two a history means is not known, so that neither is held against it."""
    twice = [turn(body=called(call("a", '{"q":1}'))), turn(2, [OTHER], called(call("a", '{"q":2}')))]
    assert codes(*twice, turn(3, history(call("a", '{"q":3}')))) == []


def test_faults_stand_in_the_order_of_the_messages() -> None:
    """Whatever is found last, such as that no tools are offered, or that the beginning was rewritten."""
    bad = {"role": "user", "content": 7}
    assert found(turn(messages=[*history(call()), bad], tools=None)) == [
        (0, 1, "calls-without-tools"),
        (0, 3, "wrong-content"),
    ]
    sent = [OTHER, *history(call("a", '{"q":2}'), call("b"))[1:]]
    assert found(GAVE, turn(2, sent)) == [(1, 0, "rewritten-history"), (1, 1, "changed-arguments")]


def test_what_is_said_again_is_bounded_by_fifty() -> None:
    """A request that continues another repeats 50 of its faults; another one says all of its own."""
    bad = [{"role": "user", "content": number} for number in range(60)]
    first = turn(messages=bad)
    longer = copy.deepcopy(bad)
    assert len(codes(first, turn(2, [*longer, USER]))) == 50
    assert len(codes(first, turn(2, [*longer[:59], USER]))) == 59
    assert codes(first, turn(2, [USER])) == []


def test_sixteen_conversations_may_alternate() -> None:
    """The one that was continued longest ago is forgotten first, and then checked as a new one."""
    bad: list[Any] = [{"role": "user", "content": number} for number in range(60)]

    def others(count: int) -> list[Recorded]:
        return [turn(number + 3, [{"role": "user", "content": f"{number}"}]) for number in range(count)]

    first = [turn(1, [OTHER]), turn(2, bad)]
    assert len(codes(*first, *others(15), turn(99, [*bad, USER]))) == 50
    assert len(codes(*first, *others(16), turn(99, [*bad, USER]))) == 60


def test_the_longest_history_that_is_continued_counts() -> None:
    """Of two earlier requests the one that shares more is continued, whichever came first."""
    bad = [{"role": "user", "content": number} for number in range(60)]
    shorter, longer, last = turn(messages=bad[:1]), turn(2, [OTHER]), turn(3, bad)
    assert len(codes(shorter, longer, last)) == 60
    assert (
        len(
            codes(
                turn(messages=[USER]),
                turn(2, [USER, *bad]),
                turn(3, [USER, OTHER]),
                turn(4, [USER, *bad, USER]),
            )
        )
        == 50
    )


HISTORIES: list[tuple[list[Any], list[tuple[str, int]]]] = [
    ([USER, {"role": "assistant", "content": parts("")}], [("empty-assistant-message", 1)]),
    ([USER, {"role": "assistant", "content": "Action: x\n**Observation:**"}], []),
    ([USER, {"role": "assistant", "content": "Action: x\nObservation: _`"}], []),
    ([USER, {"role": "assistant", "content": "Action: x\nObservation: X"}], [("invented-observation", 1)]),
    (
        [
            *history(call()),
            {"role": "assistant", "content": None, "tool_calls": [call()]},
            USER,
            {"role": "tool", "tool_call_id": "a", "content": "late"},
        ],
        [("reused-call-id", 3), ("unanswered-call", 3), ("orphan-result", 5)],
    ),
]


@pytest.mark.parametrize(("messages", "expected"), HISTORIES, ids=range(len(HISTORIES)))
def test_what_a_history_holds_is_read_as_it_is(messages: Any, expected: Any) -> None:
    """Empty parts, marks round a label, and an id that is used again."""
    assert [(v.code, v.message_index) for v in check_messages(messages)] == expected


def test_what_is_no_json_is_shown_all_the_same() -> None:
    """A value of Python's is shown as its text, and one that holds itself by its type."""
    ring: list[Any] = []
    ring.append(ring)
    number, itself = check_messages([{"role": Decimal("1.5")}, {"role": ring}])
    assert number.message.startswith('the role "1.5" is not known; ')
    assert itself.message.startswith("the role a list is not known; ")


@pytest.mark.parametrize("tools", [7, "search", {"search": 1}, [7, {"function": 7}]], ids=range(4))
def test_what_is_no_list_of_tools_offers_none(tools: Any) -> None:
    """A number, a text and an object are no tools, and neither are their letters and keys."""
    (only,) = check_messages(history(call()), tools)
    assert only.message == "'search' was called, but the tools are: 'none'"


def test_custom_tools_are_offered_by_their_name() -> None:
    """An entry of the kind `custom` counts like a function."""
    assert check_messages(history(call()), [{"type": "custom", "custom": {"name": "search"}}]) == []
