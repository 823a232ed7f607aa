"""Values to their last digit, and each limit from both sides: what is exact, kept, or refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate


def refused(text: str) -> bool:
    try:
        evaluate(text)
    except CalculatorError:
        return True
    return False


def numbered(cases: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """One case a pair of an expression and its value, under plain names."""
    return pytest.mark.parametrize(("text", "expected"), cases, ids=range(len(cases)))


@numbered(
    [
        ("sqrt(2)", "1.414213562373095048801688724209698078570"),
        ("1/3+sqrt(2)", "1.747546895706428382135022057543031411903"),
        ("ln(2)", "0.6931471805599453094172321214581765680755"),
        ("log10(2)", "0.3010299956639811952137388947244930267682"),
        ("exp(1/3)", "1.395612425086089528628125319602586837598"),
        ("2^(1/3)", "1.259921049894873164767210607278228350570"),
        ("(1/3)^(1/7)", "0.8547513999071522203011889247907173114752"),
        ("sin(1)", "0.8414709848078965066525023216302989996226"),
        ("cos(1)", "0.5403023058681397174009366074429766037323"),
        ("cos(0.63)", "0.8080275083121518725237089657770561213436"),
        ("tan(1)", "1.557407724654902230506974807458360173087"),
        ("sin(1/3)", "0.3271946967961522441733440852676206060643"),
        ("sin(10^29+1/3)", "0.9419659292629617607704311886596230104485"),
    ]
)
def test_what_is_irrational_has_40_digits(text: str, expected: str) -> None:
    """What a difference leaves shows the digits that are not printed; the last may be off by two."""
    known, rest = expected[:-7], int(expected[-7:])
    left = Decimal(evaluate(f"({text}-{known})*10^{len(expected) - 2}"))
    assert abs(left - rest) <= 2


@numbered(
    [
        ("10^45*(1/3+1/7) // 1 % 1000", "476"),
        ("10^45*(1/3-1/7) // 1 % 1000", "190"),
        ("10^45*(2/3*(2/7)) // 1 % 1000", "190"),
        ("10^45*((1/3)/(7/2)) // 1 % 1000", "95"),
        ("10^45*(2/3)^3 // 1 % 1000", "296"),
        ("10^45*sqrt(4/9) // 1 % 1000", "666"),
        ("10^45*sqrt(1/9) // 1 % 1000", "333"),
        ("sqrt((10^45+1)^2) - 10^45", "1"),
        ("2^8000/2^500 % 1000", "376"),
        ("2^8000//2^500 % 1000", "376"),
        ("round(1/3,50)*10^50 % 1000", "333"),
    ]
)
def test_fractions_stay_exact(text: str, expected: str) -> None:
    """Whole numbers and fractions, and roots of their squares, are exact to any number of digits."""
    assert evaluate(text) == expected


@numbered(
    [
        ("(sqrt(3)-1.732050807568877293527446341505872)*10^34", "3.66943"),
        ("(sqrt(3)-1.7320508075688772935274463415058723)*10^34", "0"),
        ("sin(pi + 1.5*10^-34)", "-1.49999830601e-34"),
        ("sin(pi + 10^-35)", "0"),
        ("(sqrt(2)^2)!", "2"),
        ("(2^0.3*2^-0.3)!", "1"),
        ("sqrt(2)*10^34 % 100", "80.7857"),
        ("sqrt(2)*10^30 % 1", "0.69807857"),
        ("0*(sqrt(2)/10^50)", "0"),
        ("0*(sqrt(2)*10^80)", "0"),
    ]
)
def test_what_is_whole_to_34_digits_is_whole(text: str, expected: str) -> None:
    """Less than 34 digits of a difference is noise, and a number with one digit more is not rounded."""
    assert evaluate(text) == expected


@numbered(
    [
        ("1/3-sqrt(2)", "-1.08088022904"),
        ("sqrt(2)-1/3", "1.08088022904"),
        ("3/sqrt(2)", "2.12132034356"),
        ("sqrt(2)/3", "0.471404520791"),
        ("7 % 0.5", "0"),
        ("7 % sqrt(2)", "1.34314575051"),
        ("sqrt(2) % 1", "0.414213562373"),
        ("7.5 % 2", "1.5"),
        ("0^5", "0"),
        ("0^10", "0"),
        ("0^0.3", "0"),
        ("0.5^0.3", "0.812252396356"),
        ("(-1)^(10^30)", "1"),
        ("(-1)^(10^30+1)", "-1"),
        ("(-1.5)^5000", "2.85953409027e880"),
        ("(-1.5)^5001", "-4.28930113541e880"),
        ("0.5^10001", "2.5061863746e-3011"),
        ("sqrt(0)", "0"),
        ("abs(3)", "3"),
        ("abs(0.5)", "0.5"),
        ("abs(-1/3)", "0.333333333333"),
        ("round(2.4)", "2"),
        ("ln(0.5)", "-0.69314718056"),
        ("log(8,0.5)", "-3"),
        ("1.5e3", "1500"),
        ("2E+3", "2000"),
        ("12e03", "12000"),
        ("10^14+1/3", "100000000000000"),
        ("1.5*10^-30", "1.5e-30"),
        ("1.5*10^20+1/3", "1.5e20"),
        ("(4/3)^19000 // 1", "6.85481214783e2373"),
        ("sqrt(2)*10^14", "141421356237310"),
        ("1-1/(3*10^13)", "1"),
        ("10^5*(1-1/(3*10^13))", "100000"),
        ("10^20-1/3", "1e20"),
        ("10^400", "1e400"),
        ("-10^400", "-1e400"),
        ("10^400-1", "9" * 400),
        ("-(10^400-1)", "-" + "9" * 400),
        ("1+10^-18", "1.000000000000000001"),
        ("10+10^-18", "10"),
    ]
)
def test_values(text: str, expected: str) -> None:
    """Operands of every kind beside each other, and the numbers round which rules turn: 0, 1, -1, a half."""
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    ("kept", "beyond"),
    [
        ("1" + " " * 1999, "1" + " " * 2000),
        ("9" * 400, "9" * 401),
        ("0." + "1" * 399, "0." + "1" * 400),
        ("1e-400", "1e-401"),
        (f"{2**1024 - 1}e0", f"{2**1024}e0"),
        ("2^8191", "2^8192"),
        ("2^8191+2^8190", "2^8191+2^8191"),
        ("-2^8191-2^8190", "-2^8191-2^8191"),
        ("2^4095*2^4095", "2^4096*2^4095"),
        ("2^8186/3 // 1", "2^8187/3 // 1"),
        ("floor(sqrt(2)*10^2457)", "floor(sqrt(2)*10^2458)"),
        ("floor(sqrt(2)/10^2457)", "floor(sqrt(2)/10^2458)"),
        ("exp(709)", "exp(709.01)"),
        ("sin(10^30)", "sin(10^30+1)"),
        ("sin(-10^30)", "sin(-10^30-1)"),
        ("0!", "(-1)!"),
        ("400!", "401!"),
        ("round(1,50)", "round(1,51)"),
        ("round(6*10^49,-50)", "round(6*10^49,-51)"),
        ("(" * 100 + "1" + ")" * 100, "(" * 101 + "1" + ")" * 101),
        ("+".join(["2^2"] * 150), "+".join(["2^2"] * 151)),
    ],
    ids=range(21),
)
def test_a_limit_is_where_it_is_said_to_be(kept: str, beyond: str) -> None:
    """The last text, number, power, angle, bracket that is calculated, and the first that is refused."""
    assert not refused(kept)
    assert refused(beyond)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2^3\\times 4", "32"),
        ("# sum\n=1+1", "2"),
        ("1+1=  # sum", "2"),
        ("= 1+1 =", "2"),
        ("1 = ?", "1"),
    ],
    ids=range(5),
)
def test_what_stands_round_an_expression_goes(text: str, expected: str) -> None:
    """A comment, a leading and a trailing `=`, and LaTeX beside a plain power."""
    assert evaluate(text) == expected


@numbered(
    [
        ("+5", "5"),
        ("2*+3", "6"),
        ("10 mod sqrt(9)", "1"),
        ("50% of pi", "1.57079632679"),
        ("2*15% of 200", "60"),
        ("(1/2) of 8", "4"),
        ("1/2 of 8", "4"),
        ("½ of 8", "4"),
        ("½%", "0.005"),
        ("pi%", "0.0314159265359"),
        ("pi x 2", "6.28318530718"),
        ("3 x pi", "9.42477796077"),
        ("3 x (4)", "12"),
        ("3X4", "12"),
        ("PI-Pi+Math.E", "2.71828182846"),
        ("1+√16", "5"),
        ("√16 x 2", "8"),
        ("√16%", "0.04"),
        ("1,234+5,678", "6912"),
        ("max(1,2)+1,234", "1236"),
        ("max(1, 050)", "50"),
        ("max(2*050)", "100"),
        ("max(1+e,000)", "3.71828182846"),
        ("050+1", "51"),
        ("1.0_5", "1.05"),
        ("10 % +3", "1"),
        ("10 % -3", "-2"),
        ("10%+3", "3.1"),
        ("10%(3)", "1"),
        ("10 % .3", "0.1"),
        ("10%√9", "1"),
        ("10%$3", "1"),
    ]
)
def test_a_sign_means_what_stands_beside_it(text: str, expected: str) -> None:
    """`%`, `x`, `of`, a comma, an underscore, √ and a constant, each before and after what decides on it."""
    assert evaluate(text) == expected


@pytest.mark.parametrize("around", ["%s", "`%s`", "%s# sum", "=%s", "%s="], ids=range(5))
@pytest.mark.parametrize("text", ["X5", "5X", "\f5", "5\f"], ids=range(4))
def test_only_blanks_are_taken_off(text: str, around: str) -> None:
    """A letter or a form feed at an edge is no blank: it is refused, in a wrapper and beside `=` too."""
    assert refused(around % text)
