"""What the check says, word for word: each sentence names what was found and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from react_replay.cassettes.reading import Recorded
from react_replay.check import check_messages, check_recorded
from tests.check.building import MADE_UP, OTHER, USER, answer, call, called, delta, history, stream, turn

OPEN = (
    "has no tool message before the next turn; answer each call once, with an error where the tool "
    "did not run"
)
NO_PAIR = "keep the assistant message with the call before its result, or drop both"
MAKE_ONE_UP = "make one up and use it in its tool message too"
NO_RESULT_ID = "this tool message has no tool_call_id; give it the id of the call that it answers"
OBJECT = "send a JSON object, '{}' where there are no arguments"
PARSES = (
    "keep what the model wrote only where it parses, and send '{}' with an error as the tool's message "
    "otherwise"
)
NO_ARGUMENTS = "send '{}' where a call takes none"
ROLES = "system, developer, user, assistant, tool, function"
UNTYPED = 'is no object with a `type`; write {"type": "text", "text": ...}'
LONG = "x" * 61
SHORTENED = "x" * 60 + "..."


def said(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", **fields}


def calls(*entries: Any) -> dict[str, Any]:
    return said(content=None, tool_calls=list(entries))


def result(identity: Any = "a", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def arguments(written: Any) -> list[dict[str, Any]]:
    return [calls(call("a", written)), result()]


FUNCTION = said(function_call={"name": "f", "arguments": "{}"})

HISTORIES: list[tuple[list[Any], list[tuple[int, str, str]]]] = [
    # Messages, roles and contents.
    ([USER, "hello"], [(1, "message-not-object", "it is a str; a message is an object with a role")]),
    (
        [{"role": LONG, "content": 7}],
        [(0, "unknown-role", f"the role '{SHORTENED}' is not known; use one of {ROLES}")],
    ),
    ([{"content": "x"}], [(0, "unknown-role", f"the role null is not known; use one of {ROLES}")]),
    (
        [{"role": "user", "content": 7}],
        [(0, "wrong-content", "this user message's content is a int; send a text or a list of parts")],
    ),
    (
        [USER, calls(call()), result("a", {})],
        [(2, "wrong-content", "this tool message's content is a dict; send a text or a list of parts")],
    ),
    (
        [{"role": "user", "content": [{"type": "text", "text": "?"}, {"type": 3}, 4]}],
        [(0, "wrong-content", f"part 1 of this user message's content {UNTYPED}")],
    ),
    (
        [USER, said(content=["x"])],
        [(1, "wrong-content", f"part 0 of this assistant message's content {UNTYPED}")],
    ),
    (
        [{"role": "system"}],
        [
            (
                0,
                "missing-content",
                "this system message has no content; send a text, '' where there is nothing to say",
            )
        ],
    ),
    (
        [USER, calls(call()), result("a", None)],
        [
            (
                2,
                "missing-content",
                "this tool message has no content; send a text, '' where there is nothing to say",
            )
        ],
    ),
    (
        [USER, said(content="")],
        [
            (
                1,
                "empty-assistant-message",
                "this assistant message has content '' and no calls; leave it out, or keep what the model "
                "said",
            )
        ],
    ),
    (
        [USER, said(content="42", tool_calls={})],
        [(1, "empty-tool-calls", "tool_calls is {}; leave the field out where there are no calls")],
    ),
    (
        [USER, {"role": "developer", "content": "x"}],
        [
            (
                1,
                "late-system-message",
                "a developer message stands after the conversation began; several servers refuse that, "
                "so put instructions first",
            )
        ],
    ),
    (
        [said(content="hi"), {"role": "system", "content": "x"}],
        [
            (
                1,
                "late-system-message",
                "a system message stands after the conversation began; several servers refuse that, "
                "so put instructions first",
            )
        ],
    ),
    (
        [USER, said(content=MADE_UP)],
        [
            (
                1,
                "invented-observation",
                "this assistant message holds an observation after its action: cut the model's text there "
                "(stop words alone do not), and send the tool's result as a message of its own",
            )
        ],
    ),
    # Calls and their results.
    ([USER, calls(call("b"))], [(1, "unanswered-call", f"the call 'b' {OPEN}")]),
    (
        [USER, calls(call(LONG)), USER, calls(call("b")), result("b")],
        [(1, "unanswered-call", f"the call '{SHORTENED}' {OPEN}")],
    ),
    ([USER, result("x")], [(1, "orphan-result", f"no call has the id 'x'; {NO_PAIR}")]),
    (
        [USER, calls(call()), USER, result()],
        [
            (1, "unanswered-call", f"the call 'a' {OPEN}"),
            (
                3,
                "orphan-result",
                "this answers the call 'a' of messages[1], but other messages stand between; "
                "put it right behind its call",
            ),
        ],
    ),
    (
        [calls(call()), result(), result()],
        [(2, "answered-twice", "the call 'a' was answered before; send one tool message a call")],
    ),
    (
        [calls(call(None)), result("")],
        [
            (0, "missing-call-id", f"a call of 'search' has the id null; {MAKE_ONE_UP}"),
            (1, "missing-result-id", NO_RESULT_ID),
        ],
    ),
    (
        [calls(call("")), result("")],
        [
            (0, "missing-call-id", f"a call of 'search' has the id ''; {MAKE_ONE_UP}"),
            (1, "missing-result-id", NO_RESULT_ID),
        ],
    ),
    (
        [calls({"type": "custom", "custom": {"name": "f", "input": "x"}}), {"role": "tool", "content": "x"}],
        [
            (0, "missing-call-id", f"a call of 'f' has the id null; {MAKE_ONE_UP}"),
            (1, "missing-result-id", NO_RESULT_ID),
        ],
    ),
    (
        [calls(call()), {"role": "tool", "content": "x"}, result()],
        [(1, "missing-result-id", NO_RESULT_ID)],
    ),
    (
        [USER, calls(call(), call()), result()],
        [
            (
                1,
                "repeated-call-id",
                "the id 'a' stands for two calls of this turn; give each its own, in its tool message too",
            )
        ],
    ),
    (
        [USER, calls(call()), result(), calls(call()), result(), result()],
        [
            (
                3,
                "reused-call-id",
                "the id 'a' was used in messages[1] already; rename it in the call and in its tool message",
            ),
            (5, "answered-twice", "the call 'a' was answered before; send one tool message a call"),
        ],
    ),
    (
        [calls(call("a", "{}", " ")), result()],
        [(0, "missing-call-name", "the call 'a' names no tool; drop it or name one")],
    ),
    # Arguments.
    (
        arguments(7),
        [
            (
                0,
                "arguments-not-text",
                "the call 'a' of 'search' has arguments that are a int and no JSON text; send them as "
                "JSON text",
            )
        ],
    ),
    (arguments(None), [(0, "arguments-empty", f"the call 'a' of 'search' has no arguments; {NO_ARGUMENTS}")]),
    (
        arguments(" "),
        [(0, "arguments-empty", f"the call 'a' of 'search' has an empty text for arguments; {NO_ARGUMENTS}")],
    ),
    (
        arguments('{"a": "x'),
        [
            (
                0,
                "arguments-not-json",
                "the call 'a' of 'search' has arguments that are no JSON (Unterminated string starting "
                f"""at character 6): '{{"a": "x'; {PARSES}""",
            )
        ],
    ),
    (
        arguments('{"a": }'),
        [
            (
                0,
                "arguments-not-json",
                "the call 'a' of 'search' has arguments that are no JSON (Expecting value at character 6): "
                f"""'{{"a": }}'; {PARSES}""",
            )
        ],
    ),
    (
        arguments("[" * 9999),
        [
            (
                0,
                "arguments-not-json",
                f"the call 'a' of 'search' has arguments that are nested too deeply to read; {PARSES}",
            )
        ],
    ),
    *(
        (
            arguments(written),
            [
                (
                    0,
                    "arguments-not-object",
                    f"the call 'a' of 'search' has arguments that are {kind} and no JSON object: "
                    f"'{written}'; {OBJECT}",
                )
            ],
        )
        for written, kind in [
            ("[]", "an array"),
            ('"x"', "a string"),
            ("true", "a boolean"),
            ("1.5", "a number"),
            ("null", "null"),
        ]
    ),
    # The older function calls.
    (
        [FUNCTION, USER],
        [
            (
                0,
                "unanswered-call",
                "the function_call of 'f' has no function message after it; answer it, with an error where "
                "the function did not run",
            )
        ],
    ),
    (
        [USER, FUNCTION, {"role": "function", "name": "f"}, {"role": "function", "name": "f"}],
        [
            (
                3,
                "orphan-result",
                "this function message answers no function_call; keep the assistant message with the call "
                "right before it",
            )
        ],
    ),
    (
        [said(function_call={"arguments": "{}"}), {"role": "function"}],
        [(0, "missing-call-name", "the call '' names no tool; drop it or name one")],
    ),
]


@pytest.mark.parametrize(("messages", "expected"), HISTORIES, ids=range(len(HISTORIES)))
def test_a_fault_of_a_history_says_how_to_mend_it(messages: Any, expected: Any) -> None:
    """Place, code and sentence of each fault, in the order in which they were found."""
    assert [(v.message_index, v.code, v.message) for v in check_messages(messages)] == expected


@pytest.mark.parametrize(
    ("tools", "known"),
    [(["b", "a"], "a, b"), ([], "none"), (["x" * 201], "x" * 200 + "..."), (["x" * 200], "x" * 200)],
    ids=range(4),
)
def test_an_unknown_tool_is_named_beside_the_known_ones(tools: list[str], known: str) -> None:
    """The tools stand in the order of their names, cut at 200 characters."""
    (only,) = check_messages([calls(call()), result()], tools)
    assert (only.code, only.message) == (
        "unknown-tool",
        f"'search' was called, but the tools are: '{known}'",
    )


ASSISTANT = {"role": "assistant", "content": "x"}
UNSEEN = "whether the reply is whole is not known, so do not take it for an answer unseen"
CUT = "the last one may be cut, so run only what is complete JSON, or raise max_tokens"
AS_TEXT = "no tool will run, so mend the server's tool parser or template"
NOT_SHOWN = "do not show it as an answer, and raise max_tokens where that cut it"
GUESS = "do not guess at them: answer with an error that says so"
LISTS = "answer it with an error that lists the tools"
BODY = "take the message from the body as it stands"
FINISHES = "stop, length, tool_calls, content_filter, function_call"
AS_IT_WAS = "the provider's cache keeps its prefix"
FIRST = turn(body=called(call("a", '{"q":1}'), call("b")))
BUSY = {"error": {"message": "busy"}}


def unread(body: Any) -> Recorded:
    chunks = (json.dumps(body).encode(),)
    return Recorded(
        number=1,
        url="x",
        sent=(None, "the request has no body"),
        status=200,
        chunks=chunks,
        streamed=False,
    )


EXCHANGES: list[tuple[list[Recorded], list[tuple[Any, str, str]]]] = [
    # An answer as a whole.
    (
        [turn(body=b"a" * 61)],
        [
            (
                None,
                "answer-not-json",
                f"the answer (status 200) is no JSON object but '{'a' * 60}...'; "
                "is the endpoint a chat-completions one?",
            )
        ],
    ),
    (
        [turn(body=b"\xffno", status=201)],
        [
            (
                None,
                "answer-not-json",
                "the answer (status 201) is no JSON object but '\ufffdno'; "
                "is the endpoint a chat-completions one?",
            )
        ],
    ),
    (
        [turn(body={"error": {"message": "x" * 101}, "id": 1})],
        [
            (
                None,
                "error-under-200",
                f"status 200 came with an error: '{'x' * 100}...'; "
                "a client must look for `error` before it reads `choices`",
            ),
            (
                None,
                "answer-without-choices",
                "the answer has no choices, only the keys 'error, id'; record it again",
            ),
        ],
    ),
    (
        [turn(body={"error": {"code": 7}, "choices": answer()["choices"]})],
        [
            (
                None,
                "error-under-200",
                """status 200 came with an error: {"code": 7}; """
                "a client must look for `error` before it reads `choices`",
            )
        ],
    ),
    (
        [turn(body={"error": "no", "choices": answer()["choices"]})],
        [
            (
                None,
                "error-under-200",
                "status 200 came with an error: 'no'; a client must look for `error` before it reads "
                "`choices`",
            )
        ],
    ),
    (
        [turn(body={"detail": "x" * 99}, status=400)],
        [
            (
                None,
                "error-without-object",
                """the body of the HTTP 400 error holds no `error` object: '{"detail": \""""
                f"{'x' * 88}...'; {BODY}",
            )
        ],
    ),
    (
        [turn(body=b"<html>", status=400, streamed=True)],
        [
            (
                None,
                "error-without-object",
                f"the body of the HTTP 400 error holds no `error` object: '<html>'; {BODY}",
            )
        ],
    ),
    (
        [turn(body={"error": ""}, status=500)],
        [
            (
                None,
                "error-without-object",
                """the body of the HTTP 500 error holds no `error` object: '{"error": ""}'; """ + BODY,
            )
        ],
    ),
    # Streams.
    (
        [turn(body=b"data: [DONE]\n\n", streamed=True)],
        [
            (
                None,
                "answer-without-choices",
                "the stream holds no choice: it broke off before the first; record it again, "
                "unless that is what it is for",
            )
        ],
    ),
    (
        [turn(body=stream({"error": {"message": "x" * 101}}, delta("stop", content="hi")), streamed=True)],
        [
            (
                None,
                "stream-error",
                f"an error came in the middle of the stream: '{'x' * 100}...'; a client must not take "
                "what came before for an answer",
            )
        ],
    ),
    (
        [turn(body=stream(delta("stop", content="hi")) + b"data: {\n\n", streamed=True)],
        [
            (
                None,
                "stream-unreadable",
                "the stream holds an event that is no JSON: '{'; the answer is read up to that event",
            )
        ],
    ),
    (
        [turn(body=stream(delta(tool_calls=[call("a"), call("b")]), delta("tool_calls")), streamed=True)],
        [
            (
                None,
                "call-without-index",
                "the stream opens another call (id 'b') without an index; tell calls apart by their ids, "
                "or they run into one",
            )
        ],
    ),
    # A choice: its end and its content.
    ([turn(body=answer(finish=None))], [(None, "finish-missing", f"finish_reason is null; {UNSEEN}")]),
    ([turn(body=answer(finish=7))], [(None, "finish-missing", f"finish_reason is 7; {UNSEEN}")]),
    (
        [turn(body=answer(finish="eos"))],
        [
            (
                None,
                "finish-unknown",
                f"finish_reason is 'eos', which is none of {FINISHES}; decide what it means",
            )
        ],
    ),
    (
        [turn(body=called(call(), finish="content_filter"))],
        [(None, "cut-calls", f"the answer holds calls, but finish_reason is 'content_filter': {CUT}")],
    ),
    (
        [turn(body=called(call(), finish=None))],
        [
            (None, "finish-missing", f"finish_reason is null; {UNSEEN}"),
            (None, "cut-calls", f"the answer holds calls, but finish_reason is null: {CUT}"),
        ],
    ),
    (
        [turn(body=answer(None, "length"))],
        [
            (
                None,
                "empty-answer",
                f"the answer has content null and no calls (finish_reason 'length'); {NOT_SHOWN}",
            )
        ],
    ),
    *(
        (
            [turn(body=answer("", **{name: "hm"}))],
            [
                (
                    None,
                    "empty-answer",
                    "the answer has content '' and no calls, only reasoning (finish_reason 'stop'); "
                    f"{NOT_SHOWN}",
                )
            ],
        )
        for name in ("reasoning", "reasoning_content")
    ),
    (
        [turn(body=answer("\n<function=search>{}</function> "))],
        [
            (
                None,
                "call-as-text",
                f"a tool call stands in the content as text: '<function=search>{{}}</function>'; {AS_TEXT}",
            )
        ],
    ),
    (
        [turn(body=answer(MADE_UP))],
        [
            (
                None,
                "answer-invented-observation",
                "after its action the model wrote an observation itself; cut the reply there, and never send "
                "it back as if a tool had said it",
            )
        ],
    ),
    # Its calls.
    (
        [turn(body=called(call(None)))],
        [
            (
                None,
                "answer-missing-id",
                "the call of 'search' has the id null; give it one before it goes into the history",
            )
        ],
    ),
    (
        [turn(body=called(call(7)))],
        [
            (
                None,
                "answer-missing-id",
                "the call of 'search' has the id 7; give it one before it goes into the history",
            )
        ],
    ),
    (
        [turn(body=called(call(), call()))],
        [
            (
                None,
                "answer-repeated-id",
                "two calls have the id 'a'; give each its own before they go into the history",
            )
        ],
    ),
    (
        [turn(body=called(call(name=" ")))],
        [(None, "answer-missing-name", "the call 'a' names no tool; tell the model so, and run nothing")],
    ),
    (
        [turn(body=called(call(name="rm")), functions=[{"name": "f"}])],
        [
            (
                None,
                "answer-unknown-tool",
                f"the call 'a' is of 'rm', but the request offers: 'f, search'; {LISTS}",
            )
        ],
    ),
    (
        [turn(body=called(call(name="rm")), tools=[{"function": {"name": "x" * 201}}])],
        [
            (
                None,
                "answer-unknown-tool",
                f"the call 'a' is of 'rm', but the request offers: '{'x' * 200}...'; {LISTS}",
            )
        ],
    ),
    (
        [turn(body=called(call()), tools=None)],
        [
            (
                None,
                "answer-unknown-tool",
                f"the call 'a' is of 'search', but the request offers: 'none'; {LISTS}",
            )
        ],
    ),
    (
        [turn(body=called(call("a", {"q": 1})))],
        [
            (
                None,
                "answer-arguments-not-json",
                "the call 'a' of 'search' has arguments that are a dict and no JSON text; write them as JSON "
                "text before they go into the history",
            )
        ],
    ),
    (
        [turn(body=called(call("a", "")))],
        [
            (
                None,
                "answer-arguments-empty",
                f"the call 'a' of 'search' has an empty text for arguments; {GUESS}",
            )
        ],
    ),
    (
        [turn(body=called(call("a", "", "")))],
        [(None, "answer-arguments-empty", f"the call 'a' of '' has an empty text for arguments; {GUESS}")],
    ),
    (
        [turn(body=answer(None, "function_call", function_call={"name": "f", "arguments": "[]"}))],
        [
            (
                None,
                "answer-unknown-tool",
                f"the function_call is of 'f', but the request offers: 'search'; {LISTS}",
            ),
            (
                None,
                "answer-arguments-not-object",
                "the function_call of 'f' has arguments that are an array and no JSON object: '[]'; " + GUESS,
            ),
        ],
    ),
    (
        [turn(body=answer() | {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 4}})],
        [
            (
                None,
                "usage-sum",
                "usage says 1 + 2 tokens but a total of 4; some servers leave reasoning out of the parts, so "
                "decide which figure your budget counts",
            )
        ],
    ),
    # The request.
    (
        [unread(called(call(name="rm")))],
        [
            (
                None,
                "request-unreadable",
                "the request has no body; the answer cannot be matched by what was asked, so record it again",
            )
        ],
    ),
    ([turn(messages=[])], [(None, "request-without-messages", "`messages` is empty; ask something")]),
    (
        [turn(messages=[USER, ASSISTANT])],
        [
            (
                1,
                "ends-with-assistant",
                "the last message is the assistant's, so the model is asked to go on with its own words; end "
                "with a user or tool message, or mark it as a prefix where the server has that",
            )
        ],
    ),
    *(
        (
            [turn(messages=[USER, {"role": role, "content": "x"}])],
            [
                (
                    1,
                    "ends-with-instructions",
                    f"the last message is {role}, so nobody asked anything; end with a user or tool message",
                )
            ],
        )
        for role in ("system", "developer")
    ),
    (
        [turn(messages=history(call()), tools=None)],
        [
            (
                1,
                "calls-without-tools",
                "the history has tool calls but the request offers no tools, which several servers refuse; "
                "send the tools along, with tool_choice none where no call is wanted",
            )
        ],
    ),
    # A history beside the answers before it.
    (
        [FIRST, turn(2, history(call("b")))],
        [
            (
                1,
                "lost-calls",
                "the history keeps 1 of the 2 tool_calls that answer #0 gave (lost: 'search a'); keep and "
                "answer each of them, with an error for those that did not run",
            )
        ],
    ),
    (
        [FIRST, turn(2, history(call("a", '{"q":2}'), call("b")))],
        [
            (
                1,
                "changed-arguments",
                """the arguments of 'a' are '{"q":2}', but answer #0 gave '{"q":1}'; """
                "send back what the model wrote",
            )
        ],
    ),
    (
        [FIRST, turn(2, history(call("a", '{"q": 1}'), call("b")))],
        [
            (
                1,
                "reformatted-arguments",
                "the arguments of 'a' are those of answer #0 in another spelling; keep the model's own, and "
                + AS_IT_WAS,
            )
        ],
    ),
    (
        [FIRST, turn(2, [OTHER, *history(call("a", '{"q":1}'), call("b"))[1:]])],
        [
            (
                0,
                "rewritten-history",
                "messages[0] is not what request #0 sent before this call; append to a history, and "
                + AS_IT_WAS,
            )
        ],
    ),
    # The same request twice.
    (
        [turn(), turn(2)],
        [
            (
                None,
                "same-request-again",
                "the same request as #0, with the same answer; one of the two is enough",
            )
        ],
    ),
    (
        [turn(), turn(2, body=BUSY, status=400)],
        [
            (
                None,
                "same-request-again",
                "the same request as #0 (status 200 then 400): a retry; keep the one that the test needs",
            )
        ],
    ),
    (
        [turn(body=BUSY, status=400), turn(2)],
        [
            (
                None,
                "same-request-again",
                "the same request as #0 (status 400 then 200): a retry; keep the one that the test needs",
            )
        ],
    ),
    (
        [turn(), turn(2, [OTHER]), turn(3, body=answer("other"))],
        [
            (
                None,
                "same-request-other-answer",
                "the same request as #0 with another answer (status 200 then 200); they replay right only in "
                "recorded order, so make the requests differ, or rely on the order on purpose",
            )
        ],
    ),
]


@pytest.mark.parametrize(("turns", "expected"), EXCHANGES, ids=range(len(EXCHANGES)))
def test_a_fault_of_an_exchange_says_how_to_mend_it(turns: list[Recorded], expected: Any) -> None:
    """Place, code and sentence of each fault; all of them stand at the last exchange."""
    violations = check_recorded(turns)
    assert [(v.message_index, v.code, v.message) for v in violations] == expected
    assert {v.interaction for v in violations} == {turns[-1].number - 1}
