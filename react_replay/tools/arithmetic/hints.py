"""The wording of refusals: quoting what the model wrote, and saying what to write instead.

Text from outside enters a message only through `quote`, which leaves no control, bidirectional or
surrogate character in it. Nothing here decides whether an expression is right.
"""

from __future__ import annotations

from react_replay.errors import did_you_mean

__all__ = [
    "FUNCTION_NAMES",
    "LONGEST_INPUT",
    "explain",
    "quote",
    "stray_character",
    "stray_name",
    "stray_value",
]

LONGEST_INPUT = 2_000
FUNCTION_NAMES = (
    *("sqrt", "abs", "round", "floor", "ceil", "min", "max", "pow", "exp"),
    *("ln", "log", "log10", "log2", "sin", "cos", "tan", "factorial"),
)

_LONGEST_MESSAGE = 200
_MAGNITUDES = {
    "k": "1000",
    "thousand": "1000",
    "million": "1000000",
    "m": "1000000",
    "billion": "1000000000",
    "bn": "1000000000",
    "trillion": "1000000000000",
    "dozen": "12",
    "百": "100",
    "千": "1000",
}
_CHARACTERS = {
    ":": "write a ratio with '/'; turn clock times into one number of minutes first",
    "=": "send one expression, without '=' or an equation",
    "<": "comparisons are not supported; send one arithmetic expression",
    ">": "comparisons are not supported; send one arithmetic expression",
    "!": "write 5! or factorial(5); comparisons are not supported",
    "|": "write abs(x) for an absolute value",
    "{": "use ( ) for grouping, and send only the expression itself",
    "}": "use ( ) for grouping, and send only the expression itself",
    "[": "use ( ) for grouping; lists are not supported",
    "]": "use ( ) for grouping; lists are not supported",
    '"': "send the bare expression, without quotes, inches or seconds",
    "'": "send the bare expression, without quotes, feet or minutes",
    ",": "commas only group thousands, as in 1,234,567, or separate arguments; the decimal mark is .",
    ";": "send one expression a call",
    "?": "send only the expression",
    ".": "a point belongs between digits, as in 0.5",
    "&": "bit operations are not supported",
    "~": "bit operations are not supported",
    "@": "matrices are not supported; write * for a product",
    "\\": "of LaTeX only \\frac \\sqrt \\times \\cdot \\div \\left \\right \\pi \\% are known",
    "%": "write 5% for 5/100, or a % b with spaces for the remainder",
    "_": "write 1000 or 1_000",
}


def quote(text: str, limit: int = 40) -> str:
    """`text` in quotes, its unprintable characters escaped, cut to about `limit` characters."""
    shown = repr(text[: limit + 1])
    return shown if len(shown) <= limit + 2 else f"{shown[: limit - 2]}...{shown[0]}"


def explain(text: str, reason: str) -> str:
    """The one line that a refusal says: the input, cut, and the reason; at most 200 characters."""
    line = f"cannot calculate {quote(text)}: {reason}"
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 3]}..."


def stray_name(name: str, *, after_value: bool = False, before_bracket: bool = False) -> str:
    """Why the word `name` cannot stand there: a unit, a variable, an unknown function."""
    shown = quote(name, 24)
    if after_value:
        factor = _MAGNITUDES.get(name.lower())
        if factor:
            return f"{shown} after a number is not known; write *{factor}"
        if name in ("e", "E"):
            return "write 2*e for a product, or digits after the e, as in 2e3"
        if name.lower() == "pi" or name.lower() in FUNCTION_NAMES:
            return f"write * before {shown}"
        return f"{shown} after a value: write numbers without units, and * between factors"
    if before_bracket and name.isascii():
        guess = did_you_mean(name[:24].lower(), FUNCTION_NAMES)
        if guess:
            return f"no function {shown}{guess}"
        return f"no function {shown}; there are {' '.join(FUNCTION_NAMES)}"
    if name.lower() in FUNCTION_NAMES:
        return f"{shown} is a function: write its argument in brackets, as in {name.lower()}(2)"
    return f"{shown} is a name, not a number; look its value up first, then write digits only"


def stray_character(character: str) -> str:
    """Why `character` cannot stand there, and what to write."""
    advice = _CHARACTERS.get(character, "use only numbers, + - * / // % ^ ( ) and functions")
    return f"unexpected {quote(character)}; {advice}"


def stray_value(token: str, *, before: str) -> str:
    """Why the value that starts with `token` cannot follow the value that ends with `before`."""
    if token == "(" or before == ")":
        return "an operator is missing at a bracket; write 1+5/6 for a mixed number, 2*(3) for a product"
    return (
        f"no operator between {quote(before, 16)} and {quote(token, 16)}; "
        "write one, and no spaces inside a number"
    )
