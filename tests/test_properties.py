"""Whatever the model says: the loop ends, pairs every id, runs only what was asked, in every shell alike."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
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
from react_replay.check import check_messages
from react_replay.dialects import dialect
from react_replay.tools.base import Toolbox

NAMES = ["get_weather", "ping", "boom"]
DIALECTS = ["native", "json", "bracket", "zh"]
LIMITS = Limits(max_steps=5, max_bad_turns=2, max_repeats=3)

LABELS = [
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
SOUP = st.lists(
    st.sampled_from(LABELS)
    | st.text('ab {}[]()":\\\n`|<>，【】（）', max_size=10)
    | st.text(max_size=6)
    | st.sampled_from(["get_weather", '{"city": "Oslo"}', "```json", "```", "\n\n", "<tool_call>", "{" * 50]),
    max_size=8,
).map("\n".join)

ODD_IDS = st.sampled_from(["", "a", "b", "call00001", "x" * 60, None, 7]) | st.text(max_size=3)
ODD_NAMES = st.sampled_from([*NAMES, "functions.ping", "ping<|channel|>x", "nope", "", None, 7])
ODD_ARGUMENTS = (
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
FINISH = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "function_call", "eos"])
ENTRIES = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": ODD_NAMES, "arguments": ODD_ARGUMENTS})},
    optional={"id": ODD_IDS, "type": st.just("function"), "index": st.integers(0, 1)},
) | st.fixed_dictionaries({"name": ODD_NAMES, "arguments": ODD_ARGUMENTS})


def tellable(entries: list[dict[str, Any]]) -> bool:
    """A later call with neither id nor name looks, streamed, like a piece of the one before it."""
    functions = [entry.get("function", entry) for entry in entries]
    named = [isinstance(function["name"], str) and function["name"] for function in functions]
    return all(entry.get("id") or name for entry, name in zip(entries[1:], named[1:], strict=True))


BODIES = st.builds(
    lambda message, finish: {"choices": [{"index": 0, "message": message, "finish_reason": finish}]},
    st.fixed_dictionaries(
        {"role": st.just("assistant")},
        optional={
            "content": st.none() | SOUP | st.just([{"type": "text", "text": "part"}]),
            "tool_calls": st.none() | st.lists(ENTRIES, max_size=3).filter(tellable),
            "refusal": st.none() | st.text(max_size=5),
            "reasoning_content": st.text(max_size=5),
            "function_call": st.none()
            | st.fixed_dictionaries({"name": ODD_NAMES, "arguments": ODD_ARGUMENTS}),
        },
    ),
    FINISH | st.none(),
)
PIECES = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({}, optional={"name": ODD_NAMES, "arguments": ODD_ARGUMENTS})},
    optional={"id": ODD_IDS, "index": st.integers(0, 2) | st.none()},
)
CHUNKS = st.lists(
    st.builds(
        lambda delta, finish: {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]},
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "content": st.none() | st.text(max_size=5),
                "tool_calls": st.none() | st.lists(PIECES, max_size=2),
                "function_call": st.fixed_dictionaries({"name": ODD_NAMES, "arguments": ODD_ARGUMENTS}),
            },
        ),
        st.none() | FINISH,
    ),
    min_size=1,
    max_size=5,
)
CALLS = st.builds(
    ToolCall,
    name=st.sampled_from([*NAMES, "nope"]),
    arguments=st.fixed_dictionaries({}, optional={"city": st.text(max_size=3)}),
    id=st.sampled_from(["", "a", "b"]),
)
REPLIES = st.one_of(SOUP, BODIES, CHUNKS, CALLS, st.lists(CALLS, min_size=1, max_size=3))
SCRIPTS = st.lists(REPLIES, min_size=1, max_size=4)


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


def scripted(script: Sequence[Any]) -> ScriptedBackend:
    """The script over and over, as long as the loop asks."""
    replies = itertools.cycle(script)
    return ScriptedBackend(lambda _: next(replies))


def dumped(result: RunResult) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False)


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


@pytest.mark.parametrize("name", DIALECTS)
@given(script=SCRIPTS)
@settings(max_examples=60)
def test_the_loop_ends_and_is_honest(name: str, script: list[Any]) -> None:
    """Within its limits, every id paired, only asked-for tools run, no answer but from `answer`."""
    backend, tools = scripted(script), Tools()
    result = agent_over(backend, name, tools).run("?")
    assert len(result.steps) == len(backend.requests) <= LIMITS.max_steps
    check_pairs(result.messages)
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


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "native"])
@given(script=SCRIPTS)
@settings(max_examples=50)
def test_no_history_holds_an_observation_of_the_models_own(name: str, script: list[Any]) -> None:
    """What the model makes up after its action never goes back to it, whatever else it wrote."""
    messages = agent_over(scripted(script), name).run("?").messages
    assert not [found for found in check_messages(messages) if found.code == "invented-observation"]


@pytest.mark.parametrize("name", DIALECTS)
@given(script=SCRIPTS)
@settings(max_examples=30)
def test_the_four_shells_cannot_be_told_apart(name: str, script: list[Any]) -> None:
    """run, arun, stream and astream give the same document."""

    def agent() -> Agent:
        return agent_over(scripted(script), name)

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


@pytest.mark.parametrize("name", DIALECTS)
@given(script=SCRIPTS, streamed=st.booleans())
@settings(max_examples=15)
def test_a_replay_is_the_recording_to_the_byte(name: str, script: list[Any], streamed: bool) -> None:
    """Fake, recorded and replayed runs give the same document; so does the run without a recorder."""

    def play(backend: ChatBackend) -> str:
        agent = agent_over(backend, name)
        if not streamed:
            return dumped(agent.run("?"))
        last = list(agent.stream("?"))[-1]
        assert isinstance(last, RunFinished)
        return dumped(last.result)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.yaml")
        recorded = play(CassetteBackend(path, record="once", live=scripted(script)))
        assert play(CassetteBackend(path)) == recorded
        assert play(scripted(script)) == recorded


@pytest.mark.parametrize("name", DIALECTS)
@given(
    text=SOUP | st.text(),
    finish=FINISH | st.none(),
    with_tools=st.booleans(),
)
def test_parsing_never_raises(name: str, text: str, finish: str | None, with_tools: bool) -> None:
    """Any text is calls, an answer or a reason; what is kept can be written down."""
    tools = Toolbox(Tools().all).specs if with_tools else ()
    found = dialect(name)
    completion = Completion(content=text, finish_reason=finish)
    outcome = found.parse(completion, tools)
    kinds = (bool(outcome.calls), outcome.answer is not None, bool(outcome.reason))
    assert sum(kinds) == 1
    json.dumps(found.assistant(completion, outcome))


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        "Action: " * 20_000,
        "\n" * 100_000,
        "```" * 30_000,
        "(" * 100_000,
    ],
    ids=["brackets", "objects", "labels", "lines", "fences", "parentheses"],
)
def test_deep_and_long_replies_are_read(name: str, text: str) -> None:
    """No `RecursionError` leaves the parser, whatever is nested in what."""
    tools = Toolbox(Tools().all).specs
    for head in ("", "Action: get_weather[", "Action: get_weather\nAction Input: ", "行动输入: "):
        dialect(name).parse(Completion(content=head + text), tools)
