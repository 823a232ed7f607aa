"""The calculator: its grammar by example, its laws by generated expressions, its limits by attack."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate
from tests.properties import calculator
from tests.properties.calculator import WATCHDOG, expressions, outcome


def _refusal(text: str) -> str:
    with pytest.raises(CalculatorError) as caught:
        evaluate(text)
    return str(caught.value)


# --- Grammar, by example -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2602000/8336000", "0.312140115163"),
        ("round(2602000/8336000, 4)", "0.3121"),
        ("(123+456)*789", "456831"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("2**3**2", "512"),
        ("2^3^2", "512"),
        ("2--3", "5"),
        ("-7//2", "-4"),
        ("7 % -3", "-2"),
        ("-7 % 3", "2"),
        ("5.5%2", "1.5"),
        ("3.6 * 28 % 25", "0.8"),
        ("10 mod 3", "1"),
        ("2*3!^2", "72"),
        ("0^0", "1"),
        ("1_000+.5+5.", "1005.5"),
        ("007", "7"),
        ("1.5e-3", "0.0015"),
    ],
)
def test_operators_bind_as_in_python(text: str, expected: str) -> None:
    """Precedence, associativity and signs are Python's, with `^` for `**`."""
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15%", "0.15"),
        ("100+10%", "100.1"),
        ("50*(1+20%)*(1-20%)", "48"),
        ("7%-3", "-2.93"),
        ("10%*10%", "0.01"),
        ("(1+2)%", "0.03"),
        ("2^100%", "2"),
        ("10 %", "0.1"),
        ("15% of 200", "30"),
        ("3/4 of 100", "75"),
    ],
)
def test_a_percent_is_a_hundredth(text: str, expected: str) -> None:
    """`%` after a value that no operand follows is a division by 100, whatever stands around it."""
    assert evaluate(text) == expected


@pytest.mark.parametrize("text", ["5%%", "5%%3", "5% % 3", "100%.01", "%5", "5!%%"])
def test_an_ambiguous_percent_is_refused(text: str) -> None:
    """A percent that can be read in two ways is an error, not a guess."""
    assert "%" in _refusal(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(144)", "12"),
        ("sqrt(2)^2", "2"),
        ("sqrt(1/4)", "0.5"),
        ("8^(1/3)", "2"),
        ("Math.sqrt(16)+math.pi-np.pi", "4"),
        ("ABS(-2.5)", "2.5"),
        ("round(2.5)+round(3.5)", "6"),
        ("round(1250,-2)", "1200"),
        ("floor(-2.5)*10+ceil(2.1)", "-27"),
        ("min(3,1,2)+max(1/3,sqrt(2),1)*0", "1"),
        ("pow(2,10)", "1024"),
        ("ln(e^2)+log(e)", "3"),
        ("log10(1000)+log2(8)+log(8,2)", "9"),
        ("sin(pi)+cos(pi)+tan(pi/4)", "0"),
        ("sin(30)", "-0.988031624093"),
        ("exp(0)+exp(1)-e", "1"),
        ("5!+factorial(3)", "126"),
        ("√16+√(9)", "7"),
        ("floor(sqrt(2)*sqrt(2))", "2"),
    ],
)
def test_functions(text: str, expected: str) -> None:
    """Functions are exact where their value is, round half to even, and angles are in radians."""
    assert evaluate(text) == expected


@pytest.mark.parametrize("name", calculator.FUNCTIONS)
@given(value=calculator.arguments)
@settings(deadline=None, max_examples=40)
def test_functions_agree_with_math(name: str, value: float) -> None:
    """A function of a decimal number agrees with the C library's to nine digits."""
    calculator.agrees_with_math([name, value])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("260.2万/833.6万", "0.312140115163"),
        ("1.5亿", "150000000"),
        ("2^1 万", "refused"),
        ("1万亿", "1000000000000"),
        ("（1＋2）×3÷9－１", "0"),
        ("3·4⋅5", "60"),
        ("10⁶+2⁻¹", "1000000.5"),
        ("2^3²", "512"),
        ("½+¾", "1.25"),
        ("3 x 4x5", "60"),
        ("$5*3+¥2", "17"),
        ("1，000＋1", "1001"),
        ("2*π-pi*2", "0"),
        ("\ufeff1\u200b+\u30001\u00a0", "2"),
        ("```python\n1+1 # sum\n```", "2"),
        ("$1+1$", "2"),
        ("\\(\\frac{1}{2}\\times\\sqrt{16}\\)", "2"),
        ("2^{10}\\div\\left(4\\right)", "256"),
        ("=1+1=?", "2"),
        ("'1+1'", "2"),
        ("1\n+2", "3"),
    ],
)
def test_typography_of_models(text: str, expected: str) -> None:
    """Fullwidth and mathematical signs, wrappers, units of 10^4 and light LaTeX are understood."""
    if expected == "refused":
        _refusal(text)
    else:
        assert evaluate(text) == expected


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("台北人口/纽约人口", "台北人口"),
        ("3*age", "'age' is a name"),
        ("5 kg * 2", "without units"),
        ("5元+3元", "without units"),
        ("4*50k", "write *1000"),
        ("28-2x+5", "'x'"),
        ("2x(3)", "'x'"),
        ("2(3)", "1+5/6"),
        ("(1+2)(3+4)", "operator"),
        ("1½", "1+1/2"),
        ("2pi", "write *"),
        ("2√3", "write *"),
        ("LCM(2,5)", "factorial"),
        ("sqr(4)", "'sqrt'"),
        ("sqrt 16", "brackets"),
        ("1 000", "no operator"),
        ("1,00", "commas"),
        ("4,5+1", "commas"),
        ("0,500", "commas"),
        ("max(1,000, 2)", "1000"),
        ("1+1=2", "'='"),
        ("5!=120", "comparisons"),
        ("2<3", "comparisons"),
        ("2:15", "'/'"),
        ("0x1F", "hexadecimal"),
        ("|5|", "abs"),
        ("{1+2}*3", "( )"),
        ("1+", "ends after '+'"),
        ("*2", "missing before '*'"),
        ("1+2)", "add the '('"),
        ("(1+2", "missing ')'"),
        ("()", "missing"),
        ("  ", "no expression"),
        ("1/0", "division by zero"),
        ("5 % 0", "division by zero"),
        ("0^-1", "division by zero"),
        ("(-8)^(1/3)", "not a real number"),
        ("sqrt(-1)", "not a real number"),
        ("log(0)", "above 0"),
        ("tan(pi/2)", "not defined"),
        ("round(1,2.5)", "whole n"),
        ("round(1,2,3)", "1 or 2 arguments"),
        ("factorial(2.5)", "whole number"),
        ("9**9**9", "too large"),
        ("exp(1000)", "too large"),
        ("1e309", "range"),
        ("ｓｑｒｔ(4)", "'ｓｑｒｔ'"),
    ],
)
def test_refusals_teach(text: str, advice: str) -> None:
    """A refusal names what is wrong and what to write, in one line of at most 200 characters."""
    message = _refusal(text)
    assert advice in message
    assert len(message) <= 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-0.0", "0"),
        ("10/2", "5"),
        ("2/3", "0.666666666667"),
        ("1/1024", "0.0009765625"),
        ("1/10^6", "0.000001"),
        ("1/3/10^6", "3.33333333333e-7"),
        ("4/3/10^6", "0.00000133333333333"),
        ("-1/2^20", "-9.53674316406e-7"),
        ("10^15/3", "333333333333333"),
        ("10^16/3", "3.33333333333e15"),
        ("9999999999999.96*100/3", "333333333333332"),
        ("10^30+1", "1" + "0" * 29 + "1"),
        ("10^401", "1e401"),
        ("1000000000005*10^390", "1e402"),
        ("1000000000015*10^390", "1.00000000002e402"),
        ("1000000000005*10^390+1", "1.00000000001e402"),
    ],
)
def test_printing(text: str, expected: str) -> None:
    """Exact where that is short, else 12 significant digits, half to even, an exponent at the extremes."""
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2^8000*2^200",
        "2^8191+2^8191",
        "-2^8191-2^8191",
        "2^8192",
        "1" * 401,
        "0." + "1" * 401,
        "(" * 101 + "1" + ")" * 101,
        "abs(" * 101 + "1" + ")" * 101,
        "round(1,51)",
        "round(1,-51)",
        "factorial(401)",
        "1e-401",
        "2e308",
        "exp(710)",
        "sin(10^31)",
        "+".join(["2^2"] * 151),
        "1+1==",
        "==1",
        "1<=",
        "```1+1",
    ],
)
def test_what_is_beyond_a_limit_is_refused(text: str) -> None:
    """Every limit refuses what is just beyond it."""
    _refusal(text)


def test_call_history_leaves_no_trace() -> None:
    """An expression's outcome is the same after any other expression: there is no state."""
    _refusal("x=1+1")
    _refusal("3*x")
    outcomes = [outcome(text) for text in ("1/3", "9**9**9", "1/3")]
    assert outcomes == ["0.333333333333", "refused", "0.333333333333"]


# --- Laws, by generated trees --------------------------------------------------------------------


@given(tree=expressions)
@settings(deadline=None, max_examples=400)
def test_trees_equal_their_fractions(tree: dict[str, str]) -> None:
    """An expression prints the value that the same tree has in Fractions, to twelve digits."""
    calculator.equals_its_fraction(tree)


@given(tree=expressions)
@settings(deadline=None, max_examples=200)
def test_differences_of_equal_trees_are_exactly_zero(tree: dict[str, str]) -> None:
    """Nothing is rounded before printing: a value minus the same fraction is 0."""
    calculator.differs_from_its_fraction_by_zero(tree)


@given(tree=expressions)
@settings(deadline=None, max_examples=200)
def test_the_look_of_an_expression_changes_nothing(tree: dict[str, str]) -> None:
    """Spaces, brackets, fullwidth forms, wrappers, thousands separators, `**` and `=` change no value."""
    calculator.look_changes_nothing(tree)


@given(tree=expressions)
@settings(deadline=None, max_examples=100)
def test_spaces_are_needed_nowhere(tree: dict[str, str]) -> None:
    """An expression without any space is the same one, but for the `%` that spaces make a remainder."""
    calculator.needs_no_spaces(tree)


@given(numbers=calculator.numbers)
@settings(deadline=None, max_examples=100)
def test_thousands_separators_change_nothing(numbers: dict[str, int]) -> None:
    """1,234,567 and 1_234_567 are 1234567."""
    calculator.separators_change_nothing(numbers)


@given(value=calculator.fractions)
@settings(deadline=None, max_examples=150)
def test_what_is_printed_reads_back(value: str) -> None:
    """Evaluating a printed value prints it again; an exactly printed one has lost nothing."""
    calculator.printed_reads_back(value)


@given(tree=expressions)
@settings(deadline=None, max_examples=100)
def test_percent_of_any_value_is_its_hundredth(tree: dict[str, str]) -> None:
    """`(x)%` and `(x)/100` are the same value."""
    calculator.percent_is_a_hundredth(tree)


# --- Limits, by attack ---------------------------------------------------------------------------

_HOSTILE = [
    "((((9**64)**64)**64)**64)**64",
    "3999999**3999999",
    "7**-9999999",
    "10**1000000000",
    "1.0000000001**(10**300)",
    "*".join(["9**2000"] * 250),
    "+".join(["7^.3"] * 399),
    "^".join([".3"] * 660),
    "+".join(["sin(2)"] * 285),
    "+".join(["(3/7)**1457"] * 160),
    "(3/7)**1457" + "/3" * 990,
    "/".join(["400!"] * 399),
    "%".join(["e"] * 999),
    "+".join(f"1/{number}" for number in range(100, 430)),
    "(" * 2000,
    "-" * 1999 + "1",
    "2" + "^2" * 990,
    "sqrt(" * 300 + "1" + ")" * 300,
    "\\frac{" * 330,
    "1,000" * 400,
    "9" * 2000,
    " " * 2000,
    "`" * 2000,
    "=" * 2000,
    "#\n" * 1000,
    "²" * 2000,
    "a" * 2000,
    "\U000e0001" * 2000,
    "max(" + ",".join(["sqrt(2)", "1/3"] * 160) + ")",
    "round(1,10**9)",
    "1e999999999",
    "factorial(10**7)",
]


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
def test_no_input_takes_long(text: str) -> None:
    """Any 2,000 characters are answered or refused at once."""
    assert len(text) <= 2000
    start = time.perf_counter()
    outcome(text)
    assert time.perf_counter() - start < WATCHDOG


@pytest.mark.parametrize("text", ["1+" * 10**6 + "1", "(" * 10**6, " " * 10**6 + "1", "9" * 10**6])
def test_longer_input_is_refused_unread(text: str) -> None:
    """More than 2,000 characters are refused by their number alone."""
    assert "2000" in _refusal(text)


def test_limits_leave_room_for_honest_use() -> None:
    """100 brackets, 999 terms, 900 signs and 30 years of monthly interest are calculated."""
    assert evaluate("(" * 100 + "1" + ")" * 100) == "1"
    assert evaluate("+".join(["1"] * 999)) == "999"
    assert evaluate("-" * 900 + "1") == "1"
    assert evaluate("(1 + 0.05 / 12) ** 360") == "4.46774431401"
    assert evaluate("2**100") == "1267650600228229401496703205376"
    assert evaluate("(2**4000) * (2**4000)") == "1.73766203194e2408"
    assert evaluate("0.5 ** 10000") == "5.01237274921e-3011"


@given(sizes=calculator.sizes)
@settings(deadline=None, max_examples=60)
def test_limits_are_monotone(sizes: dict[str, int]) -> None:
    """What is accepted stays accepted with one bracket fewer, or with a smaller power."""
    calculator.limits_are_monotone(sizes)


@given(text=calculator.texts)
@settings(deadline=None, max_examples=600)
def test_any_text_gives_a_number_or_a_refusal(text: str) -> None:
    """Whatever the text, there is a printed number or a `CalculatorError` of one printable line."""
    calculator.number_or_refusal(text)


@given(text=calculator.unprintable)
@settings(deadline=None, max_examples=100)
def test_unprintable_text_is_escaped(text: str) -> None:
    """Surrogates, control and bidirectional characters do not reach the message."""
    calculator.printable_refusal(text)


def _run_in_thread(stack: int, action: Callable[[], None]) -> None:
    before = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)


def test_a_small_stack_is_enough() -> None:
    """Deep and hostile expressions are answered in a thread with a stack of 256 KB."""
    outcomes: list[str] = []
    _run_in_thread(256 * 1024, lambda: outcomes.extend(map(outcome, _HOSTILE)))
    assert outcomes == [outcome(text) for text in _HOSTILE]


def test_a_small_stack_is_enough_for_the_first_use() -> None:
    """The first quotient and root of a process, which import modules, work with 256 KB too."""
    program = (
        "import threading; from react_replay.tools.arithmetic import evaluate\n"
        "threading.stack_size(256 * 1024)\n"
        "thread = threading.Thread(target=lambda: print(evaluate('1/3 + sqrt(2) + sin(1)')))\n"
        "thread.start(); thread.join()"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "2.58901788051\n"


def test_the_recursion_limit_may_be_near() -> None:
    """Sixty frames below the recursion limit every expression still has its usual outcome."""
    expected = [outcome(text) for text in _HOSTILE]

    def descend(frames: int) -> list[str]:
        return [outcome(text) for text in _HOSTILE] if frames == 0 else descend(frames - 1)

    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    assert descend(sys.getrecursionlimit() - depth - 60) == expected


def test_import_is_light() -> None:
    """Importing the calculator does not import `fractions` or `decimal`; whole numbers never do."""
    program = (
        "import sys; from react_replay.tools.arithmetic import evaluate; evaluate('15*15+400')\n"
        "print({'fractions', 'decimal', '_decimal'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
