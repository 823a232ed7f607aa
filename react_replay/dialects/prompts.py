"""The words in which a text protocol is explained to a model, in English and Chinese. Our own texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from react_replay.messages import ToolSpec

__all__ = ["PROMPTS", "Texts", "has_chinese"]

_CHINESE = re.compile("[\u4e00-\u9fff]")


def has_chinese(text: str) -> bool:
    """Whether a text holds Chinese characters: the prompts then are Chinese too."""
    return _CHINESE.search(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """One protocol in one language: its instructions, the label of an observation, the request to mend."""

    instructions: Callable[[Sequence[ToolSpec], str], str]
    observation: str
    mend: str


def _listed(tools: Sequence[ToolSpec]) -> str:
    return "\n".join(f"- {tool.name}: {' '.join(tool.description.split())}" for tool in tools)


def _names(tools: Sequence[ToolSpec]) -> str:
    return ", ".join(tool.name for tool in tools)


def _json_tools(tools: Sequence[ToolSpec]) -> str:
    entries = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        for tool in tools
    ]
    return json.dumps(entries, ensure_ascii=False, indent=2)


def _zh(tools: Sequence[ToolSpec], question: str) -> str:
    return f"""\
请回答下面的问题。需要外部信息或计算时，使用这些工具：

{_listed(tools)}

每次回复严格按这个格式书写：

问题: 要回答的问题
思考: 下一步该做什么
行动: 一个工具名，只能从 [{_names(tools)}] 中选
行动输入: 交给工具的内容
观察: 工具返回的结果，由程序填写，不要自己写
（思考、行动、行动输入、观察可以重复多轮）
思考: 信息已经足够
最终答案: 对问题的完整回答

现在开始。

问题: {question}"""


def _bracket_zh(tools: Sequence[ToolSpec], question: str) -> str:
    return f"""\
你是一步一步解决问题的助手。可用的工具：

{_listed(tools)}

每次只走一步，用下面两种格式之一回复。

要用工具时：
Thought: 你的思考
Action: 工具名[输入]

信息足够时：
Thought: 你的思考
Final Answer: 最终答案

工具名只能是 {_names(tools)}。写完 Action 就停下，程序会用 Observation: 告诉你结果，不要自己编写。"""


def _bracket_en(tools: Sequence[ToolSpec], question: str) -> str:
    return f"""\
You solve problems one step at a time. Your tools:

{_listed(tools)}

Take one step a reply, in one of these two forms.

To use a tool:
Thought: what you think
Action: tool[input]

When you know enough:
Thought: what you think
Final Answer: the answer

The tool is one of {_names(tools)}. Stop after the Action line; the program tells you the result as \
Observation:, never write one yourself."""


def _json_zh(tools: Sequence[ToolSpec], question: str) -> str:
    return f"""\
你是会使用工具的助手，请帮用户完成任务。工具如下（JSON）：
{_json_tools(tools)}

要用工具时，这样回复：
Thought: 你的思考
Action: 工具名
Action Input: 工具参数，一个合法的 JSON 对象

知道答案时，这样回复：
Thought: 你的思考
Final Answer: 最终答案

规则：
1. 一次回复只调用一个工具。
2. Action Input 只能是 JSON 对象，例如 {{"city": "北京"}}；没有参数就写 {{}}。
3. 等程序给出 Observation 再走下一步，不要自己写 Observation。
4. 步数有限，尽快得出答案。
5. 工具报错时，改正参数或换一种办法。"""


def _json_en(tools: Sequence[ToolSpec], question: str) -> str:
    return f"""\
You are an assistant that completes tasks with tools. The tools, as JSON:
{_json_tools(tools)}

To use a tool, reply with:
Thought: what you think
Action: the tool's name
Action Input: its arguments, one valid JSON object

When you know the answer, reply with:
Thought: what you think
Final Answer: the answer

Rules:
1. Call one tool a reply.
2. Action Input is a JSON object, such as {{"city": "Oslo"}}; without arguments write {{}}.
3. Wait for the Observation before you go on; never write one yourself.
4. The number of steps is limited: come to an answer.
5. If a tool reports an error, mend the arguments or try another way."""


_MEND_ZH = "上一条回复无法使用：{reason}。请按约定的格式重新回复。"
_MEND_EN = "Your last reply could not be used: {reason}. Please reply again in the agreed format."

PROMPTS: Mapping[tuple[str, str], Texts] = {
    ("zh", "zh"): Texts(
        instructions=_zh,
        observation="观察: ",
        mend="上一条回复无法使用：{reason}。请按格式继续；如果已经有答案，请写出 最终答案:。",
    ),
    ("bracket", "zh"): Texts(
        instructions=_bracket_zh,
        observation="Observation: ",
        mend="【系统提示】上一条回复无法使用：{reason}。请按约定的格式重新回复。",
    ),
    ("bracket", "en"): Texts(instructions=_bracket_en, observation="Observation: ", mend=_MEND_EN),
    ("json", "zh"): Texts(instructions=_json_zh, observation="Observation: ", mend=_MEND_ZH),
    ("json", "en"): Texts(instructions=_json_en, observation="Observation: ", mend=_MEND_EN),
    ("labelled", "zh"): Texts(instructions=_json_zh, observation="Observation: ", mend=_MEND_ZH),
    ("labelled", "en"): Texts(instructions=_json_en, observation="Observation: ", mend=_MEND_EN),
}
