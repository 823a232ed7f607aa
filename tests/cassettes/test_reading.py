"""What cannot be read is an error that says why, is never taken for empty, and is left as it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, CassetteError, ScriptedBackend
from react_replay.cassettes.reading import read_cassette
from react_replay.errors import CassetteMissing

GOOD = """\
interactions:
- request:
    body: '{"messages": [{"role": "user", "content": "?"}], "model": "m"}'
    headers: {}
    method: POST
    uri: https://api.openai.com/v1/chat/completions
  response:
    body:
      string: '{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'
    headers: {}
    status: {code: 200, message: OK}
version: 1
"""

BAD = {
    "empty": b"",
    "blank": b" \n\n",
    "binary": bytes(range(256)),
    "truncated": GOOD.encode()[: GOOD.index("finish_reason")],
    "text": b"hello there",
    "list": b"- 1\n- 2\n",
    "other key": b"episodes: []\n",
    "no list": b"interactions: {}\n",
    "future": b"interactions: []\nversion: 2\n",
    "no response": b"interactions:\n- request: {body: x}\nversion: 1\n",
    "no status": b"interactions:\n- request: {}\n  response: {body: {string: x}}\nversion: 1\n",
    "bad gzip": b"interactions:\n- request: {}\n"
    b"  response: {body: {string: !!binary H4sIAAAA}, status: 200}\n",
    "two documents": b"interactions: []\n---\ninteractions: []\n",
    "python tag": b"interactions: !!python/object/apply:os.system ['true']\n",
    "bad metadata": b"x_react_replay: 7\ninteractions: []\n",
    "bad time": b"x_react_replay: {recorded_at: noon}\ninteractions: []\nversion: 1\n",
}


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all"])
@pytest.mark.parametrize("kind", BAD)
def test_an_unreadable_file_is_an_error_and_stays_as_it_is(kind: str, mode: str, tmp_path: Path) -> None:
    """In every record mode the error names the file, and the file is untouched."""
    path = tmp_path / "c.yaml"
    path.write_bytes(BAD[kind])
    if (kind, mode) == ("bad time", "all"):  # its answers are readable, and all are replaced
        return
    with pytest.raises(CassetteError, match=r"c\.yaml") as caught:
        Agent(CassetteBackend(path, record=mode, live=ScriptedBackend(["new"]))).run("?")
    assert not isinstance(caught.value, CassetteMissing)
    assert caught.value.path == str(path)
    assert path.read_bytes() == BAD[kind]


def test_a_missing_file_says_how_to_record_it(tmp_path: Path) -> None:
    """In mode `none` a missing cassette is an error with its path and the way to make it."""
    with pytest.raises(CassetteMissing, match=r"none\.yaml.*record") as caught:
        CassetteBackend(tmp_path / "none.yaml")
    assert caught.value.path == str(tmp_path / "none.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_cassette(tmp_path: Path) -> None:
    """A path that cannot be opened is a `CassetteError`, in every mode."""
    for mode in ("none", "once"):
        with pytest.raises(CassetteError):
            CassetteBackend(tmp_path, record=mode, live=ScriptedBackend([]))


def variant(**changes: Any) -> dict[str, Any]:
    answer = {"choices": [{"message": {"content": "hi 北京"}, "finish_reason": "stop"}]}
    asked = {"messages": [{"role": "user", "content": "?"}]}
    request = {"body": json.dumps(asked), "headers": {}, "method": "POST", "uri": "https://x/y"}
    response: dict[str, Any] = {
        "body": {"string": json.dumps(answer)},
        "headers": {},
        "status": {"code": 200, "message": "OK"},
    }
    for name, value in changes.items():
        side, _, key = name.partition("_")
        (request if side == "request" else response)[key] = value
    return {"interactions": [{"request": request, "response": response}], "version": 1}


PLAIN = json.dumps({"choices": [{"message": {"content": "hi 北京"}, "finish_reason": "stop"}]}).encode()


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(variant(), id="text"),
        pytest.param(variant(response_body={"string": PLAIN}), id="bytes"),
        pytest.param(variant(response_body={"string": gzip.compress(PLAIN)}), id="gzip"),
        pytest.param(
            {
                "interactions": [
                    {
                        "request": variant()["interactions"][0]["request"],
                        "response": {"status_code": 200, "content": PLAIN.decode(), "headers": {}},
                    }
                ],
                "version": 1,
            },
            id="old httpx",
        ),
    ],
)
def test_bodies_in_the_layouts_of_vcrpy_are_read(document: dict[str, Any], tmp_path: Path) -> None:
    """Text, bytes, gzip and the old httpx layout give the same answer."""
    import yaml

    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert Agent(CassetteBackend(path)).run("?").answer == "hi 北京"


def test_a_json_cassette_is_read(tmp_path: Path) -> None:
    """vcrpy's JSON serializer writes the same layout."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(variant()))
    assert Agent(CassetteBackend(path)).run("?").answer == "hi 北京"


def test_other_traffic_in_the_file_is_no_chat_turn(tmp_path: Path) -> None:
    """A GET without a body is kept and numbered, and answers nothing."""
    path = tmp_path / "c.yaml"
    get = GOOD.replace("interactions:\n", "").split("version")[0]
    get = get.replace('\'{"messages": [{"role": "user", "content": "?"}], "model": "m"}\'', "null")
    path.write_text("interactions:\n" + get + GOOD.removeprefix("interactions:\n"))
    recorded = read_cassette(path).recorded
    assert [turn.request is None for turn in recorded] == [True, False]
    assert Agent(CassetteBackend(path)).run("?").answer == "hi"


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_recorded_error_is_the_same_fault_again(status: int, tmp_path: Path) -> None:
    """An HTTP error replays as `backend_error` with its words."""
    path = tmp_path / "c.json"
    error = {"string": json.dumps({"error": {"message": "no luck"}})}
    document = variant(response_body=error, response_status={"code": status, "message": "x"})
    path.write_text(json.dumps(document))
    result = Agent(CassetteBackend(path)).run("?")
    assert str(result.stop_reason) == "backend_error"
    assert f"HTTP {status}: no luck" in result.error
