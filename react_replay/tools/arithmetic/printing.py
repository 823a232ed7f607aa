"""Exact values to text: the only place where the calculator rounds what it prints.

Integers print as integers, terminating decimals of at most 20 characters exactly, all else with 12
significant digits (or all digits before the point), half to even; no exponent from 1e-6 up to 1e15.
Never `-0`, `inf` or `nan`. No arithmetic but scaling by powers of ten enters here.
"""

from __future__ import annotations

from react_replay.tools.arithmetic.values import Value, is_approximate

__all__ = ["render"]

_DIGITS = 12
_LONGEST_DECIMAL = 20
_MOST_PLACES = 18
_PLACES = 10**_MOST_PLACES
_LONGEST_INTEGER = 10**400


def render(value: Value) -> str:
    """`value` as `-?digits[.digits][e[-]digits]`."""
    if type(value) is int:
        if -_LONGEST_INTEGER < value < _LONGEST_INTEGER:
            return str(value)
        return _significant(value, 1, 0)
    if is_approximate(value):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)  # an inf or a nan has none; the context traps both
        top = int("".join(map(str, digits)))
        return _significant(-top if sign else top, 1, exponent)
    top, bottom = value.as_integer_ratio()
    if _PLACES % bottom == 0:
        text = _terminating(abs(top) * (_PLACES // bottom))
        if len(text) <= _LONGEST_DECIMAL:
            return f"-{text}" if top < 0 else text
    return _significant(top, bottom, 0)


def _terminating(scaled: int) -> str:
    """`scaled` / 10^18, which is no integer, in plain digits."""
    digits = str(scaled).zfill(_MOST_PLACES + 1)
    return f"{digits[:-_MOST_PLACES]}.{digits[-_MOST_PLACES:].rstrip('0')}"


def _significant(top: int, bottom: int, scale: int) -> str:
    """`top` / `bottom` * 10^`scale`, not zero, rounded to its significant digits."""
    size = abs(top)
    # A first guess from the lengths in bits (log10(2) is 0.30103); the loop mends it by one.
    exponent = (size.bit_length() - bottom.bit_length()) * 30103 // 100000
    while True:
        wanted = max(_DIGITS, exponent + scale + 1) if exponent + scale < 15 else _DIGITS
        shift = wanted - 1 - exponent
        if shift >= 0:
            dividend, divisor = size * 10**shift, bottom
        else:
            dividend, divisor = size, bottom * 10**-shift
        quotient, rest = divmod(dividend, divisor)
        if quotient < 10 ** (wanted - 1):
            exponent -= 1
        elif quotient >= 10**wanted:
            exponent += 1
        else:
            break
    if 2 * rest > divisor or (2 * rest == divisor and quotient % 2):
        quotient += 1
        if quotient == 10**wanted:
            quotient, exponent = 10 ** (wanted - 1), exponent + 1
    text = _layout(str(quotient).rstrip("0"), exponent + scale)
    return f"-{text}" if top < 0 else text


def _layout(digits: str, exponent: int) -> str:
    """d.ddd * 10^`exponent`, for the digits `dddd`, without an exponent where it stays readable."""
    if exponent < -6 or exponent >= 15:
        return f"{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{exponent}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    places = digits[exponent + 1 :]
    return f"{whole}.{places}" if places else whole
