"""The calculator as a tool, under the names of articles 000 and 001. Its arithmetic is `arithmetic`'s."""

from __future__ import annotations

from typing import Annotated

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate
from react_replay.tools.base import Tool, tool

__all__ = ["CalculatorError", "calculate", "calculator", "evaluate"]


def _calculate(
    expression: Annotated[str, "an arithmetic expression, such as (123 + 456) * 789"],
) -> str:
    try:
        return evaluate(expression)
    except CalculatorError as error:
        return f"error: {error}"


_DESCRIPTION = """\
Evaluate an arithmetic expression exactly. Numbers only, no names, units or words. 做算术运算。
Operators: + - * / // % and ^ or ** (power); parentheses; 5% is 5/100. Write every * out.
Functions: sqrt abs round(x, n) floor ceil min max pow exp ln log log10 log2 sin cos tan factorial;
constants: pi e. The result is exact where it ends, else it has 12 significant digits."""

calculator: Tool = tool(name="calculator", description=_DESCRIPTION)(_calculate)
calculate: Tool = tool(name="calculate", description=_DESCRIPTION)(_calculate)
