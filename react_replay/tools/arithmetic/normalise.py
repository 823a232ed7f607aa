"""From what models write to the calculator's own alphabet: typography, wrappers, comments, LaTeX.

Every replacement stands in a table here. Unicode normalisation (NFKC) must never enter: it turns
10⁶ into 106 and 1½ into 11/2. What is in no table passes through, for the tokeniser to refuse.
Nothing here knows what an operator means, and no step is worse than linear.
"""

from __future__ import annotations

import re

from react_replay.tools.arithmetic.latex import from_latex

__all__ = ["normalise"]

_DROPPED = "\ufeff\u200b\u200c\u200d\u2060"
_SPACES = "\u00a0\u3000\u202f\u205f" + "".join(map(chr, range(0x2000, 0x200B)))
_SAME = {
    "*": "×✕✖∗·⋅∙＊",
    "/": "÷／∕⁄",
    "-": "−–－﹣‐‑",
    "+": "＋﹢",
    "^": "＾",
    "(": "（",
    ")": "）",
    "%": "％﹪",
    ".": "．",
    ",": "，",
    "=": "＝",
    "?": "？",
    "!": "！",
    ":": "：∶",
    "_": "＿",
    "¥": "￥",
    "$": "＄",
    "万": "萬",
    "亿": "億",
    " pi ": "π",
}
_SUPERSCRIPTS = {ord(sign): plain for sign, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)}
_TABLE: dict[int, str | None] = {
    **dict.fromkeys(map(ord, _DROPPED)),
    **dict.fromkeys(map(ord, _SPACES), " "),
    **{0xFF10 + digit: str(digit) for digit in range(10)},
    **{ord(sign): plain for plain, signs in _SAME.items() for sign in signs},
}
_WRAPPERS = (
    ("```", "```"),
    ("`", "`"),
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
)
_MOST_WRAPPERS = 4

_superscript_run = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_language_line = re.compile(r"[A-Za-z0-9_+-]*[ \t]*\r?\n")
_comment = re.compile(r"#[^\n]*")
_trailing_question = re.compile(r"=[ ]?\??\Z")


def normalise(text: str) -> str:
    """`text` in the tokeniser's alphabet, without what surrounds the expression.

    Raises `CalculatorError` where LaTeX is beyond the few known commands.
    """
    if not text.isascii():
        text = text.translate(_TABLE)
        text = _superscript_run.sub(_to_power, text)
    text = _unwrapped(text.strip(" \t\r\n"))
    if "#" in text:
        text = _comment.sub("", text)
    text = text.strip(" \t\r\n")
    if "=" in text:
        text = _without_equals(text)
    if "\\" in text or "{" in text:
        text = from_latex(text)
    return text


def _to_power(run: re.Match[str]) -> str:
    return f"^({run[0].translate(_SUPERSCRIPTS)})"


def _unwrapped(text: str) -> str:
    """`text` without fences, quotes and math signs around the whole of it, a few layers deep."""
    for _ in range(_MOST_WRAPPERS):
        for opening, closing in _WRAPPERS:
            if (
                text.startswith(opening)
                and text.endswith(closing)
                and len(text) > len(opening) + len(closing)
            ):
                text = text[len(opening) : -len(closing)]
                if opening == "```" and (language := _language_line.match(text)):
                    text = text[language.end() :]
                text = text.strip(" \t\r\n")
                break
        else:
            break
    return text


def _without_equals(text: str) -> str:
    """`text` without a spreadsheet's leading `=` and without one trailing `=` or `=?`."""
    if text.startswith("="):
        text = text[1:]
    return _trailing_question.sub("", text)
