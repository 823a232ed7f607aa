"""Whatever the model says: the loop ends, pairs every id, runs only what was asked, in every shell alike."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from react_replay import (
    Agent,
    CassetteBackend,
    ChatBackend,
    Completion,
    Limits,
    RunFinished,
    RunResult,
    ScriptedBackend,
    ToolCall,
)
from react_replay.check import Severity, check_messages
from react_replay.dialects import dialect
from react_replay.tools.base import Toolbox
from tests.properties import Property

NAMES = ["get_weather", "ping", "boom"]
DIALECTS = ["native", "json", "bracket", "zh"]
LIMITS = Limits(max_steps=5, max_bad_turns=2, max_repeats=3)

# --- Scripts -------------------------------------------------------------------------------------

_labels = [
    "Thought:",
    "Action:",
    "Action Input:",
    "Observation:",
    "Final Answer:",
    "思考：",
    "行动:",
    "行动输入:",
    "观察:",
    "最终答案：",
    "Action: get_weather[Oslo]",
    "Action: ping[]",
    "Action: boom",
    'Action Input: {"city": "北京"}',
    "行动: get_weather",
    "行动输入: 北京",
]
soup = st.lists(
    st.sampled_from(_labels)
    | st.text('ab {}[]()":\\\n`|<>，【】（）', max_size=10)
    | st.text(max_size=6)
    | st.sampled_from(["get_weather", '{"city": "Oslo"}', "```json", "```", "\n\n", "<tool_call>", "{" * 50]),
    max_size=8,
).map("\n".join)

_ids = st.sampled_from(["", "a", "b", "call00001", "x" * 60, None, 7]) | st.text(max_size=3)
_names = st.sampled_from([*NAMES, "functions.ping", "ping<|channel|>x", "nope", "", None, 7])
_arguments = (
    st.sampled_from(
        [
            '{"city": "Oslo"}',
            '{"city": "北京", "days": 2}',
            '{"city": "Os',
            "",
            "null",
            "{}",
            "[1]",
            "NaN",
        ]
    )
    | st.text('{}":,ab\\\n0', max_size=10)
    | st.none()
    | st.integers()
    | st.lists(st.integers(), max_size=1)
    | st.dictionaries(st.sampled_from(["city", "days"]), st.text(max_size=3) | st.integers(), max_size=2)
)
finishes = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "function_call", "eos"])
_functions = st.fixed_dictionaries({"name": _names, "arguments": _arguments})
_entries = st.fixed_dictionaries(
    {"function": _functions},
    optional={"id": _ids, "type": st.just("function"), "index": st.integers(0, 1)},
) | st.fixed_dictionaries({"name": _names, "arguments": _arguments})


def _tellable(entries: list[dict[str, Any]]) -> bool:
    """A later call with neither id nor name looks, streamed, like a piece of the one before it."""
    functions = [entry.get("function", entry) for entry in entries]
    named = [isinstance(function["name"], str) and function["name"] for function in functions]
    return all(entry.get("id") or name for entry, name in zip(entries[1:], named[1:], strict=True))


_bodies = st.builds(
    lambda message, finish: {"choices": [{"index": 0, "message": message, "finish_reason": finish}]},
    st.fixed_dictionaries(
        {"role": st.just("assistant")},
        optional={
            "content": st.none() | soup | st.just([{"type": "text", "text": "part"}]),
            "tool_calls": st.none() | st.lists(_entries, max_size=3).filter(_tellable),
            "refusal": st.none() | st.text(max_size=5),
            "reasoning_content": st.text(max_size=5),
            "function_call": st.none() | _functions,
        },
    ),
    finishes | st.none(),
)
_pieces = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({}, optional={"name": _names, "arguments": _arguments})},
    optional={"id": _ids, "index": st.integers(0, 2) | st.none()},
)
_chunks = st.lists(
    st.builds(
        lambda delta, finish: {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]},
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "content": st.none() | st.text(max_size=5),
                "tool_calls": st.none() | st.lists(_pieces, max_size=2),
                "function_call": _functions,
            },
        ),
        st.none() | finishes,
    ),
    min_size=1,
    max_size=5,
)
_calls = st.fixed_dictionaries(
    {
        "name": st.sampled_from([*NAMES, "nope"]),
        "arguments": st.fixed_dictionaries({}, optional={"city": st.text(max_size=3)}),
        "id": st.sampled_from(["", "a", "b"]),
    }
)
_turns = st.lists(_calls, min_size=1, max_size=3).map(lambda calls: {"calls": calls})
scripts = st.lists(st.one_of(soup, _bodies, _chunks, _turns), min_size=1, max_size=4)
"""Replies as JSON: content, a body, a list of chunks, or `{"calls": [...]}` for one native turn."""


def reply(written: Any) -> Any:
    """What `ScriptedBackend` plays for one reply of a script."""
    if isinstance(written, dict) and "calls" in written:
        return [ToolCall(**call) for call in written["calls"]]
    return written


def scripted(script: Sequence[Any]) -> ScriptedBackend:
    """The script over and over, as long as the loop asks."""
    replies = itertools.cycle([reply(written) for written in script])
    return ScriptedBackend(lambda _: next(replies))


# --- The agent -----------------------------------------------------------------------------------


class Tools:
    """Three tools, and what they really ran with."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def get_weather(self, city: str, days: int = 1) -> str:
        """The weather of a city."""
        self.ran.append("get_weather")
        return f"{city}: 25°C"

    def ping(self) -> dict[str, Any]:
        """Answers."""
        self.ran.append("ping")
        return {"pong": [1, "北"]}

    def boom(self) -> None:
        """Always fails."""
        self.ran.append("boom")
        raise RuntimeError("kaput")

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [self.get_weather, self.ping, self.boom]


def agent_over(backend: ChatBackend, name: str, tools: Tools | None = None) -> Agent:
    return Agent(backend, tools=(tools or Tools()).all, dialect=name, limits=LIMITS)


def dumped(result: RunResult) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False)


# What the model said is kept as it said it: without text, without a name, or with an observation of its own.
_THE_MODELS_OWN = frozenset({"empty-assistant-message", "invented-observation"})


def check_invariants(messages: Sequence[dict[str, Any]]) -> None:
    """No violation of `check` that the loop could have prevented."""
    found = [each for each in check_messages(messages) if each.severity is not Severity.NOTE]
    assert [each for each in found if each.code not in _THE_MODELS_OWN] == []


def check_pairs(messages: Sequence[dict[str, Any]]) -> None:
    """Each id answered once, in call order, at once; ids unique; no orphans; arguments JSON objects."""
    used: list[str] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        assert message["role"] != "tool", "a tool message without its call"
        asked = [call["id"] for call in message.get("tool_calls", ())]
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        answered = [m.get("tool_call_id") for m in messages[place : place + len(asked)]]
        assert answered == asked
        place += len(asked)
        used += asked
    assert len(used) == len(set(used))
    assert all(used)


# --- Properties ----------------------------------------------------------------------------------

inputs = st.fixed_dictionaries({"dialect": st.sampled_from(DIALECTS), "script": scripts})


def ends_and_is_honest(given: Mapping[str, Any]) -> None:
    """Within its limits, every id paired, only asked-for tools run, no answer but from `answer`."""
    backend, tools = scripted(given["script"]), Tools()
    result = agent_over(backend, given["dialect"], tools).run("?")
    assert len(result.steps) == len(backend.requests) <= LIMITS.max_steps
    check_pairs(result.messages)
    check_invariants(result.messages)
    assert (result.answer is None) == (str(result.stop_reason) != "answer")
    assert result.truncated == (str(result.stop_reason) in ("max_steps", "length", "budget"))
    asked = [seen.call for step in result.steps for seen in step.observations]
    may_run = [call.name for call in asked if not call.error]
    left = iter(may_run)
    assert all(ran in left for ran in tools.ran), "a tool ran that was not asked for, or out of order"
    for step in result.steps:
        said = f"{step.completion.content} {json.dumps(step.completion.raw, ensure_ascii=False)}"
        assert all(seen.call.name in said for seen in step.observations if seen.ok)
    for body, later in itertools.pairwise(backend.requests):
        assert later["messages"][: len(body["messages"])] == body["messages"]
    json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


def no_history_holds_an_invented_observation(given: Mapping[str, Any]) -> None:
    """What the model makes up after its action never goes back to it; a native answer may hold anything."""
    if given["dialect"] != "native":
        messages = agent_over(scripted(given["script"]), given["dialect"]).run("?").messages
        assert not [found for found in check_messages(messages) if found.code == "invented-observation"]


def shells_cannot_be_told_apart(given: Mapping[str, Any]) -> None:
    """run, arun, stream and astream give the same document."""

    def agent() -> Agent:
        return agent_over(scripted(given["script"]), given["dialect"])

    async def both() -> list[RunResult]:
        last = [event async for event in agent().astream("?")][-1]
        assert isinstance(last, RunFinished)
        return [await agent().arun("?"), last.result]

    streamed = list(agent().stream("?"))[-1]
    assert isinstance(streamed, RunFinished)
    wanted = dumped(agent().run("?"))
    arun, astream = asyncio.run(both())
    assert dumped(arun) == wanted
    assert dumped(streamed.result) == wanted
    assert dumped(astream) == wanted


replayed = st.fixed_dictionaries(
    {"dialect": st.sampled_from(DIALECTS), "script": scripts, "streamed": st.booleans()}
)


def replay_is_the_recording(given: Mapping[str, Any]) -> None:
    """Fake, recorded and replayed runs give the same document; so does the run without a recorder."""

    def play(backend: ChatBackend) -> str:
        agent = agent_over(backend, given["dialect"])
        if not given["streamed"]:
            return dumped(agent.run("?"))
        last = list(agent.stream("?"))[-1]
        assert isinstance(last, RunFinished)
        return dumped(last.result)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.yaml")
        recorded = play(CassetteBackend(path, record="once", live=scripted(given["script"])))
        assert play(CassetteBackend(path)) == recorded
        assert play(scripted(given["script"])) == recorded


parsed = st.fixed_dictionaries(
    {
        "dialect": st.sampled_from(DIALECTS),
        "text": soup | st.text(),
        "finish": finishes | st.none(),
        "tools": st.booleans(),
    }
)


def parsing_never_raises(given: Mapping[str, Any]) -> None:
    """Any text is calls, an answer or a reason; what is kept can be written down."""
    tools = Toolbox(Tools().all).specs if given["tools"] else ()
    found = dialect(given["dialect"])
    completion = Completion(content=given["text"], finish_reason=given["finish"])
    outcome = found.parse(completion, tools)
    kinds = (bool(outcome.calls), outcome.answer is not None, bool(outcome.reason))
    assert sum(kinds) == 1
    json.dumps(found.assistant(completion, outcome))


PROPERTIES = (
    Property(name="ends and is honest", inputs=inputs, check=ends_and_is_honest),
    Property(name="no invented observation", inputs=inputs, check=no_history_holds_an_invented_observation),
    Property(name="shells alike", inputs=inputs, check=shells_cannot_be_told_apart),
    Property(name="replay is the recording", inputs=replayed, check=replay_is_the_recording),
    Property(name="parsing never raises", inputs=parsed, check=parsing_never_raises),
)
