"""Real traffic: every chat turn of the corpus that stock vcrpy can load replays as it was recorded."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from vcr.cassette import Cassette
from vcr.serializers import jsonserializer, yamlserializer

from react_replay import BackendError, CassetteBackend, Completion, Request

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
FILES = sorted(Path(FOLDER, "cassettes").glob("*/*.*")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")


def loaded(path: Path) -> list[tuple[Any, dict[str, Any]]] | None:
    """The interactions as stock vcrpy loads them; None where it cannot."""
    serializer = jsonserializer if path.suffix == ".json" else yamlserializer
    try:
        cassette = Cassette.load(path=str(path), serializer=serializer, record_mode="none")
        return [(request, response) for request, response in cassette.data]
    except Exception:
        return None


def text_of(body: Any) -> str:
    if isinstance(body, dict):
        body = body.get("string")
    data = body.encode() if isinstance(body, str) else bytes(body or b"")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def answered(response: dict[str, Any]) -> tuple[int, str]:
    """Status and text, also of vcrpy's layout for httpx before version 5."""
    if "status_code" in response:
        return response["status_code"], text_of(response["content"])
    return response["status"]["code"], text_of(response["body"])


def chat_body(request: Any) -> dict[str, Any] | None:
    try:
        body = json.loads(text_of(request.body))
    except ValueError:
        return None
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        return body
    return None


def read(text: str) -> tuple[str, list[tuple[str, str, str]], str | None]:
    """Content, calls and finish reason, by a reading that shares nothing with the package."""
    if not text.lstrip().startswith("data:") and "\ndata:" not in text and text[:1] != ":":
        whole = json.loads(text)
        [choice, *_] = whole["choices"]
        message = choice.get("message") or {}  # Azure's filter leaves it out
        calls = [
            (call.get("id", ""), call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or []
        ]
        if legacy := message.get("function_call"):
            calls = [("", legacy["name"], legacy["arguments"])]
        return message.get("content") or "", calls, choice.get("finish_reason")
    content, finish = "", None
    by_index: dict[int, list[str]] = {}
    opened: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            continue
        for choice in json.loads(line[5:]).get("choices") or []:
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or {}
            content += delta.get("content") or ""
            finish = choice.get("finish_reason") or finish
            for call in delta.get("tool_calls") or []:
                index, identity = call.get("index", 0), call.get("id") or ""
                if index not in by_index or identity not in ("", by_index[index][0]):
                    by_index[index] = [identity, "", ""]  # Mistral sends index 0 for every call
                    opened.append(by_index[index])
                function = call.get("function") or {}
                by_index[index][1] = by_index[index][1] or function.get("name") or ""
                by_index[index][2] += function.get("arguments") or ""
    return content, [(a, b, c) for a, b, c in opened], finish


def same_json(ours: Completion, theirs: list[tuple[str, str, str]]) -> None:
    assert [(call.id, call.name) for call in ours.tool_calls] == [(a, b) for a, b, _ in theirs]
    for call, (_, _, arguments) in zip(ours.tool_calls, theirs, strict=True):
        try:
            value = json.loads(arguments or "{}")
        except ValueError:
            assert call.error
            continue
        assert call.error or call.arguments == value
        if call.error:  # a reply that was cut before its arguments, and nothing else
            assert not arguments.strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_recorded_chat_request_gets_its_recorded_answer(path: Path) -> None:
    """Each request of the file, sent to `CassetteBackend`, returns the completion recorded for it."""
    turns = loaded(path)
    if turns is None:
        pytest.skip("stock vcrpy cannot load it")
    with CassetteBackend(path) as backend:
        for request, response in turns:
            body = chat_body(request)
            if body is None:
                continue
            status, text = answered(response)
            if status >= 400 or '"choices"' not in text:
                # A fault, an error under status 200, or another protocol under the same field name.
                with pytest.raises(BackendError) as caught:
                    backend.complete(Request.of(body))
                assert caught.value.status == (status if status >= 400 else None)
                continue
            content, calls, finish = read(text)
            done = backend.complete(Request.of(body))
            assert (done.content or "") == content
            same_json(done, calls)
            assert done.finish_reason == finish or not finish


def test_the_corpus_holds_what_it_promises() -> None:
    """Enough files load with vcrpy for the test above to mean something, DeepSeek's among them."""
    ours = [path for path in FILES if loaded(path) is not None]
    asked = [
        str(request.uri)
        for path in ours
        for request, _ in loaded(path) or []
        if chat_body(request) is not None
    ]
    assert len(ours) >= 40
    assert len(asked) >= 40
    assert any("deepseek" in uri for uri in asked)
    assert any("openai.com" in uri for uri in asked)
