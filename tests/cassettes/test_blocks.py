"""The reader of our own YAML: what we write, as a YAML parser reads it, and nothing in another way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from react_replay.cassettes.blocks import Entries, Unusual, read_blocks
from react_replay.cassettes.writing import render

CASSETTES = Path(__file__).parents[2] / "cassettes"
BUNDLED = sorted(CASSETTES.rglob("*.yaml"))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        "",
        "a: b",
        "- x",
        "null",
        "yes",
        "1",
        "é\n\n",
        " x\ny",
        "x\n y\n",
        "{\n}",
        "{\n\n}\n",
        "a\n",
        "\n\n",
        "#",
    ]
)
words = st.sampled_from(
    ["request", "body", "a b", "version", "interactions", "é", "", "on", "a\tb", "x" * 300]
)
leaves = (
    texts
    | st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.binary(max_size=9)
    | st.lists(st.integers(0, 99), max_size=4)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)
documents = st.dictionaries(words, values, min_size=1, max_size=4)

MARKS = [b"", b" ", b"  ", b"\n", b"\n\n", b":", b"-", b"- ", b'"', b"'", b"#", b" #", b"|"]
MARKS += [
    b"&a ",
    b"*a",
    b"\t",
    b"\r",
    b"{",
    b"}",
    b"\\",
    b"0",
    b"\xc2\x85",
    b"\xff",
    b"\x00",
    b"---\n",
    b"...\n",
    b"%",
]


def by_yaml(data: bytes) -> Any:
    return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def whole(document: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, Entries) else value for key, value in document.items()}


def cassette(*bodies: Any) -> bytes:
    exchanges = [{"request": {"body": json.dumps(body, indent=2)}} for body in bodies]
    return render({"interactions": exchanges, "version": 1}).encode()


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: str(path.relative_to(CASSETTES)))
def test_every_bundled_cassette_is_read_as_a_yaml_parser_reads_it(path: Path) -> None:
    """None of them needs the parser."""
    data = path.read_bytes()
    assert whole(read_blocks(data)) == by_yaml(data)


@given(documents)
@settings(max_examples=200)
def test_a_document_that_was_written_is_read_the_same_or_left_to_the_parser(document: dict[str, Any]) -> None:
    """Whatever it holds; types as well, so that true is not 1."""
    data = render(document).encode()
    try:
        found = whole(read_blocks(data))
    except Unusual:
        return
    assert repr(found) == repr(by_yaml(data))


@given(documents, st.data())
@settings(max_examples=400)
def test_a_changed_text_is_read_as_the_parser_reads_it_or_left_to_it(
    document: dict[str, Any], data: st.DataObject
) -> None:
    """A hand that edits a cassette never gets another meaning than YAML's."""
    text = render(document).encode()
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from(MARKS))
    text = text[:at] + put + text[at + cut :]
    try:
        found = whole(read_blocks(text))
    except Unusual:
        return
    assert repr(found) == repr(by_yaml(text))


@pytest.mark.parametrize(
    "line",
    [
        "a: yes",
        "a: ~",
        "a: NULL",
        "a: 'x'",
        "a: x # said",
        "a: &x y",
        "a: 010",
        "a: 1_000",
        "a: 2026-01-01",
        "a: [01]",
        "a: !!binary x",
        'a: !!binary "x"',
        'a: "\\q"',
        'a: "\\ud800"',
        'a: "x" ',
        "a:",
        "a:  x",
        "a: |2\n  x",
        "a: |-\n   x",
        "a: |-\n\n  x",
        "a: |-\n  x\n  # no, a line\n# a comment",
        "a: |-\n  x\n \n  y",
        "- a",
        "---\na: x",
        "a: x\n...",
        "a:\n- x",
        "a:\n   - x",
        "a: x\n b: y",
        "yes: x",
        "? a",
        "a: x\r",
        "a: x\x85",
    ],
)
def test_what_we_do_not_write_is_left_to_the_parser(line: str) -> None:
    """Even where it is good YAML: the reader guesses nothing."""
    with pytest.raises(Unusual):
        read_blocks(f"{line}\n".encode())


def test_bytes_that_end_in_the_middle_of_a_line_are_left_to_the_parser() -> None:
    """A file that was cut off is never taken for a whole one."""
    data = cassette({"a": 1})
    for end in range(len(data)):
        try:
            found = whole(read_blocks(data[:end]))
        except Unusual:
            continue
        assert found == by_yaml(data[:end])


def test_entries_are_read_one_at_a_time() -> None:
    """So a long cassette is never in memory twice; each reading gives new data."""
    entries = read_blocks(cassette({"a": 1}, {"a": 2}))["interactions"]
    assert isinstance(entries, Entries)
    assert len(entries) == 2
    assert entries[-1]["request"]["body"] == '{\n  "a": 2\n}'
    assert entries[0] is not entries[0]
    assert entries[:1] == [entries[0]]
    assert entries == list(entries)
    with pytest.raises(IndexError):
        entries[2]


def test_an_entry_that_is_not_ours_is_refused_when_it_is_asked_for() -> None:
    """The others are not read again for it."""
    data = cassette("one", "two", "three").replace(b'"\\"two\\""', b"'two'")
    entries = read_blocks(data)["interactions"]
    assert entries[0]["request"]["body"] == '"one"'
    assert entries[2]["request"]["body"] == '"three"'
    with pytest.raises(Unusual):
        entries[1]


def test_text_that_looks_like_an_entry_is_text() -> None:
    """A body may hold a cassette."""
    inner = cassette({"a": 1}).decode()
    data = render({"interactions": [{"request": {"body": inner}}, {"x": f"{inner}\n\n"}]}).encode()
    assert whole(read_blocks(data)) == by_yaml(data)


def test_deep_nesting_is_left_to_the_parser() -> None:
    """No text exhausts the stack."""
    document: Any = "x"
    for _ in range(300):
        document = {"a": document}
    with pytest.raises(Unusual):
        read_blocks(render(document).encode())
    with pytest.raises(Unusual):
        read_blocks(b"a:\n  " + b"- " * 100_000 + b"x\n")
