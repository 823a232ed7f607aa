"""The calculator as users meet it: the tool, its `evaluate`, and its bounds counted rather than timed."""

from __future__ import annotations

import math
import sys
import tracemalloc
from types import FrameType
from typing import Any

import hypothesis.strategies as st
import pytest
import simpleeval
from hypothesis import given, settings

import react_replay.tools
from react_replay.errors import CalculatorError
from react_replay.tools import calculate, calculator
from react_replay.tools.calculator import evaluate

LINES_A_CHARACTER = 60
"""Lines of Python run for a character of input; the dearest shape below takes about half of it."""

PEAK = 2_000_000
"""Bytes. 2,000 characters give at most 2,000 tokens and values of 8,192 bits."""

HOSTILE = {
    "brackets": "(" * 1000 + "1" + ")" * 999,
    "signs": "-" * 1999 + "1",
    "sums": "+".join(["1"] * 1000),
    "fractions": "+".join(f"1/{number}" for number in range(100, 430)),
    "powers": "^".join([".3"] * 660),
    "a tower": "((((9**64)**64)**64)**64)**64",
    "a huge power": "3999999**3999999",
    "products": "*".join(["9**2000"] * 250),
    "factorials": "/".join(["400!"] * 399),
    "functions": "+".join(["sin(2)"] * 285),
    "an open call": "sqrt(" * 400,
    "digits": "9" * 2000,
    "arguments": "max(" + ",".join(["1"] * 900) + ")",
    "latex": "\\frac{" * 330,
    "spaces": "1" + " " * 1998 + "1",
    "names": "a" * 2000,
    "signs of equality": "=" * 2000,
    "comments": "#\n" * 1000,
}


def test_the_tool_answers_and_its_evaluate_raises() -> None:
    """The tool gives the model `error: ...`; `evaluate`, on the tool and in its module, raises."""
    assert react_replay.tools.calculator.evaluate("1+1") == calculator("1+1") == calculate("1+1") == "2"
    assert calculator("1/0").startswith("error: ")
    assert calculator.evaluate is evaluate
    with pytest.raises(react_replay.tools.calculator.CalculatorError):
        evaluate("1/0")


def test_the_description_states_the_grammar() -> None:
    """A model is told the operators, percent, the functions and what to leave out."""
    told = calculator.spec.description
    for word in ("**", "//", "%", "^", "sqrt", "round", "万", "2*(3)", "12 significant digits"):
        assert word in told


@pytest.mark.parametrize("shape", HOSTILE)
def test_the_work_is_counted_in_characters(shape: str) -> None:
    """The lines of Python that run are bounded by the length of the input, and no number is large."""
    lines = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    outcome(HOSTILE[shape])  # imports on first use are not the input's
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome(HOSTILE[shape])
    finally:
        sys.settrace(before)
    assert lines <= LINES_A_CHARACTER * len(HOSTILE[shape]) + 500


@pytest.mark.parametrize("shape", HOSTILE)
def test_memory_is_flat(shape: str) -> None:
    """No input holds more than some tokens and small numbers at once."""
    outcome(HOSTILE[shape])
    tracemalloc.start()
    try:
        outcome(HOSTILE[shape])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < PEAK


def outcome(text: str) -> str:
    """What the tool would say."""
    try:
        return evaluate(text)
    except CalculatorError as refusal:
        return f"error: {refusal}"


# An independent calculator on the grammar where both mean the same: no percent, no `^`, no factorial.


def combined(operators: list[str], *shapes: str) -> Any:
    """One step of a growing expression: a pair joined by an operator, or one of the shapes."""

    def step(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, st.sampled_from(operators), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        )
        return st.one_of(pairs, *(inner.map(shape.format) for shape in shapes))

    return step


wholes = st.recursive(
    st.integers(0, 10**6).map(str),
    combined(["+", "-", "*", "//", "%"], "(-{})", "abs({})", "({})**2", "max({}, 7)"),
    max_leaves=8,
)
positives = st.recursive(  # nothing cancels, so a float is right to its last digits
    st.decimals(0, 1000, places=3).map(str),
    combined(["+", "*", "/"], "sqrt({})", "max({}, 0.5)"),
    max_leaves=8,
)
FUNCTIONS = {"abs": abs, "sqrt": math.sqrt, "max": max}


@settings(max_examples=200)
@given(text=wholes | positives)
def test_another_calculator_agrees_where_it_means_the_same(text: str) -> None:
    """simpleeval's value is ours, but for our twelve digits; what it cannot divide we refuse too."""
    try:
        theirs = simpleeval.simple_eval(text, functions=FUNCTIONS)
    except ZeroDivisionError:
        with pytest.raises(CalculatorError, match="zero"):
            evaluate(text)
        return
    except (simpleeval.InvalidExpression, OverflowError):  # its own limits
        return
    try:
        ours = evaluate(text)
    except CalculatorError as refusal:
        assert "too large" in str(refusal)
        return
    if isinstance(theirs, int) and abs(theirs) < 10**30:
        assert ours == str(theirs)
    else:
        assert float(ours) == pytest.approx(float(theirs), rel=1e-11)
