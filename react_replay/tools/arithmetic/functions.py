"""The named functions and constants, with how many arguments each takes.

A function gets values and returns one; it refuses a bad argument by name. Nothing is looked up by
`getattr` in a module, and a name that is not in these tables does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import approximate
from react_replay.tools.arithmetic.operations import as_exact, negate, power
from react_replay.tools.arithmetic.values import Exact, Value, settled

__all__ = ["CONSTANTS", "FUNCTIONS", "call", "factorial"]

CONSTANTS = ("pi", "e")
_LARGEST_FACTORIAL = 400
_MOST_PLACES = 50
_ANY = 10_000


def call(name: str, arguments: list[Value]) -> Value:
    """The value of function `name`. Refuses a wrong number of arguments."""
    function, least, most = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} or {most}"
        raise CalculatorError(
            f"{name} takes {wanted} argument{'s' if most > 1 else ''}, not {len(arguments)}; "
            "write long numbers without commas inside a call"
        )
    return function(*arguments)


def factorial(value: Value) -> Value:
    """n! of a whole number from 0 to 400."""
    if type(value) is not int or not 0 <= value <= _LARGEST_FACTORIAL:
        raise CalculatorError(f"a factorial needs a whole number from 0 to {_LARGEST_FACTORIAL}")
    return math.factorial(value)


def _absolute(value: Value) -> Value:
    return negate(value) if value < 0 else value


def _round(value: Value, places: Value = 0) -> Value:
    if type(places) is not int or not -_MOST_PLACES <= places <= _MOST_PLACES:
        raise CalculatorError(f"round(x, n) needs a whole n from -{_MOST_PLACES} to {_MOST_PLACES}")
    if type(value) is int and places >= 0:
        return value
    import fractions

    rounded: Exact = round(fractions.Fraction(as_exact(value)), places)
    return settled(rounded)


def _floor(value: Value) -> Value:
    return math.floor(as_exact(value))


def _ceil(value: Value) -> Value:
    return math.ceil(as_exact(value))


def _minimum(*values: Value) -> Value:
    return min(values)


def _maximum(*values: Value) -> Value:
    return max(values)


def _log10(value: Value) -> Value:
    return approximate.logarithm(value, 10)


def _log2(value: Value) -> Value:
    return approximate.logarithm(value, 2)


FUNCTIONS: dict[str, tuple[Callable[..., Value], int, int]] = {
    "sqrt": (approximate.square_root, 1, 1),
    "abs": (_absolute, 1, 1),
    "round": (_round, 1, 2),
    "floor": (_floor, 1, 1),
    "ceil": (_ceil, 1, 1),
    "min": (_minimum, 1, _ANY),
    "max": (_maximum, 1, _ANY),
    "pow": (power, 2, 2),
    "exp": (approximate.exponential, 1, 1),
    "ln": (approximate.logarithm, 1, 1),
    "log": (approximate.logarithm, 1, 2),
    "log10": (_log10, 1, 1),
    "log2": (_log2, 1, 1),
    "sin": (approximate.sine, 1, 1),
    "cos": (approximate.cosine, 1, 1),
    "tan": (approximate.tangent, 1, 1),
    "factorial": (factorial, 1, 1),
}
