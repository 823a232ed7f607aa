"""Tokens to a value: a shunting-yard that evaluates as it reads.

Two lists are the only stacks, so depth costs list items and no calls. What a token means was
settled by the tokeniser; whether tokens fit together is settled here. No text is scanned here.
"""

from __future__ import annotations

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.approximate import constant
from react_replay.tools.arithmetic.functions import CONSTANTS, FUNCTIONS, call, factorial
from react_replay.tools.arithmetic.hints import quote, stray_value
from react_replay.tools.arithmetic.literals import literal
from react_replay.tools.arithmetic.operations import BINARY, divide, negate
from react_replay.tools.arithmetic.values import Value

__all__ = ["FACTORIAL", "PERCENT", "compute"]

PERCENT = "percent"
FACTORIAL = "!"

_DEEPEST = 100
_SHORT = 300
_NUMBER = frozenset("0123456789.")
_NEGATION = "negation"
_POSTFIX = (PERCENT, FACTORIAL)
# What takes tens of microseconds; 2,000 characters hold 660 of them, honest expressions a few.
_COSTLY = frozenset(("**", "pow", "exp", "ln", "log", "log10", "log2", "sin", "cos", "tan"))
_MOST_COSTLY = 150
# A pending operator is applied before a new one where its rank is at least the new one's limit.
# The sign stands between * and **, so -2^2 is -(2^2); the limit of ** is above its own rank, so
# 2^3^2 is 2^(3^2). Brackets, and the names of functions before them, end the search.
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, _NEGATION: 3, "**": 4, "(": 0}
_LIMIT = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 5}


def compute(tokens: list[str]) -> Value:
    """The value of a whole expression. Raises `CalculatorError` where tokens do not fit together."""
    if len(tokens) > _MOST_COSTLY and sum(token in _COSTLY for token in tokens) > _MOST_COSTLY:
        raise CalculatorError(f"more than {_MOST_COSTLY} powers and functions; calculate it in parts")
    values: list[Value] = []
    pending: list[str] = []
    commas: list[int] = []  # for each open bracket, how many there were in it
    wants_value = True
    before = ""
    for token in tokens:
        if wants_value:
            if token[0] in _NUMBER:
                # int() would read more digits than a literal may have.
                short = len(token) < _SHORT and token.isdigit()
                values.append(int(token) if short else literal(token))
                wants_value = False
            elif token == "(":
                if len(commas) == _DEEPEST:
                    raise CalculatorError(f"more than {_DEEPEST} nested brackets; use fewer")
                commas.append(0)
                pending.append(token)
            elif token == "-":
                pending.append(_NEGATION)
            elif token in CONSTANTS:
                values.append(constant(token))
                wants_value = False
            elif token in FUNCTIONS:
                pending.append(token)
            elif token != "+":
                raise _missing_value(token, before)
        elif token in _LIMIT:
            limit = _LIMIT[token]
            while pending and _RANK[pending[-1]] >= limit:
                _apply(pending.pop(), values)
            pending.append(token)
            wants_value = True
        elif token == ")":
            _close(pending, values, commas)
        elif token == ",":
            _apply_to_bracket(pending, values)
            commas[-1] += 1
            wants_value = True
        elif token in _POSTFIX:
            values[-1] = divide(values[-1], 100) if token == PERCENT else factorial(values[-1])
        else:
            raise CalculatorError(stray_value(token, before=before))
        before = token
    if wants_value:
        raise _missing_value("", before)
    while pending:
        _apply(pending.pop(), values)
    return values[0]


def _apply(operator: str, values: list[Value]) -> None:
    if operator == _NEGATION:
        values[-1] = negate(values[-1])
    elif operator == "(":
        raise CalculatorError("a '(' is not closed; add the missing ')'")
    else:
        right = values.pop()
        values[-1] = BINARY[operator](values[-1], right)


def _apply_to_bracket(pending: list[str], values: list[Value]) -> None:
    while pending and pending[-1] != "(":
        _apply(pending.pop(), values)
    if not pending:
        raise CalculatorError("a ')' closes nothing; add the '(' or drop it")


def _close(pending: list[str], values: list[Value], commas: list[int]) -> None:
    """Evaluate back to the open bracket, and the call whose bracket it is."""
    _apply_to_bracket(pending, values)
    pending.pop()
    count = commas.pop() + 1
    if pending and pending[-1] in FUNCTIONS:
        values[-count:] = [call(pending.pop(), values[-count:])]


def _missing_value(token: str, before: str) -> CalculatorError:
    if not token and not before:
        return CalculatorError("there is no expression; write one, such as (2+3)*4")
    if not token:
        return CalculatorError(f"it ends after {quote(before)}; write the number that follows")
    place = f" and after {quote(before)}" if before else " at the start"
    return CalculatorError(f"a number is missing before {quote(token)}{place}; write it")
