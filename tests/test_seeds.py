"""The five articles: their first requests, their rules, and the cassettes of their questions."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, Limits, RunFinished, ScriptedBackend, StopReason, ToolCall
from react_replay.cassettes.reading import read_cassette
from react_replay.seeds import SEEDS, Question, Seed, seed
from react_replay.tools import get_weather

ROOT = Path(__file__).parent.parent
CASES = [pytest.param(s, q, id=f"{s.number}-{q.slug}") for s in SEEDS for q in s.questions]


@pytest.mark.parametrize("article", SEEDS, ids=lambda article: article.number)
def test_the_first_request_of_each_article_is_fixed(article: Seed) -> None:
    """Messages, stop, temperature and tools of an article's first request are what they were."""
    backend = ScriptedBackend(["最终答案: x\nFinal Answer: x"])
    article.agent(backend).run(article.questions[0].text)
    golden = json.loads((ROOT / f"tests/golden/first-request-{article.number}.json").read_text("utf-8"))
    assert backend.requests[0] == golden


@pytest.mark.parametrize(
    ("number", "dialect", "tools", "limit"),
    [
        ("000", "native", ["lookup_fact", "calculator"], 6),
        ("001", "zh", ["get_weather", "calculate"], 10),
        ("002", "bracket", ["search", "calculator"], 8),
        ("003", "json", ["calculator", "get_current_date", "get_weather"], 10),
    ],
)
def test_an_article_keeps_its_dialect_tools_and_limit(
    number: str, dialect: str, tools: list[str], limit: int
) -> None:
    """The table of the articles: dialect, tools and step limit."""
    article = seed(number)
    assert (article.dialect, list(article.tools()), article.max_steps) == (dialect, tools, limit)


@pytest.mark.parametrize(("article", "question"), CASES)
def test_every_question_replays_to_its_answer(article: Seed, question: Question) -> None:
    """A bundled cassette answers its question, and every recorded turn is played."""
    with CassetteBackend(ROOT / "cassettes" / article.cassette(question)) as backend:
        result = article.agent(backend).run(question.text)
        assert result.stop_reason is StopReason.ANSWER
        assert all(part in (result.answer or "") for part in question.holds)
        assert backend.unplayed == []


@pytest.mark.parametrize(("article", "question"), CASES)
def test_a_replay_is_the_same_run_streamed_or_not(article: Seed, question: Question) -> None:
    """`run` and `stream` over one cassette give the same result, to the byte."""
    path = ROOT / "cassettes" / article.cassette(question)
    whole = article.agent(CassetteBackend(path)).run(question.text)
    *_, last = article.agent(CassetteBackend(path)).stream(question.text)
    assert isinstance(last, RunFinished)
    assert last.result.to_dict() == whole.to_dict()


@pytest.mark.parametrize(("article", "question"), CASES)
def test_a_bundled_cassette_says_where_it_comes_from(article: Seed, question: Question) -> None:
    """Its provenance names the origin and the recorder, and it was recorded over HTTP."""
    read = read_cassette(ROOT / "cassettes" / article.cassette(question))
    assert read.metadata["origin"] in ("scripted", "live")
    assert read.metadata["question"] == question.text
    assert all(turn.url.startswith("http") for turn in read.recorded)


def test_the_date_replays_a_month_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """In mode `none` the date tool sees the recording's time, whatever the machine's clock says."""
    article = seed("003")
    question = article.questions[2]
    path = ROOT / "cassettes" / article.cassette(question)
    recorded = datetime.fromisoformat(str(read_cassette(path).metadata["recorded_at"]))

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Later:
            moment = recorded + timedelta(days=31)
            return cls.fromtimestamp(moment.timestamp(), tz)

    monkeypatch.setattr("react_replay.tools.clock.datetime", Later)
    result = article.agent(CassetteBackend(path)).run(question.text)
    dates = [row["obs"] for row in result.trace if row["tool"] == "get_current_date"]
    assert dates == [recorded.strftime("%Y-%m-%d %H:%M:%S")]


def test_the_chinese_protocol_sends_its_stop_word() -> None:
    """Article 001 asks the server to stop at 观察: and puts everything into one user message."""
    backend = ScriptedBackend(["最终答案: 好"])
    seed("001").agent(backend).run("查询北京的天气")
    assert backend.requests[0]["stop"] == ["观察:"]
    assert [message["role"] for message in backend.requests[0]["messages"]] == ["user"]


def test_text_observations_go_back_as_user_messages() -> None:
    """Articles 001 to 003: an observation is a user message, never a tool message."""
    backend = ScriptedBackend(["思考: 查\n行动: get_weather\n行动输入: 北京", "最终答案: 25°C"])
    seed("001").agent(backend).run("查询北京的天气")
    assert backend.requests[1]["messages"][-1] == {"role": "user", "content": "观察: 25°C"}


def test_native_observations_carry_their_call_id() -> None:
    """Articles 000 and 004: an observation is a tool message with the id of its call."""
    backend = ScriptedBackend([ToolCall(name="lookup_fact", arguments={"query": "光速"}, id="a"), "好"])
    seed("000").agent(backend).run("光速?")
    assert backend.requests[1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "a",
        "content": "299792458",
    }


def test_bad_json_input_is_sent_back_to_be_written_again() -> None:
    """Article 003: an input that is no JSON object is never guessed; the reply stays in the history."""
    bad = "Thought: t\nAction: get_weather\nAction Input: 北京"
    backend = ScriptedBackend([bad, "Thought: t\nFinal Answer: 晴"])
    result = seed("003").agent(backend).run("北京今天天气怎么样？")
    assert result.answer == "晴"
    reply, request = backend.requests[1]["messages"][-2:]
    assert reply == {"role": "assistant", "content": bad}
    assert request["role"] == "user"
    assert "JSON" in request["content"]


def test_an_unreadable_reply_is_kept_in_the_history() -> None:
    """The assistant's turn is always appended, also the one that could not be read."""
    backend = ScriptedBackend(["我想想……", "Thought: t\nFinal Answer: 好"])
    seed("002").agent(backend).run("长江比黄河长多少公里？")
    assert [m["role"] for m in backend.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_an_unknown_tool_is_answered_with_the_list() -> None:
    """A tool that does not exist is an observation that lists the tools; the run goes on."""
    backend = ScriptedBackend(["Thought: t\nAction: google[x]", "Thought: t\nFinal Answer: 好"])
    result = seed("002").agent(backend).run("?")
    assert result.trace[0]["obs"] == "error: unknown tool 'google'; the tools are: search, calculator"


@pytest.mark.parametrize("article", SEEDS, ids=lambda article: article.number)
def test_running_out_of_steps_never_pretends_success(article: Seed) -> None:
    """At the article's limit there is no answer, and the run says that it was cut."""
    text = {
        "zh": "思考: t\n行动: get_weather\n行动输入: 北京",
        "bracket": "Thought: t\nAction: search[长江]",
        "json": 'Thought: t\nAction: get_weather\nAction Input: {"city": "北京"}',
    }
    reply: Any = text.get(article.dialect, ToolCall(name="calculator", arguments={"expression": "1+1"}))
    result = article.agent(ScriptedBackend(lambda request: reply)).run("?")
    assert (result.answer, result.truncated, result.stop_reason) == (None, True, StopReason.MAX_STEPS)
    assert len(result.steps) == article.max_steps


def test_an_unknown_city_is_answered_in_the_articles_words() -> None:
    """Article 001's table answers a city that it does not know with a text, not with an error."""
    assert get_weather("火星") == "未知城市无法查询天气"


def test_a_model_must_state_that_it_is_done() -> None:
    """Article 004: an answer that `accept` rejects goes back to the model, with the reason."""

    def accept(answer: str) -> bool | str:
        return "完成" in answer or "state that the work is done"

    backend = ScriptedBackend(["正在做", "分析已完成"])
    result = Agent(backend, accept=accept, limits=Limits(max_steps=4)).run("分析")
    assert result.answer == "分析已完成"
    assert "state that the work is done" in backend.requests[1]["messages"][-1]["content"]
