"""Exact numbers under a budget: each operation is refused before it is done where it would be too large.

Values are int or Fraction; an irrational result is a Fraction of 40 digits. No text is parsed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from react_replay.errors import CalculatorError

__all__ = ["CONSTANTS", "FUNCTIONS", "OPERATORS", "Number", "show"]

Number: TypeAlias = int | Fraction

BITS = 8192
"""The largest value, in bits; the largest honest one found in 50,000 calls has 2,900."""

_CONTEXT = Context(prec=40, Emax=99999, Emin=-99999)
_TOO_LARGE = "the result is too large to compute exactly; use smaller numbers"


def _bits(value: Number) -> int:
    if isinstance(value, int):
        return value.bit_length()
    return value.numerator.bit_length() + value.denominator.bit_length()


def _plain(value: Number) -> Number:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _budget(left: Number, right: Number) -> None:
    if _bits(left) + _bits(right) > BITS:
        raise CalculatorError(_TOO_LARGE)


def _add(left: Number, right: Number) -> Number:
    _budget(left, right)
    return left + right


def _subtract(left: Number, right: Number) -> Number:
    _budget(left, right)
    return left - right


def _multiply(left: Number, right: Number) -> Number:
    _budget(left, right)
    return left * right


def _nonzero(value: Number) -> None:
    if value == 0:
        raise CalculatorError("division by zero")


def _divide(left: Number, right: Number) -> Number:
    _nonzero(right)
    _budget(left, right)
    return Fraction(left) / right


def _floor_divide(left: Number, right: Number) -> Number:
    _nonzero(right)
    _budget(left, right)
    return left // right


def _modulo(left: Number, right: Number) -> Number:
    _nonzero(right)
    _budget(left, right)
    return left % right


def power(base: Number, exponent: Number) -> Number:
    """base ** exponent: exact for whole exponents within the budget, else to 40 digits."""
    base, exponent = _plain(base), _plain(exponent)
    if base == 0 and exponent < 0:
        raise CalculatorError("division by zero (0 to a negative power)")
    if isinstance(exponent, int):
        size = abs(exponent)
        if base in (0, 1, -1) or _bits(base) * size <= BITS:
            if base in (1, -1):
                return 1 if base == 1 or exponent % 2 == 0 else -1
            if base == 0:
                return 1 if exponent == 0 else 0
            return Fraction(base) ** exponent if exponent < 0 else base**exponent
        if isinstance(base, int):
            raise CalculatorError(_TOO_LARGE)
    if base < 0:
        if isinstance(exponent, int):
            return power(-base, exponent) * (1 if exponent % 2 == 0 else -1)
        raise CalculatorError("a negative number has no real fractional power")
    if base == 0:
        return 0
    root = _exact_root(base, exponent) if isinstance(exponent, Fraction) else None
    if root is not None:
        return root
    return _approximate(_CONTEXT.multiply(_decimal(exponent), _CONTEXT.ln(_decimal(base))), exp=True)


def _exact_root(base: Number, exponent: Fraction) -> Number | None:
    if exponent.denominator != 2 or abs(exponent.numerator) > 64:
        return None
    fraction = Fraction(base)
    top, bottom = math.isqrt(fraction.numerator), math.isqrt(fraction.denominator)
    if top * top != fraction.numerator or bottom * bottom != fraction.denominator:
        return None
    return power(_plain(Fraction(top, bottom)), exponent.numerator)


def _decimal(value: Number) -> Decimal:
    value = Fraction(value)
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _approximate(value: Decimal, *, exp: bool = False) -> Number:
    if exp:
        if abs(value) > 6000:
            raise CalculatorError(_TOO_LARGE)
        value = _CONTEXT.exp(value)
    if value != 0 and abs(value.adjusted()) > 2400:
        raise CalculatorError(_TOO_LARGE)
    return _plain(Fraction(value))


OPERATORS: dict[str, Callable[[Number, Number], Number]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "//": _floor_divide,
    "%": _modulo,
    "^": power,
}

CONSTANTS: dict[str, Number] = {
    "pi": Fraction(Decimal("3.141592653589793238462643383279502884197")),
    "e": Fraction(Decimal("2.718281828459045235360287471352662497757")),
    "π": Fraction(Decimal("3.141592653589793238462643383279502884197")),
}


def _whole(value: Number, name: str) -> int:
    value = _plain(value)
    if not isinstance(value, int):
        raise CalculatorError(f"{name} needs a whole number")
    return value


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise CalculatorError("sqrt needs a number of at least 0")
    return power(value, Fraction(1, 2))


def _round(value: Number, digits: Number = 0) -> Number:
    places = _whole(digits, "the second argument of round")
    if abs(places) > 50:
        raise CalculatorError("round takes at most 50 digits")
    return _plain(round(Fraction(value), places))


def _log(value: Number, base: Number | None = None) -> Number:
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise CalculatorError("a logarithm needs a number above 0, and a base above 0 other than 1")
    if base is None:
        return _approximate(_CONTEXT.ln(_decimal(value)))
    top = _CONTEXT.divide(_CONTEXT.ln(_decimal(value)), _CONTEXT.ln(_decimal(base)))
    return _plain(Fraction(top.quantize(Decimal(1).scaleb(-30), context=_CONTEXT)))


def _factorial(value: Number) -> Number:
    count = _whole(value, "factorial")
    if not 0 <= count <= 400:
        raise CalculatorError("factorial takes a whole number from 0 to 400")
    return math.factorial(count)


def _trigonometric(func: Callable[[float], float]) -> Callable[[Number], Number]:
    def apply(value: Number) -> Number:
        if not -(10**9) <= value <= 10**9:
            raise CalculatorError("an angle in radians of at most 10^9, please")
        result = Fraction(round(func(float(value)), 15)).limit_denominator(10**15)
        if not -(10**14) <= result <= 10**14:
            raise CalculatorError("tan is not defined there")
        return _plain(result)

    return apply


FUNCTIONS: dict[str, tuple[Callable[..., Number], int, int]] = {
    "sqrt": (_sqrt, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "min": (min, 1, 100),
    "max": (max, 1, 100),
    "pow": (power, 2, 2),
    "exp": (lambda value: power(CONSTANTS["e"], value), 1, 1),
    "ln": (_log, 1, 1),
    "log": (_log, 1, 2),
    "log10": (lambda value: _log(value, 10), 1, 1),
    "log2": (lambda value: _log(value, 2), 1, 1),
    "sin": (_trigonometric(math.sin), 1, 1),
    "cos": (_trigonometric(math.cos), 1, 1),
    "tan": (_trigonometric(math.tan), 1, 1),
    "factorial": (_factorial, 1, 1),
}
"""Each function with how many arguments it takes, at least and at most."""


def show(value: Number) -> str:
    """A number as text: exact where it ends within 20 characters, else 12 significant digits."""
    value = _plain(value)
    if isinstance(value, int):
        text = str(value)
        return text if len(text) <= 400 else _significant(value)
    bottom = value.denominator
    twos = (bottom & -bottom).bit_length() - 1
    rest, fives = bottom >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest == 1 and places <= 20:
        digits = str(abs(value.numerator) * 10**places // bottom).rjust(places + 1, "0")
        text = f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
        if len(text) <= 20:
            return text
    return _significant(value)


def _significant(value: Number) -> str:
    rounded = _CONTEXT.create_decimal(_decimal(value)).normalize(Context(prec=12))
    exponent = rounded.adjusted()
    if -7 < exponent < 15:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = rounded.as_tuple()
    whole = "".join(map(str, digits)).rstrip("0") or "0"
    mantissa = whole[0] + (f".{whole[1:]}" if whole[1:] else "")
    return f"{'-' if sign else ''}{mantissa}e{'+' if exponent > 0 else '-'}{abs(exponent):02d}"
