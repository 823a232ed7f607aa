"""`react-replay scrub`: keys out of files that exist, consistently; what they were is never printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from react_replay import CassetteBackend, Request
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import document_of, interaction_of, write_document
from react_replay.wire import Exchange
from tests.cli.conftest import URL, Command, Make

KEY = "sk-" + "a1B2" * 8
OTHER = "gsk_" + "c3D4" * 8


def leaky(path: Path, layout: str = "full", **metadata: Any) -> Path:
    """A cassette of two turns that other tools let keys into: prompts, a cut stream, provenance."""
    history = [{"role": "user", "content": f"I am {KEY}"}]
    interactions = []
    for pieces in ((f"so {KEY[:9]}", f"{KEY[9:]} you are"), ("and ", OTHER, ".")):
        events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
        chunks = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
        body = json.dumps({"messages": history, "stream": True}).encode()
        kind = {"content-type": "text/event-stream"}
        sent = Exchange(
            url=URL, request_body=body, response_headers=kind, chunks=(*chunks, b"data: [DONE]\n\n")
        )
        interactions.append(interaction_of(sent))
        history = [
            *history,
            {"role": "assistant", "content": "".join(pieces)},
            {"role": "user", "content": "?"},
        ]
    write_document(path, document_of(interactions, {"note": OTHER, **metadata}, layout=layout))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


@pytest.mark.parametrize("layout", ["full", "delta"])
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_every_key_goes_and_the_same_one_alike(
    command: Command, tmp_path: Path, layout: str, name: str
) -> None:
    """Also one that a stream cut in two; the layout, the format and the pieces of streams stay."""
    path = leaky(tmp_path / name, layout)
    before = read_cassette(path)
    done = command("scrub", path)
    assert (done.code, done.err) == (0, "")
    assert KEY not in done.out and OTHER not in done.out
    after = read_cassette(path)
    assert after.layout == before.layout
    assert [len(turn.chunks) for turn in after.recorded] == [3, 4]
    assert [turn.completion().content for turn in after.recorded] == [
        f"so {placeholder(after, 0)} you are",
        f"and {after.metadata['note']}.",
    ]
    assert command("scrub", path, "--check") == (0, "1 cassette: clean\n", "")


def placeholder(cassette: Any, turn: int) -> str:
    request = cassette.recorded[turn].request
    found = re.search(r"\[redacted-\d\]", request.messages[0]["content"])
    assert found is not None
    return found[0]


def test_a_scrubbed_cassette_replays(command: Command, path: Path) -> None:
    """Its history and its answers were changed alike."""
    command("scrub", leaky(path))
    history: list[Any] = [{"role": "user", "content": f"I am {placeholder(read_cassette(path), 0)}"}]
    with CassetteBackend(path) as backend:
        said = backend.complete(Request.of({"messages": history})).content
        history += [{"role": "assistant", "content": said}, {"role": "user", "content": "?"}]
        backend.complete(Request.of({"messages": history}))
    assert backend.unplayed == []


def test_check_only_reports_with_the_place(command: Command, path: Path) -> None:
    """Exit code 1, the JSON path and the kind of each; nothing is written."""
    before = leaky(path).read_bytes()
    done = command("scrub", "--check", path)
    assert (done.code, path.read_bytes()) == (1, before)
    assert "  interactions[0].request.body.messages[0].content: an OpenAI or DeepSeek key found\n" in done.out
    assert "  x_react_replay.note: a Groq key found\n" in done.out
    assert KEY not in done.out


def test_headers_are_cleaned_by_name(command: Command, make: Make) -> None:
    """Whatever their value, and so are key parameters of a URL; an old placeholder is left."""
    path = make("a.yaml", "one")
    document = read_cassette(path).interactions[0]
    request = {
        **document["request"],
        "headers": {"Authorization": ["Basic aGVsbG8="], "cookie": ["REDACTED"]},
    }
    request["uri"] += "?api_key=hello-world"
    write_document(path, document_of([{**document, "request": request}], {}))
    assert command("scrub", path).code == 0
    kept = read_cassette(path).interactions[0]["request"]
    assert kept["headers"] == {"Authorization": ["[redacted-1]"], "cookie": ["REDACTED"]}
    assert kept["uri"].endswith("?api_key=[redacted-2]")


def test_patterns_are_replaced_too(command: Command, make: Make) -> None:
    """Or their first group; placeholders of an earlier pass keep their numbers."""
    path = make("a.yaml", "room 12 of [redacted-3]")
    assert command("scrub", path, "--pattern", r"(?i)room (\d+)").code == 0
    assert "room [redacted-4] of [redacted-3]" in path.read_text()


def test_a_folder_is_cleaned_file_by_file(command: Command, make: Make, tmp_path: Path) -> None:
    """What is clean is not touched, what is no cassette is left out, what is unreadable is said."""
    clean, dirty = make("clean.yaml", "one"), leaky(tmp_path / "dirty.yaml")
    (tmp_path / "package.json").write_text(json.dumps({"key": KEY}))
    before = clean.stat().st_mtime_ns
    done = command("scrub", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert clean.stat().st_mtime_ns == before
    assert KEY not in dirty.read_text()
    assert done.out.splitlines()[-1].startswith("2 cassettes: ")
    (tmp_path / "b.yaml").write_text("interactions: 5")
    assert command("scrub", tmp_path).code == 3


def test_another_recorders_file_is_checked_and_not_written(command: Command, tmp_path: Path) -> None:
    """A clean one is clean; one with a key is named, with the command that mends it."""
    path = tmp_path / "a.yaml"
    for said, code in (("hi", 0), (KEY, 3)):
        request = {"body": json.dumps({"messages": [{"role": "user", "content": said}]}), "headers": {}}
        request |= {"url": URL, "method": "POST"}
        entry = {"request": request, "response": {"body": "{}", "headers": {}, "code": 200}}
        path.write_text(json.dumps({"version": 2, "interactions": [entry]}))
        before = path.read_bytes()
        done = command("scrub", path)
        assert (done.code, path.read_bytes()) == (code, before)
    assert "react-replay convert" in done.err
    assert command("scrub", "--check", path).code == 1


def test_bad_input_is_named_and_left_alone(command: Command, bad: tuple[Path, str]) -> None:
    """Exit code 3; the path and the reason."""
    done = command("scrub", bad[0])
    assert done.code == 3
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_a_wrong_pattern_is_a_usage_error(command: Command, make: Make) -> None:
    """It is named."""
    done = command("scrub", make("a.yaml", "one"), "--pattern", "(")
    assert (done.code, "'(' is no regular expression" in done.err) == (2, True)
