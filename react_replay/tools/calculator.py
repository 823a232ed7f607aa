"""The calculator as a tool, under the names of articles 000 and 001. Its arithmetic is `arithmetic`'s."""

from __future__ import annotations

from typing import Annotated

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate
from react_replay.tools.base import Tool

__all__ = ["Calculator", "CalculatorError", "calculate", "calculator", "evaluate"]


def _calculate(
    expression: Annotated[str, "an arithmetic expression, such as (123 + 456) * 789"],
) -> str:
    try:
        return evaluate(expression)
    except CalculatorError as error:
        return f"error: {error}"


_DESCRIPTION = """\
Evaluate one arithmetic expression exactly. 做算术运算。
Write numbers only: no names, units, words, `=` or comparisons; look values up first.
Operators: + - * / // (floor) % (remainder) ^ or ** (power, right to left; -2^2 is -4), n! and parentheses.
Write every * out: 2*(3), not 2(3); a mixed number is 1+5/6.
A % right after a number is a percent, 5% = 5/100, so 100+10% is 100.1: for an increase write 100*(1+10%);
put spaces around % for a remainder: 10 % 3.
Numbers: 1234.5, 1,234.5 (no such commas inside a call), 1.5e-3, 260.2万, 1.5亿.
Functions: sqrt abs round(x, n) floor ceil min max pow exp ln log(x) (natural) log(x, base) log10 log2
sin cos tan (radians) factorial; constants pi, e. round goes half to even.
The result is exact where it is whole or a short decimal, else it has 12 significant digits."""


class Calculator(Tool):
    """The calculator for a model: `evaluate`, with an error as text.

    `react_replay.tools.calculator` is both this module and the tool, so the tool carries what the module has.
    """

    CalculatorError = CalculatorError
    evaluate = staticmethod(evaluate)


calculator = Calculator(_calculate, name="calculator", description=_DESCRIPTION)
calculate = Calculator(_calculate, name="calculate", description=_DESCRIPTION)
