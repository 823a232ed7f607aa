"""Which files a command looks at: those that are named, and those of a folder that may be cassettes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["cassette_files"]

_SUFFIXES = (".yaml", ".yml", ".json", ".httprr", ".httprr.gz")


def cassette_files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Every file, and whether it was named itself. Hidden folders and links to folders are not entered."""
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and name != "node_modules"
            )
            for name in sorted(names):
                if name.lower().endswith(_SUFFIXES) and not name.startswith("."):
                    yield Path(folder, name), False
