"""`redact=`: what is recorded holds placeholders, and it replays when the real secrets are asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteError,
    CassetteMiss,
    ConfigurationError,
    Request,
    ScriptedBackend,
    ToolCall,
    tool,
)
from react_replay.cassettes import cassette_transport
from react_replay.cassettes.blanked import Blanked
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.redact import PLACEHOLDER, Redaction, redacted
from react_replay.log import Log

KEY = "sk-" + "a1B2" * 8
OTHER = "gsk_" + "c3D4" * 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def ask(*contents: str) -> Request:
    return Request.of({"messages": [{"role": "user", "content": text} for text in contents]})


def record(path: Path, *questions: str, replies: list[Any] | None = None, **options: Any) -> CassetteBackend:
    given = {"record": "new_episodes", "redact": True, **options}
    live = ScriptedBackend(replies or [f"re: {question}" for question in questions])
    with CassetteBackend(path, live=live, **given) as backend:
        for question in questions:
            backend.complete(ask(question))
    return backend


@pytest.mark.parametrize("layout", ["full", "delta"])
@pytest.mark.parametrize("name", ["c.yaml", "c.json"])
def test_a_key_is_replaced_in_question_and_answer(tmp_path: Path, layout: str, name: str) -> None:
    """By the same placeholder in both, in either layout and format."""
    record(tmp_path / name, f"is {KEY} good?", layout=layout)
    text = (tmp_path / name).read_text()
    assert (text.count("[redacted-1]"), KEY in text) == (2, False)


@pytest.mark.parametrize("options", [{}, {"redact": True}])
def test_the_same_question_replays(path: Path, options: dict[str, Any]) -> None:
    """The file says that it was redacted, so that a replay need not; the answer has the placeholder."""
    record(path, f"is {KEY} good?")
    with CassetteBackend(path, **options) as backend:
        assert backend.complete(ask(f"is {KEY} good?")).content == "re: is [redacted-1] good?"
        with pytest.raises(CassetteMiss) as caught:
            backend.complete(ask(f"is {KEY} bad?"))
    assert KEY not in str(caught.value)


def test_patterns_are_replaced_where_they_are_given(path: Path) -> None:
    """On recording and on replay; keys are replaced with them."""
    record(path, f"room 12 for {KEY}", redact=[r"room (\d+)"])
    assert "room [redacted-1] for [redacted-2]" in path.read_text()
    with CassetteBackend(path, redact=[re.compile(r"room (\d+)")]) as backend:
        backend.complete(ask(f"room 14 for {KEY}"))
    with CassetteBackend(path) as backend, pytest.raises(CassetteMiss):
        backend.complete(ask(f"room 12 for {KEY}"))


def test_a_run_with_a_secret_in_a_tools_result_replays(path: Path) -> None:
    """The history of the later requests has it too: the run ends as it did."""

    @tool
    def token(name: str) -> str:
        """The token of a service."""
        return f"{name}: {OTHER}"

    replies: list[Any] = [ToolCall(name="token", arguments={"name": f"a {KEY}"}), "done"]
    for mode in ("once", "none"):
        live = ScriptedBackend(replies)
        with CassetteBackend(path, record=mode, live=live, redact=True) as backend:
            assert Agent(backend, tools=[token]).run(f"What is the token of {KEY}?").answer == "done"
        assert backend.live_calls == (2 if mode == "once" else 0)
    text = path.read_text()
    assert KEY not in text and OTHER not in text
    assert set(PLACEHOLDER.findall(text)) == {"1", "2"}


def test_a_later_session_numbers_on(path: Path) -> None:
    """Placeholders of the file stand for other secrets; they are not replaced again."""
    record(path, f"is {KEY} good?")
    record(path, f"is {OTHER} bad?", redact=[r"\d+"])
    asked = [
        str(turn.request.messages[0]["content"]) for turn in read_cassette(path).recorded if turn.request
    ]
    assert asked == ["is [redacted-1] good?", "is [redacted-2] bad?"]


def test_numbers_go_on_behind_a_broken_off_recording(path: Path) -> None:
    """What waits in a journal has its numbers too, and no secret."""
    with (
        pytest.raises(RuntimeError),
        CassetteBackend(path, record="once", live=ScriptedBackend(["a"]), redact=True) as backend,
    ):
        backend.complete(ask(f"is {KEY} good?"))
        raise RuntimeError
    (journal,) = path.parent.glob("*.journal")
    assert KEY not in journal.read_text()
    record(path, f"is {OTHER} bad?", record="once")
    text = path.read_text()
    assert "[redacted-1]" in text and "[redacted-2]" in text


@pytest.mark.parametrize("redact", [False, ()])
@pytest.mark.parametrize("place", ["metadata", "prompt", "answer"])
def test_without_redact_a_key_stops_the_write(path: Path, place: str, redact: Any) -> None:
    """Nothing reaches a file, a journal neither, and the way out is named."""
    live = ScriptedBackend([KEY if place == "answer" else "hi"])
    metadata = {"note": KEY if place == "metadata" else "x"}
    where = "x_react_replay.note" if place == "metadata" else "body"
    with (
        pytest.raises(CassetteError, match=rf"{where}.*--redact"),
        CassetteBackend(path, record="once", live=live, metadata=metadata, redact=redact) as backend,
    ):
        backend.complete(ask(KEY if place == "prompt" else "hi"))
    assert [*path.parent.iterdir()] == []


@pytest.mark.parametrize("redact", ["sk-.*", 5, b"x", re.compile("y")])
@pytest.mark.parametrize("mode", ["none", "once"])
def test_a_redact_that_is_no_list_is_refused(path: Path, redact: Any, mode: str) -> None:
    """A text would be a list of its letters."""
    record(path, "a")
    with pytest.raises(ConfigurationError, match="redact must be True or a list"):
        CassetteBackend(path, record=mode, redact=redact)


def test_a_transport_redacts_the_key_in_use(server: Any, path: Path) -> None:
    """The client's own key in a prompt and in a reply, whatever it looks like."""
    key = "no-special-shape"
    message = {"role": "assistant", "content": f"you said {key}"}
    server.json({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    transport = cassette_transport(path, record="once", redact=True)
    http = httpx2.Client(transport=transport)
    with openai.OpenAI(api_key=key, base_url=server.url, http_client=http) as client:
        asked: Any = [{"role": "user", "content": f"I am {key}"}]
        client.chat.completions.create(model="m", messages=asked)
    text = path.read_text()
    assert (key in text, text.count("[redacted-1]")) == (False, 2)


@pytest.mark.parametrize("where", ["header", "parameter"])
def test_a_transport_knows_keys_by_the_name_of_their_place(server: Any, path: Path, where: str) -> None:
    """Such as another service's header, or `?key=` in the URL."""
    key = "no-special-shape"
    choice = {"index": 0, "message": {"content": key}, "finish_reason": "stop"}
    server.json({"model": "m", "choices": [choice]})
    given: dict[str, Any] = (
        {"default_headers": {"x-goog-api-key": key}} if where == "header" else {"default_query": {"key": key}}
    )
    http = httpx2.Client(transport=cassette_transport(path, record="once"))
    asked: Any = [{"role": "user", "content": "?"}]
    with (
        openai.OpenAI(api_key="other", base_url=server.url, http_client=http, **given) as client,
        pytest.raises(CassetteError, match="the key in use"),
    ):
        client.chat.completions.create(model="m", messages=asked)


@given(st.text("ab[]redacted-123 ", max_size=30), st.sampled_from(["[a-z]+", r"\d", ".*", "a"]))
def test_placeholders_are_left_as_they_are(text: str, pattern: str) -> None:
    """What was redacted once keeps its placeholders, and nothing else that matches is left."""
    mixed = f"{text}[redacted-7]{text}"
    clean = redacted(mixed, [pattern])
    rest = PLACEHOLDER.sub("", clean)
    assert "[redacted-7]" in clean
    assert not re.search(pattern, rest) or pattern == ".*"
    assert redacted(clean, [pattern]) == clean


def test_a_growing_history_is_blanked_as_it_grows() -> None:
    """The blanked requests are views of one log, so that what compares them goes on from the last."""
    blanked = Blanked()
    log: Log[Any] = Log([{"role": "user", "content": f"a {KEY}"}])
    first = blanked(Request(log))
    second = blanked(Request(log.extend([{"role": "user", "content": "[redacted-3]"}])))
    assert [m["content"] for m in second.messages] == ["a [redacted]", "[redacted]"]
    assert second.messages.continues(first.messages)  # type: ignore[attr-defined]


def test_numbers_follow_those_of_a_text() -> None:
    """And stay apart from them."""
    redaction = Redaction(shapes=True)
    redaction.follow("[redacted-4] and [redacted-2]")
    assert redaction({"a": KEY, "b": OTHER, "c": KEY}) == {
        "a": "[redacted-5]",
        "b": "[redacted-6]",
        "c": "[redacted-5]",
    }
    assert json.loads(redaction.text(json.dumps({"a": KEY}))) == {"a": "[redacted-5]"}
