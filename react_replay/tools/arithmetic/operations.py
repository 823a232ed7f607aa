"""The operators on exact values, each refused or made approximate before it could grow too large.

The budget is on the size of the result, in bits, and is looked at before the operation: whole
numbers beyond it are refused, others become approximate. No text and no rounding enter here; what
is irrational stands in `approximate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import approximate
from react_replay.tools.arithmetic.values import Exact, Value, is_approximate, is_exact, ratio, settled

__all__ = ["BINARY", "as_exact", "divide", "negate", "power"]

# In bits, of an integer or of a numerator and its denominator together. The most that honest use
# was seen to need is 5,800, for the compound interest of 360 months.
_BUDGET = 8_192


def _too_large() -> CalculatorError:
    """The refusal of a result that would not fit into the budget."""
    return CalculatorError("the result is too large; use smaller numbers or exponents")


def as_exact(value: Value) -> Exact:
    """`value` as an exact number, for operations that need one. Refuses an extreme exponent."""
    if is_approximate(value):
        if abs(value.adjusted()) > _BUDGET * 3 // 10:
            raise _too_large()
        return ratio(*value.as_integer_ratio())
    assert is_exact(value)
    return value


def add(left: Value, right: Value) -> Value:
    """The sum."""
    if type(left) is int and type(right) is int:
        total = left + right
        if total.bit_length() > _BUDGET:
            raise _too_large()
        return total
    if is_exact(left) and is_exact(right) and _fit(left, right):
        return settled(left + right)
    return approximate.add(left, right)


def subtract(left: Value, right: Value) -> Value:
    """The difference."""
    if type(left) is int and type(right) is int:
        total = left - right
        if total.bit_length() > _BUDGET:
            raise _too_large()
        return total
    if is_exact(left) and is_exact(right) and _fit(left, right):
        return settled(left - right)
    return approximate.add(left, negate(right))


def multiply(left: Value, right: Value) -> Value:
    """The product."""
    if type(left) is int and type(right) is int:
        if left.bit_length() + right.bit_length() > _BUDGET:
            raise _too_large()
        return left * right
    if is_exact(left) and is_exact(right) and _fit(left, right):
        return settled(left * right)
    return approximate.multiply(left, right)


def divide(left: Value, right: Value) -> Value:
    """The exact quotient. Refuses a zero divisor."""
    if right == 0:
        raise CalculatorError("division by zero; check the divisor")
    if type(left) is int and type(right) is int:
        return ratio(left, right)
    if is_exact(left) and is_exact(right) and _fit(left, right):
        import fractions

        return settled(fractions.Fraction(left) / right)
    return approximate.divide(left, right)


def floor_divide(left: Value, right: Value) -> Value:
    """The quotient rounded towards minus infinity, as in Python."""
    return _whole_part(left, right)[0]


def remainder(left: Value, right: Value) -> Value:
    """What `floor_divide` leaves; it has the sign of the divisor, as in Python."""
    return _whole_part(left, right)[1]


def power(base: Value, exponent: Value) -> Value:
    """`base` to the `exponent`: exact for whole exponents within the budget, and for square roots.

    Whole powers of whole numbers are exact or refused; all else that is too large is approximate.
    """
    if type(exponent) is int and is_exact(base):
        if base == 0 and exponent < 0:
            raise CalculatorError("division by zero: 0 has no negative power")
        if exponent == 0:
            return 1
        if base in (0, 1, -1):
            return base if exponent % 2 else base * base
        if exponent.bit_length() < 64 and _log2(base) * abs(exponent) < _BUDGET:
            whole: Exact = base ** abs(exponent)
            if exponent > 0:
                return whole
            return divide(1, whole)
        if type(base) is int and exponent > 0:
            raise _too_large()
    if is_exact(exponent) and 2 * exponent == 1:
        return approximate.square_root(base)
    return approximate.power(base, exponent)


def negate(value: Value) -> Value:
    """`-value`."""
    if is_exact(value):
        return -value
    return approximate.negate(value)


def _whole_part(left: Value, right: Value) -> tuple[int, Value]:
    if right == 0:
        raise CalculatorError("division by zero; check the divisor")
    if type(left) is int and type(right) is int:
        return divmod(left, right)
    dividend, divisor = as_exact(left), as_exact(right)
    if not _fit(dividend, divisor):
        raise CalculatorError("// and % need smaller or rounder numbers; round their operands first")
    quotient = dividend // divisor
    return quotient, settled(dividend - quotient * divisor)


def _fit(left: Exact, right: Exact) -> bool:
    """Whether any of + - * / of the two keeps within the budget of fractions."""
    top, bottom = left.as_integer_ratio()
    other_top, other_bottom = right.as_integer_ratio()
    bits = top.bit_length() + bottom.bit_length() + other_top.bit_length() + other_bottom.bit_length()
    return bits < _BUDGET


def _log2(value: Exact) -> float:
    """How many bits each power of `value`, which is not zero, adds."""
    top, bottom = value.as_integer_ratio()
    return math.log2(abs(top)) + math.log2(bottom)


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "//": floor_divide,
    "%": remainder,
    "**": power,
}
