"""Cassettes as they are written: lossless, without secrets, all or nothing; stock vcrpy plays them."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
import vcr
import yaml
from hypothesis import given
from hypothesis import strategies as st

from react_replay import (
    Agent,
    CassetteBackend,
    CassetteError,
    LiveBackend,
    ScriptedBackend,
    ToolCall,
)
from react_replay.cassettes.reading import read_cassette
from react_replay.cassettes.writing import interaction_of, render, save
from react_replay.wire import Exchange

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.text("\n \t:#-'\"|>&*!%@`{}[],?北🌤a\x85\u2028\ufeff\x00\x7f\r", max_size=12)
    | st.binary(max_size=12)
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, TREES, max_size=4))
def test_what_is_rendered_loads_back_the_same(document: dict[str, Any]) -> None:
    """Any document of texts, bytes, numbers, lists and mappings survives, in both YAML readers."""
    text = render(document)
    loaded = yaml.load(text, Loader=yaml.SafeLoader)
    assert loaded == document or (not document and loaded == {})
    assert yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) == loaded


def exchange(request: bytes, *chunks: bytes, **fields: Any) -> Exchange:
    headers = {"content-type": "application/json"}
    url = fields.pop("url", "https://api.example.com/v1/chat/completions")
    fields = {"request_headers": headers, "response_headers": headers} | fields
    return Exchange(url=url, request_body=request, chunks=chunks, **fields)


ASKED = b'{"messages":[{"role":"user","content":"?"}]}'


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda t: t.encode("utf-8", "replace")))
def test_any_body_is_kept(body: bytes) -> None:
    """The body of an answer comes back byte for byte where it is no JSON object or array."""
    kept = interaction_of(exchange(ASKED, body))
    text = render({"interactions": [kept]})
    loaded = yaml.safe_load(text)["interactions"][0]["response"]["body"]["string"]
    back = loaded.encode() if isinstance(loaded, str) else loaded
    if body[:1] not in (b"{", b"["):
        assert back == body


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.booleans(), st.booleans())
def test_a_json_body_keeps_its_meaning(value: dict[str, Any], ascii_only: bool, compact: bool) -> None:
    """However a JSON body was spelled, what is written parses to the same value."""
    separators = (",", ":") if compact else (", ", ": ")
    body = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    sent = body.encode("utf-8", "replace")
    kept = interaction_of(exchange(sent, b"x"))["request"]["body"]
    assert json.loads(kept) == json.loads(sent)


@given(VALUES)
def test_indenting_is_that_of_json(value: Any) -> None:
    """A body in plain words is written as `json.dumps` indents it."""
    plain = json.loads(re.sub(r"\\u[0-9a-f]{4}", "北", json.dumps({"a": value})))
    kept = interaction_of(exchange(json.dumps(plain).encode(), b"x"))["request"]["body"]
    assert kept == json.dumps(plain, ensure_ascii=False, indent=2)


def test_json_is_indented_with_raw_chinese_and_emoji() -> None:
    """A reviewer reads 北京 and 🌤 in an indented block, whatever the wire escaped."""
    body = json.dumps({"messages": [{"role": "user", "content": "北京 🌤"}]}).encode()
    text = render({"interactions": [interaction_of(exchange(body, b"x"))]})
    assert "body: |" in text
    assert '"content": "北京 🌤"\n' in text
    assert "\\u5317" not in text


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1.0e2}',
        b'{"a":1,"a":2}',
        b'{"a": 1 }',
        b'{"a":"\\/"}',
        b'{"a":10000000000000000000.5}',
    ],
)
def test_json_that_indenting_would_change_is_kept_raw(body: bytes) -> None:
    """A number's spelling, a repeated key or odd white space stays as it was sent."""
    kept = interaction_of(exchange(body, b"x"))["request"]["body"]
    assert kept == body.decode()


def test_chunk_boundaries_are_kept() -> None:
    """A stream comes back in the pieces in which it arrived, cut inside a character or not."""
    pieces = ("data: 北".encode()[:-1], "北".encode()[-1:] + b"\n\n", b"data: [DONE]\n\n")
    kept = interaction_of(exchange(ASKED, *pieces))
    assert kept["response"]["x_react_replay"]["chunks"] == [len(piece) for piece in pieces]


def test_secret_headers_never_reach_the_file() -> None:
    """Headers pass by allow-list: authorization, cookies and organisations are not on it."""
    secret = {
        "Authorization": "Bearer abc",
        "Cookie": "s=1",
        "OpenAI-Organization": "org-1",
        "X-Api-Key": "k",
        "Accept": "application/json",
    }
    answered = {"Set-Cookie": "s=2", "openai-organization": "org-1", "x-request-id": "r1"}
    kept = interaction_of(exchange(ASKED, b"x", request_headers=secret, response_headers=answered))
    assert kept["request"]["headers"] == {"accept": ["application/json"]}
    assert kept["response"]["headers"] == {"x-request-id": ["r1"]}


def test_a_url_loses_its_key() -> None:
    """Key parameters, user and password are taken out of the URL."""
    url = "https://me:pw@host.example/v1/chat?api-key=abc&version=2&sig=x#frag"
    kept = interaction_of(exchange(ASKED, b"x", url=url))
    assert kept["request"]["uri"] == "https://host.example/v1/chat?version=2"


# Put together here, so that no scanner takes this file for a leak.
SHAPES = [
    "sk-" + "a1B2" * 8,
    "sk-proj-" + "a1B2" * 8,
    "AKIA" + "A1" * 8,
    "AIza" + "a" * 35,
    "ghp_" + "a" * 36,
    "Bearer " + "a1" * 15,
    "eyJ" + "a" * 12 + ".eyJ" + "b" * 12 + "." + "c" * 12,
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[:6])
@pytest.mark.parametrize("place", ["request", "answer", "metadata"])
def test_a_key_shaped_string_stops_the_write(shape: str, place: str, tmp_path: Path) -> None:
    """Nothing is written, and the error names the place but not the key."""
    asked = json.dumps({"messages": [{"role": "user", "content": shape}]}).encode()
    kept = interaction_of(
        exchange(asked if place == "request" else ASKED, shape.encode() if place == "answer" else b"x")
    )
    path = tmp_path / "c.yaml"
    with pytest.raises(CassetteError, match="looks like a key") as caught:
        save(path, [kept], {"model": shape if place == "metadata" else "m"})
    assert shape not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_key_in_use_stops_the_write_whatever_its_shape(server: Any, tmp_path: Path) -> None:
    """A provider that echoes an unusual key does not get it into the file."""
    server.json({"choices": [{"message": {"content": "your key is hunter2-hunter2"}}]})
    path = tmp_path / "c.yaml"
    live = LiveBackend(model="m", api_key="hunter2-hunter2", base_url=server.url)
    backend = CassetteBackend(path, record="once", live=live)
    with pytest.raises(CassetteError, match="looks like a key"):
        Agent(backend).run("?")
    live.close()
    assert not path.exists()


def test_a_failing_replace_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new file takes the old one's place at once, or not at all; nothing else stays behind."""
    path = tmp_path / "c.yaml"
    save(path, [interaction_of(exchange(ASKED, b"old"))], {})
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CassetteError, match="No space left"):
        save(path, [interaction_of(exchange(ASKED, b"new"))], {})
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.yaml"]


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    """The first cassette of a suite makes its folder."""
    path = tmp_path / "a" / "b" / "c.yaml"
    save(path, [interaction_of(exchange(ASKED, b"x"))], {})
    assert len(read_cassette(path).recorded) == 1


def test_provenance_stands_in_one_key_of_its_own(tmp_path: Path) -> None:
    """`x_react_replay` says where the recording comes from; vcrpy's own `metadata` is not used."""
    path = tmp_path / "c.yaml"
    live = ScriptedBackend(["hi"])
    with CassetteBackend(path, record="once", live=live, metadata={"test": "t1"}) as backend:
        Agent(backend).run("?")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(document) == {"x_react_replay", "interactions", "version"}
    kept = document["x_react_replay"]
    assert kept["origin"] == "scripted"
    assert kept["test"] == "t1"
    assert kept["recorder"].startswith("react-replay ")
    assert document["interactions"][0]["request"]["uri"] == ("https://scripted.invalid/v1/chat/completions")


MESSAGES: list[Any] = [{"role": "user", "content": "北京 🌤?"}]
PLAYER = vcr.VCR(record_mode=vcr.mode.NONE, match_on=["method", "uri", "body"])


def record(server: Any, path: Path, streamed: bool) -> None:
    message = {"role": "assistant", "content": "25°C ☀"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    live = LiveBackend(model="m", api_key="key-of-a-test", base_url=server.url)
    with CassetteBackend(path, record="once", live=live) as backend:
        if streamed:
            pieces = []
            for text in ("25", "°C", " ☀"):
                delta = [{"index": 0, "delta": {"content": text}, "finish_reason": None}]
                chunk = {**whole, "object": "chat.completion.chunk", "choices": delta}
                pieces.append(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
            server.events(*pieces, b"data: [DONE]\n\n")
            list(Agent(backend).stream("北京 🌤?"))
        else:
            server.json(whole)
            Agent(backend).run("北京 🌤?")
    live.close()


@pytest.mark.parametrize("form", ["sync", "async", "stream", "astream"])
def test_stock_vcrpy_plays_our_file_through_the_sdk(server: Any, tmp_path: Path, form: str) -> None:
    """`use_cassette` with body matching answers the openai SDK from what we recorded."""
    path = tmp_path / "c.yaml"
    record(server, path, "stream" in form)
    server.close()
    settings: dict[str, Any] = {"api_key": "other", "base_url": server.url, "max_retries": 0}
    body: dict[str, Any] = {"model": "m", "messages": MESSAGES}
    if "stream" in form:
        body |= {"stream": True, "stream_options": {"include_usage": True}}

    def sync() -> str:
        with openai.OpenAI(**settings) as client:
            answer = client.chat.completions.create(**body)
            if form == "stream":
                return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
            return str(answer.choices[0].message.content)

    async def on_a_loop() -> str:
        async with openai.AsyncOpenAI(**settings) as client:
            answer = await client.chat.completions.create(**body)
            if form == "astream":
                return "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
            return str(answer.choices[0].message.content)

    forms: dict[str, Callable[[], str]] = {
        "sync": sync,
        "stream": sync,
        "async": lambda: asyncio.run(on_a_loop()),
        "astream": lambda: asyncio.run(on_a_loop()),
    }
    with PLAYER.use_cassette(str(path)) as cassette:
        assert forms[form]() == "25°C ☀"
        assert cassette.all_played


def test_recording_the_same_run_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """But for the time, a cassette is a function of the run."""
    texts = []
    for name in ("a.yaml", "b.yaml"):
        live = ScriptedBackend([ToolCall(name="nope"), "done"])
        extra = {"recorded_at": "2026-01-01T00:00:00+00:00"}
        path = tmp_path / name
        with CassetteBackend(path, record="once", live=live, metadata=extra) as backend:
            Agent(backend).run("?")
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]
