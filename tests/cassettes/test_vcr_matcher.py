"""The matcher `chat`, in stock vcrpy and in pytest-recording, with the real SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from react_replay.cassettes import chat_matcher

vcr = pytest.importorskip("vcr")

URL = "http://127.0.0.1:9/v1/chat/completions"
MATCH_ON = ("method", "path", "chat")
SYSTEM = "You are careful. " * 60


def history(call: str, *, word: str = "now", city: str = '{"city": "北京"}') -> list[dict[str, Any]]:
    called = {"id": call, "type": "function", "function": {"name": "get_weather", "arguments": city}}
    return [
        {"role": "system", "content": f"{SYSTEM}Answer {word}."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": call, "content": "25°C"},
    ]


def asked(messages: list[dict[str, Any]], **options: Any) -> Any:
    body = {"model": "m", "messages": messages, **options}
    return vcr.request.Request("POST", URL, json.dumps(body), {"content-type": "application/json"})


def cassette(folder: Path) -> Path:
    """A cassette as vcrpy writes it, with one answer."""
    answer = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "25"}, "finish_reason": "stop"}],
    }
    exchange = {
        "request": {
            "method": "POST",
            "uri": URL,
            "headers": {"content-type": ["application/json"]},
            "body": json.dumps({"messages": history("call_A1"), "model": "m"}),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": json.dumps(answer)},
        },
    }
    path = folder / "c.yaml"
    path.write_text(json.dumps({"interactions": [exchange], "version": 1}), encoding="utf-8")
    return path


@pytest.fixture
def client() -> Iterator[Any]:
    import openai

    with openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", max_retries=0) as made:
        yield made


@pytest.fixture
def recorder() -> Any:
    made = vcr.VCR(match_on=MATCH_ON, record_mode="none")
    made.register_matcher("chat", chat_matcher)
    return made


def test_ids_key_order_and_blanks_do_not_count(client: Any, recorder: Any, tmp_path: Path) -> None:
    """A request with other call ids, other key order and other blanks gets the recorded answer."""
    messages = [dict(reversed(item.items())) for item in history("call_ZZ9", city='{ "city":"北京"}')]
    with recorder.use_cassette(str(cassette(tmp_path))) as played:
        reply = client.chat.completions.create(model="m", messages=messages)
    assert reply.choices[0].message.content == "25"
    assert played.play_count == 1


def test_one_word_is_a_miss_with_our_text(client: Any, recorder: Any, tmp_path: Path) -> None:
    """vcrpy's error shows the changed word of a long prompt, and where it is."""
    with (
        recorder.use_cassette(str(cassette(tmp_path))),
        pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException) as failed,
    ):
        client.chat.completions.create(model="m", messages=history("call_A1", word="late"))
    said = str(failed.value)
    assert f"messages[0].content at character {len(SYSTEM) + 7}" in said
    assert "Answer now." in said
    assert "Answer late." in said


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"temperature": 0.5}, "temperature"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"model": "other"}, "model"),
    ],
)
def test_options_count(change: dict[str, Any], path: str) -> None:
    """Another temperature, tool or model is another request."""
    with pytest.raises(AssertionError, match=f"differ first in {path}"):
        chat_matcher(asked(history("a"), **change), asked(history("a")))


def test_what_steers_the_transport_does_not_count() -> None:
    """A stream of the same request is the same request."""
    chat_matcher(asked(history("a"), stream=True), asked(history("b")))


def test_true_is_not_one() -> None:
    """Arguments are compared as JSON, where true and 1 differ."""
    one, true = history("a", city='{"n": 1}'), history("a", city='{"n": true}')
    with pytest.raises(AssertionError, match=r"messages\[2\]\.tool_calls\[0\]\.function\.arguments\.n"):
        chat_matcher(asked(true), asked(one))


def test_one_message_more_is_named() -> None:
    """A request that goes on differs at its first new message."""
    longer = [*history("a"), {"role": "user", "content": "And tomorrow?"}]
    with pytest.raises(AssertionError, match=r"messages\[4\]:(.|\n)*absent(.|\n)*tomorrow"):
        chat_matcher(asked(longer), asked(history("a")))


@pytest.mark.parametrize("body", [b"", b"a=1", b"[1]", b'{"messages": 1}', b"\xff", b"[" * 100_000])
def test_other_bodies_are_compared_as_bytes(body: bytes) -> None:
    """What is no chat request matches itself and nothing else."""
    other = vcr.request.Request("POST", URL, body, {})
    chat_matcher(other, vcr.request.Request("POST", URL, body, {}))
    with pytest.raises(AssertionError, match="recorded is a chat request, now it is no chat request"):
        chat_matcher(other, asked(history("a")))


def test_bodies_that_are_iterators_are_read() -> None:
    """vcrpy hands bodies on as they came: bytes, an iterator or a file."""
    whole = asked(history("a"))
    parts = vcr.request.Request("POST", URL, iter([whole.body[:9], whole.body[9:]]), {})
    chat_matcher(parts, asked(history("b")))


def test_pytest_recording_takes_it_by_its_hook(tmp_path: Path) -> None:
    """Two lines in a conftest.py make `chat` known to pytest-recording."""
    (tmp_path / "conftest.py").write_text(
        "from react_replay.cassettes import chat_matcher\n\n"
        "def pytest_recording_configure(config, vcr):\n"
        '    vcr.register_matcher("chat", chat_matcher)\n'
    )
    folder = tmp_path / "cassettes" / "test_it"
    folder.mkdir(parents=True)
    (folder / "test_replay.yaml").write_bytes(cassette(tmp_path).read_bytes())
    (tmp_path / "test_it.py").write_text(
        "import openai, pytest\n\n"
        f"@pytest.mark.vcr(match_on={MATCH_ON!r})\n"
        "@pytest.mark.block_network\n"
        "def test_replay():\n"
        "    with openai.OpenAI(api_key='k', base_url='http://127.0.0.1:9/v1', max_retries=0) as client:\n"
        f"        reply = client.chat.completions.create(model='m', messages={history('call_ZZ9')!r})\n"
        "    assert reply.choices[0].message.content == '25'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
