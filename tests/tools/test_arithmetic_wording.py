"""What the calculator says where it refuses, word for word: the sentence that the model reads."""

from __future__ import annotations

import pytest

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic import evaluate
from react_replay.tools.arithmetic.hints import explain

FUNCTIONS = "sqrt abs round floor ceil min max pow exp ln log log10 log2 sin cos tan factorial"
COMMAS = "commas only group thousands, as in 1,234,567, or separate arguments; the decimal mark is ."
LATEX = r"of LaTeX only \frac \sqrt \times \cdot \div \left \right \pi \% are known"

NAMES = {
    "'of' after a value: write numbers without units, and * between factors": (
        "3 of 4",
        "1+3 of 4",
    ),
    "'foo.pi' is a name, not a number; look its value up first, then write digits only": ("math.foo.pi",),
    "'X' is a name, not a number; look its value up first, then write digits only": ("3 x X",),
    "'台北人口' is a name, not a number; look its value up first, then write digits only": (
        "台北人口/纽约人口",
    ),
    "'age' is a name, not a number; look its value up first, then write digits only": ("3*age", "np.age"),
    "'_1' is a name, not a number; look its value up first, then write digits only": ("_1",),
    "'foo.bar' is a name, not a number; look its value up first, then write digits only": ("foo.bar",),
    "'math' is a name, not a number; look its value up first, then write digits only": ("math.",),
    "'abcdefghijklmnopqrstu...' is a name, not a number; look its value up first, then write digits only": (
        "abcdefghijklmnopqrstuvwxyz+1",
    ),
    "'函数' is a name, not a number; look its value up first, then write digits only": ("函数(4)",),
    "'ｓｑｒｔ' is a name, not a number; look its value up first, then write digits only": ("ｓｑｒｔ(4)",),
    "'k' after a number is not known; write *1000": ("4*50k",),
    "'Thousand' after a number is not known; write *1000": ("2 Thousand",),
    "'m' after a number is not known; write *1000000": ("3m",),
    "'M' after a number is not known; write *1000000": ("3 M",),
    "'billion' after a number is not known; write *1000000000": ("3 billion",),
    "'百' after a number is not known; write *100": ("3百",),
    "write 2*e for a product, or digits after the e, as in 2e3": ("2e", "2 E"),
    "write * before 'pi'": ("2pi",),
    "write * before 'PI'": ("2 PI",),
    "write * before 'Sqrt'": ("2Sqrt(4)",),
    "'kg' after a value: write numbers without units, and * between factors": (
        "(1+2) kg",
        "5 kg * 2",
    ),
    "'x' after a value: write numbers without units, and * between factors": (
        "2 x(3)",
        "3x X",
        "2 x \\,",
        "28-2x+5",
        "2x(3)",
        "2 x",
        "2x)",
    ),
    "'xy' after a value: write numbers without units, and * between factors": ("2 xy",),
    "'F' after a value: write numbers without units, and * between factors": ("10x1F",),
    "'sqrt' is a function: write its argument in brackets, as in sqrt(2)": ("sqrt 16", "math.sqrt"),
    "'factorial' is a function: write its argument in brackets, as in factorial(2)": ("factorial 5",),
    "'Factorial' is a function: write its argument in brackets, as in factorial(2)": ("Factorial",),
    "no function 'SQR' (did you mean 'sqrt'?)": ("SQR(4)",),
    "no function 'foo' (did you mean 'floor'?)": ("Math.foo(2)",),
    f"no function 'LCM'; there are {FUNCTIONS}": ("LCM(2,5)",),
}

SIGNS = {
    "unexpected '\"'; send the bare expression, without quotes, inches or seconds": ('""',),
    "unexpected '`'; use only numbers, + - * / // % ^ ( ) and functions": ("``",),
    "unexpected '='; send one expression, without '=' or an equation": ("1+1=2",),
    "unexpected '!'; write 5! or factorial(5); comparisons are not supported": ("5!=120", "!5"),
    "unexpected '<'; comparisons are not supported; send one arithmetic expression": ("2<3",),
    "unexpected ':'; write a ratio with '/'; turn clock times into one number of minutes first": ("2:15",),
    "unexpected '|'; write abs(x) for an absolute value": ("|5|",),
    "unexpected '{'; use ( ) for grouping, and send only the expression itself": ("{1+2}*3",),
    "unexpected ']'; use ( ) for grouping; lists are not supported": ("1]",),
    "unexpected ';'; send one expression a call": ("5;2",),
    "unexpected '.'; a point belongs between digits, as in 0.5": ("sqrt(.)",),
    "unexpected '~'; bit operations are not supported": ("~5",),
    "unexpected '@'; matrices are not supported; write * for a product": ("2@3",),
    "unexpected '😀'; use only numbers, + - * / // % ^ ( ) and functions": ("😀",),
    f"unexpected ','; {COMMAS}": (
        "1,00",
        ",5",
        "(1,2)",
    ),
    "write 1+1/2 for a mixed number such as 1½": ("1½",),
    "two ! signs in a row; write (3!)! with brackets": ("5!!",),
    "write * before '√'": ("2√3",),
    "write sqrt(x) in place of √ here": ("√x",),
    "'万' stands after digits, as in 1.5万; elsewhere write *10000": ("万", "½万"),
    "'亿' stands after digits, as in 1.5亿; elsewhere write *100000000": ("3*亿",),
    "drop the currency sign '$'; write numbers only": ("$X", "$", "3*$x"),
    "drop the currency sign '€'; write numbers only": ("5€",),
    "hexadecimal and binary numbers are not supported; write decimals": (
        "0X1F",
        "0b11",
        "0o17",
        "0O17",
        "0x1F",
        "0B11",
    ),
    "inside a call a comma separates arguments; write 1000, not 1,000": (
        "max(1,050)",
        "max(1,000, 2)",
        "max(1+1,000)",
    ),
    "two % signs in a row; write 5% for 5/100": ("5%%",),
    "a number is missing before '%' at the start; write it": ("%5",),
    "'%.' can be read in two ways; write 5%*0.1, or 5 % 0.1 with spaces": ("100%.01",),
    f"'\\\\3': unexpected '\\\\'; {LATEX}": ("5\\3",),
    f"'\\\\foofoofoofo...': unexpected '\\\\'; {LATEX}": ("\\foofoofoofoofoofoo",),
    f"'\\\\alpha': unexpected '\\\\'; {LATEX}": ("\\alpha 2",),
    "write LaTeX arguments in braces, as in \\frac{1}{2} or \\sqrt{16}": (
        "\\frac12",
        "\\frac{1}2",
        "\\sqrt 2",
    ),
    "a LaTeX '{' is not closed; add the missing '}'": ("\\sqrt{2", "2^{"),
    "unexpected '}'; use ( ) for grouping, and send only the expression itself": (
        "2\\times age}",
        "1}",
    ),
}

STRUCTURE = {
    "more than 100 nested brackets; use fewer": ("(" * 101,),
    "more than 150 powers and functions; calculate it in parts": ("+2^2" * 151,),
    "there is no expression; write one, such as (2+3)*4": ("==", "", "  "),
    "it ends after '+'; write the number that follows": ("1+",),
    "it ends after '('; write the number that follows": ("1+sqrt(",),
    "it ends after '**'; write the number that follows": ("2^",),
    "a number is missing before '*' at the start; write it": ("*2",),
    "a number is missing before '//' and after '+'; write it": ("3+//2",),
    "a number is missing before ')' and after '('; write it": ("()",),
    "a number is missing before ')' and after ','; write it": ("max(1,)",),
    "a ')' closes nothing; add the '(' or drop it": ("1+2)", "max(1))"),
    "a '(' is not closed; add the missing ')'": ("(1+2", "((1)"),
    "an operator is missing at a bracket; write 1+5/6 for a mixed number, 2*(3) for a product": (
        "2(3)",
        "(1+2) 3",
    ),
    "no operator between '2' and '3'; write one, and no spaces inside a number": ("2 3",),
    "no operator between '1234567890123...' and '2'; write one, and no spaces inside a number": (
        "123456789012345678901 2",
    ),
    "no operator between '2' and '1234567890123...'; write one, and no spaces inside a number": (
        "2 123456789012345678901",
    ),
    "'1.2.3' is not a number; write one point, as in 0.5": ("1.2.3",),
    "'.' is not a number; write one point, as in 0.5": (".",),
    "'..' is not a number; write one point, as in 0.5": ("1+..",),
    "'1..234567890123456789...' is not a number; write one point, as in 0.5": ("1..23456789012345678901234",),
}

VALUES = {
    "longer than 2000 characters; calculate it in parts": ("1" * 2001,),
    "a number has 401 digits; at most 400 are read": ("9" * 401,),
    "division by zero; check the divisor": ("1/0", "sqrt(2)/0", "5.5 // 0", "5 % 0"),
    "division by zero: 0 has no negative power": ("0^-1", "0^-0.5"),
    "a fractional power of a negative number is not a real number": ("(-8)^(1/3)", "(-2)^pi"),
    "the square root of a negative number is not a real number": ("(-2)^0.5", "sqrt(-pi)"),
    "a logarithm needs a number above 0": ("log(0)",),
    "the base of a logarithm is above 0 and not 1": ("log(2,0)", "log(2,-1)", "log(2,1)"),
    "tan is not defined at odd multiples of pi/2": ("tan(pi/2)",),
    "an angle is at most 1e30 radians; take its remainder by 2*pi first": ("sin(10^30+1)",),
    "round(x, n) needs a whole n from -50 to 50": ("round(1,2.5)", "round(1,pi)"),
    "round takes 1 or 2 arguments, not 3; write long numbers without commas inside a call": ("round(1,2,3)",),
    "sqrt takes 1 argument, not 2; write long numbers without commas inside a call": ("sqrt(1,2)",),
    "pow takes 2 arguments, not 1; write long numbers without commas inside a call": ("pow(1)",),
    "log takes 1 or 2 arguments, not 3; write long numbers without commas inside a call": ("log(1,2,3)",),
    "a factorial needs a whole number from 0 to 400": ("factorial(2.5)",),
    "the result is too large; use smaller numbers or exponents": (
        "(4/3)^20000 // 1",
        "9**9**9",
        "2^8191+2^8191",
        "-2^8191-2^8191",
        "2^8000*2^200",
        "floor(sqrt(2)*10^3000)",
    ),
    "exp of more than 709 is too large; use a smaller argument": ("exp(709.01)",),
    "'1.5e309' is above the range of numbers, 1.8e308": ("1.5e309",),
    "'123456789012345678901...' is above the range of numbers, 1.8e308": (
        "123456789012345678901234567890e300",
    ),
    "the exponent of '1e401' is too large; write a nearer number": ("1e401",),
    "the exponent of '1e-9999' is too large; write a nearer number": ("1e-9999",),
    "the exponent of '1.2345678901234567890...' is too large; write a nearer number": (
        "1.2345678901234567890123456789e999",
    ),
    "// and % need smaller or rounder numbers; round their operands first": ("(10^2000/3) // (1/7^900)",),
    "the result is too large or too close to zero; use smaller exponents": ("1.5^(10^8)",),
}


def cases(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(text, reason) for reason, texts in table.items() for text in texts]


def numbers(table: dict[str, tuple[str, ...]]) -> list[int]:
    return list(range(len(cases(table))))


def said(text: str) -> str:
    """The whole refusal of `text`."""
    with pytest.raises(CalculatorError) as caught:
        evaluate(text)
    return str(caught.value)


def refused(text: str, reason: str) -> None:
    """`text` is refused for `reason`, behind a quotation of it."""
    assert said(text).partition(": ")[0].startswith("cannot calculate ")
    assert said(text) == explain(text, reason)


@pytest.mark.parametrize(("text", "reason"), cases(NAMES), ids=numbers(NAMES))
def test_a_word_is_refused_as_what_it_is(text: str, reason: str) -> None:
    """A name, a unit, a magnitude, a missing sign, a function without brackets or one that does not exist."""
    refused(text, reason)


@pytest.mark.parametrize(("text", "reason"), cases(SIGNS), ids=numbers(SIGNS))
def test_a_sign_is_refused_with_what_to_write(text: str, reason: str) -> None:
    """Each sign that is no arithmetic, or has two readings, says what to write in its place."""
    refused(text, reason)


@pytest.mark.parametrize(("text", "reason"), cases(STRUCTURE), ids=numbers(STRUCTURE))
def test_what_does_not_fit_together_says_where(text: str, reason: str) -> None:
    """A missing number, bracket or operator is named with what stands beside it."""
    refused(text, reason)


@pytest.mark.parametrize(("text", "reason"), cases(VALUES), ids=numbers(VALUES))
def test_a_value_that_is_refused_says_why(text: str, reason: str) -> None:
    """What has no real value, too many arguments or no room says which rule it breaks."""
    refused(text, reason)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 40, "'" + "x" * 40 + "'"),
        ("x" * 41, "'" + "x" * 37 + "...'"),
        ("'" * 3 + "x", '"' + "'" * 3 + 'x"'),
        ('"' * 50, "'" + '"' * 37 + "...'"),
        ("\x00" * 50, "'" + r"\x00" * 9 + "\\...'"),
        ("1\n+", r"'1\n+'"),
        ("\u202e", r"'\u202e'"),
    ],
    ids=range(7),
)
def test_a_refusal_begins_with_its_input(text: str, shown: str) -> None:
    """The input stands in quotes, escaped, and whole up to 40 characters; what is longer is cut to that."""
    assert said(text).startswith(f"cannot calculate {shown}: ")


def test_a_refusal_is_no_longer_than_200_characters() -> None:
    """A reason that is too long for the line is cut, and the cut shows."""
    assert explain("1", "x" * 178) == "cannot calculate '1': " + "x" * 178
    assert explain("1", "x" * 179) == "cannot calculate '1': " + "x" * 175 + "..."
