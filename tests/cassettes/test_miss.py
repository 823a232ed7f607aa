"""A miss explains itself: the turn, the nearest recorded one, the first differing path, how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, CassetteMiss, Request, ScriptedBackend, ToolCall
from react_replay.cassettes.ways import Ways


def calculator(expression: str) -> str:
    """Evaluate."""
    return f"value of {expression}"


def forged(expression: str) -> str:
    """Evaluate."""
    return "something else"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    script: list[Any] = [
        ToolCall(name="calculator", arguments={"expression": "1+1"}, id="c1"),
        "two",
    ]
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(script)) as backend:
        Agent(backend, tools=[calculator], options={"temperature": 0}).run("1+1?")
    return path


def miss(path: Path, question: str = "1+1?", tool: Any = calculator, **options: Any) -> CassetteMiss:
    if tool is forged:
        forged.__name__ = "calculator"
    agent = Agent(CassetteBackend(path), tools=[tool], options={"temperature": 0, **options})
    with pytest.raises(CassetteMiss) as caught:
        agent.run(question)
    assert len(str(caught.value).splitlines()) < 25
    assert len(str(caught.value)) <= 2000
    return caught.value


def test_a_changed_question_is_found_by_its_path(path: Path) -> None:
    """The first differing path, and what stands there then and now."""
    error = miss(path, "1+2?")
    assert (error.turn, error.nearest, error.differing) == (1, 1, "messages[0].content")
    assert (error.expected, error.actual) == ("1+1?", "1+2?")
    assert error.path == str(path)
    assert "messages[0].content" in str(error)


def test_a_changed_tool_result_names_the_call(path: Path) -> None:
    """Where an observation differs, the tool and its arguments are the cause."""
    error = miss(path, tool=forged)
    assert (error.turn, error.differing) == (2, "messages[2].content")
    assert "calculator(" in str(error)
    assert "1+1" in str(error)
    assert (error.expected, error.actual) == ("value of 1+1", "something else")


def test_a_changed_option_is_found_by_its_name(path: Path) -> None:
    """`temperature` is part of the question."""
    error = miss(path, temperature=0.5)
    assert error.differing == "temperature"
    assert (error.expected, error.actual) == (0, 0.5)


def test_one_call_too_many_says_so(path: Path) -> None:
    """A request whose answers were all played is told apart from one that was never recorded."""
    backend = CassetteBackend(path)
    agent = Agent(backend, tools=[calculator], options={"temperature": 0})
    agent.run("1+1?")
    with pytest.raises(CassetteMiss, match="each of its answers has been played") as caught:
        agent.run("1+1?")
    assert caught.value.turn == 3
    assert caught.value.nearest is None


def test_a_miss_says_how_to_record(path: Path) -> None:
    """The text holds the mode that would record the request."""
    assert "new_episodes" in str(miss(path, "other"))


def test_an_empty_cassette_misses_too(tmp_path: Path) -> None:
    """A cassette without chat turns says that it has none."""
    path = tmp_path / "c.yaml"
    path.write_text("interactions: []\nversion: 1\n")
    with pytest.raises(CassetteMiss, match="no chat request") as caught:
        Agent(CassetteBackend(path)).run("?")
    assert caught.value.nearest is None


def test_a_huge_difference_stays_short(path: Path) -> None:
    """A prompt of a megabyte does not make a message of a megabyte."""
    error = miss(path, "x" * 1_000_000 + "\n" * 50)
    assert error.differing == "messages[0].content"


def test_a_miss_changes_nothing(path: Path) -> None:
    """The file is untouched, and the recorded turn can still be played."""
    before = path.read_bytes()
    backend = CassetteBackend(path)
    with pytest.raises(CassetteMiss):
        backend.complete(Request([{"role": "user", "content": "other"}]))
    agent = Agent(backend, tools=[calculator], options={"temperature": 0})
    assert agent.run("1+1?").answer == "two"
    assert path.read_bytes() == before


CALLED = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "call",
    [
        "x",
        7,
        None,
        {"id": "a"},
        {"id": "a", "function": "f"},
        {"id": "a", "function": {"name": "f"}},
        {"id": "a", "function": {"name": "f", "arguments": {"b": 1}}},
    ],
)
def test_a_foreign_history_is_explained_too(tmp_path: Path, call: Any) -> None:
    """Calls in odd shapes are no reason to fail at saying why there is no answer."""
    path = tmp_path / "c.yaml"

    def history(call: Any, result: str) -> list[Any]:
        turn = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [
            {"role": "user", "content": "?"},
            turn,
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]

    with CassetteBackend(path, record="once", live=ScriptedBackend(["done"])) as backend:
        backend.complete(Request(history(CALLED, "1")))
    with pytest.raises(CassetteMiss):
        CassetteBackend(path).complete(Request(history(call, "2")))


def test_tools_that_differ_are_named_with_what_mends_it(tmp_path: Path) -> None:
    """Where only the offered tools differ the message says how to offer the recording's."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["done"])) as backend:
        Agent(backend).run("?")
    with pytest.raises(CassetteMiss, match="--tools"):
        Agent(CassetteBackend(path), tools=[calculator]).run("?")


SYSTEM = "You are careful. " + "Think first, then act, then say what you found. " * 200


def history(**edits: Any) -> list[dict[str, Any]]:
    """20 messages under a system prompt of some 10,000 characters; `edits`: `mN` for a place."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for number in range(1, 20):
        role = "user" if number % 2 else "assistant"
        messages.append({"role": role, "content": f"message {number}: " + "some words of it, " * 40})
    for name, text in edits.items():
        messages[int(name[1:])]["content"] = text
    return messages


@pytest.mark.parametrize("place", [0, 1, 2, 10, 19])
def test_one_word_of_a_long_request_is_shown_by_its_offset(tmp_path: Path, place: int) -> None:
    """The place in the request, the offset in its text, the word then and now; short whatever the length."""
    path = tmp_path / "c.yaml"
    live = ScriptedBackend(["x"] * 4)
    with CassetteBackend(path, record="once", live=live) as backend:
        for number in (3, 20, 12, 7):  # the nearest is known by its content
            backend.complete(Request(history()[:number]))
    text = history()[place]["content"]
    at = text.index("words" if place else "act")
    edited = text[:at] + "edited" + text[at:].split(" ", 1)[0].removeprefix("words").removeprefix("act")
    edited += " " + text[at:].split(" ", 1)[1]
    with pytest.raises(CassetteMiss) as missed:
        CassetteBackend(path).complete(Request(history(**{f"m{place}": edited})))
    error, shown = missed.value, str(missed.value)
    assert (error.turn, error.nearest, error.differing) == (1, 2, f"messages[{place}].content")
    assert (error.expected, error.actual) == (text, edited)
    assert f"messages[{place}].content, at character {at} " in shown
    assert f"[-{'words' if place else 'act'}-]{{+edited+}}" in shown
    assert "has 19 of these 20 messages" in shown
    assert 'record="new_episodes"' in shown
    assert len(shown.splitlines()) < 25
    assert len(shown) <= 2000


def test_a_message_that_was_put_in_is_the_one_difference(tmp_path: Path) -> None:
    """Messages are aligned: those behind it are no differences."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["x"])) as backend:
        backend.complete(Request(history()))
    more = {"role": "developer", "content": "by the way"}
    with pytest.raises(CassetteMiss) as missed:
        CassetteBackend(path).complete(Request([*history()[:8], more, *history()[8:]]))
    assert missed.value.differing == "messages[8]"
    assert "Also different" not in str(missed.value)
    assert "by the way" in str(missed.value)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"system": "other"}, 'tolerate=["system"]'),
        ({"temperature": 1}, 'tolerate=["temperature"]'),
        ({"question": "1+1, please?"}, 'record="rekey"'),
        ({"question": "On 2026-01-02: 1+1?"}, "masks="),
    ],
)
def test_a_miss_says_what_else_mends_it(tmp_path: Path, edit: dict[str, Any], told: str) -> None:
    """What may be tolerated, rekeyed or masked, as it is written, beside what asks a model."""
    path = tmp_path / "c.yaml"
    usual = {"system": "Be brief.", "question": "On 2026-01-01: 1+1?", "temperature": 0}

    def run(backend: CassetteBackend, settings: dict[str, Any]) -> None:
        options = {"temperature": settings["temperature"]}
        Agent(backend, system=settings["system"], options=options).run(settings["question"])

    with CassetteBackend(path, record="once", live=ScriptedBackend(["two"])) as backend:
        run(backend, usual)
    with pytest.raises(CassetteMiss) as missed:
        run(CassetteBackend(path), {**usual, **edit})
    assert told in str(missed.value)
    assert 'record="new_episodes"' in str(missed.value)


def test_what_mends_it_is_written_as_the_caller_writes_it(tmp_path: Path) -> None:
    """Whoever opens a cassette says how its settings are said there."""

    class InAForm(Ways):
        def setting(self, name: str, value: str | list[str]) -> str:
            return f"tick {name}: {value}"

    path = tmp_path / "c.yaml"
    path.write_text("interactions: []\nversion: 1\n")
    with pytest.raises(CassetteMiss, match="tick record: new_episodes"):
        Agent(CassetteBackend(path, ways=InAForm(path))).run("?")


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("c.yaml", 'CassetteBackend("c.yaml", record="all")'),
        ('a"b.yaml', """CassetteBackend('a"b.yaml', record="all")"""),
        ("a\\b.yaml", 'CassetteBackend(r"a\\b.yaml", record="all")'),
        ("x" * 200, 'CassetteBackend(path, record="all")'),
    ],
)
def test_a_setting_in_python_can_be_copied(path: str, written: str) -> None:
    """The path is written as Python reads it, unless it is too long to read."""
    assert Ways(path).mode("all") == written


def test_nothing_of_a_models_text_reaches_the_terminal(path: Path) -> None:
    """Control characters are shown as escapes, in one line each."""
    text = str(miss(path, "1\x1b[2J\r\n\u2028+1?"))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\\u001b" in text
