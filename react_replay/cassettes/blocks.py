"""The inverse of `writing.render`, over bytes: the YAML that we write, read without a YAML parser.

Eight times as fast as libyaml, and it builds no nodes. It takes nothing that a YAML parser would read
otherwise: whatever `render` does not write is `Unusual`, and then the whole file is the parser's.
Interactions are read one at a time, when they are asked for. Pure.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, overload

__all__ = ["Entries", "Unusual", "read_blocks"]

_DEEPEST = 100  # spaces of indentation
_LONGEST_KEY = 200
_ENTRY = b"\n  - "

# What YAML refuses or takes for the end of a line: such a file is the parser's.
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09, 0x0A})
_SPECIAL = re.compile(
    rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]|\xf0\x9f\xbf[\xbe\xbf]"
    rb"|[\xf0-\xf4][\x80-\xbf]\xbf[\xbe\xbf]|\xed[\xa0-\xbf]"
)
_CHUNK = 1 << 20

_WORDS = rb"[A-Za-z_][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*"
_QUOTED = rb'"(?:[^"\\\t\n]|\\[^\n])*"'
_KEY = re.compile(rb"(?:(" + _WORDS + rb")|(" + _QUOTED + rb")):(?=[ \n])")
# Nearly every line: a key, and behind it nothing, a word, a text without escapes, or a whole number.
_LINE = re.compile(
    rb"(" + _WORDS + rb"):(?:\n| (?:(" + _WORDS + rb')|"([^"\\\t\n]*)"|(-?(?:0|[1-9][0-9]{0,17})))\n)'
)
_WORD = re.compile(_WORDS + rb"\n")
_TEXT = re.compile(_QUOTED + rb"\n")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,30}(?:[eE][-+][0-9]{1,3})?)?\n")
_NUMBERS = re.compile(rb"\[(?:-?(?:0|[1-9][0-9]{0,17})(?:, |(?=\])))*\]\n")
_BINARY = re.compile(rb'!!binary "([A-Za-z0-9+/=]*)"\n')
_BLOCK = re.compile(rb"\|([-+]?)\n")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
_PLAIN_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "t": "\t"}
_RESERVED = frozenset([b"yes", b"no", b"on", b"off", b"y", b"n", b"nan", b"inf"])
_NAMED: dict[bytes, Any] = {b"null": None, b"true": True, b"false": False}


class Unusual(ValueError):
    """The text is not as `render` writes it. That says nothing about whether it is YAML."""


class Entries(Sequence[Any]):
    """A list of the document, each item read anew whenever it is asked for. Raises `Unusual`."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data = data
        self._starts: list[int] = []
        place = start - 1  # of the line break before an item
        while 0 <= place < end and data.startswith(_ENTRY, place):
            self._starts.append(place + 1)
            place = data.find(_ENTRY, place + 1, end)
        if not self._starts:
            raise Unusual
        self._starts.append(end)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        value, end = _node(self._data, self._starts[place] + 4, 4)
        if end != self._starts[place + 1]:
            raise Unusual
        return value

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} entries>"


def read_blocks(data: bytes, lists: frozenset[str] = frozenset({"interactions"})) -> dict[str, Any]:
    """The document that `render` wrote as `data`. Raises `Unusual` where it did not.

    The top-level lists named in `lists` are `Entries`: an item that is not as `render` writes it is
    `Unusual` only when it is asked for.
    """
    if not data.endswith(b"\n") or _has_special(data):
        raise Unusual
    document: dict[str, Any] = {}
    at = 0
    while at < len(data):
        key, at = _key(data, at)
        if key in lists and data.startswith(_ENTRY, at):
            end = _list_end(data, at + 1)
            document[key], at = Entries(data, at + 1, end), end
        else:
            document[key], at = _value(data, at, 0)
    if not document:
        raise Unusual
    return document


def _has_special(data: bytes) -> bool:
    for start in range(0, len(data), _CHUNK):
        piece = data[start : start + _CHUNK]
        if len(piece.translate(None, _CONTROLS)) != len(piece):
            return True
    return not data.isascii() and _SPECIAL.search(data) is not None


def _list_end(data: bytes, start: int) -> int:
    """Where the first line behind `start` begins that is neither empty nor indented."""
    found = _TOP_LEVEL.search(data, start)
    return len(data) if found is None else found.start() + 1


_TOP_LEVEL = re.compile(rb"\n[^ \n]")


def _key(data: bytes, at: int) -> tuple[str, int]:
    found = _KEY.match(data, at)
    if found is None or found.end() - at > _LONGEST_KEY:
        raise Unusual
    word, quoted = found.groups()
    return (_unquoted(quoted) if word is None else _named(word, key=True)), found.end()


def _value(data: bytes, at: int, indent: int) -> tuple[Any, int]:
    """What stands behind a key's colon, and where the next line begins."""
    if data.startswith(b" ", at):
        return _scalar(data, at + 1, indent + 2)
    inner = indent + 2  # the line ends here: a block of its own
    at += 1
    if inner > _DEEPEST or not data.startswith(_pad(inner), at):
        raise Unusual
    return _block(data, at + inner, inner)


def _node(data: bytes, at: int, indent: int) -> tuple[Any, int]:
    """An item of a list, behind its dash."""
    if data.startswith(b"- ", at) or _KEY.match(data, at):
        return _block(data, at, indent)
    return _scalar(data, at, indent)


def _block(data: bytes, at: int, indent: int) -> tuple[Any, int]:
    """A mapping or a list that begins at `at`, behind the indentation of its first line."""
    if indent > _DEEPEST:
        raise Unusual
    pad = _pad(indent)
    if data.startswith(b"- ", at):
        items = []
        pad += b"- "
        while True:
            item, at = _node(data, at + 2, indent + 2)
            items.append(item)
            if not data.startswith(pad, at):
                return items, at
            at += indent
    found: dict[str, Any] = {}
    while True:
        line = _LINE.match(data, at)
        if line is None or line.end(1) - at > _LONGEST_KEY:
            key, at = _key(data, at)
            found[key], at = _value(data, at, indent)
        else:
            key, kind, end = _named(line[1], key=True), line.lastindex, line.end()
            if kind == 1:
                found[key], at = _value(data, end - 1, indent)
            else:
                at = end
                found[key] = (
                    _named(line[2]) if kind == 2 else _decoded(line[3]) if kind == 3 else int(line[4])
                )
        # What is indented further, or is an item of a list, is no key: whoever reads on refuses it.
        if not data.startswith(pad, at) or data[at + indent : at + indent + 1] in (b" ", b"-", b"\n"):
            return found, at
        at += indent


def _scalar(data: bytes, at: int, indent: int) -> tuple[Any, int]:
    first = data[at : at + 1]
    if first == b"|":
        return _literal(data, at, indent)
    if first == b'"':
        found = _TEXT.match(data, at)
        if found is not None:
            return _unquoted(found.group()[:-1]), found.end()
    elif (found := _WORD.match(data, at)) is not None:
        return _named(found.group()[:-1]), found.end()
    elif (found := _NUMBER.match(data, at)) is not None:
        return (float if found[1] else int)(found.group()), found.end()
    elif first == b"[" and (found := _NUMBERS.match(data, at)) is not None:
        return json.loads(found.group()), found.end()
    elif data.startswith(b"{}\n", at):
        return {}, at + 3
    elif (found := _BINARY.match(data, at)) is not None:
        try:
            return base64.b64decode(found[1], validate=True), found.end()
        except ValueError:
            raise Unusual from None
    raise Unusual


def _named(word: bytes, *, key: bool = False) -> Any:
    lower = word.lower()
    if lower in _NAMED:
        if word == lower and not key:
            return _NAMED[word]
        raise Unusual
    if lower in _RESERVED:
        raise Unusual
    return word.decode()


def _unquoted(quoted: bytes) -> str:
    text = _decoded(quoted[1:-1])
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        if found[4] not in _PLAIN_ESCAPES:
            raise Unusual
        return _PLAIN_ESCAPES[found[4]]
    number = int(code, 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise Unusual
    return chr(number)


def _literal(data: bytes, at: int, indent: int) -> tuple[str, int]:
    found = _BLOCK.match(data, at)
    pad = _pad(indent)
    if found is None:
        raise Unusual
    start = found.end()
    # A first line that is indented further, or is empty, would say another indentation.
    if not data.startswith(pad, start) or data[start + indent : start + indent + 1] in (b" ", b"\t", b"\n"):
        raise Unusual
    chomping = found[1]
    if chomping == b"-" and data.startswith(b"{\n", start + indent):
        # Nearly every block is indented JSON, which ends where its brace stands alone.
        end = data.find(b"\n" + pad + b"}\n", start) + 1
        lines = data[start + indent : end + indent + 1]
        body = lines.replace(b"\n" + pad, b"\n")
        whole = len(lines) - len(body) == lines.count(b"\n") * indent
        end += indent + 2
        if whole and end > start and data[end : end + 1] != b"\n" and not data.startswith(pad, end):
            return _decoded(body), end
    end = _lines_of(indent).match(data, start).end()  # type: ignore[union-attr]  # it matches no line, too
    body = data[start + indent : end].replace(b"\n" + pad, b"\n")
    if chomping == b"-":
        body = body.rstrip(b"\n")
    elif not chomping:
        body = body.rstrip(b"\n") + b"\n"
    return _decoded(body), end


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Unusual from None


@functools.cache
def _pad(indent: int) -> bytes:
    return b" " * indent


@functools.cache
def _lines_of(indent: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?:(?: {%d}[^\n]*)?+\n)*+" % indent)
