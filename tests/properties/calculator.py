"""The calculator: exact values of generated expressions, whatever their look; the rest refused, in time."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate
from tests.properties import Property

PRINTED = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?\Z")
WATCHDOG = 0.2
"""Seconds: ten times the bound of 20 ms, so that a busy machine does not fail a test."""


def outcome(text: str) -> str:
    """The result, or the one word `refused`."""
    try:
        return evaluate(text)
    except CalculatorError:
        return "refused"


# --- Generated expressions and their values ------------------------------------------------------

_OPERATORS: dict[str, tuple[int, Callable[[Fraction, Fraction], Fraction]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, lambda left, right: Fraction(left // right)),
    "%": (2, operator.mod),
    "^": (4, lambda left, right: Fraction(left ** int(right))),
}
_MOST_BITS = 1500


@dataclass(frozen=True, slots=True)
class _Tree:
    """An expression as tokens, with its value and how tightly its outermost operator binds."""

    tokens: tuple[str, ...]
    value: Fraction
    binds: int

    def at_least(self, binds: int) -> tuple[str, ...]:
        return self.tokens if self.binds >= binds else ("(", *self.tokens, ")")


def _number(value: Fraction, text: str) -> _Tree:
    return _Tree((text,), value, 9)


def _decimal_text(digits: int, places: int) -> str:
    text = str(digits).zfill(places + 1)
    return f"{text[:-places]}.{text[-places:]}"


_INTEGERS = st.integers(0, 10**9).map(lambda value: _number(Fraction(value), str(value)))
_DECIMALS = st.builds(
    lambda digits, places: _number(Fraction(digits, 10**places), _decimal_text(digits, places)),
    st.integers(0, 10**6),
    st.integers(1, 6),
)


def _bits(value: Fraction) -> int:
    return max(abs(value.numerator), value.denominator).bit_length()


def _binary(sign: str, left: _Tree, right: _Tree) -> _Tree:
    binds, apply = _OPERATORS[sign]
    if sign in ("/", "//", "%"):
        assume(right.value != 0)
    # A power's base needs brackets where it is a power, the right operand of all others where equal.
    tokens = (*left.at_least(binds + (sign == "^")), sign, *right.at_least(binds + 1))
    value = apply(left.value, right.value)
    assume(_bits(value) < _MOST_BITS)
    return _Tree(tokens, value, binds)


def _power(base: _Tree, exponent: int) -> _Tree:
    assume(base.value != 0 or exponent >= 0)
    assume(_bits(base.value) * abs(exponent) < _MOST_BITS)
    text = ("-", str(-exponent)) if exponent < 0 else (str(exponent),)
    value = Fraction(base.value**exponent)
    return _Tree((*base.at_least(5), "^", *text), value, 4)


def _negated(tree: _Tree) -> _Tree:
    return _Tree(("-", *tree.at_least(3)), -tree.value, 3)


_TREES = st.recursive(
    _INTEGERS | _DECIMALS,
    lambda inner: st.one_of(
        st.builds(_binary, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.builds(_power, inner, st.integers(-6, 6)),
        st.builds(_negated, inner),
    ),
    max_leaves=10,
)
expressions = _TREES.map(lambda tree: {"text": " ".join(tree.tokens), "value": str(tree.value)})
"""`{"text", "value"}`: tokens with a space between, and the value as a fraction of `fractions.Fraction`."""


def equals_its_fraction(given: Mapping[str, str]) -> None:
    """An expression prints the value that the same tree has in Fractions, to twelve digits."""
    printed, value = evaluate(given["text"]), Fraction(given["value"])
    assert PRINTED.match(printed)
    assert abs(Fraction(printed) - value) <= abs(value) * Fraction(6, 10**12)


def differs_from_its_fraction_by_zero(given: Mapping[str, str]) -> None:
    """Nothing is rounded before printing: a value minus the same fraction is 0."""
    value = Fraction(given["value"])
    # A number is read up to 400 digits, and this one is written out.
    if max(abs(value.numerator), value.denominator) < 10**400:
        exact = f"({value.numerator}) / {value.denominator}"
        assert evaluate(f"( {given['text']} ) - ( {exact} )") == "0"


_FULLWIDTH = str.maketrans("0123456789+-*/().%", "０１２３４５６７８９＋－＊／（）．％")


def _grouped(token: str) -> str:
    whole, dot, rest = token.partition(".")
    return f"{int(whole):,}{dot}{rest}" if whole.isdigit() and len(whole) > 3 else token


def look_changes_nothing(given: Mapping[str, str]) -> None:
    """Spaces, brackets, fullwidth forms, wrappers, thousands separators, `**` and `=` change no value."""
    text = given["text"]
    expected = evaluate(text)
    grouped = " ".join(map(_grouped, text.split(" ")))
    assert evaluate(text.replace(" ", "  \t")) == expected
    assert evaluate(text.translate(_FULLWIDTH)) == expected
    assert evaluate(f"(({text}))") == expected
    assert evaluate(f"`{text} =`") == expected
    assert evaluate(text.replace("^", "**")) == expected
    assert evaluate(f"```\n{text}\n```") == expected
    assert evaluate(f"- - ({text})") == expected
    assert evaluate(grouped) == expected
    assert evaluate(grouped.translate(_FULLWIDTH).replace(",", "，")) == expected


def needs_no_spaces(given: Mapping[str, str]) -> None:
    """An expression without any space is the same one, but for the `%` that spaces make a remainder."""
    if "%" not in given["text"]:
        assert evaluate(given["text"].replace(" ", "")) == evaluate(given["text"])


def percent_is_a_hundredth(given: Mapping[str, str]) -> None:
    """`(x)%` and `(x)/100` are the same value."""
    assert evaluate(f"({given['text']})%") == evaluate(f"({given['text']})/100")


numbers = st.fixed_dictionaries({"value": st.integers(0, 10**30), "other": st.integers(0, 10**9)})


def separators_change_nothing(given: Mapping[str, int]) -> None:
    """1,234,567 and 1_234_567 are 1234567."""
    value, other = given["value"], given["other"]
    assert evaluate(f"{value:,}-{other:,}") == str(value - other)
    assert evaluate(f"{value:_}*1") == str(value)


fractions = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**6).map(str)


def printed_reads_back(given: str) -> None:
    """Evaluating a printed value prints it again; an exactly printed one has lost nothing."""
    value = Fraction(given)
    printed = evaluate(f"({value.numerator})/{value.denominator}")
    assert evaluate(printed) == printed
    if 10**6 % value.denominator == 0:
        assert Fraction(printed) == value


FUNCTIONS = ["sin", "cos", "tan", "exp", "ln", "log10", "log2", "sqrt"]
arguments = st.floats(0.001, 700, allow_nan=False)


def agrees_with_math(given: Sequence[Any]) -> None:
    """A function of a decimal number, `[name, number]`, agrees with the C library's to nine digits."""
    name, value = given
    reference = (math.log if name == "ln" else getattr(math, name))(value)
    assert math.isclose(float(evaluate(f"{name}({value!r})")), reference, rel_tol=1e-9, abs_tol=1e-12)


# --- Any text ------------------------------------------------------------------------------------

_SIGNS = [
    *"0123456789.+-*/^%()!,=ex",
    *("**", "//", "pi", "sqrt(", "max(", "ln(", "round(", "1e", "1e-400", "万", "½", "²", "√"),
    *("\\frac{", "}", "```", "$", "'", "#", "\n", " of ", "９", "（", "\udc80", "\x00"),
]
_WORDS = [
    *(
        "exp(",
        "log(",
        "log2(",
        "log10(",
        "sin(",
        "tan(",
        "floor(",
        "ceil(",
        "abs(",
        "min(",
        "pow(",
        "factorial(",
    ),
    *(
        "mod",
        " x ",
        "×",
        "÷",
        "math.",
        "\\sqrt{",
        "\\left(",
        "\\right)",
        "^{",
        "亿",
        "1,000",
        "，",
        "％",
        "1_0",
    ),
    *(
        "9**9",
        "2^8000",
        "400!",
        "1e308",
        "0.1",
        "e",
        "\u200b",
        "`",
        '"',
        "¥",
        "\\times",
        "\\(",
        "\\)",
        "==",
        "?",
    ),
]
signs = st.sampled_from(_SIGNS)
texts = st.text(max_size=80) | st.lists(signs, max_size=40).map("".join)
wild_texts = texts | st.lists(st.sampled_from([*_SIGNS, *_WORDS]), max_size=60).map("".join)
_runs = st.builds(lambda unit, count: unit * count, wild_texts.filter(bool), st.integers(1, 700))
hostile = st.lists(_runs | st.sampled_from(_WORDS), min_size=1, max_size=4).map(
    lambda runs: "".join(runs)[:2000]
)
unprintable = st.text(st.characters(categories=["Cs", "Cc", "Cf", "Co"]), min_size=1, max_size=50)


def number_or_refusal(text: str) -> None:
    """Whatever the text, there is a printed number or a `CalculatorError` of one printable line."""
    try:
        assert PRINTED.match(evaluate(text))
    except CalculatorError as refusal:
        assert len(str(refusal)) <= 200
        assert str(refusal).isprintable()


def printable_refusal(text: str) -> None:
    """Surrogates, control and bidirectional characters do not reach the message."""
    try:
        evaluate(f"1+{text}x")
    except CalculatorError as refusal:
        assert str(refusal).isprintable()
    else:
        raise AssertionError("it was not refused")


sizes = st.fixed_dictionaries({"depth": st.integers(1, 130), "size": st.integers(1, 9000)})


def limits_are_monotone(given: Mapping[str, int]) -> None:
    """What is accepted stays accepted with one bracket fewer, or with a smaller power."""
    depth, size = given["depth"], given["size"]
    nested, shallower = ("(" * d + "1" + ")" * d for d in (depth, depth - 1))
    assert outcome(nested) == "refused" or outcome(shallower) == "1"
    assert outcome(f"2^{size}") == "refused" or outcome(f"2^{size - 1}") != "refused"
    assert outcome(f"0*{size}!") == "refused" or outcome(f"0*{size - 1}!") == "0"


_named_arguments = st.tuples(st.sampled_from(FUNCTIONS), arguments).map(list)
PROPERTIES = (
    Property(name="number or refusal", inputs=wild_texts, check=number_or_refusal, seconds=WATCHDOG),
    Property(name="bounded on hostile text", inputs=hostile, check=number_or_refusal, seconds=WATCHDOG),
    Property(name="printable refusal", inputs=unprintable, check=printable_refusal, seconds=WATCHDOG),
    Property(name="equals its fraction", inputs=expressions, check=equals_its_fraction),
    Property(name="differs by zero", inputs=expressions, check=differs_from_its_fraction_by_zero),
    Property(name="look changes nothing", inputs=expressions, check=look_changes_nothing),
    Property(name="needs no spaces", inputs=expressions, check=needs_no_spaces),
    Property(name="percent is a hundredth", inputs=expressions, check=percent_is_a_hundredth),
    Property(name="separators change nothing", inputs=numbers, check=separators_change_nothing),
    Property(name="printed reads back", inputs=fractions, check=printed_reads_back),
    Property(name="agrees with math", inputs=_named_arguments, check=agrees_with_math),
    Property(name="limits are monotone", inputs=sizes, check=limits_are_monotone),
)
