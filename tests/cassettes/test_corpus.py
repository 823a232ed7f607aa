"""Real traffic: every chat turn of the corpus, in every layout, replays as it was recorded."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from react_replay import BackendError, CassetteBackend, Completion, Request
from react_replay.cassettes.reading import read_cassette

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
FILES = sorted(Path(FOLDER, "cassettes").glob("*/*.*")) if FOLDER else []
Turn: TypeAlias = tuple[str, int, str]
Calls: TypeAlias = "list[tuple[str, str, str | None]]"
pytestmark = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")


class Plain(yaml.SafeLoader):
    """A loader that takes every unknown tag for what stands below it."""


def untagged(loader: Any, node: Any) -> Any:
    if isinstance(node, yaml.SequenceNode):
        items = loader.construct_sequence(node, deep=True)
        return items[0] if len(items) == 1 else items
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return loader.construct_scalar(node)


Plain.add_constructor(None, untagged)
Plain.add_constructor("!binary", lambda _, node: base64.b64decode(node.value))


def traced(data: bytes) -> Iterator[Turn]:
    """The exchanges of an httprr trace, found by their lengths."""
    _, _, rest = data.partition(b"\n")
    while rest:
        lengths, _, rest = rest.partition(b"\n")
        asked, answered = map(int, lengths.split())
        request, response = rest[:asked], rest[asked : asked + answered]
        rest = rest[asked + answered :]
        status = int(response.split(b" ", 2)[1])
        yield request.partition(b"\r\n\r\n")[2].decode(), status, response.partition(b"\r\n\r\n")[2].decode()


def documented(data: bytes) -> Iterator[Turn]:
    """The exchanges of a YAML or JSON file, whatever its fields are called."""
    for document in yaml.load_all(data, Loader=Plain):
        listed = document.get("interactions") or document.get("http_interactions") or [document]
        for entry in listed:
            asked = entry.get("request") or entry["when"]
            answered = entry.get("response") or entry["then"]
            yield body_of(asked), status_of(answered), body_of(answered)


def body_of(side: dict[str, Any]) -> str:
    if "parsed_body" in side:
        return json.dumps(side["parsed_body"])
    return text_of(side["content"] if "content" in side else side.get("body"))


def status_of(side: dict[str, Any]) -> int:
    status = side.get("code") or side.get("status_code") or side["status"]
    return int(status["code"] if isinstance(status, dict) else status)


def recorded(path: Path) -> list[Turn]:
    """Request body, status and answer of every exchange, by a reading that shares nothing with ours."""
    data = path.read_bytes()
    return list(traced(data) if data.startswith(b"httprr") else documented(data))


def text_of(body: Any) -> str:
    if isinstance(body, dict):
        body = body.get("string")
    data = body.encode() if isinstance(body, str) else bytes(body or b"")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def chat_body(text: str) -> dict[str, Any] | None:
    try:
        body = json.loads(text)
    except ValueError:
        return None
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        return body
    return None


def said(content: Any) -> str:
    """A text, or the texts of a list of parts (Mistral's thinking models)."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def read(text: str) -> tuple[str, Calls, str | None]:
    """Content, calls and finish reason, by a reading that shares nothing with the package."""
    if not text.lstrip().startswith("data:") and "\ndata:" not in text and text[:1] != ":":
        whole = json.loads(text)
        [choice, *_] = whole["choices"]
        message = choice.get("message") or {}  # Azure's filter leaves it out
        calls = [
            (call.get("id", ""), call["function"]["name"], call["function"].get("arguments"))
            for call in message.get("tool_calls") or []
        ]
        if not calls and (legacy := message.get("function_call")):
            calls = [("", legacy["name"], legacy["arguments"])]
        return said(message.get("content")), calls, choice.get("finish_reason")
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
            content += said(delta.get("content"))
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


def same_json(ours: Completion, theirs: Calls) -> None:
    assert [(call.id, call.name) for call in ours.tool_calls] == [(a, b) for a, b, _ in theirs]
    for call, (_, _, arguments) in zip(ours.tool_calls, theirs, strict=True):
        try:
            value = json.loads(arguments or "{}") or {}
        except ValueError:
            assert call.error
            continue
        assert call.error or call.arguments == value
        if call.error:  # a reply that was cut before its arguments, and nothing else
            assert not (arguments or "").strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_recorded_chat_request_gets_its_recorded_answer(path: Path) -> None:
    """Each request of the file, sent to `CassetteBackend`, returns the completion recorded for it."""
    played = 0
    with CassetteBackend(path) as backend:
        for asked, status, text in recorded(path):
            body = chat_body(asked)
            if body is None:
                continue
            played += 1
            if status >= 400 or '"choices"' not in text or '\ndata: {"error"' in text:
                # A fault, an error under status 200, or another protocol under the same field name.
                with pytest.raises(BackendError) as caught:
                    backend.complete(Request.of(body))
                assert caught.value.status in ((status,) if status >= 400 else (None, status))
                continue
            content, calls, finish = read(text)
            done = backend.complete(Request.of(body))
            assert (done.content or "") == content
            same_json(done, calls)
            assert done.finish_reason == finish or finish in (None, "", "eos")
        assert backend.unplayed == []
    assert played or "azure_openai_chat_completion_score" in path.name


def index() -> list[dict[str, str]]:
    with Path(FOLDER, "cassettes", "INDEX.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_file_holds_what_the_index_says() -> None:
    """The number of exchanges, of chat exchanges, their statuses and whether they stream."""
    for row in index():
        turns = read_cassette(Path(FOLDER, "cassettes", row["file"])).recorded
        chats = [turn for turn in turns if turn.chat]
        statuses = ",".join(sorted({str(turn.status) for turn in chats}))
        found = (len(turns), len(chats), any(turn.streamed for turn in chats), statuses)
        said = (int(row["interactions"]), int(row["chat_completions"]), row["stream"] == "y")
        assert (row["file"], *found) == (row["file"], *said, row["http_status"])
