"""`react-replay diff`: two cassettes by meaning; what counts is shown, and shown once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay.cassettes.comparing import words
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import save
from tests.cli.conftest import Command, Make


def edited(path: Path, name: str, **changes: Any) -> Path:
    """A copy in which texts of the requests' bodies are replaced."""
    turns = []
    for turn in read_cassette(path).interactions:
        body = turn["request"]["body"]
        for old, new in changes.items():
            body = body.replace(f'"{old}"', new)
        turns.append({**turn, "request": {**turn["request"], "body": body}})
    new = path.with_name(name)
    save(new, turns, {})
    return new


def test_a_cassette_is_the_same_as_itself(command: Command, make: Make) -> None:
    """In another layout, and spelled otherwise."""
    full, delta = make("a.yaml", "one", "two"), make("b.json", "one", "two", layout="delta")
    respelled = full.with_name("c.yaml")
    turns = [
        {**turn, "request": {**turn["request"], "body": json.dumps(json.loads(turn["request"]["body"]))}}
        for turn in read_cassette(full).interactions
    ]
    save(respelled, turns, {})
    for other in (full, delta, respelled):
        assert command("diff", full, other) == (0, "the same\n", "")


def test_a_change_that_stands_in_many_turns_is_shown_once(command: Command, make: Make) -> None:
    """With the words that changed, and the path."""
    path = make("a.yaml", "one rainy day", "two", "three")
    other = edited(path, "b.yaml", **{"one rainy day": '"one sunny day"'})
    done = command("diff", path, other)
    assert (done.code, done.err) == (1, "")
    assert done.out == ("turns 1, 2, 3: request.messages[0].content\n    one [-rainy-]{+sunny+} day\n")


def test_turns_of_one_alone_are_named(command: Command, make: Make) -> None:
    """On either side, by number."""
    short, long = make("a.yaml", "one"), make("b.yaml", "one", "two")
    assert command("diff", short, long).out == "turn 2: only in B\n"
    assert command("diff", long, short).out == "turn 2: only in A\n"


def test_another_model_and_another_answer_are_differences(command: Command, make: Make) -> None:
    """Each with its path."""
    path = make("a.yaml", "one")
    other = edited(path, "b.yaml", m='"n"')
    assert "request.model\n    [-m-]{+n+}" in command("diff", path, other).out
    (turn,) = read_cassette(path).interactions
    answer = turn["response"]["body"]["string"].replace("ONE", "EINS")
    save(other, [{**turn, "response": {**turn["response"], "body": {"string": answer}}}], {})
    assert command("diff", path, other).out == "turn 1: answer.content\n    [-ONE-]{+EINS+}\n"


def test_json_lists_every_difference(command: Command, make: Make) -> None:
    """One object each, ungrouped; an empty list where there is none."""
    path = make("a.yaml", "one", "two")
    other = edited(path, "b.yaml", one='"eins"')
    done = command("diff", "--json", path, other)
    changes = json.loads(done.out)
    assert done.code == 1
    assert [(change["left"], change["right"]) for change in changes] == [(1, 1), (2, 2)]
    assert (
        changes[0] | {"path": "request.messages[0].content", "before": "one", "after": "eins"} == changes[0]
    )
    assert json.loads(command("diff", "--json", path, path).out) == []


@pytest.mark.parametrize("place", [0, 1])
def test_bad_input_is_named(command: Command, make: Make, bad: tuple[Path, str], place: int) -> None:
    """On either side."""
    paths = [make("good.yaml", "one"), bad[0]][:: 1 if place else -1]
    done = command("diff", *paths)
    assert (done.code, done.out) == (3, "")
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_cassettes_without_chat_are_not_called_the_same(command: Command, make: Make, tmp_path: Path) -> None:
    """There is nothing to compare, and that is an error."""
    path = make("a.yaml", "one")
    (turn,) = read_cassette(path).interactions
    other = tmp_path / "b.yaml"
    save(other, [{**turn, "request": {**turn["request"], "uri": "https://x/v1/models", "body": ""}}], {})
    done = command("diff", other, other)
    assert (done.code, "holds no chat request" in done.err) == (3, True)


@given(st.text("ab 北\n", max_size=25), st.text("ab 北\n", max_size=25))
def test_the_shown_words_hold_both_texts(before: str, after: str) -> None:
    """Short texts are shown whole: without the marks of one side they are the other."""
    shown = words(before, after)

    def side(drop: str, keep: str) -> str:
        pieces = []
        for part in shown.replace("-]", "\0").replace("+}", "\0").split("\0"):
            head, mark, marked = part.partition("[-" if "[-" in part else "{+")
            pieces += [head, marked if mark == keep else ""]
        return "".join(pieces)

    assert side("{+", "[-") == before
    assert side("[-", "{+") == after
