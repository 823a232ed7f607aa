"""What a value is: an exact int or Fraction, or an approximate Decimal. No arithmetic enters here.

A Fraction here is never a whole number, and a Decimal is never one to 34 digits: the operations
turn both into ints. `fractions` and `decimal` are imported by whoever first needs one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

__all__ = ["Exact", "Value", "is_approximate", "is_exact", "ratio", "settled"]

Exact: TypeAlias = "int | Fraction"
Value: TypeAlias = "int | Fraction | Decimal"


def is_exact(value: Value) -> TypeGuard[Exact]:
    """Whether `value` is an int or a Fraction; asked of its attributes, so without an import."""
    return hasattr(value, "denominator")


def is_approximate(value: Value) -> TypeGuard[Decimal]:
    """The opposite of `is_exact`; a TypeGuard says nothing where it is false."""
    return not hasattr(value, "denominator")


def ratio(top: int, bottom: int) -> Exact:
    """`top` / `bottom`, an int where it is whole. `bottom` is not zero."""
    if top % bottom == 0:
        return top // bottom
    import fractions

    return fractions.Fraction(top, bottom)


def settled(value: Exact) -> Exact:
    """`value`, as an int where it is whole."""
    return value if value.denominator != 1 else value.numerator
