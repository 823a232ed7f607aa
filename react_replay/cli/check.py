"""`react-replay check`: the invariants of recorded conversations, for people, for programs and for CI."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from react_replay.cli.exits import ANSWERED, CASSETTE
from react_replay.cli.files import cassette_files
from react_replay.errors import CassetteError, ConfigurationError, NotACassette

if TYPE_CHECKING:
    from react_replay.check import Violation

__all__ = ["EPILOG", "check"]

VIOLATIONS = 1
EPILOG = (
    "Exit codes: 0 clean (notes do not count), 1 an error or a warning was found, 2 usage, "
    "3 a file is missing or unreadable, or there was nothing to check."
)


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="A cassette, or a folder: its .yaml, .yml, .json and .httprr files.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list; each item has path, interaction, code, ...")
    ] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for GitHub Actions (::error file=...).")
    ] = False,
    codes: Annotated[
        bool, typer.Option("--codes", help="List the codes and what they mean, and exit.")
    ] = False,
) -> int:
    """Check recorded conversations: every call answered once, history kept, arguments JSON, usage adding up.

    Reads the cassettes of vcrpy, go-vcr, Ruby VCR, httpmock, ddtrace and httprr, whoever recorded
    them. In a folder, what is no cassette of chat completions is skipped, and said.

    Interactions (#) and messages are counted from 0, as they stand in the file. Errors break the
    protocol, warnings are most often faults; a note is none, and does not count for the exit code.

    Example: react-replay check tests/cassettes --github
    """
    if codes:
        return _list_codes()
    if not paths:
        raise ConfigurationError("check needs a PATH: react-replay check tests/cassettes")
    if as_json and github:
        raise ConfigurationError("--json and --github are two outputs; choose one")
    from react_replay.check import Severity

    files, found = 0, []
    refused: list[CassetteError] = []
    for path, named in cassette_files(paths):
        try:
            violations = _checked(path)
        except NotACassette as error:
            if named:
                refused.append(error)
            else:
                _say(f"skipped {path}: {error.found}")
            continue
        except CassetteError as error:
            refused.append(error)
            continue
        files += 1
        found += violations
        if not as_json:
            _print(path, violations, github=github)
    for refusal in refused:
        _say(str(refusal))
        if github:
            print(f"::error file={_property(refusal.path)},title=unreadable::{_data(str(refusal))}")
    if as_json:
        text = json.dumps([violation.to_dict() for violation in found], ensure_ascii=False, indent=2)
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    elif not github and files:
        print(_summary(files, found))
    if refused or not files:
        if not refused:
            _say("nothing to check: no cassette of chat completions was found")
        return CASSETTE
    return VIOLATIONS if any(v.severity is not Severity.NOTE for v in found) else ANSWERED


def _checked(path: Path) -> list[Violation]:
    from react_replay.cassettes.reading import read_cassette
    from react_replay.check import check_cassette

    cassette = read_cassette(path)
    if not any(turn.chat for turn in cassette.recorded):
        first = next((f", the first {turn.method} {turn.url}" for turn in cassette.recorded), "")
        held = f"it holds no chat completions but {len(cassette.recorded)} other exchanges{first}"
        raise NotACassette(f"{path} cannot be checked: {held}", path=str(path), found=held)
    return check_cassette(cassette)


def _say(text: str) -> None:
    from react_replay.cli.terminal import plain

    print(f"react-replay: {plain(text)}", file=sys.stderr)


def _list_codes() -> int:
    from react_replay.check import CODES

    for name, code in CODES.items():
        print(f"{name:<27} {code.severity:<8} {code.meaning}")
    return ANSWERED


def _print(path: Path, violations: Sequence[Violation], *, github: bool) -> None:
    if github:
        for violation in violations:
            print(_annotation(violation))
        return
    from react_replay.cli.terminal import plain, wrapped

    if violations:
        print(plain(str(path)))
    for place, severity, code, message in _grouped(violations):
        first, *rest = wrapped(plain(f"{place} {severity} {code}: {message}"), 74)
        print(f"  {first}")
        for more in rest:
            print(f"      {more}")


def _grouped(violations: Iterable[Violation]) -> Iterator[tuple[str, str, str, str]]:
    """Place, severity, code and message; what is sent again and again is named once."""
    places: dict[tuple[str, str, str, int | None, str], list[int]] = {}
    for violation in violations:
        severity = str(violation.severity)
        key = (violation.path, severity, violation.code, violation.message_index, violation.message)
        places.setdefault(key, []).append(violation.interaction or 0)
    for (_, severity, code, index, message), numbers in places.items():
        where = "#" + _ranges(sorted(set(numbers)))
        yield where + ("" if index is None else f" messages[{index}]"), severity, code, message


def _ranges(numbers: list[int]) -> str:
    """`3,5-8` of 3, 5, 6, 7, 8."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _annotation(violation: Violation) -> str:
    kind = {"note": "notice"}.get(str(violation.severity), str(violation.severity))
    line = "" if violation.line is None else f",line={violation.line}"
    index = "" if violation.message_index is None else f" messages[{violation.message_index}]"
    text = _data(f"#{violation.interaction}{index}: {violation.message}")
    return f"::{kind} file={_property(violation.path)}{line},title={_property(violation.code)}::{text}"


def _data(text: str) -> str:
    """Text for an annotation, in which a line break would begin another command."""
    from react_replay.cli.terminal import plain

    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return plain(text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summary(files: int, found: Sequence[Violation]) -> str:
    kinds = [severity for _, severity, _, _ in _grouped(found)]
    counts = {kind: kinds.count(kind) for kind in ("error", "warning", "note")}
    said = ", ".join(
        f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in counts.items() if number
    )
    return f"{files} cassette{'' if files == 1 else 's'} checked: {said or 'clean'}"
