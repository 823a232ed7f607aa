"""From text to value: one regular expression cuts tokens, a shunting-yard evaluates them as it reads.

No recursion and no syntax tree: depth is a list's length. The grammar is the tool description's.
"""

from __future__ import annotations

import re
from fractions import Fraction

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.normalise import normalise
from react_replay.tools.arithmetic.numbers import CONSTANTS, FUNCTIONS, OPERATORS, Number, power, show

__all__ = ["evaluate"]

LENGTH = 2000
DIGITS = 400
DEPTH = 100

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<op>\*\*|//|[-+*/%^(),])|(?P<name>[A-Za-zπ][A-Za-z0-9_]*)|(?P<unit>[万亿]))"
)
_GROUPED = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_UNITS = {"万": 10**4, "亿": 10**8}
# How tightly an operator binds; a sign binds looser than a power: -2^2 is -4.
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "sign": 3, "^": 4}


def evaluate(text: str) -> str:
    """The value of an arithmetic expression, as text. Raises `CalculatorError`, one line, and only that."""
    if not isinstance(text, str):
        raise CalculatorError(f"the expression must be text, got {type(text).__name__}")
    if len(text) > LENGTH:
        raise CalculatorError(f"the expression has {len(text)} characters; at most {LENGTH} are read")
    try:
        return show(_Evaluation(normalise(text)).value())
    except CalculatorError as error:
        raise CalculatorError(str(error)[:200]) from None
    except (ArithmeticError, ValueError) as error:
        raise CalculatorError(f"this cannot be computed: {str(error)[:120]}") from None


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")


class _Evaluation:
    """One pass over one expression. `operands` and `operators` are the shunting-yard's two stacks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.operands: list[Number] = []
        self.operators: list[str] = []
        self.calls: list[tuple[str, int]] = []  # open parentheses: function name, operands below it
        self.wants_operand = True

    def value(self) -> Number:
        text = self.text
        if not text.strip():
            raise CalculatorError("the expression is empty; write for example (123 + 456) * 789")
        if "," in text:
            text = self.text = self._ungrouped(text)
        position, end = 0, len(text)
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                if not text[position:].strip():
                    break
                raise self._unknown(text[position:].lstrip())
            position = found.end()
            kind, token = found.lastgroup, found[found.lastindex or 0]
            if kind == "number":
                self._operand(self._number(token), token)
            elif kind == "op":
                self._operator("^" if token == "**" else token, position)
            elif kind == "unit":
                self._unit(token)
            else:
                self._name(token, position)
        if self.wants_operand:
            raise CalculatorError("the expression stops before a number; complete it")
        while self.operators:
            if self.operators[-1] == "(":
                raise CalculatorError("a parenthesis is not closed; write the missing )")
            self._apply(self.operators.pop())
        return self.operands[0]

    def _ungrouped(self, text: str) -> str:
        """Thousands separators taken out, but not the commas between a function's arguments."""
        if not any(name in text for name in FUNCTIONS):
            return _GROUPED.sub(lambda found: found[0].replace(",", ""), text)
        return text

    @staticmethod
    def _number(token: str) -> Number:
        token = token.replace("_", "")
        if token.isdecimal():
            if len(token) > DIGITS:
                raise CalculatorError(f"a number has {len(token)} digits; at most {DIGITS} are read")
            return int(token)
        mantissa, _, exponent = token.lower().partition("e")
        whole, _, places = mantissa.partition(".")
        if len(mantissa) > DIGITS or (exponent and len(exponent) > 5):
            raise CalculatorError(f"a number is too long; at most {DIGITS} digits are read")
        scale = int(exponent or "0") - len(places)
        if abs(scale) > DIGITS:
            raise CalculatorError(f"the exponent of {_quoted(token)} is beyond {DIGITS}")
        digits = int(whole + places or "0")
        return digits * 10**scale if scale >= 0 else Fraction(digits, 10**-scale)

    def _operand(self, value: Number, shown: str) -> None:
        if not self.wants_operand:
            raise CalculatorError(
                f"an operator is missing before {_quoted(shown)}; write multiplication as *"
            )
        self.operands.append(value)
        self.wants_operand = False

    def _unit(self, unit: str) -> None:
        if self.wants_operand:
            raise CalculatorError(f"{_quoted(unit)} must follow a number, as in 260.2{unit}")
        self.operands[-1] = OPERATORS["*"](self.operands[-1], _UNITS[unit])

    def _name(self, name: str, position: int) -> None:
        lowered = name.lower()
        if lowered in CONSTANTS:
            self._operand(CONSTANTS[lowered], name)
        elif lowered in FUNCTIONS:
            if not self.wants_operand:
                raise CalculatorError(f"an operator is missing before {name}; write multiplication as *")
            if not self.text[position:].lstrip().startswith("("):
                if lowered != "sqrt":
                    raise CalculatorError(f"write {name} with parentheses, as in {name}(2)")
                self._push("sqrt")
                return
            self.calls.append((lowered, -1))
        else:
            raise self._unknown(name)

    def _unknown(self, rest: str) -> CalculatorError:
        word = re.match(r"[^\s0-9+\-*/%^(),.]+", rest)
        shown = _quoted(word[0] if word else rest[:1])
        if rest[:1] in "=<>!":
            return CalculatorError(f"{shown} is no arithmetic; write one expression without = or comparison")
        return CalculatorError(
            f"{shown} is not a number; write numbers only (look up the value of a name first), with "
            "+ - * / // % ^ ( ) and functions such as sqrt, round, min, max"
        )

    def _operator(self, sign: str, position: int) -> None:
        if sign == "(":
            self._open()
        elif sign == ")":
            self._close()
        elif sign == ",":
            self._comma()
        elif self.wants_operand:
            if sign not in "+-":
                raise CalculatorError(f"a number is missing before {sign!r}")
            self._push("sign" if sign == "-" else "plus")
        elif sign == "%" and self._is_percent(position):
            self.operands[-1] = OPERATORS["/"](self.operands[-1], 100)
        else:
            binds = _BINDS[sign]
            while self.operators and self.operators[-1] != "(":
                above = _BINDS.get(self.operators[-1], 3)
                if above < binds or (above == binds and sign == "^"):
                    break
                self._apply(self.operators.pop())
            self._push(sign)
            self.wants_operand = True

    def _is_percent(self, position: int) -> bool:
        """`%` glued to what is before it, and no operand after it."""
        before = self.text[position - 2 : position - 1]
        after = self.text[position:].lstrip()[:1]
        return not before.isspace() and not (after.isalnum() or (after in ("(", ".") and after != ""))

    def _push(self, operator: str) -> None:
        self.operators.append(operator)
        if len(self.operators) > LENGTH // 2:
            raise CalculatorError("the expression is nested too deeply")

    def _open(self) -> None:
        if not self.wants_operand:
            raise CalculatorError("an operator is missing before '('; write multiplication as *")
        if self.calls and self.calls[-1][1] == -1:
            self.calls[-1] = (self.calls[-1][0], len(self.operands))
        else:
            self.calls.append(("", len(self.operands)))
        if len(self.calls) > DEPTH:
            raise CalculatorError(f"more than {DEPTH} nested parentheses; simplify the expression")
        self.operators.append("(")

    def _unwind(self, closer: str) -> None:
        if self.wants_operand:
            raise CalculatorError(f"a number is missing before {closer!r}")
        while self.operators and self.operators[-1] != "(":
            self._apply(self.operators.pop())
        if not self.operators:
            raise CalculatorError(f"{closer!r} without an open parenthesis")

    def _comma(self) -> None:
        self._unwind(",")
        if not self.calls or not self.calls[-1][0]:
            raise CalculatorError(
                "a comma stands only between the arguments of a function, or before three digits as in 1,000"
            )
        self.wants_operand = True

    def _close(self) -> None:
        self._unwind(")")
        self.operators.pop()
        name, below = self.calls.pop()
        if not name:
            if len(self.operands) != below + 1:
                raise CalculatorError("parentheses hold one expression")
            return
        arguments = self.operands[below:]
        function, least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise CalculatorError(f"{name} takes {wanted} arguments, got {len(arguments)}")
        self.operands[below:] = [function(*arguments)]

    def _apply(self, operator: str) -> None:
        if operator == "sign":
            self.operands[-1] = -self.operands[-1]
        elif operator == "sqrt":
            self.operands[-1] = FUNCTIONS["sqrt"][0](self.operands[-1])
        elif operator != "plus":
            right = self.operands.pop()
            left = self.operands.pop()
            self.operands.append(power(left, right) if operator == "^" else OPERATORS[operator](left, right))
