"""Hand-written replies for the bundled cassettes, in the shape in which DeepSeek answers today.

Data, and the few lines that put it on the wire. Cassettes recorded from these say `origin: scripted`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from react_replay.backends.scripted import ScriptedBackend
from react_replay.messages import Request

MODEL = "deepseek-chat"
CREATED = 1_780_000_000

Turn = str | dict[str, Any] | Callable[[Request], str]


def calls(*asked: tuple[str, dict[str, Any]], content: str = "", reasoning: str = "") -> dict[str, Any]:
    """A turn that calls tools, each a name with its arguments."""
    return {"calls": asked, "content": content, "reasoning": reasoning}


def _today(request: Request) -> str:
    """What the date tool said, out of the conversation: the day of the recording."""
    said = str(request.messages[-3]["content"])
    return said.removeprefix("Observation:").strip()[:10]


def _date_answer(request: Request) -> str:
    year, month, day = _today(request).split("-")
    return (
        "Thought: 日期和天气都查到了，可以回答。\n"
        f"Final Answer: 今天是 {year} 年 {int(month)} 月 {int(day)} 日，北京天气晴，气温 25°C。"
    )


REPLIES: dict[str, list[Turn]] = {
    "000-population-ratio": [
        calls(
            ("lookup_fact", {"query": "台北人口"}),
            ("lookup_fact", {"query": "纽约人口"}),
            content="先查两座城市的人口。",
        ),
        calls(("calculator", {"expression": "round(2602000 / 8336000, 4)"})),
        "台北人口除以纽约人口约等于 **0.3121**。",
    ],
    "001-arithmetic": [
        "思考: 这是一道算术题，用计算器算。\n行动: calculate\n行动输入: 15 * 15 + 400\n",
        "思考: 结果已经算出来了。\n最终答案: 15 * 15 + 400 = 625",
    ],
    "001-weather": [
        "思考: 需要查北京现在的天气。\n行动: get_weather\n行动输入: 北京\n",
        "思考: 天气查到了，可以回答。\n最终答案: 北京现在的气温是 25°C。",
    ],
    "001-weather-times-ten": [
        "思考: 先查北京的气温，再做乘法。\n行动: get_weather\n行动输入: 北京\n",
        "思考: 气温是 25°C，取数值 25 乘以 10。\n行动: calculate\n行动输入: 25 * 10\n",
        "思考: 乘法算完了。\n最终答案: 北京气温 25°C，数值乘以 10 等于 250。",
    ],
    "002-apple-age": [
        "Thought: 先查苹果公司成立于哪一年。\nAction: search[苹果公司 成立时间]",
        "Thought: 成立于 1976 年，算到 2026 年。\nAction: calculator[2026 - 1976]",
        "Thought: 算出来了。\nFinal Answer: 到 2026 年，苹果公司成立 50 年了。",
    ],
    "002-everest-eiffel": [
        "Thought: 先查珠穆朗玛峰的高度。\nAction：search【珠穆朗玛峰 高度】",
        "Thought: 再查埃菲尔铁塔的高度。\nAction: search（埃菲尔铁塔 高度）",
        "Thought: 8849 米减 330 米。\nAction: calculator[8849 - 330]",
        "Thought: 差值有了。\nFinal Answer: 珠穆朗玛峰比埃菲尔铁塔高约 8519 米。",
    ],
    "002-rivers": [
        "Thought: 两条河的长度可以一起搜。\nAction: search[长江 黄河 长度]",
        "Thought: 6300 公里减 5464 公里。\nAction: calculator(6300 - 5464)",
        "Thought: 差值有了。\nFinal Answer：长江比黄河长约 836 公里。",
    ],
    "003-weather": [
        'Thought: 用户问北京的天气，调用天气工具。\nAction: get_weather\nAction Input: {"city": "北京"}',
        "Thought: 已经拿到天气。\nFinal Answer: 北京今天晴，气温 25°C。",
    ],
    "003-arithmetic": [
        'Thought: 用计算器。\nAction: calculator\nAction Input: {"expression": "(123 + 456) * 789"}',
        "Thought: 结果有了。\nFinal Answer: (123 + 456) * 789 = 456831",
    ],
    "003-date-weather": [
        "Thought: 先查今天的日期。\nAction: get_current_date\nAction Input: {}",
        'Thought: 再查北京的天气。\nAction: get_weather\nAction Input: {"city": "北京"}',
        _date_answer,
    ],
    "004-recovery": [
        calls(
            ("lookup_fact", {"query": "光速"}),
            ("calculator", {"expression": "光速 / 1000"}),
            reasoning="问的是光速换算成千米每秒。可以同时查光速和计算。",
        ),
        calls(
            ("calculator", {"expression": "299792458 / 1000"}),
            reasoning="计算器只认数字，查到的光速是 299792458 米每秒，用数字再算一次。",
        ),
        "光速是 299792458 米/秒，除以 1000 等于 **299792.458 千米/秒**。",
    ],
}
STREAMED = frozenset({"001-weather-times-ten", "002-rivers", "004-recovery"})
"""The recordings that are made as streams."""


def backend(name: str) -> ScriptedBackend:
    """The scripted model behind one cassette."""
    turns = iter(enumerate(REPLIES[name]))

    def reply(request: Request) -> dict[str, Any]:
        number, turn = next(turns)
        spec = turn(request) if callable(turn) else turn
        return body(name, number, spec if isinstance(spec, dict) else {"content": spec}, request)

    return ScriptedBackend(reply)


def body(name: str, number: int, turn: dict[str, Any], request: Request) -> dict[str, Any]:
    """A `chat.completion` body. Ids are made from the cassette's name; tokens are estimated."""
    digest = hashlib.blake2b(f"{name}/{number}".encode(), digest_size=16).hexdigest()
    content = turn.get("content", "")
    message: dict[str, Any] = {"role": "assistant", "content": content}
    written = len(content)
    if turn.get("reasoning"):
        message["reasoning_content"] = turn["reasoning"]
        written += len(turn["reasoning"])
    asked = turn.get("calls", ())
    if asked:
        message["tool_calls"] = [
            {
                "index": index,
                "id": f"call_{index:02d}_{digest[:20]}",
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for index, (tool, arguments) in enumerate(asked)
        ]
        written += sum(len(json.dumps(arguments)) + len(tool) for tool, arguments in asked)
    prompt = len(json.dumps(request.body(), ensure_ascii=False)) // 3
    cached = prompt // 64 * 64 if number else 0
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": max(written * 2 // 3, 1),
        "total_tokens": prompt + max(written * 2 // 3, 1),
        "prompt_tokens_details": {"cached_tokens": cached},
        "prompt_cache_hit_tokens": cached,
        "prompt_cache_miss_tokens": prompt - cached,
    }
    if turn.get("reasoning"):
        usage["completion_tokens_details"] = {"reasoning_tokens": len(turn["reasoning"]) * 2 // 3}
    return {
        "id": f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}",
        "object": "chat.completion",
        "created": CREATED + number,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "tool_calls" if asked else "stop",
            }
        ],
        "usage": usage,
        "system_fingerprint": f"fp_{digest[:10]}_scripted",
    }
