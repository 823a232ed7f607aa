"""The five articles that this package grew from, as data: dialect, tools, limits and questions of each.

`demo` replays them, `scripts/record` records them, golden tests fix their first requests. No IO here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_replay.agent import Agent
from react_replay.backends.base import ChatBackend
from react_replay.result import Limits
from react_replay.tools import (
    Toolbox,
    calculate,
    calculator,
    get_current_date,
    get_weather,
    lookup_fact,
    search,
    weather_tool,
)

__all__ = ["SEEDS", "Question", "Seed", "seed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of an article; its cassette is `<seed>-<slug>.yaml`. `holds`: what the answer says."""

    slug: str
    text: str
    holds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """One article's agent. `tools` makes a fresh toolbox; `options` go with every request."""

    number: str
    title: str
    dialect: str
    tools: Callable[[], Toolbox]
    max_steps: int
    questions: tuple[Question, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def agent(self, backend: ChatBackend) -> Agent:
        """The article's agent over any backend."""
        return Agent(
            backend,
            tools=self.tools(),
            dialect=self.dialect,
            options=self.options,
            limits=Limits(max_steps=self.max_steps),
        )

    def cassette(self, question: Question) -> str:
        """The file name of a question's cassette."""
        return f"{self.number}-{question.slug}.yaml"


def _registry() -> Toolbox:
    """Article 003's registry: its tools under hand-written schemas."""
    weather = weather_tool({"北京": "北京今日天气：晴，温度 25°C", "Beijing": "Beijing: sunny, 25°C"})
    box = Toolbox()
    box.register(
        name="calculator",
        description=calculator.description,
        schema={
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "数学表达式，例如 (1 + 2) * 3"}},
            "required": ["expression"],
        },
        func=calculator.func,
    )
    box.register(
        name="get_current_date",
        description=get_current_date.description,
        schema={},
        func=get_current_date.func,
    )
    box.register(
        name="get_weather",
        description=weather.description,
        schema={
            "type": "object",
            "properties": {"city": {"type": "string", "description": "城市名，例如 北京"}},
            "required": ["city"],
        },
        func=weather.func,
    )
    return box


SEEDS: tuple[Seed, ...] = (
    Seed(
        number="000",
        title="ReAct from scratch with native tool calls",
        dialect="native",
        tools=lambda: Toolbox([lookup_fact, calculator]),
        max_steps=6,
        questions=(
            Question(
                slug="population-ratio",
                text="台北人口除以纽约人口是多少？保留 4 位小数。",
                holds=("0.3121",),
            ),
        ),
    ),
    Seed(
        number="001",
        title="Mini ReAct: Chinese labels and a stop word",
        dialect="zh",
        tools=lambda: Toolbox([get_weather, calculate]),
        max_steps=10,
        questions=(
            Question(slug="arithmetic", text="15 * 15 + 400 等于多少?", holds=("625",)),
            Question(slug="weather", text="查询北京的天气", holds=("25°C",)),
            Question(slug="weather-times-ten", text="查询北京的天气并将温度数值乘以 10", holds=("250",)),
        ),
    ),
    Seed(
        number="002",
        title="A loop that the program drives: Action: tool[input]",
        dialect="bracket",
        tools=lambda: Toolbox([search, calculator]),
        max_steps=8,
        options={"temperature": 0},
        questions=(
            Question(slug="apple-age", text="苹果公司到 2026 年成立多少年了？", holds=("50",)),
            Question(slug="everest-eiffel", text="珠穆朗玛峰比埃菲尔铁塔高多少米？", holds=("8519",)),
            Question(slug="rivers", text="长江比黄河长多少公里？", holds=("836",)),
        ),
    ),
    Seed(
        number="003",
        title="A registry of tools and JSON input",
        dialect="json",
        tools=_registry,
        max_steps=10,
        options={"temperature": 0.3},
        questions=(
            Question(slug="weather", text="北京今天天气怎么样？", holds=("25",)),
            Question(slug="arithmetic", text="帮我计算 (123 + 456) * 789 的结果", holds=("456831",)),
            Question(slug="date-weather", text="今天是几号？北京天气如何？", holds=("25",)),
        ),
    ),
    Seed(
        number="004",
        title="A coding agent's loop: errors go back to the model",
        dialect="native",
        tools=lambda: Toolbox([lookup_fact, calculator, search, get_weather, get_current_date]),
        max_steps=10,
        options={"tool_choice": "auto"},
        questions=(
            Question(
                slug="recovery",
                text="光速除以 1000 等于多少千米每秒？",
                holds=("299792.458",),
            ),
        ),
    ),
)


def seed(number: str) -> Seed:
    """The article with this number, such as `"002"`."""
    return next(item for item in SEEDS if item.number == number)
