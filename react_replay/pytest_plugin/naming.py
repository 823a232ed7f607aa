"""Where a test's cassette stands: `cassettes/<module>/<test>.yaml` beside the test file. Names only, no IO.

Two tests never share a file by accident: a name that must be changed to be a file's name carries a digest of
the whole name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

__all__ = ["cassette_name", "default_folder", "named_cassette", "safe_name", "test_name"]

LONGEST = 120
"""Of a file's name, in bytes and without its ending: what is left of 255 is for a journal's."""

_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|U(000[0-9a-f]{5}))")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.I)


def default_folder(test_file: Path) -> Path:
    """The folder of a module's cassettes."""
    return test_file.parent / "cassettes" / safe_name(test_file.stem)


def test_name(item: pytest.Item) -> str:
    """`Class.test[params]`: what tells a test from the others of its module."""
    _, *inside = item.nodeid.split("::")
    # A parameter's id may hold `::` itself; the classes stand before the test's own name.
    classes = inside[: len(inside) - 1 - item.name.count("::")]
    return ".".join((*classes, item.name))


test_name.__test__ = False  # type: ignore[attr-defined]  # no test of a module that imports it


def cassette_name(item: pytest.Item, name: object) -> str:
    """The file's name within the folder: the one asked for, or the test's."""
    return f"{safe_name(test_name(item))}.yaml" if name is None else named_cassette(name)


def named_cassette(name: object) -> str:
    """The file that a marker's `name` means, relative to the folder. Raises `pytest.UsageError`."""
    if not isinstance(name, str) or not name.strip():
        raise pytest.UsageError(f"a cassette's name is a text, got {name!r}")
    path = PurePosixPath(name)
    escapes = path.is_absolute() or PureWindowsPath(name).anchor or "\\" in name or ".." in path.parts
    if escapes or not path.name:
        raise pytest.UsageError(
            f"the cassette name {name!r} leaves the folder of the cassettes; name a file in it, or override "
            "the fixture react_cassette_dir"
        )
    for part in path.parts:
        if part != safe_name(part):
            raise pytest.UsageError(
                f"the cassette name {name!r} is no file's name on every system; without "
                f'< > : " | ? *, and at most {LONGEST} bytes long, it is'
            )
    return str(path if path.suffix in (".yaml", ".yml", ".json") else path.with_name(f"{path.name}.yaml"))


def safe_name(name: str) -> str:
    """`name` if it can be a file's name anywhere; else one that looks like it, with a digest of the whole."""
    safe = unicodedata.normalize("NFC", _unescaped(name))
    safe = _FORBIDDEN.sub("-", "".join(char if char.isprintable() else "-" for char in safe))
    if safe.startswith(".") or safe.endswith((".", " ")) or _RESERVED.fullmatch(safe):
        safe = f"-{safe.strip('. ')}-"
    if safe == name and len(safe.encode()) <= LONGEST:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    room = LONGEST - len(digest) - 1
    return f"{safe.encode()[:room].decode('utf-8', 'ignore')}-{digest}"


def _unescaped(name: str) -> str:
    """A test's name as its author wrote it: pytest escapes what is not ASCII in a parameter's id."""
    return _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), name)
