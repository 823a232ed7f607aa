"""No secret in a file: where one stands, by JSON path, and what takes its place. Pure but for the error.

A body is looked through as text and as what it means: JSON with its escapes undone, JSON inside JSON's texts,
and the joined pieces of a stream, in which a model may have cut a key in two. `keyshapes` knows the shapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from react_replay.cassettes.joined import Joined, joined_texts
from react_replay.cassettes.keyshapes import (
    Sighting,
    key_names,
    keys_in_query,
    known_spellings,
    sightings,
    telling,
)
from react_replay.errors import CassetteError, ConfigurationError

__all__ = [
    "PLACEHOLDER",
    "Leak",
    "Redaction",
    "compiled",
    "leaks",
    "redacted",
    "redaction_of",
    "refuse_secrets",
]

Find = Callable[[str], list[Sighting]]

PLACEHOLDER = re.compile(r"\[redacted-([0-9]{1,9})\]")

_LITERAL = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.S)
_ESCAPED_ASCII = re.compile(r"\\u00[2-7]")
_DEEPEST = 200
_STREAM = ("data:", "event:", ":")


class Leak(NamedTuple):
    """A secret's place, as `interactions[0].request.body.messages[1].content`, and its kind."""

    place: str
    kind: str


def compiled(patterns: Iterable[str | re.Pattern[str]]) -> tuple[re.Pattern[str], ...]:
    """Patterns of a caller. Raises `ConfigurationError` that names the one that is wrong."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except (re.error, TypeError) as error:
            raise ConfigurationError(
                f"redact: {pattern!r} is no regular expression: {error}; what it matches is replaced, or its "
                "first group where it has one"
            ) from error
    return tuple(found)


_RECORD_AGAIN = (
    "Take it out of the prompt or the tool's result, or have keys replaced (redact=True, --redact), and "
    "record again"
)


def refuse_secrets(
    path: Path, document: Any, secrets: Sequence[str] = (), *, mend: str = _RECORD_AGAIN
) -> None:
    """Raise `CassetteError` where a document holds a key: one of `secrets`, or something key-shaped."""
    first = next(leaks(document, secrets), None)
    if first is not None:
        raise CassetteError(
            f"the recording for {path} holds what looks like a key ({first.kind}) at {first.place}; nothing "
            f"was written. {mend}",
            path=str(path),
        )


def leaks(
    document: Any,
    secrets: Sequence[str] = (),
    patterns: Sequence[re.Pattern[str]] = (),
    *,
    headers: bool = False,
) -> Iterator[Leak]:
    """Every secret of a document. With `headers` also the headers and parameters that are keys by name."""
    known = known_spellings(secrets)

    def find(text: str) -> list[Sighting]:
        return sightings(text, known, patterns)

    for place, text in _texts(document, "", 0):
        yield from _in_text(place, text, find)
    if headers:
        for place, text, kind in _named(document, ""):
            if not find(text):
                yield Leak(place, kind)


def _texts(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, bytes):
        yield place, value.decode("utf-8", "replace")
    elif depth > _DEEPEST:
        yield place, str(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            inner = f"{place}.{name}" if place else str(name)
            if isinstance(name, str):
                yield f"{place} (a key of it)" if place else "(a top-level key)", name
            yield from _texts(item, inner, depth + 1)
    elif isinstance(value, Sequence):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]", depth + 1)


def _in_text(place: str, text: str, find: Find) -> Iterator[Leak]:
    """The secrets of one text: what stands in it, then what it says where that is JSON or a stream."""
    raw = find(text)
    if text[:256].lstrip().startswith(_STREAM):
        whole = set()
        for said in joined_texts(text):
            for sighting in find(said.text):
                whole.add(said.text[sighting.start : sighting.end])
                yield Leak(f"{place} (the joined {said.name})", sighting.kind)
        raw = [sighting for sighting in raw if text[sighting.start : sighting.end] not in whole]
    parsed = None
    if text[:1] in ("{", "[") and (raw or _ESCAPED_ASCII.search(text)):
        parsed = _json(text)
    if parsed is None:
        yield from (Leak(place, sighting.kind) for sighting in raw)
        return
    inner = [leak for where, said in _texts(parsed, place, 0) for leak in _in_text(where, said, find)]
    # What spans several values, or stands in a spelling that parsing undoes.
    yield from inner or (Leak(place, sighting.kind) for sighting in raw)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _named(document: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """The values that are secret by the name of their header or parameter."""
    if isinstance(document, Mapping):
        for name, item in document.items():
            inner = f"{place}.{name}" if place else str(name)
            if str(name).lower().endswith("headers") and isinstance(item, Mapping):
                for header, value in item.items():
                    values = value if isinstance(value, list) else [value]
                    for number, one in enumerate(values):
                        if key_names(str(header)) and isinstance(one, str) and telling(one):
                            at = f"[{number}]" if isinstance(value, list) else ""
                            yield f"{inner}.{header}{at}", one, f"the header {str(header).lower()}"
            elif name in ("uri", "url") and isinstance(item, str):
                for sighting in keys_in_query(item):
                    yield inner, item[sighting.start : sighting.end], sighting.kind
            else:
                yield from _named(item, inner)
    elif isinstance(document, list):
        for number, item in enumerate(document):
            yield from _named(item, f"{place}[{number}]")


class Redaction:
    """What replaces secrets: the same one by the same placeholder, numbered as they are met.

    One object serves a whole recording. Without `shapes` only `patterns` and `secrets` are replaced. What
    is a placeholder already stays as it is.
    """

    def __init__(
        self,
        patterns: Iterable[str | re.Pattern[str]] = (),
        *,
        secrets: Sequence[str] = (),
        shapes: bool = False,
        headers: bool = False,
    ) -> None:
        self._patterns = compiled(patterns)
        self._secrets: set[str] = set()
        self._known: tuple[str, ...] = ()
        self._shapes = shapes
        self._headers = headers
        self._numbers: dict[str, int] = {}
        self._first = 1
        self.know(secrets)

    def know(self, secrets: Iterable[str]) -> None:
        """Replace these values too from now on: a key may show itself only when it is used."""
        new = set(secrets) - self._secrets
        if new:
            self._secrets |= new
            self._known = known_spellings(sorted(self._secrets))

    def follow(self, text: str) -> None:
        """Number on after the placeholders in a text: they stand for other secrets."""
        numbers = [int(found) for found in PLACEHOLDER.findall(text)]
        self._first = max([self._first, *(number + 1 for number in numbers)])

    def __call__(self, value: Any) -> Any:
        """The value without the secrets: a new one where it held any, else the same."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if isinstance(value, Mapping):
            if self._headers:
                value = self._without_named(value)
            if set(value) >= {"body", "x_react_replay"}:
                value = self._recut(value)
            return {self._key(name): self(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self(item) for item in value]
        return value

    def _key(self, name: Any) -> Any:
        return self.text(name) if isinstance(name, str) else name

    def text(self, text: str) -> str:
        """A text without the secrets. In JSON only its texts are changed, so it stays JSON."""
        if text[:1] in ("{", "[") and _json(text) is not None:
            return _LITERAL.sub(self._literal, text)
        if text[:256].lstrip().startswith(_STREAM):
            return self._stream(text)
        return self._plain(text)

    def _plain(self, text: str) -> str:
        pieces, end = [], 0
        for sighting in self._find(text):
            pieces += [text[end : sighting.start], self._placeholder(text[sighting.start : sighting.end])]
            end = sighting.end
        return "".join(pieces) + text[end:] if pieces else text

    def _find(self, text: str) -> list[Sighting]:
        found = sightings(text, self._known, self._patterns, shapes=self._shapes)
        return _around(found, text) if found and "[redacted-" in text else found

    def _placeholder(self, secret: str) -> str:
        return f"[redacted-{self._numbers.setdefault(secret, len(self._numbers) + self._first)}]"

    def _literal(self, found: re.Match[str]) -> str:
        try:
            said = json.loads(found[0], strict=False)
        except ValueError:
            return found[0]
        changed = self.text(said)
        return found[0] if changed == said else json.dumps(changed, ensure_ascii=found[0].isascii())

    def _stream(self, text: str) -> str:
        for said in joined_texts(text):
            text = self._unjoined(text, said)
        lines = text.split("\n")
        for number, line in enumerate(lines):
            label, colon, data = line.partition(":")
            blank = " " * (len(data) - len(data.lstrip(" ")))
            if colon and data[len(blank) :]:
                lines[number] = label + colon + blank + self.text(data[len(blank) :])
        return "\n".join(lines)

    def _unjoined(self, text: str, said: Joined) -> str:
        """The stream without a secret that its pieces hold together: it is replaced in the first of them."""
        found = self._find(said.text)
        if not found:
            return text
        edits = [(s.start, s.end, self._placeholder(said.text[s.start : s.end])) for s in found]
        return said.rewritten(text, edits)

    def _without_named(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        changed = dict(value)
        for name, item in value.items():
            if str(name).lower().endswith("headers") and isinstance(item, Mapping):
                changed[name] = {
                    header: self._whole(inner) if key_names(str(header)) else inner
                    for header, inner in item.items()
                }
            elif name in ("uri", "url") and isinstance(item, str):
                pieces, end = [], 0
                for sighting in keys_in_query(item):
                    secret = item[sighting.start : sighting.end]
                    pieces += [item[end : sighting.start], self._placeholder(secret)]
                    end = sighting.end
                changed[name] = "".join(pieces) + item[end:]
        return changed

    def _whole(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._whole(item) for item in value]
        return self._placeholder(value) if isinstance(value, str) and telling(value) else value

    def _recut(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """A response whose chunks are cut where they were, so far as what was between them is still there."""
        own, body = response["x_react_replay"], response["body"]
        string = body.get("string") if isinstance(body, Mapping) else None
        cuts = own.get("chunks") if isinstance(own, Mapping) else None
        if not isinstance(string, str) or not isinstance(cuts, list):
            return response
        before, after = (
            string.encode("utf-8", "surrogatepass"),
            self.text(string).encode("utf-8", "surrogatepass"),
        )
        if before == after or sum(cuts) != len(before):
            return response
        # An event ends at a blank line in both: a piece that ended with one ends with that event again.
        ends, new = {0: 0}, [0]
        for old, now in zip(_event_ends(before), _event_ends(after), strict=False):
            ends[old] = now
        at = 0
        for length in cuts:
            at += length
            if at in ends and ends[at] > new[-1]:
                new.append(ends[at])
        if new[-1] < len(after):
            new.append(len(after))
        chunks = [end - start for start, end in pairwise(new)]
        return {**response, "x_react_replay": {**own, "chunks": chunks}}


def _around(found: Sequence[Sighting], text: str) -> list[Sighting]:
    """What was found but for the placeholders in it."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    kept, at = [], 0
    for start, end, kind in found:
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        here = at
        while here < len(taken) and taken[here][0] < end:
            if start < taken[here][0]:
                kept.append(Sighting(start, taken[here][0], kind))
            start = taken[here][1]
            here += 1
        if start < end:
            kept.append(Sighting(start, end, kind))
    return kept


def _event_ends(body: bytes) -> list[int]:
    return [found.end() for found in re.finditer(rb"\r?\n\r?\n", body)]


def redacted(value: Any, patterns: Iterable[str | re.Pattern[str]]) -> Any:
    """A value with what matches a pattern replaced, the same secret by the same `[redacted-1]`.

    A pattern's first group is what is replaced, where it has one. Raises `ConfigurationError`.
    """
    return Redaction(patterns)(value)


def redaction_of(redact: bool | Sequence[str | re.Pattern[str]]) -> Redaction | None:
    """What `redact=` asks for: True replaces keys, patterns replace keys and what they match; else None.

    Raises `ConfigurationError`.
    """
    if isinstance(redact, (str, bytes)) or not isinstance(redact, (bool, Sequence)):
        raise ConfigurationError(
            f"redact must be True or a list of regular expressions, got {redact!r}; write redact=[...]"
        )
    return Redaction(() if isinstance(redact, bool) else redact, shapes=True) if redact else None
