"""The shells over the loop: run, arun, stream, astream, resume, as_tool, accept; and who takes a fault."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Generator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from react_replay import (
    Agent,
    BackendError,
    CassetteMiss,
    ChatBackend,
    Completion,
    GuardBackend,
    Limits,
    LiveCallRefused,
    ModelAsked,
    ModelReplied,
    Request,
    RunFinished,
    ScriptedBackend,
    ScriptExhausted,
    StopReason,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolStarted,
)
from react_replay.errors import CassetteError, CassetteMissing, ConfigurationError
from react_replay.events import Event
from react_replay.tools.clock import current_time


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def call(number: int = 21, identity: str = "") -> ToolCall:
    return ToolCall(name="double", arguments={"number": number}, id=identity)


def test_stream_ends_with_the_result_of_run() -> None:
    """The events come in the loop's order, and the last is `RunFinished` with what `run` returns."""
    script: list[Any] = [call(), "forty-two"]
    events = list(Agent(ScriptedBackend(script), tools=[double]).stream("?"))
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [
        ModelAsked,
        ModelReplied,
        ToolStarted,
        ToolFinished,
        ModelAsked,
        ModelReplied,
        RunFinished,
    ]
    last = events[-1]
    assert isinstance(last, RunFinished)
    plain = Agent(ScriptedBackend(script), tools=[double]).run("?")
    assert last.result.to_dict() == plain.to_dict()


def test_the_text_deltas_of_a_step_join_to_its_content() -> None:
    """What was shown while it came is what the step holds."""
    text = "一个比较长的回答, in two languages, of several chunks."
    events = list(Agent(ScriptedBackend([call(), text]), tools=[double]).stream("?"))
    shown = [event.text for event in events if isinstance(event, TextDelta) and event.step == 1]
    assert len(shown) > 1
    assert "".join(shown) == text


def test_astream_gives_the_events_of_stream() -> None:
    """Both streams yield the same events in the same order."""

    async def collect() -> list[Event]:
        agent = Agent(ScriptedBackend([call(), "42"]), tools=[double])
        return [event async for event in agent.astream("?")]

    plain = list(Agent(ScriptedBackend([call(), "42"]), tools=[double]).stream("?"))
    assert asyncio.run(collect()) == plain


def test_leaving_a_stream_early_asks_for_nothing_more() -> None:
    """A consumer that stops after the first event causes no request."""
    backend = ScriptedBackend(["never"])
    events = Agent(backend).stream("?")
    assert next(events) == ModelAsked(0)
    events.close()  # type: ignore[attr-defined]
    assert len(backend.requests) == 0


def test_one_agent_serves_many_runs_at_once() -> None:
    """An agent holds no conversation: parallel runs do not mix."""
    backend = ScriptedBackend(lambda request: f"re: {request.messages[-1]['content']}")
    agent = Agent(backend)

    async def many() -> list[str | None]:
        results = await asyncio.gather(*(agent.arun(f"q{n}") for n in range(20)))
        return [result.answer for result in results]

    assert asyncio.run(many()) == [f"re: q{n}" for n in range(20)]


@pytest.mark.parametrize("fault", [BackendError("503"), TimeoutError("slow"), ValueError("odd")])
def test_a_fault_of_the_provider_ends_the_run_with_its_history(fault: Exception) -> None:
    """`backend_error` keeps the turns before it and says what went wrong."""
    result = Agent(ScriptedBackend([call(), fault]), tools=[double]).run("?")
    assert (result.answer, result.stop_reason) == (None, StopReason.BACKEND_ERROR)
    assert str(fault) in result.error
    assert [message["role"] for message in result.messages] == ["user", "assistant", "tool"]
    assert len(result.steps) == 1
    assert not result.truncated


@pytest.mark.parametrize(
    "ours",
    [
        CassetteMiss("miss"),
        CassetteMissing("missing"),
        CassetteError("unreadable"),
        ConfigurationError("no key"),
        LiveCallRefused("no"),
        AssertionError("the request is wrong"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("shell", ["run", "arun", "stream"])
def test_our_own_mistakes_leave_the_run(ours: Exception, shell: str) -> None:
    """A miss, a missing cassette, a wrong set-up and a failed assertion propagate."""
    agent = Agent(ScriptedBackend([ours]))
    with pytest.raises(type(ours)):
        if shell == "run":
            agent.run("?")
        elif shell == "arun":
            asyncio.run(agent.arun("?"))
        else:
            list(agent.stream("?"))


def test_running_out_of_script_propagates() -> None:
    """One call too many is the test's mistake, not a fault of the provider."""
    with pytest.raises(ScriptExhausted, match="has 1 replies"):
        Agent(ScriptedBackend([call()]), tools=[double]).run("?")


def test_the_default_backend_of_our_tests_refuses(backend: GuardBackend) -> None:
    """`GuardBackend` stops a run with an error that says what to use instead."""
    with pytest.raises(LiveCallRefused, match="CassetteBackend"):
        Agent(backend).run("?")
    with pytest.raises(LiveCallRefused, match="ScriptedBackend"):
        asyncio.run(Agent(backend).arun("?"))


class Breaking(ChatBackend):
    """Streams two deltas, then the connection is lost."""

    def complete(self, request: Request) -> Completion:
        raise ConnectionError("reset")

    def stream(self, request: Request) -> Iterator[dict[str, Any]]:
        for text in ("Twen", "ty"):
            yield {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        raise ConnectionError("reset")

    async def astream(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        for chunk in self.stream(request):
            yield chunk


def test_a_lost_connection_keeps_the_text_that_had_come() -> None:
    """A fault in the middle of a stream leaves the text so far in `partial`."""

    async def last() -> Event:
        return [event async for event in Agent(Breaking()).astream("?")][-1]

    for event in (list(Agent(Breaking()).stream("?"))[-1], asyncio.run(last())):
        assert isinstance(event, RunFinished)
        assert event.result.stop_reason is StopReason.BACKEND_ERROR
        assert event.result.partial == "Twenty"


def test_accept_sends_an_answer_back() -> None:
    """A rejected answer is a bad turn: the reason goes to the model, which tries again."""
    backend = ScriptedBackend(["maybe 42", "DONE: 42"])
    agent = Agent(backend, accept=lambda text: text.startswith("DONE") or "begin with DONE")
    result = agent.run("?")
    assert result.answer == "DONE: 42"
    assert result.steps[0].mend == "begin with DONE"
    last = backend.requests[1]["messages"][-1]
    assert last["role"] == "user"
    assert "begin with DONE" in last["content"]


def test_accept_may_say_just_false() -> None:
    """False rejects without a reason of one's own; too many rejections end as `malformed`."""
    backend = ScriptedBackend(lambda _: "no")
    result = Agent(backend, accept=lambda _: False, limits=Limits(max_bad_turns=2)).run("?")
    assert (result.answer, result.stop_reason) == (None, StopReason.MALFORMED)
    assert len(backend.requests) == 2
    assert result.partial == "no"


def test_an_agent_is_a_tool_of_another() -> None:
    """`as_tool` takes a question and gives the inner answer to the outer model."""
    inner = Agent(ScriptedBackend(["42"])).as_tool(name="expert", description="Knows numbers.")
    assert inner.spec.parameters["required"] == ["question"]
    turn = ToolCall(name="expert", arguments={"question": "how many?"})
    result = Agent(ScriptedBackend([turn, "it is 42"]), tools=[inner]).run("?")
    assert result.steps[0].observations[0].text == "42"
    assert result.answer == "it is 42"


def test_a_sub_agent_without_an_answer_says_why() -> None:
    """The outer model is told how the inner run ended, never given half an answer."""
    cut = Completion(content="The ans", finish_reason="length")
    inner = Agent(ScriptedBackend([cut])).as_tool(name="expert", description="")
    assert inner("q") == "error: the agent ended without an answer (length)"


def test_a_sub_agent_works_inside_an_async_run() -> None:
    """The same sub-agent gives the same result under `arun`."""

    def agent() -> Agent:
        inner = Agent(ScriptedBackend(["42"])).as_tool(name="expert", description="")
        turn = ToolCall(name="expert", arguments={"question": "?"})
        return Agent(ScriptedBackend([turn, "done"]), tools=[inner])

    assert asyncio.run(agent().arun("?")).to_dict() == agent().run("?").to_dict()


def test_resume_goes_on_from_a_result() -> None:
    """A run that ended at a limit goes on from its history with fresh limits."""
    first = Agent(ScriptedBackend([call()]), tools=[double], limits=Limits(max_steps=1)).run("?")
    assert first.stop_reason is StopReason.MAX_STEPS
    backend = ScriptedBackend(["42"])
    second = Agent(backend, tools=[double], limits=Limits(max_steps=1)).resume(first)
    assert second.answer == "42"
    assert backend.requests[0]["messages"] == first.messages
    assert second.messages[:-1] == first.messages


def test_resume_runs_open_calls_first() -> None:
    """Calls that nobody answered run before the model is asked, in call order."""
    whole = Agent(ScriptedBackend([[call(1, "a"), call(2, "b")], "done"]), tools=[double]).run("?")
    for kept in (2, 3, 4):
        backend = ScriptedBackend(["done"])
        result = Agent(backend, tools=[double]).resume(whole.messages[:kept])
        assert result.messages == whole.messages
        assert len(backend.requests) == 1


def test_resume_takes_no_id_twice() -> None:
    """An id of the old history is not given to a new call."""
    first = Agent(ScriptedBackend([call(1)]), tools=[double], limits=Limits(max_steps=1)).run("?")
    used = first.messages[1]["tool_calls"][0]["id"]
    second = Agent(ScriptedBackend([call(2, used), call(3), "done"]), tools=[double]).resume(first)
    ids = [c["id"] for m in second.messages for c in m.get("tool_calls", ())]
    assert len(ids) == len(set(ids)) == 3


def test_aresume_equals_resume() -> None:
    """Both resume to the same result."""
    history = Agent(ScriptedBackend([call(), "x"]), tools=[double]).run("?").messages[:2]
    plain = Agent(ScriptedBackend(["42"]), tools=[double]).resume(history)
    other = asyncio.run(Agent(ScriptedBackend(["42"]), tools=[double]).aresume(history))
    assert other.to_dict() == plain.to_dict()


def test_resume_leaves_the_given_history_alone() -> None:
    """The messages that were handed in are not changed."""
    history = [{"role": "user", "content": "?"}]
    Agent(ScriptedBackend(["42"])).resume(history)
    assert history == [{"role": "user", "content": "?"}]


def test_a_backend_that_is_none_is_refused() -> None:
    """Our misuse is an exception that says what to pass."""
    with pytest.raises(ConfigurationError, match="ScriptedBackend"):
        Agent("gpt-4o")  # type: ignore[arg-type]


def test_the_system_message_comes_first() -> None:
    """`system` opens the native conversation; without one there is none."""
    backend = ScriptedBackend(["a", "b"])
    Agent(backend, system="Be brief.").run("?")
    Agent(backend).run("?")
    assert [m["role"] for m in backend.requests[0]["messages"]] == ["system", "user"]
    assert [m["role"] for m in backend.requests[1]["messages"]] == ["user"]


def test_tools_see_the_clock_of_the_agent() -> None:
    """`clock` is the time in sync and async tools, and only while the run's tools run."""
    then = datetime(2020, 2, 3, tzinfo=UTC)
    seen: list[datetime] = []

    def now() -> str:
        """The time."""
        seen.append(current_time())
        return "noted"

    async def later() -> str:
        """The time, asynchronously."""
        seen.append(current_time())
        return "noted"

    turn = [ToolCall(name="now"), ToolCall(name="later")]
    Agent(ScriptedBackend([turn, "x"]), tools=[now, later], clock=lambda: then).run("?")
    agent = Agent(ScriptedBackend([turn, "x"]), tools=[now, later], clock=lambda: then)
    asyncio.run(agent.arun("?"))
    assert seen == [then] * 4
    assert current_time().year > 2020


def test_the_default_backend_form_of_acomplete_and_streams() -> None:
    """A backend that only writes `complete` works in all four shells."""

    class Minimal(ChatBackend):
        def complete(self, request: Request) -> Completion:
            return Completion(content="hi there, this is longer than one chunk")

    async def both() -> list[Any]:
        result = await Agent(Minimal()).arun("?")
        events = [event async for event in Agent(Minimal()).astream("?")]
        return [result, events[-1]]

    plain = Agent(Minimal()).run("?").to_dict()
    result, last = asyncio.run(both())
    streamed = list(Agent(Minimal()).stream("?"))[-1]
    assert isinstance(streamed, RunFinished)
    assert plain == result.to_dict() == last.result.to_dict() == streamed.result.to_dict()


def test_an_error_thrown_into_the_events_is_the_readers_own() -> None:
    """What a consumer throws at a text as it is shown leaves the run, and is no provider's fault."""
    events = Agent(ScriptedBackend(["some text"])).stream("?")
    assert isinstance(events, Generator)
    for event in events:
        if isinstance(event, TextDelta):
            break
    with pytest.raises(KeyError):
        events.throw(KeyError("the reader's"))


@pytest.mark.parametrize("verdict", [1, re.search("a", "a"), [0]])
def test_a_truthy_verdict_accepts(verdict: Any) -> None:
    """`accept` may return whatever counts as true; only a text is a reason to go on."""
    assert Agent(ScriptedBackend(["a"]), accept=lambda answer: verdict).run("?").answer == "a"


@pytest.mark.parametrize("history", ["abc", ["abc"], [1], None, {"role": "user"}])
def test_a_history_that_is_none_is_refused(history: Any) -> None:
    """`resume` says what a history looks like."""
    with pytest.raises(ConfigurationError, match="must be a list"):
        Agent(ScriptedBackend([])).resume(history)


@pytest.mark.breaks_invariants
@pytest.mark.parametrize("calls", ["x", 7, ["x"], {"a": 1}])
def test_calls_of_a_history_that_are_none_are_no_calls(calls: Any) -> None:
    """A made-up history with odd `tool_calls` goes on with the model."""
    history = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "a", "tool_calls": calls}]
    assert Agent(ScriptedBackend(["done"])).resume(history).answer == "done"
