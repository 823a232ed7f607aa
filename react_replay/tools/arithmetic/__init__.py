"""The calculator: one line of arithmetic in, one number as text out, in bounded time and memory.

This package holds the grammar and nothing else: no `eval`, no `ast`, no recursion, no state between
calls, no import of the rest of `tools`. Whatever the text, `evaluate` returns a number or raises
`CalculatorError`. The way of a text: limits, `normalise`, `tokens`, `shunting`, `printing`; a text
of plain digits and operators needs no normalising and is split by one regular expression.
"""

from __future__ import annotations

import re

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.hints import LONGEST_INPUT, explain
from react_replay.tools.arithmetic.normalise import normalise
from react_replay.tools.arithmetic.printing import render
from react_replay.tools.arithmetic.shunting import compute
from react_replay.tools.arithmetic.tokens import tokenise

__all__ = ["evaluate"]

_is_plain = re.compile(r"[0-9+\-*/.() ]+").fullmatch
_split_plain = re.compile(r"[0-9.]+|\*\*|//|[-+*/()]").findall


def evaluate(text: str) -> str:
    """The value of one arithmetic expression of at most 2,000 characters, as a decimal number.

    Exact where it is an integer or a short decimal, else 12 significant digits. Raises
    `CalculatorError`, and nothing else, with one line of at most 200 characters.
    """
    try:
        if len(text) > LONGEST_INPUT:
            raise CalculatorError(f"longer than {LONGEST_INPUT} characters; calculate it in parts")
        tokens = _split_plain(text) if _is_plain(text) else tokenise(normalise(text))
        return render(compute(tokens))
    except CalculatorError as refusal:
        reason = str(refusal)
    except (ArithmeticError, ValueError):
        # Decimal's overflow and underflow; any other must not leak its type either.
        reason = "the result is too large or too close to zero; use smaller exponents"
    raise CalculatorError(explain(text, reason))
