"""What has no exact value: roots, real powers, exponentials, logarithms and angles, to 40 digits.

Decimal arithmetic in an own context with a bounded exponent; never the thread's. A result that
agrees with an integer to 34 digits becomes that integer, and a difference below the precision of
its operands becomes 0, so that sqrt(2)^2 is 2 and sin(pi) is 0. Extreme exponents never leave as
an int or a Fraction: expanding them is what hangs. Beyond it the context raises decimal's signals,
which are ArithmeticErrors. `decimal` is imported at the first need.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.values import Value, is_approximate, is_exact, ratio

if TYPE_CHECKING:
    from decimal import Context, Decimal

__all__ = [
    "add",
    "constant",
    "cosine",
    "divide",
    "exponential",
    "logarithm",
    "multiply",
    "negate",
    "power",
    "sine",
    "square_root",
    "tangent",
]

_PRECISION = 40
_RELIABLE = 34
_LARGEST_EXPONENT = 10**6
_LARGEST_ANGLE = 10**30
_PI = "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
_E = "2.718281828459045235360287471352662497757247093699959574966967627724"


@functools.cache
def _context(precision: int = _PRECISION) -> Context:
    import decimal

    return decimal.Context(
        prec=precision,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=-_LARGEST_EXPONENT,
        Emax=_LARGEST_EXPONENT,
        traps=[
            decimal.InvalidOperation,
            decimal.DivisionByZero,
            decimal.Overflow,
            decimal.Underflow,
        ],
    )


def _decimal(value: Value, precision: int = _PRECISION) -> Decimal:
    import decimal

    if is_approximate(value):
        return value
    assert is_exact(value)
    top = decimal.Decimal(value.numerator)
    if value.denominator == 1:
        return top
    return _context(precision).divide(top, decimal.Decimal(value.denominator))


def _settled(value: Decimal) -> Value:
    """`value`, or the integer that it is as far as its digits are reliable."""
    if not value:
        return 0
    if -1 <= value.adjusted() < _RELIABLE:  # below a tenth none is
        rounded = _context(_RELIABLE).plus(value)
        if rounded == rounded.to_integral_value():
            return int(rounded)
    return value


def constant(name: str) -> Value:
    """`pi` or `e`."""
    return _constant(_PI if name == "pi" else _E, _PRECISION)


@functools.cache
def _constant(digits: str, precision: int) -> Decimal:
    return _context(precision).create_decimal(digits)


def add(left: Value, right: Value) -> Value:
    """The sum; 0 where only noise would be left of it."""
    first, second = _decimal(left), _decimal(right)
    total = _context().add(first, second)
    if total.adjusted() < max(first.adjusted(), second.adjusted()) - _RELIABLE:
        return 0
    return _settled(total)


def negate(value: Value) -> Value:
    """`-value`, with all its digits."""
    # A Decimal's own minus would round to the thread's context.
    return _decimal(value).copy_negate()


def multiply(left: Value, right: Value) -> Value:
    """The product."""
    return _settled(_context().multiply(_decimal(left), _decimal(right)))


def divide(left: Value, right: Value) -> Value:
    """The quotient; `right` is not zero."""
    return _settled(_context().divide(_decimal(left), _decimal(right)))


def power(base: Value, exponent: Value) -> Value:
    """`base` to the `exponent`. Refuses what is not a real number."""
    if base == 0:
        if exponent < 0:
            raise CalculatorError("division by zero: 0 has no negative power")
        return 0
    # An approximate exponent that is whole to 34 digits is an int already, unless it is very large.
    if base < 0 and type(exponent) is not int:
        raise CalculatorError("a fractional power of a negative number is not a real number")
    # Its own power would round correctly, at twice the time; seven more digits are what exp loses.
    wide = _context(_PRECISION + 7)
    logarithm_ = wide.ln(_decimal(base, _PRECISION + 7).copy_abs())
    result = _context().exp(wide.multiply(logarithm_, _decimal(exponent, _PRECISION + 7)))
    return _settled(result.copy_negate() if base < 0 and exponent % 2 else result)


def square_root(value: Value) -> Value:
    """The root, exact for a square of a fraction. Refuses a negative number."""
    if value < 0:
        raise CalculatorError("the square root of a negative number is not a real number")
    if is_exact(value):
        top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return ratio(top, bottom)
    return _settled(_context().sqrt(_decimal(value)))


def exponential(value: Value) -> Value:
    """e to the `value`, where that is within the range of a float."""
    if value == 0:
        return 1
    if value > 709:
        raise CalculatorError("exp of more than 709 is too large; use a smaller argument")
    return _settled(_context().exp(_decimal(value)))


def logarithm(value: Value, base: Value | None = None) -> Value:
    """The natural logarithm, or that to `base`. Refuses what is not positive."""
    if value <= 0:
        raise CalculatorError("a logarithm needs a number above 0")
    top = _context().ln(_decimal(value))
    if base is None:
        return _settled(top)
    if base <= 0 or base == 1:
        raise CalculatorError("the base of a logarithm is above 0 and not 1")
    return _settled(_context().divide(top, _context().ln(_decimal(base))))


def sine(angle: Value) -> Value:
    """The sine of `angle` radians."""
    return _settled(_sine_and_cosine(angle)[0])


def cosine(angle: Value) -> Value:
    """The cosine of `angle` radians."""
    return _settled(_sine_and_cosine(angle)[1])


def tangent(angle: Value) -> Value:
    """The tangent of `angle` radians. Refuses odd multiples of pi/2."""
    sine_, cosine_ = _sine_and_cosine(angle)
    if not cosine_:
        raise CalculatorError("tan is not defined at odd multiples of pi/2")
    return _settled(_context().divide(sine_, cosine_))


def _sine_and_cosine(angle: Value) -> tuple[Decimal, Decimal]:
    """Both, from the Taylor series of what is left of `angle` after whole quarter turns."""
    if not -_LARGEST_ANGLE <= angle <= _LARGEST_ANGLE:
        raise CalculatorError("an angle is at most 1e30 radians; take its remainder by 2*pi first")
    wide, near = _context(2 * _PRECISION), _context(_PRECISION + 5)
    exact = _decimal(angle, 2 * _PRECISION)
    quarter = wide.divide(_constant(_PI, 2 * _PRECISION), 2)
    turns = int(wide.divide(exact, quarter).to_integral_value())
    rest = wide.subtract(exact, wide.multiply(quarter, turns))
    if turns and rest and rest.adjusted() < exact.adjusted() - _RELIABLE:
        rest = wide.create_decimal(0)  # the angle was a multiple of pi/2, as far as 40 digits say
    rest = near.plus(rest)
    sine_, cosine_ = _series(rest, rest, 1), _series(rest, near.create_decimal(1), 0)
    for _ in range(turns % 4):
        sine_, cosine_ = cosine_, sine_.copy_negate()
    return sine_, cosine_


def _series(angle: Decimal, first: Decimal, degree: int) -> Decimal:
    """`first` - `first` angle^2 / (degree+1)(degree+2) + ...: sine from degree 1, cosine from 0."""
    context = _context(_PRECISION + 5)
    step = context.multiply(angle, angle).copy_negate()
    total = term = first
    # Below this the square underflows and only the first term counts.
    while step and term.adjusted() > total.adjusted() - _PRECISION - 5:
        term = context.divide(
            context.multiply(term, step), context.create_decimal((degree + 1) * (degree + 2))
        )
        total = context.add(total, term)
        degree += 2
    return total
