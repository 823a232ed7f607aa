"""`react-replay convert`: what it writes plays in stock vcrpy and pytest-recording; nothing is lost."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import vcr
import yaml

from react_replay import CassetteBackend, Request
from react_replay.cassettes.comparing import compare
from react_replay.cassettes.reading import read_cassette
from tests.cli.conftest import URL, Command, Make

pytest_plugins = ["pytester"]

CORPUS = os.environ.get("REACT_REPLAY_CORPUS", "")
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "北京 🌤?"}]}
ANSWER: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "晴"}, "finish_reason": "stop"}],
}
SAID, ANSWERED = json.dumps(ASKED), json.dumps(ANSWER)
JSON = {"Content-Type": ["application/json"]}


def documents() -> dict[str, Any]:
    """The same exchange as other recorders keep it."""
    go = {"request": {"body": SAID, "headers": JSON, "url": URL, "method": "POST"}}
    ruby_answer = {"encoding": "UTF-8", "base64_string": base64.b64encode(ANSWERED.encode()).decode()}
    status = {"code": 200, "message": "OK"}
    parsed = {"method": "POST", "uri": URL, "headers": {}, "parsed_body": ASKED}
    return {
        "go-vcr": {
            "version": 2,
            "interactions": [go | {"response": {"body": ANSWERED, "headers": JSON, "code": 200}}],
        },
        "ruby-vcr": {
            "http_interactions": [
                {
                    "request": {"method": "post", "uri": URL, "body": {"string": SAID}, "headers": JSON},
                    "response": {"status": status, "headers": {}, "body": ruby_answer},
                    "recorded_at": "Tue, 05 Mar 2024 10:00:00 GMT",
                }
            ],
            "recorded_with": "VCR 6.3.1",
        },
        "parsed": {
            "version": 1,
            "interactions": [
                {"request": parsed, "response": {"status": status, "headers": {}, "parsed_body": ANSWER}}
            ],
        },
        "httpmock": {
            "when": {"path": "/v1/chat/completions", "method": "POST", "body": SAID},
            "then": {"status": 200, "body": ANSWERED},
        },
        "ddtrace": {
            "request": {"method": "POST", "url": URL, "headers": {}, "body": SAID},
            "response": {"status": {"code": 200}, "headers": {}, "body": ANSWERED},
        },
    }


@pytest.fixture(params=documents())
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.yaml"
    path.write_text(yaml.safe_dump(documents()[request.param], sort_keys=False), "utf-8")
    return path


def played_by_vcrpy(path: Path, uri: str) -> Any:
    """The answer of stock vcrpy to the recorded request, matched by its body too."""
    form = "json" if path.suffix == ".json" else "yaml"
    match = ["method", "scheme", "host", "port", "path", "query", "body"]
    with (
        vcr.use_cassette(str(path), record_mode="none", serializer=form, match_on=match) as cassette,
        openai.OpenAI(api_key="k", base_url=uri.removesuffix("/chat/completions"), max_retries=0) as client,
    ):
        said = client.chat.completions.create(**ASKED)
        assert cassette.all_played
    return said.choices[0].message.content


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_any_recorders_cassette_plays_in_stock_vcrpy(
    command: Command, foreign: Path, tmp_path: Path, suffix: str
) -> None:
    """With its bodies compared; YAML and JSON; the bodies are indented and unescaped."""
    out = tmp_path / "new" / f"out.{suffix}"
    done = command("convert", foreign, out)
    assert (done.code, done.err) == (0, "")
    (interaction,) = read_cassette(out).interactions
    assert played_by_vcrpy(out, interaction["request"]["uri"]) == "晴"
    assert "北京 🌤?" in out.read_text("utf-8")
    assert interaction["request"]["body"] == json.dumps(ASKED, ensure_ascii=False, indent=2)


def test_provenance_is_kept_and_none_is_invented(command: Command, foreign: Path, tmp_path: Path) -> None:
    """Another recorder's file says that it was converted, from what, and its date where it has one."""
    out = tmp_path / "out.yaml"
    command("convert", foreign, out)
    said = read_cassette(out).metadata
    assert (said["origin"], said["model"]) == ("converted", "m")
    assert said["converted_from"] == read_cassette(foreign).layout
    assert ("recorded_at" in said) is (foreign.stem == "ruby-vcr")


def test_what_is_converted_plays_in_pytest_recording(
    command: Command, make: Make, pytester: pytest.Pytester
) -> None:
    """With `match_on=["body"]` and the network blocked; a delta file of ours, expanded."""
    delta = make("delta.yaml", "one", "two", layout="delta")
    command("convert", delta, pytester.path / "cassettes" / "test_it" / "test_asks.yaml")
    base = URL.removesuffix("/chat/completions")
    pytester.makepyfile(
        test_it=f"""
        import openai, pytest

        @pytest.mark.block_network
        @pytest.mark.vcr(match_on=["method", "uri", "body"])
        def test_asks():
            client = openai.OpenAI(api_key="k", base_url={base!r}, max_retries=0)
            history = []
            for question in ("one", "two"):
                history.append({{"role": "user", "content": question}})
                said = client.chat.completions.create(model="m", messages=history)
                assert said.choices[0].message.content == question.upper()
                history.append({{"role": "assistant", "content": question.upper()}})
            with pytest.raises(Exception):
                client.chat.completions.create(model="m", messages=[])
        """
    )
    pytester.runpytest_subprocess("--record-mode=none", "-p", "no:randomly").assert_outcomes(passed=1)


def test_there_and_back_is_the_same_file(command: Command, make: Make, tmp_path: Path) -> None:
    """A recording of ours goes to delta and JSON and back without loss, to the byte."""
    first = make("a.yaml", "one", "two", "three", model="m")
    steps = [("b.yaml", "delta"), ("c.json", "delta"), ("d.json", "full"), ("e.yaml", "full")]
    before = first
    for name, layout in steps:
        assert command("convert", before, tmp_path / name, "--layout", layout).code == 0
        before = tmp_path / name
    assert before.read_bytes() == first.read_bytes()
    assert (tmp_path / "b.yaml").stat().st_size < first.stat().st_size


def test_a_delta_file_is_played_by_us(command: Command, make: Make, tmp_path: Path) -> None:
    """As any cassette is."""
    command("convert", make("a.yaml", "one", "two"), tmp_path / "b.yaml", "--layout", "delta")
    with CassetteBackend(tmp_path / "b.yaml") as backend:
        asked = Request.of({"model": "m", "messages": [{"role": "user", "content": "one"}]})
        assert backend.complete(asked).content == "ONE"


def test_one_line_says_what_was_written(command: Command, make: Make, tmp_path: Path) -> None:
    """The turns, both layouts and both sizes."""
    source, out = make("a.yaml", "one", "two"), tmp_path / "b.yaml"
    said = command("convert", source, out, "--layout", "delta").out
    sizes = f"{source.stat().st_size:,} bytes, now {out.stat().st_size:,}"
    assert said == f"{out}: 2 turns from vcrpy, delta; {sizes}\n"


def test_an_output_that_exists_is_left_alone(command: Command, make: Make, tmp_path: Path) -> None:
    """Without --force; with it the file is replaced."""
    source, out = make("a.yaml", "one"), tmp_path / "b.yaml"
    out.write_text("mine")
    done = command("convert", source, out)
    assert (done.code, out.read_text()) == (2, "mine")
    assert "b.yaml is there already; --force replaces it" in done.err
    assert command("convert", source, out, "--force").code == 0
    assert compare(read_cassette(source), read_cassette(out)) == []


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "force"])
def test_a_file_is_not_converted_onto_itself(
    command: Command, make: Make, tmp_path: Path, force: list[str]
) -> None:
    """By another name neither."""
    source = make("a.yaml", "one")
    link = tmp_path / "link.yaml"
    link.symlink_to(source)
    before = source.read_bytes()
    for out in (source, link):
        done = command("convert", source, out, "--layout", "delta", *force)
        assert (done.code, source.read_bytes()) == (2, before)
        assert "is the file that is to be read" in done.err


def test_bad_input_is_named_and_nothing_is_written(
    command: Command, bad: tuple[Path, str], tmp_path: Path
) -> None:
    """Also where OUT is there and may be replaced."""
    out = tmp_path / "out.yaml"
    out.write_text("mine")
    done = command("convert", bad[0], out, "--force")
    assert (done.code, done.out, out.read_text()) == (3, "", "mine")
    assert bad[1] in done.err and str(bad[0]) in done.err


def test_a_folder_that_cannot_be_written_is_named(command: Command, make: Make, unwritable: Path) -> None:
    """Exit code 3, with the system's reason."""
    done = command("convert", make("a.yaml", "one"), unwritable / "b.yaml")
    assert done.code == 3
    assert f"the cassette {unwritable / 'b.yaml'} cannot be written" in done.err


def test_a_key_stops_it_and_scrub_replaces_it(command: Command, tmp_path: Path) -> None:
    """Another recorder's file may hold one."""
    key = "sk-" + "a1B2" * 8
    document = documents()["go-vcr"]
    request = document["interactions"][0]["request"]
    request["body"] = json.dumps({"messages": [{"role": "user", "content": f"my {key}"}]})
    source, out = tmp_path / "a.yaml", tmp_path / "b.yaml"
    source.write_text(yaml.safe_dump(document))
    done = command("convert", source, out)
    assert (done.code, out.exists(), key in done.err) == (3, False, False)
    assert "interactions[0].request.body.messages[0].content" in done.err
    assert "--scrub" in done.err
    assert command("convert", source, out, "--scrub").code == 0
    assert "my [redacted-1]" in out.read_text()


def test_an_unknown_layout_is_a_usage_error(command: Command, make: Make, tmp_path: Path) -> None:
    """With the nearest that there is."""
    done = command("convert", make("a.yaml", "one"), tmp_path / "b.yaml", "--layout", "dleta")
    assert (done.code, "did you mean 'delta'" in done.err) == (2, True)


@pytest.mark.skipif(not CORPUS, reason="REACT_REPLAY_CORPUS is not set")
@pytest.mark.parametrize("layout", ["full", "delta"])
def test_all_of_the_corpus_converts(command: Command, tmp_path: Path, layout: str) -> None:
    """Whoever recorded it; no turn means another thing afterwards, and vcrpy loads what is full."""
    for number, path in enumerate(sorted(Path(CORPUS, "cassettes").glob("*/*.*"))):
        out = tmp_path / f"{number}.yaml"
        done = command("convert", path, out, "--layout", layout)
        assert (done.code, done.err) == (0, ""), path
        before, after = read_cassette(path), read_cassette(out)
        assert compare(before, after) == [], path
        if layout == "full":
            with vcr.use_cassette(str(out), record_mode="none") as cassette:
                assert len(cassette) == len(before.recorded)


def test_writing_takes_a_millisecond_an_exchange(make: Make) -> None:
    """Twenty messages or so: far less than a second for a hundred of them, on a slow machine too."""
    start = time.process_time()
    make("a.yaml", *(f"question {number} " + "word " * 40 for number in range(20)))
    assert time.process_time() - start < 1


def test_an_httpx_client_plays_it_too(command: Command, make: Make, tmp_path: Path) -> None:
    """The body is matched as JSON, so that a client's spelling does not count."""
    out = tmp_path / "b.yaml"
    command("convert", make("a.yaml", "one", layout="delta"), out)
    asked = {"messages": [{"content": "one", "role": "user"}], "model": "m"}
    with vcr.use_cassette(str(out), record_mode="none", match_on=["uri", "body"]):
        said = httpx2.post(URL, json=asked).json()
    assert said["choices"][0]["message"]["content"] == "ONE"
