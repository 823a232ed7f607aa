"""The rules of the loop (DESIGN, section 1), seen in what a run leaves behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from react_replay import (
    Agent,
    Completion,
    Limits,
    Observation,
    RunResult,
    ScriptedBackend,
    StopReason,
    ToolCall,
    loop,
)
from react_replay.dialects.native import NativeDialect
from react_replay.messages import Flag, Usage
from react_replay.tools.base import Toolbox


def get_weather(city: str, days: int = 1) -> str:
    """The weather."""
    return f"{city}: 25°C for {days}"


def boom() -> str:
    """Always fails."""
    raise RuntimeError("kaput")


def ping() -> str:
    """Answers."""
    return "pong"


TOOLS: list[Callable[..., Any]] = [get_weather, boom, ping]


def raw_call(name: str, arguments: Any = "{}", identity: Any = "c1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def wire(
    *calls: dict[str, Any], content: Any = None, finish: str | None = "tool_calls", **message: Any
) -> dict[str, Any]:
    body = {"role": "assistant", "content": content, **message}
    if calls:
        body["tool_calls"] = list(calls)
    return {"choices": [{"index": 0, "message": body, "finish_reason": finish}]}


def delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def run(*replies: Any, **settings: Any) -> RunResult:
    return Agent(ScriptedBackend(replies), tools=TOOLS, **settings).run("?")


def pairs(messages: Sequence[dict[str, Any]]) -> list[tuple[list[str], list[str]]]:
    """For each assistant turn with calls: its ids, and the ids of the tool messages right after it."""
    found = []
    for place, message in enumerate(messages):
        if not message.get("tool_calls"):
            continue
        answered = []
        for later in messages[place + 1 :]:
            if later["role"] != "tool":
                break
            answered.append(later["tool_call_id"])
        found.append(([call["id"] for call in message["tool_calls"]], answered))
    return found


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(raw_call("nope", "{}", "b"), id="unknown tool"),
        pytest.param(raw_call("get_weather", '{"city": ', "b"), id="bad JSON"),
        pytest.param(raw_call("boom", "{}", "b"), id="raises"),
        pytest.param(raw_call("get_weather", "{}", "b"), id="missing field"),
        pytest.param(raw_call("get_weather", "[1]", "b"), id="no object"),
        pytest.param(raw_call("", "{}", "b"), id="no name"),
    ],
)
def test_each_id_gets_one_tool_message_in_call_order(bad: dict[str, Any]) -> None:
    """A call that fails is answered in its place, and so are its siblings."""
    first, last = raw_call("ping", "{}", "a"), raw_call("get_weather", '{"city": "Oslo"}', "c")
    result = run(wire(first, bad, last), "done")
    assert pairs(result.messages) == [(["a", "b", "c"], ["a", "b", "c"])]
    texts = [message["content"] for message in result.messages if message["role"] == "tool"]
    assert (texts[0], texts[2]) == ("pong", "Oslo: 25°C for 1")
    assert texts[1].startswith("error: ")
    assert result.answer == "done"


def test_an_unknown_tool_is_answered_with_the_list_of_tools() -> None:
    """The model learns which tools there are, and which one it may have meant."""
    seen = run(wire(raw_call("get_wether")), "done").steps[0].observations[0]
    assert not seen.ok
    assert "get_weather, boom, ping" in seen.text
    assert "did you mean 'get_weather'" in seen.text


def test_bad_json_is_answered_with_its_position() -> None:
    """The model learns where its arguments stop being JSON."""
    seen = run(wire(raw_call("get_weather", '{"city": Oslo}')), "done").steps[0].observations[0]
    assert "line 1 column 10" in seen.text


def test_a_missing_field_is_named() -> None:
    """The model learns which field it left out."""
    seen = run(wire(raw_call("get_weather", '{"days": 2}')), "done").steps[0].observations[0]
    assert "`city` is missing" in seen.text


def test_a_raising_tool_is_an_observation() -> None:
    """An exception in a tool goes to the model with its type and text; the run goes on."""
    result = run(wire(raw_call("boom")), "done")
    assert result.steps[0].observations[0].text == "error: RuntimeError: kaput"
    assert result.answer == "done"


def test_observations_stand_before_any_other_message() -> None:
    """Nothing comes between an assistant turn with calls and its tool messages."""
    calls = [raw_call("ping", "{}", "a"), raw_call("boom", "{}", "b")]
    result = run(wire(*calls), wire(content="", finish="tool_calls"), "done")
    roles = [message["role"] for message in result.messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"]


@pytest.mark.parametrize("arguments", ['{"city": "Os', "{", '{"city": "Oslo"', '{"city"', ""])
def test_a_call_cut_at_the_token_limit_never_runs(arguments: str) -> None:
    """`length` in the middle of the arguments ends the run as `length`, and nothing runs."""
    result = run(wire(raw_call("get_weather", arguments), finish="length"))
    assert (result.stop_reason, result.answer) == (StopReason.LENGTH, None)
    assert result.truncated
    assert [seen.ok for step in result.steps for seen in step.observations] == [False]
    assert pairs(result.messages) == [(["c1"], ["c1"])]


def test_empty_arguments_cut_at_the_token_limit_are_not_taken_for_no_arguments() -> None:
    """A tool without required fields does not run either: nobody knows what was to come."""
    result = run(wire(raw_call("ping", ""), finish="length"))
    assert result.stop_reason is StopReason.LENGTH
    assert not result.steps[0].observations[0].ok


def test_a_complete_call_runs_although_finish_reason_is_length() -> None:
    """Tool calls decide, `finish_reason` informs: complete JSON runs, and the cut is flagged."""
    result = run(wire(raw_call("get_weather", '{"city": "Oslo"}'), finish="length"), "done")
    assert result.steps[0].observations[0].ok
    assert Flag.TRUNCATED in result.flags
    assert result.answer == "done"


def test_the_complete_sibling_of_a_cut_call_runs() -> None:
    """Of two calls only the cut one is answered with an error."""
    calls = (raw_call("ping", "{}", "a"), raw_call("get_weather", '{"ci', "b"))
    result = run(wire(*calls, finish="length"), "done")
    assert [seen.ok for seen in result.steps[0].observations] == [True, False]
    assert pairs(result.messages) == [(["a", "b"], ["a", "b"])]


@pytest.mark.parametrize("arguments", ['{"city": "Os', "", "{"])
def test_a_call_of_an_unfinished_stream_never_runs(arguments: str) -> None:
    """A stream that breaks off in the arguments ends the run as `incomplete`."""
    call = {"index": 0, **raw_call("get_weather", arguments)}
    result = run([delta(role="assistant", tool_calls=[call])])
    assert (result.stop_reason, result.answer) == (StopReason.INCOMPLETE, None)
    assert [seen.ok for seen in result.steps[0].observations] == [False]
    assert pairs(result.messages) == [(["c1"], ["c1"])]
    assert not result.truncated


def test_empty_arguments_of_an_unfinished_stream_do_not_run() -> None:
    """A name whose arguments had not come yet is no call without arguments."""
    result = run([delta(tool_calls=[{"index": 0, **raw_call("ping", "")}])])
    assert result.stop_reason is StopReason.INCOMPLETE
    assert not result.steps[0].observations[0].ok


def test_the_text_of_an_unfinished_stream_is_partial() -> None:
    """Text without a finish reason is no answer; it is kept in `partial`."""
    result = run([delta(content="The answer is")])
    assert (result.stop_reason, result.answer) == (StopReason.INCOMPLETE, None)
    assert result.partial == "The answer is"
    assert Flag.UNFINISHED in result.flags


@pytest.mark.parametrize("finish", ["stop", None, "tool_calls", "eos", "function_call"])
def test_calls_run_whatever_finish_reason_says(finish: str | None) -> None:
    """A complete call of a whole body runs under any finish reason."""
    result = run(wire(raw_call("ping"), finish=finish), "done")
    assert result.steps[0].observations[0].text == "pong"


def test_a_lying_finish_reason_is_flagged() -> None:
    """`stop` beside calls is noted on the result."""
    assert Flag.LYING_FINISH in run(wire(raw_call("ping"), finish="stop"), "done").flags


NINE = re.compile(r"[a-z0-9]{9}\Z")


@pytest.mark.parametrize("ids", [("", ""), (None, None), ("a", "a"), (7, "a"), ("a", "")], ids=repr)
def test_a_missing_or_repeated_id_is_replaced_on_both_sides(ids: tuple[Any, Any]) -> None:
    """Every call has an id of its own, nine characters of [a-z0-9] where it had none."""
    calls = [raw_call("ping", "{}", identity) for identity in ids]
    result = run(wire(*calls), "done")
    [(asked, answered)] = pairs(result.messages)
    assert asked == answered
    assert len(set(asked)) == 2
    assert all(NINE.match(made) for made in asked if made not in ids)


def test_an_id_of_an_earlier_turn_is_replaced() -> None:
    """Ids are unique over the whole run, and the first one keeps its name."""
    turn = wire(raw_call("ping", "{}", "call_0"))
    result = run(turn, turn, turn, "done")
    ids = [asked[0] for asked, _ in pairs(result.messages)]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3
    assert all(NINE.match(made) for made in ids[1:])
    assert all(asked == answered for asked, answered in pairs(result.messages))
    assert Flag.RENAMED_ID in result.flags


def test_a_provider_that_uses_our_ids_does_not_collide() -> None:
    """A made id steps aside for one that the provider used before."""
    first = wire(raw_call("ping", "{}", "call00001"), raw_call("ping", "{}", "call00002"))
    result = run(first, wire(raw_call("ping", "{}", "")), "done")
    ids = [identity for asked, _ in pairs(result.messages) for identity in asked]
    assert len(set(ids)) == 3


def test_made_ids_are_the_same_in_every_run() -> None:
    """No randomness: the same script gives the same ids."""
    turn = wire(raw_call("ping", "{}", ""), raw_call("ping", "{}", ""))
    assert run(turn, "done").messages == run(turn, "done").messages


def test_a_good_id_is_kept_byte_for_byte() -> None:
    """An id with a trailing space is echoed as it is."""
    assert pairs(run(wire(raw_call("ping", "{}", "call_1 ")), "done").messages) == [
        (["call_1 "], ["call_1 "])
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "null",
        None,
        {"city": "Oslo"},
        json.dumps('{"city": "Oslo"}'),
        '{"city": "Oslo"}}',
        "[1]",
        "7",
        "{bad",
        '{"a": NaN}',
        '{"city": "\\ud83d"}',
        "[" * 5000,
        '{"city": "a\nb"}',
    ],
    ids=[
        *("empty", "null", "None", "an object", "encoded twice", "a brace too many", "an array", "a number"),
        *("broken", "NaN", "a lone surrogate", "deep", "a line break"),
    ],
)
def test_arguments_in_the_history_are_json_object_strings(arguments: Any) -> None:
    """Whatever the model wrote, what is sent back is the text of a JSON object, and can be encoded."""
    result = run(wire(raw_call("get_weather", arguments)), "done")
    written = result.messages[1]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(written, str)
    assert isinstance(json.loads(written), dict)
    assert "NaN" not in written
    written.encode()


def test_running_out_of_steps_gives_no_answer() -> None:
    """`max_steps` model calls, then answer None, truncated True and the whole history."""
    backend = ScriptedBackend(lambda _: wire(raw_call("ping", "{}", "")))
    result = Agent(backend, tools=TOOLS, limits=Limits(max_steps=3)).run("?")
    assert (result.answer, result.stop_reason, result.truncated) == (
        None,
        StopReason.MAX_STEPS,
        True,
    )
    assert len(backend.requests) == len(result.steps) == 3
    assert [message["role"] for message in result.messages] == ["user"] + ["assistant", "tool"] * 3


@pytest.mark.parametrize(
    ("reply", "reason", "partial"),
    [
        (wire(content="", finish="stop"), "empty", ""),
        (wire(content=None, finish="stop"), "empty", ""),
        (wire(content=" \n", finish="stop"), "empty", ""),
        (wire(refusal="I can't help", finish="stop"), "refusal", "I can't help"),
        (wire(finish="content_filter"), "content_filter", ""),
        (wire(content="so f", finish="content_filter"), "content_filter", "so f"),
        (wire(content="The ans", finish="length"), "length", "The ans"),
        (wire(content=None, finish="length"), "length", ""),
    ],
)
def test_a_reply_that_is_no_answer_ends_the_run_by_name(
    reply: dict[str, Any], reason: str, partial: str
) -> None:
    """Empty, refused, filtered and cut replies end the run; their text is in `partial`, not `answer`."""
    result = run(reply)
    assert (result.answer, str(result.stop_reason), result.partial) == (None, reason, partial)
    assert result.messages[-1]["role"] == "assistant"


def test_announced_calls_that_are_missing_are_a_bad_turn() -> None:
    """`finish_reason: tool_calls` without calls goes back to the model, then ends as `malformed`."""
    bad = wire(content="thinking...")
    result = run(bad, bad, bad)
    assert (result.answer, result.stop_reason) == (None, StopReason.MALFORMED)
    assert [bool(step.mend) for step in result.steps] == [True, True, True]
    roles = [message["role"] for message in result.messages]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant"]


def test_a_good_turn_forgives_the_bad_ones_before_it() -> None:
    """`max_bad_turns` counts bad turns in a row."""
    bad = wire(content="thinking...")
    result = run(bad, bad, wire(raw_call("ping")), bad, bad, "done")
    assert result.answer == "done"


def test_the_same_calls_again_and_again_end_as_stuck() -> None:
    """`max_repeats` turns in a row with the same calls end the run, with every call answered."""
    backend = ScriptedBackend(lambda _: wire(raw_call("ping", "{}", "")))
    result = Agent(backend, tools=TOOLS, limits=Limits(max_repeats=3)).run("?")
    assert (result.stop_reason, len(result.steps)) == (StopReason.STUCK, 3)
    assert all(asked == answered for asked, answered in pairs(result.messages))
    assert not result.truncated


def test_other_arguments_are_no_repeat() -> None:
    """A model that asks for something else each time is not stuck."""
    cities = ("A", "B", "A", "B")
    turns = [ToolCall(name="get_weather", arguments={"city": city}) for city in cities]
    assert run(*turns, "done", limits=Limits(max_repeats=2)).answer == "done"


def test_a_spent_budget_ends_the_run_before_the_next_call() -> None:
    """`max_tokens` over all turns ends the run as `budget`, truncated, without another request."""
    usage = Usage(prompt_tokens=60, completion_tokens=1, total_tokens=61)
    turn = Completion(tool_calls=(ToolCall(name="ping"),), finish_reason="tool_calls", usage=usage)
    backend = ScriptedBackend([turn, turn, "never asked"])
    result = Agent(backend, tools=TOOLS, limits=Limits(max_tokens=100)).run("?")
    assert (result.stop_reason, result.truncated) == (StopReason.BUDGET, True)
    assert len(backend.requests) == 2


def test_tools_are_left_out_of_the_request_where_there_are_none() -> None:
    """An empty `tools` list is an error to some servers."""
    backend = ScriptedBackend(["hi"])
    Agent(backend).run("?")
    assert "tools" not in backend.requests[0]


def test_options_go_with_every_request() -> None:
    """`options` stand in each body beside what the dialect adds."""
    backend = ScriptedBackend([wire(raw_call("ping")), "done"])
    Agent(backend, tools=[ping], options={"temperature": 0}).run("?")
    assert [body["temperature"] for body in backend.requests] == [0, 0]
    assert [body["tools"][0]["function"]["name"] for body in backend.requests] == ["ping", "ping"]


def test_the_history_only_grows() -> None:
    """Each request continues the one before it."""
    backend = ScriptedBackend([wire(raw_call("ping")), wire(raw_call("boom")), "done"])
    Agent(backend, tools=TOOLS).run("?")
    bodies = [body["messages"] for body in backend.requests]
    for earlier, later in pairwise(bodies):
        assert later[: len(earlier)] == earlier


def test_reasoning_goes_back_with_calls_and_not_with_an_answer() -> None:
    """`reasoning_content` stays on assistant turns that hold calls, and only there."""
    result = run(
        wire(raw_call("ping"), reasoning_content="hm"),
        wire(content="done", finish="stop", reasoning_content="so"),
    )
    assert result.messages[1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in result.messages[-1]


def test_a_state_is_untouched_by_what_follows_it() -> None:
    """The pure loop: two different replies to one state give two independent futures."""
    rules = loop.Rules(dialect=NativeDialect(), tools=Toolbox(TOOLS).specs)
    state = loop.start(rules, "?")
    left = loop.on_completion(state, Completion(content="left"))
    right = loop.on_completion(state, Completion(content="right"))
    assert len(state.messages) == 1
    ended = [loop.next_action(after) for after in (left, right)]
    answers = [action.result.answer for action in ended if isinstance(action, loop.Finish)]
    assert answers == ["left", "right"]
    assert [m["content"] for m in left.messages] == ["?", "left"]
    assert [m["content"] for m in right.messages] == ["?", "right"]


def test_observations_must_answer_the_pending_calls_in_order() -> None:
    """Handing back too few, or in another order, is our misuse and raises."""
    rules = loop.Rules(dialect=NativeDialect(), tools=Toolbox(TOOLS).specs)
    calls = (ToolCall(name="ping", id="a"), ToolCall(name="ping", id="b"))
    state = loop.on_completion(loop.start(rules, "?"), Completion(tool_calls=calls))
    seen = [Observation(call=call, text="pong") for call in state.pending]
    for wrong in ([], seen[:1], seen[::-1], [*seen, seen[0]]):
        with pytest.raises(ValueError, match="in call order"):
            loop.on_observations(state, wrong)
    assert isinstance(loop.next_action(loop.on_observations(state, seen)), loop.CallModel)


def test_next_action_is_pure() -> None:
    """Asked twice, a state says the same twice."""
    state = loop.start(loop.Rules(dialect=NativeDialect()), "?")
    assert loop.next_action(state) == loop.next_action(state)
