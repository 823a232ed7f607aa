"""One number token to its exact value, its size checked on the text before any conversion.

A token is digits with at most one point, an exponent, or 万 or 亿 at its end, or `a/b` for a vulgar
fraction sign. Signs, spaces and separators are gone by then. Nothing here rounds.
"""

from __future__ import annotations

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.hints import quote
from react_replay.tools.arithmetic.values import Value, ratio

__all__ = ["MYRIADS", "literal"]

MYRIADS = {"万": 10**4, "亿": 10**8}
_MOST_DIGITS = 400
_BEYOND_FLOATS = 2**1024


def literal(token: str) -> Value:
    """The exact value of `token`. Refuses more than 400 digits and numbers like 1e309 or 1e-401."""
    whole, _, places = token.partition(".")
    if places and len(token) <= _MOST_DIGITS and (digits := whole + places).isdecimal():
        return ratio(int(digits), 10 ** len(places))
    factor = 1
    while token[-1] in MYRIADS:
        factor *= MYRIADS[token[-1]]
        token = token[:-1]
    if "/" in token:
        top, _, bottom = token.partition("/")
        return ratio(int(top) * factor, int(bottom))
    mantissa, _, exponent = token.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    digits = whole + places
    if not digits or "." in places:
        raise CalculatorError(f"{quote(token, 24)} is not a number; write one point, as in 0.5")
    if len(digits) > _MOST_DIGITS:
        raise CalculatorError(f"a number has {len(digits)} digits; at most {_MOST_DIGITS} are read")
    power = exponent.lstrip("+-0") or "0"
    if len(power) > 3 or int(power) > _MOST_DIGITS:
        raise CalculatorError(f"the exponent of {quote(token, 24)} is too large; write a nearer number")
    scale = (-int(power) if exponent.startswith("-") else int(power)) - len(places)
    value = ratio(int(digits) * factor * 10 ** max(scale, 0), 10 ** max(-scale, 0))
    if exponent and value >= _BEYOND_FLOATS:
        raise CalculatorError(f"{quote(token, 24)} is above the range of numbers, 1.8e308")
    return value
