"""Normalised text to tokens: what each sign means is settled here, by what stands next to it.

`%` becomes the remainder operator or a percent, `x` a product between values, `^` is `**`, a comma
a thousands separator or an argument separator, √ a call of sqrt. A token is a string that
`shunting` knows; what no token can stand for is refused here. Nothing is evaluated here.
"""

from __future__ import annotations

import re

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.functions import CONSTANTS, FUNCTIONS
from react_replay.tools.arithmetic.hints import quote, stray_character, stray_name
from react_replay.tools.arithmetic.literals import MYRIADS
from react_replay.tools.arithmetic.shunting import FACTORIAL, PERCENT

__all__ = ["tokenise"]

_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5",
    "⅗": "3/5", "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8",
    "⅝": "5/8", "⅞": "7/8", "⅑": "1/9", "⅒": "1/10",
}  # fmt: skip
_CURRENCY = frozenset("$¥€£₹₩")
_MATH_PREFIXES = ("math", "Math", "np", "numpy")
_UPPER_CONSTANTS = ("PI", "Pi")

_token = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<number>(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)
        (?:[eE][+-]?[0-9]+)?)
    |(?P<operator>\*\*|//|[-+*/()^])
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    |(?P<percent>%)
    |(?P<comma>,)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_grouped = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9_])(?:\.[0-9]*)?")
_myriads = re.compile(r"[ \t]*([万亿]{1,2})")
_next = re.compile(r"[ \t\r\n]*(.?)", re.DOTALL)
_relation = re.compile(r"[ \t\r\n]*(?:of|mod)\b")
_word = re.compile(r"[^\W\d_]+")
_digits = re.compile(r"[ \t]*([0-9.]+)")


class _Reader:
    """One pass over one text. `out` is what was read; `calls` says of each open bracket if it is one."""

    __slots__ = ("calls", "ends_value", "out", "position", "space_before", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.out: list[str] = []
        self.calls: list[bool] = []
        self.ends_value = False
        self.space_before = False

    def read(self) -> list[str]:
        text = self.text
        while self.position < len(text):
            found = _token.match(text, self.position)
            assert found is not None  # the last alternative matches any character
            kind, word = found.lastgroup, found[0]
            start, self.position = self.position, found.end()
            if kind == "space":
                self.space_before = True
                continue
            if kind == "number":
                self._number(word, start)
            elif kind == "operator":
                self._operator(word)
            elif kind == "name":
                self._name(word, start)
            elif kind == "percent":
                self._percent()
            elif kind == "comma":
                self._comma()
            else:
                self._other(word, start)
            self.space_before = False
        return self.out

    def _emit(self, token: str, *, ends_value: bool = False) -> None:
        self.out.append(token)
        self.ends_value = ends_value

    def _following(self) -> str:
        """The next character that is no space, or the empty string."""
        found = _next.match(self.text, self.position)
        assert found is not None  # both of its parts may be empty
        return found[1]

    def _in_call(self) -> bool:
        return bool(self.calls) and self.calls[-1]

    def _number(self, word: str, start: int) -> None:
        text = self.text
        if self.position < len(text) and text[self.position] == "," and not self._in_call():
            group = _grouped.match(text, start)
            if group is not None:
                self.position, word = group.end(), group[0].replace(",", "")
        elif len(word) == 3 and word[0] == "0" and word.isdigit() and self._after_glued_comma():
            raise CalculatorError("inside a call a comma separates arguments; write 1000, not 1,000")
        if word == "0" and text[self.position : self.position + 1] in ("x", "X", "b", "B", "o", "O"):
            raise CalculatorError("hexadecimal and binary numbers are not supported; write decimals")
        word = word.replace("_", "")
        suffix = _myriads.match(text, self.position)
        if suffix is not None:
            self.position = suffix.end()
            word += suffix[1]
        self._emit(word, ends_value=True)

    def _after_glued_comma(self) -> bool:
        out = self.out
        return not self.space_before and out[-1:] == [","] and out[-2].isdigit()

    def _operator(self, word: str) -> None:
        if word == "(":
            self.calls.append(bool(self.out) and self.out[-1] in FUNCTIONS)
        elif word == ")" and self.calls:
            self.calls.pop()
        self._emit("**" if word == "^" else word, ends_value=word == ")")

    def _percent(self) -> None:
        """A percent where it is glued to a value and no operand follows, or cannot be else."""
        if self.out and self.out[-1] == PERCENT:
            raise CalculatorError("two % signs in a row; write 5% for 5/100")
        following = self._following()
        glued = self.ends_value and not self.space_before
        if glued and following == ".":
            raise CalculatorError("'%.' can be read in two ways; write 5%*0.1, or 5 % 0.1 with spaces")
        if following in ("+", "-"):
            percent = glued
        elif following.isalnum() or following in ("(", ".", "√") or following in _CURRENCY:
            percent = _relation.match(self.text, self.position) is not None
        else:
            percent = self.ends_value
        self._emit(PERCENT if percent else "%", ends_value=percent)

    def _comma(self) -> None:
        if not self._in_call():
            raise CalculatorError(stray_character(","))
        self._emit(",")

    def _name(self, word: str, start: int) -> None:
        prefix, _, rest = word.partition(".")
        prefixed = prefix in _MATH_PREFIXES and rest != ""
        name = rest if prefixed else word
        lowered = name.lower()
        if self.ends_value:
            self._between_values(word, start)
        elif lowered in FUNCTIONS and self._following() == "(":
            self._emit(lowered)
        elif name in CONSTANTS or name in _UPPER_CONSTANTS or (prefixed and lowered in CONSTANTS):
            self._emit(lowered, ends_value=True)
        else:
            bracket = self._following() == "("
            raise CalculatorError(stray_name(name, before_bracket=bracket))

    def _between_values(self, word: str, start: int) -> None:
        """A word where an operator must stand: `of`, `mod`, an `x` for a product, or a mistake."""
        if word == "mod":
            self._emit("%")
        elif word == "of" and self._ends_share():
            self._emit("*")
        elif word[0] in "xX" and self._is_times(word):
            # `3x4`: the digits after the sign are a number of their own.
            self.position = start + 1
            self._emit("*")
        else:
            raise CalculatorError(stray_name(word, after_value=True))

    def _is_times(self, word: str) -> bool:
        """Whether an `x` is a product: before digits, or alone between spaces; 2x(3) stays a mistake."""
        if len(word) > 1:
            return word[1].isdigit()
        if self.space_before and self.text[self.position : self.position + 1] == " ":
            return self._following() not in ("", *"+-*/^%),!=")
        return self._following() in (*"0123456789.",)

    def _ends_share(self) -> bool:
        """Whether what was read ends like a part of something: 15%, 3/4, ½ or a bracket."""
        out = self.out
        last = out[-1]
        return last in (PERCENT, ")") or "/" in last or out[-2:-1] == ["/"]

    def _other(self, word: str, start: int) -> None:
        if word in _VULGAR:
            if self.ends_value:
                raise CalculatorError(f"write 1+{_VULGAR[word]} for a mixed number such as 1{word}")
            self._emit(_VULGAR[word], ends_value=True)
        elif word == "!" and self.ends_value and self.text[self.position : self.position + 1] != "=":
            if self.out[-1] == FACTORIAL:
                raise CalculatorError("two ! signs in a row; write (3!)! with brackets")
            self._emit(FACTORIAL, ends_value=True)
        elif word in _CURRENCY and not self.ends_value and self._following() in (*"0123456789.",):
            pass
        elif word == "√" and not self.ends_value:
            self._root()
        else:
            raise CalculatorError(self._unknown(word, start))

    def _root(self) -> None:
        """√16 and √(16) are both a call of sqrt."""
        if self._following() == "(":
            self._emit("sqrt")
            return
        number = _digits.match(self.text, self.position)
        if number is None:
            raise CalculatorError("write sqrt(x) in place of √ here")
        self.position = number.end()
        self.out += ["sqrt", "(", number[1], ")"]
        self.ends_value = True

    def _unknown(self, word: str, start: int) -> str:
        if word in MYRIADS:
            return f"{quote(word)} stands after digits, as in 1.5{word}; elsewhere write *{MYRIADS[word]}"
        if word == "√":
            return f"write * before {quote(word)}"
        if word in _CURRENCY:
            return f"drop the currency sign {quote(word)}; write numbers only"
        name = _word.match(self.text, start)
        if name is not None:
            return stray_name(name[0], after_value=self.ends_value)
        return stray_character(word)


def tokenise(text: str) -> list[str]:
    """The tokens of normalised `text`. Raises `CalculatorError` at what no token stands for."""
    return _Reader(text).read()
