"""Each rule of DESIGN section 1 as a checker over a finished run, and a deliberate mutant that it kills."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import react_replay.wire.completion as wire_completion
from react_replay import (
    Agent,
    Completion,
    Limits,
    Observation,
    RunResult,
    ScriptedBackend,
    Toolbox,
    ToolCall,
    loop,
)
from react_replay.dialects import Answer, LabelledDialect, native
from react_replay.errors import ScriptExhausted
from react_replay.messages import Flag
from react_replay.wire import StreamFold, arguments


@dataclass
class Played:
    """A finished run: its result, the bodies that were sent, the calls that really ran."""

    result: RunResult
    requests: list[dict[str, Any]]
    ran: list[tuple[str, Any]]


def raw(name: str, given: Any = "{}", identity: str = "a") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": given}}


def turn(*calls: dict[str, Any], finish: str = "tool_calls", **message: Any) -> dict[str, Any]:
    body = {"role": "assistant", "content": None, **message}
    if calls:
        body["tool_calls"] = list(calls)
    return {"choices": [{"index": 0, "message": body, "finish_reason": finish}]}


def unfinished(*calls: dict[str, Any], content: str | None = None) -> list[dict[str, Any]]:
    delta: dict[str, Any] = {"content": content}
    if calls:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    return [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}]


OSLO = '{"city": "Oslo"}'
DONE = turn(content="done", finish="stop")
SCRIPT: list[Any] = [
    turn(raw("get_weather", OSLO), raw("boom", identity="b"), raw("ping", identity="c")),
    turn(raw("nope", identity="d"), raw("get_weather", '{"city": ', "e"), raw("ping", identity="f")),
    turn(raw("ping", "", "a"), raw("ping", "null", ""), raw("get_weather", {"city": "B"}, "g")),
    turn(raw("ping", identity="h"), finish="stop"),
    turn(raw("get_weather", "{}", "i")),
    DONE,
]


def play(script: Sequence[Any], *, dialect: str = "native", **limits: Any) -> Played:
    ran: list[tuple[str, Any]] = []

    def get_weather(city: str, days: int = 1) -> str:
        """The weather."""
        ran.append(("get_weather", city))
        return f"{city}: 25°C"

    def ping(note: str = "") -> str:
        """Answers."""
        ran.append(("ping", note))
        return "pong"

    def boom() -> str:
        """Always fails."""
        ran.append(("boom", None))
        raise RuntimeError("kaput")

    backend = ScriptedBackend(script)
    tools: list[Callable[..., Any]] = [get_weather, ping, boom]
    agent = Agent(backend, tools=tools, dialect=dialect, limits=Limits(**limits))
    return Played(agent.run("?"), list(backend.requests), ran)


# -- the rules ---------------------------------------------------------------------------------------


def every_id_is_answered_once_in_order_at_once(played: Played) -> None:
    for messages in [*(body["messages"] for body in played.requests), played.result.messages]:
        place = 0
        while place < len(messages):
            asked = [call["id"] for call in messages[place].get("tool_calls", ())]
            place += 1
            answered = []
            while place < len(messages) and messages[place]["role"] == "tool":
                answered.append(messages[place]["tool_call_id"])
                place += 1
            assert answered == asked


def ids_are_unique_and_made_ones_have_nine_characters(played: Played) -> None:
    ids = [call["id"] for m in played.result.messages for call in m.get("tool_calls", ())]
    assert len(ids) == len(set(ids))
    made = [identity for identity in ids if len(identity) > 1]
    assert made
    assert all(re.fullmatch("[a-z0-9]{9}", identity) for identity in made)


def is_json_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def arguments_in_the_history_are_json_objects(played: Played) -> None:
    for message in played.result.messages:
        for call in message.get("tool_calls", ()):
            assert is_json_object(call["function"]["arguments"])


def errors_teach(played: Played) -> None:
    texts = [seen.text for step in played.result.steps for seen in step.observations if not seen.ok]
    assert any("the tools are: get_weather, ping, boom" in text for text in texts)
    assert any("line 1 column 9" in text for text in texts)
    assert any("`city` is missing" in text for text in texts)
    assert any("kaput" in text for text in texts)


def tool_calls_decide(played: Played) -> None:
    assert played.ran == [
        ("get_weather", "Oslo"),
        ("boom", None),
        ("ping", ""),
        ("ping", ""),
        ("ping", ""),
        ("ping", ""),
        ("get_weather", "B"),
        ("ping", ""),
    ]
    assert played.result.answer == "done"


def the_history_only_grows(played: Played) -> None:
    bodies = [body["messages"] for body in played.requests]
    for earlier, later in itertools.pairwise([*bodies, played.result.messages]):
        assert later[: len(earlier)] == earlier
        assert later[len(earlier)]["role"] == "assistant"


def only_what_was_asked_for_ran(played: Played) -> None:
    asked = [seen for step in played.result.steps for seen in step.observations if not seen.call.error]
    assert len(played.ran) <= len([seen for seen in asked if seen.ok or "kaput" in seen.text])


RULES: list[Callable[[Played], None]] = [
    every_id_is_answered_once_in_order_at_once,
    ids_are_unique_and_made_ones_have_nine_characters,
    arguments_in_the_history_are_json_objects,
    errors_teach,
    tool_calls_decide,
    the_history_only_grows,
    only_what_was_asked_for_ran,
]


def nothing_ran_and_it_ended_as(reason: str) -> Callable[[Played], None]:
    def rule(played: Played) -> None:
        assert played.ran == []
        assert played.result.answer is None
        assert str(played.result.stop_reason) == reason

    return rule


def honest_about_steps(played: Played) -> None:
    assert (played.result.answer, played.result.truncated) == (None, True)
    assert len(played.requests) == 3


def bad_turns_are_bounded(played: Played) -> None:
    assert (str(played.result.stop_reason), len(played.requests)) == ("malformed", 3)


def oddities_are_flagged(played: Played) -> None:
    wanted = {Flag.DOUBLE_ENCODED, Flag.REPAIRED, Flag.RENAMED_TOOL, Flag.LYING_FINISH}
    assert wanted <= set(played.result.flags)


@dataclass(frozen=True)
class Scene:
    """A script, its limits, and the rules that its run must keep."""

    script: Sequence[Any]
    rules: Sequence[Callable[[Played], None]]
    limits: tuple[tuple[str, int], ...] = ()
    dialect: str = "native"

    def play(self) -> Played:
        return play(self.script, dialect=self.dialect, **dict(self.limits))


def text_scene(reply: str | Completion, *rules: Callable[[Played], None]) -> Scene:
    return Scene([reply, "Final Answer: done"], rules, dialect="json")


def only_ping_ran(note: str = "") -> Callable[[Played], None]:
    def rule(played: Played) -> None:
        assert played.ran == [("ping", note)]
        assert played.result.answer == "done"

    return rule


def flagged(flag: str) -> Callable[[Played], None]:
    def rule(played: Played) -> None:
        assert flag in played.result.flags

    return rule


def nothing_invented_in_the_history(played: Played) -> None:
    assert "99" not in json.dumps(played.result.messages)


def nothing_ran_and_the_model_was_asked_to_mend(played: Played) -> None:
    assert played.ran == []
    assert played.result.steps[0].mend
    assert played.requests[1]["messages"][-1]["role"] == "user"


PAIRS = [every_id_is_answered_once_in_order_at_once]
SCENES = {
    "long": Scene(SCRIPT, RULES),
    "cut at length": Scene(
        [turn(raw("get_weather", '{"city": "Os'), finish="length"), DONE],
        [nothing_ran_and_it_ended_as("length"), *PAIRS],
    ),
    "cut before arguments": Scene(
        [turn(raw("ping", ""), finish="length"), DONE],
        [nothing_ran_and_it_ended_as("length"), *PAIRS],
    ),
    "broken stream": Scene(
        [unfinished(raw("ping", '{"note": "a')), DONE],
        [nothing_ran_and_it_ended_as("incomplete"), *PAIRS],
    ),
    "stream broken before arguments": Scene(
        [unfinished(raw("ping", "")), DONE], [nothing_ran_and_it_ended_as("incomplete"), *PAIRS]
    ),
    "stream broken in the text": Scene(
        [unfinished(content="half"), DONE], [nothing_ran_and_it_ended_as("incomplete")]
    ),
    "empty": Scene([turn(content="", finish="stop"), DONE], [nothing_ran_and_it_ended_as("empty")]),
    "refusal": Scene([turn(refusal="no", finish="stop"), DONE], [nothing_ran_and_it_ended_as("refusal")]),
    "filter": Scene(
        [turn(content="so", finish="content_filter"), DONE],
        [nothing_ran_and_it_ended_as("content_filter")],
    ),
    "endless": Scene(
        [turn(raw("ping", identity="")) for _ in range(9)],
        [honest_about_steps, *PAIRS],
        (("max_steps", 3),),
    ),
    "bad turns": Scene([turn(content="hm") for _ in range(9)], [bad_turns_are_bounded]),
    "odd": Scene(
        [
            turn(raw("get_weather", json.dumps(OSLO)), raw("get_weather", OSLO + "}", "b")),
            turn(raw("functions.ping", identity="c"), finish="stop"),
            DONE,
        ],
        [oddities_are_flagged, *PAIRS],
    ),
    "text: invented observation": text_scene(
        "Thought: x\nAction: ping\nAction Input: {}\nObservation: 99\nFinal Answer: 99",
        only_ping_ran(),
        flagged(Flag.INVENTED_OBSERVATION),
        nothing_invented_in_the_history,
    ),
    "text: label in the payload": text_scene(
        'Thought: x\nAction: ping\nAction Input: {"note":\n"a\nFinal Answer: no\nAction: boom"}',
        only_ping_ran("a\nFinal Answer: no\nAction: boom"),
    ),
    "text: label in a fence": text_scene(
        "Thought: I may end with\n```\nFinal Answer: no\n```\nAction: ping\nAction Input: {}",
        only_ping_ran(),
    ),
    "text: label in a line": text_scene(
        "Thought: no Final Answer: yet\nAction: ping\nAction Input: {}", only_ping_ran()
    ),
    "text: two rounds": text_scene(
        'Action: ping\nAction Input: {"note": "1"}\nThought: y\nAction: ping\nAction Input: {"note": "2"}',
        only_ping_ran("1"),
        flagged(Flag.AMBIGUOUS),
    ),
    "text: more behind the payload": text_scene(
        "Action: ping\nAction Input: {} and more", only_ping_ran(), flagged(Flag.TRAILING_TEXT)
    ),
    "text: cut payload": text_scene(
        Completion(content='Action: ping\nAction Input: {"note": "a', finish_reason="length"),
        nothing_ran_and_it_ended_as("length"),
    ),
    "text: broken payload": text_scene(
        'Action: ping\nAction Input: {"note": "a', nothing_ran_and_the_model_was_asked_to_mend
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_the_true_code_keeps_every_rule(name: str) -> None:
    """Each rule holds over each scene without a mutant."""
    scene = SCENES[name]
    played = scene.play()
    for rule in scene.rules:
        rule(played)


# -- the mutants -------------------------------------------------------------------------------------

Patch = pytest.MonkeyPatch
on_completion, on_observations, next_action = (
    loop.on_completion,
    loop.on_observations,
    loop.next_action,
)
Native = native.NativeDialect
read_arguments = arguments.read_arguments
true_call, true_render, true_assistant = Toolbox.call, Native.render, Native.assistant
true_parse, true_mend, true_fold = Native.parse, Native.mend, StreamFold.result


def drops_the_error_observation(patch: Patch) -> None:
    """A failed call is not answered."""
    patch.setattr(Native, "render", lambda self, seen: true_render(self, [one for one in seen if one.ok]))


def answers_in_the_order_of_success(patch: Patch) -> None:
    """Errors come last."""
    patch.setattr(
        Native,
        "render",
        lambda self, seen: true_render(self, sorted(seen, key=lambda one: not one.ok)),
    )


def answers_twice(patch: Patch) -> None:
    """An id gets two tool messages."""
    patch.setattr(Native, "render", lambda self, seen: true_render(self, [*seen, seen[-1]]))


def answers_under_the_models_id(patch: Patch) -> None:
    """A renamed id is written to one side only."""

    def assistant(self: Any, completion: Completion, outcome: Any) -> dict[str, Any]:
        calls = tuple(
            replace(call, id=said.id or call.id)
            for call, said in zip(outcome.calls, completion.tool_calls, strict=True)
        )
        return true_assistant(self, completion, replace(outcome, calls=calls))

    patch.setattr(Native, "assistant", assistant)


def a_user_message_before_the_observations(patch: Patch) -> None:
    """Something stands between the calls and their answers."""
    patch.setattr(
        Native,
        "render",
        lambda self, seen: [{"role": "user", "content": "results:"}, *true_render(self, seen)],
    )


def trusts_the_models_ids(patch: Patch) -> None:
    """Ids are taken as they come."""
    patch.setattr(loop, "_identified", lambda outcome, ids: (outcome, ids, False))


def makes_long_ids(patch: Patch) -> None:
    """A made id has the wrong shape."""
    identified = loop._identified

    def longer(outcome: Any, ids: Any) -> Any:
        changed, ids, renamed = identified(outcome, ids)
        calls = tuple(
            call if len(call.id) < 9 else replace(call, id=f"CALL-{call.id}") for call in changed.calls
        )
        return replace(changed, calls=calls), ids, renamed

    patch.setattr(loop, "_identified", longer)


def echoes_arguments(patch: Patch) -> None:
    """What the model wrote goes back as it was."""

    def read(given: Any) -> Any:
        return read_arguments(given)._replace(text=given)

    patch.setattr(wire_completion, "read_arguments", read)


def completes_cut_json(patch: Patch) -> None:
    """A cut object is closed and run."""

    def read(given: Any) -> Any:
        found = read_arguments(given)
        for closing in ('"}', "}", '""}'):
            if found.error and isinstance(given, str):
                found = read_arguments(given + closing)
        return found

    patch.setattr(wire_completion, "read_arguments", read)


def takes_cut_for_empty(patch: Patch) -> None:
    """A call that was cut before its arguments runs without arguments."""
    calls = wire_completion._read_calls
    patch.setattr(
        wire_completion, "_read_calls", lambda message, flags, cut: calls(message, flags, cut=False)
    )


def runs_broken_calls(patch: Patch) -> None:
    """A call with an error is run all the same."""
    patch.setattr(Toolbox, "call", lambda self, call: true_call(self, replace(call, error="")))


def believes_finish_reason(patch: Patch) -> None:
    """Calls count only where `finish_reason` announces them."""

    def parse(self: Any, completion: Completion, tools: Any = ()) -> Any:
        if completion.finish_reason != "tool_calls":
            completion = replace(completion, tool_calls=())
        return true_parse(self, completion, tools)

    patch.setattr(Native, "parse", parse)


def takes_any_end_for_a_stop(patch: Patch) -> None:
    """A broken or cut reply counts as finished."""

    def took(state: Any, completion: Completion) -> Any:
        flags = tuple(flag for flag in completion.flags if flag != Flag.UNFINISHED)
        return on_completion(state, replace(completion, finish_reason="stop", flags=flags))

    patch.setattr(loop, "on_completion", took)


def takes_a_refusal_for_an_answer(patch: Patch) -> None:
    """The refusal's text is the answer."""

    def took(state: Any, completion: Completion) -> Any:
        text = completion.refusal or completion.content
        return on_completion(state, replace(completion, content=text, refusal=""))

    patch.setattr(loop, "on_completion", took)


def takes_nothing_for_an_answer(patch: Patch) -> None:
    """An empty text is a fine answer."""

    def took(state: Any, completion: Completion) -> Any:
        empty = not completion.content and not completion.tool_calls
        return on_completion(state, replace(completion, content="(none)") if empty else completion)

    patch.setattr(loop, "on_completion", took)


def says_nothing_of_the_tools(patch: Patch) -> None:
    """An error observation is just `error`."""

    def call(self: Toolbox, asked: ToolCall) -> Observation:
        seen = true_call(self, asked)
        return seen if seen.ok else replace(seen, text="error")

    patch.setattr(Toolbox, "call", call)


def gives_up_on_the_siblings(patch: Patch) -> None:
    """After a failed call the rest of the turn does not run."""
    failed: set[str] = set()

    def call(self: Toolbox, asked: ToolCall) -> Observation:
        if failed:
            failed.clear()
            return Observation(call=asked, text="error: skipped", ok=False)
        seen = true_call(self, asked)
        if not seen.ok:
            failed.add(asked.id)
        return seen

    patch.setattr(Toolbox, "call", call)


def retries_a_failing_tool(patch: Patch) -> None:
    """A call that failed runs once more, unasked."""

    def call(self: Toolbox, asked: ToolCall) -> Observation:
        seen = true_call(self, asked)
        return seen if seen.ok else true_call(self, asked)

    patch.setattr(Toolbox, "call", call)


def forgets_the_assistant_turn(patch: Patch) -> None:
    """The reply is not appended."""

    def took(state: Any, completion: Completion) -> Any:
        return on_completion(state, completion)._replace(messages=state.messages)

    patch.setattr(loop, "on_completion", took)


def rewrites_the_history(patch: Patch) -> None:
    """An older message is dropped to save tokens."""

    def took(state: Any, seen: Any) -> Any:
        after = on_observations(state, seen)
        return after._replace(messages=type(after.messages)(after.messages[1:]))

    patch.setattr(loop, "on_observations", took)


def never_counts_steps(patch: Patch) -> None:
    """The limit is not looked at."""
    patch.setattr(loop, "on_completion", lambda s, c: on_completion(s, c)._replace(turns=0))


def invents_an_answer_at_the_limit(patch: Patch) -> None:
    """Running out of steps gives the last text as the answer."""

    def due(state: Any) -> Any:
        action = next_action(state)
        if isinstance(action, loop.Finish) and action.result.answer is None:
            return loop.Finish(replace(action.result, answer="as far as I know"))
        return action

    patch.setattr(loop, "next_action", due)


def forgives_every_bad_turn(patch: Patch) -> None:
    """Bad turns are never counted."""
    patch.setattr(loop, "on_completion", lambda s, c: on_completion(s, c)._replace(bad_turns=0))


def repairs_in_silence(patch: Patch) -> None:
    """Nothing is flagged."""
    patch.setattr(loop, "distinct", lambda *_: ())


def ignores_a_broken_stream(patch: Patch) -> None:
    """A stream without a finish reason counts as whole."""

    def result(self: StreamFold) -> Completion:
        self._finish = self._finish or "stop"
        return true_fold(self)

    patch.setattr(StreamFold, "result", result)


text_parse, text_assistant = LabelledDialect.parse, LabelledDialect.assistant


def looks_for_the_answer_anywhere(patch: Patch) -> None:
    """The articles' own way: one big pattern for the answer, before anything else."""

    def parse(self: LabelledDialect, completion: Completion, tools: Any = ()) -> Any:
        if found := re.search(r"Final Answer[:：]\s*(.*)", completion.content or "", re.S):
            return Answer(answer=found.group(1), kept=completion.content or "")
        return text_parse(self, completion, tools)

    patch.setattr(LabelledDialect, "parse", parse)


def takes_the_last_round(patch: Patch) -> None:
    """Everything before the last action is dropped."""

    def parse(self: LabelledDialect, completion: Completion, tools: Any = ()) -> Any:
        text = completion.content or ""
        start = max(text.rfind("Action: "), 0)
        return text_parse(self, replace(completion, content=text[start:]), tools)

    patch.setattr(LabelledDialect, "parse", parse)


def keeps_the_whole_reply(patch: Patch) -> None:
    """What the model invented stays in the history."""

    def assistant(self: LabelledDialect, completion: Completion, outcome: Any) -> dict[str, Any]:
        kept = replace(outcome, kept=completion.content or "")
        return dict(text_assistant(self, completion, kept))

    patch.setattr(LabelledDialect, "assistant", assistant)


def reads_in_silence(patch: Patch) -> None:
    """A text dialect that flags nothing."""
    patch.setattr(
        LabelledDialect,
        "parse",
        lambda self, done, tools=(): replace(text_parse(self, done, tools), flags=()),
    )


def completes_a_cut_payload(patch: Patch) -> None:
    """What was cut is closed and run."""

    def parse(self: LabelledDialect, completion: Completion, tools: Any = ()) -> Any:
        outcome = text_parse(self, completion, tools)
        if outcome.calls or outcome.answer is not None:
            return outcome
        return text_parse(self, replace(completion, content=f'{completion.content}"}}'), tools)

    patch.setattr(LabelledDialect, "parse", parse)


MUTANTS: dict[Callable[[Patch], None], list[str]] = {
    drops_the_error_observation: ["long", "cut at length"],
    answers_in_the_order_of_success: ["long"],
    answers_twice: ["long"],
    answers_under_the_models_id: ["long"],
    a_user_message_before_the_observations: ["long"],
    trusts_the_models_ids: ["long"],
    makes_long_ids: ["long"],
    echoes_arguments: ["long"],
    completes_cut_json: ["cut at length", "broken stream"],
    takes_cut_for_empty: ["cut before arguments", "stream broken before arguments"],
    runs_broken_calls: ["long"],
    believes_finish_reason: ["long"],
    takes_any_end_for_a_stop: ["cut at length", "filter", "stream broken in the text"],
    takes_a_refusal_for_an_answer: ["refusal"],
    takes_nothing_for_an_answer: ["empty"],
    says_nothing_of_the_tools: ["long"],
    gives_up_on_the_siblings: ["long"],
    retries_a_failing_tool: ["long"],
    forgets_the_assistant_turn: ["long"],
    rewrites_the_history: ["long"],
    never_counts_steps: ["endless"],
    invents_an_answer_at_the_limit: ["endless", "cut at length", "empty"],
    forgives_every_bad_turn: ["bad turns"],
    repairs_in_silence: ["odd"],
    looks_for_the_answer_anywhere: [
        "text: invented observation",
        "text: label in the payload",
        "text: label in a fence",
        "text: label in a line",
    ],
    takes_the_last_round: ["text: two rounds"],
    keeps_the_whole_reply: ["text: invented observation"],
    reads_in_silence: [
        "text: invented observation",
        "text: two rounds",
        "text: more behind the payload",
    ],
    completes_a_cut_payload: ["text: cut payload", "text: broken payload"],
    ignores_a_broken_stream: ["stream broken in the text", "stream broken before arguments"],
}


@pytest.mark.breaks_invariants
@pytest.mark.parametrize(
    ("mutant", "scene"),
    [(mutant, scene) for mutant, scenes in MUTANTS.items() for scene in scenes],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_mutant_is_killed(
    mutant: Callable[[Patch], None], scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least one rule of the scene fails under the mutant, or the run asks for more than the script."""
    mutant(monkeypatch)
    kept = SCENES[scene]
    with pytest.raises((AssertionError, ScriptExhausted)):
        played = kept.play()
        for rule in kept.rules:
            rule(played)
