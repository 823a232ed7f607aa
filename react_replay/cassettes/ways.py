"""How whoever opened a cassette says a setting, so that an error can name what mends it. Pure.

A miss is met in a script, behind a client's transport, on the command line and in a test: the same setting is
written differently in each.
"""

from __future__ import annotations

__all__ = ["Ways"]

_LONGEST = 120


class Ways:
    """In Python: `CassetteBackend("c.yaml", record="all")`. Others override both methods.

    `runs_tools`: whether the opener can have tools not run, so that `tools` is a setting of its own.
    """

    runs_tools = True

    def __init__(self, path: object, *, opener: str = "CassetteBackend", runs_tools: bool = True) -> None:
        text = str(path)
        self._call = f"{opener}({_quoted(text) if len(text) <= _LONGEST else 'path'}, "
        self.runs_tools = runs_tools

    def mode(self, mode: str) -> str:
        """How to have a record mode."""
        return self.setting("record", mode)

    def setting(self, name: str, value: str | list[str]) -> str:
        """How to have another setting: `tools`, `tolerate`, `masks` or `on_drift`."""
        shown = _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"
        return f"{self._call}{name}={shown})"


def _quoted(text: str) -> str:
    return f"r{_marked(text)}" if "\\" in text else _marked(text)


def _marked(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
