r"""The few LaTeX commands that a model mixes into arithmetic, rewritten as plain text.

One pass over the text with a stack of open braces. `\frac`, `\sqrt` and `^` may take braces; a
brace anywhere else, and any command that is not in the table, is refused. No macro is expanded.
"""

from __future__ import annotations

import re

from react_replay.errors import CalculatorError
from react_replay.tools.arithmetic.hints import quote, stray_character

__all__ = ["from_latex"]

_COMMANDS = {
    "times": "*",
    "cdot": "*",
    "ast": "*",
    "div": "/",
    "pi": " pi ",
    "left": "",
    "right": "",
    "%": "%",
    "$": "$",
    ",": " ",
    ";": " ",
    ":": " ",
    "!": " ",
    " ": " ",
    "quad": " ",
}
_FRACTIONS = ("frac", "dfrac", "tfrac")

_piece = re.compile(r"\\([A-Za-z]+|[^\n])[ ]*|\^[ ]*\{|[{}]|[^\\^{}]+|.", re.DOTALL)
_opening_brace = re.compile(r"[ \n]*\{")


def from_latex(text: str) -> str:
    """`text` with its LaTeX replaced. Raises `CalculatorError` for a command or brace not known."""
    out: list[str] = []
    closers: list[str] = []
    position = 0
    while position < len(text):
        piece = _piece.match(text, position)
        assert piece is not None  # the last alternative matches any character
        position = piece.end()
        whole, command = piece[0], piece[1]
        if command is None:
            if whole[0] == "^" and len(whole) > 1:
                out.append("^(")
                closers.append(")")
            elif whole == "}" and closers:
                closer = closers.pop()
                out.append(closer)
                if closer == ")/(":
                    position = _after_brace(text, position)
                    closers.append("))")
            elif whole in ("{", "}"):
                raise CalculatorError(stray_character(whole))
            else:
                out.append(whole)
        elif command in _FRACTIONS:
            position = _after_brace(text, position)
            out.append("((")
            closers.append(")/(")
        elif command == "sqrt":
            position = _after_brace(text, position)
            out.append(" sqrt(")
            closers.append(")")
        elif command in _COMMANDS:
            out.append(_COMMANDS[command])
        else:
            raise CalculatorError(f"{quote(whole.rstrip(), 16)}: {stray_character(chr(92))}")
    if closers:
        raise CalculatorError("a LaTeX '{' is not closed; add the missing '}'")
    return "".join(out)


def _after_brace(text: str, position: int) -> int:
    """Where the argument starts whose `{` stands at `position`."""
    brace = _opening_brace.match(text, position)
    if brace is None:
        raise CalculatorError("write LaTeX arguments in braces, as in \\frac{1}{2} or \\sqrt{16}")
    return brace.end()
