"""Every layout gives the same exchange; what is no cassette, or a trap, is an error that says what it is."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from react_replay import Agent, CassetteBackend, CassetteError, ScriptedBackend
from react_replay.cassettes.bodies import decompressed
from react_replay.cassettes.documents import Unreadable, load_documents
from react_replay.cassettes.reading import read_cassette

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}], "model": "m"}
ANSWERED: dict[str, Any] = {"choices": [{"message": {"content": "hi 北京"}, "finish_reason": "stop"}]}
URL = "https://api.example.com/v1/chat/completions"
Q, A = json.dumps(ASKED), json.dumps(ANSWERED, ensure_ascii=False)
A64 = base64.b64encode(A.encode()).decode()


def dumped(document: Any) -> bytes:
    return yaml.safe_dump(document, allow_unicode=True).encode()


def go_vcr(version: int, **response: Any) -> bytes:
    request = {"body": Q, "headers": {"Accept": ["x"]}, "url": URL, "method": "POST"}
    answer = {"body": A, "headers": {}, "status": "200 OK", "code": 200, **response}
    return dumped({"version": version, "interactions": [{"request": request, "response": answer}]})


def ruby(body: dict[str, Any]) -> bytes:
    request = {"method": "post", "uri": URL, "body": {"encoding": "UTF-8", "string": Q}, "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": body}
    document = {"http_interactions": [{"request": request, "response": response}]}
    return dumped(document | {"recorded_with": "VCR 6.3.1"})


def vcrpy(request: dict[str, Any] | None = None, response: dict[str, Any] | None = None) -> dict[str, Any]:
    asked = {"method": "POST", "uri": URL, "headers": {}, **({"body": Q} if request is None else request)}
    answer = {"body": {"string": A}} if response is None else response
    answered = {"status": {"code": 200, "message": "OK"}, "headers": {}, **answer}
    return {"interactions": [{"request": asked, "response": answered}], "version": 1}


def httpmock(then: dict[str, Any]) -> bytes:
    when = {"path": "/v1/chat/completions", "method": "POST", "body": Q}
    other = {"when": {"path": "/v1/models", "method": "GET"}, "then": {"status": 200, "body": "{}"}}
    return dumped({"when": when, "then": {"status": 200, **then}}) + b"---\n" + dumped(other) + b"---\n"


def httprr(*, chunked: bool = False) -> bytes:
    body = A.encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    if chunked:
        head += "Transfer-Encoding: chunked\r\n"
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9], body[9:])) + b"0\r\n\r\n"
    request = f"POST {URL} HTTP/1.1\r\nHost: api.example.com\r\n\r\n{Q}".encode()
    response = head.encode() + b"\r\n" + body
    return b"httprr trace v1\n%d %d\n" % (len(request), len(response)) + request + response


def tagged() -> bytes:
    text = dumped(vcrpy()).decode()
    names = (
        "    headers:\n      ? !!python/object/new:multidict._multidict.istr\n      - Accept\n      : - x\n"
    )
    return text.replace("    headers: {}\n", names, 1).encode()


PAIR = {
    "request": {"method": "POST", "url": URL, "headers": {}, "body": Q},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": A},
}

GOOD: dict[str, tuple[str, bytes]] = {
    "vcrpy yaml": ("vcrpy", dumped(vcrpy())),
    "vcrpy json": ("vcrpy", json.dumps(vcrpy()).encode()),
    "vcrpy parsed": ("vcrpy", dumped(vcrpy({"parsed_body": ASKED}, {"parsed_body": ANSWERED}))),
    "vcrpy python tags": ("vcrpy", tagged()),
    "vcrpy no version": ("vcrpy", dumped({"interactions": vcrpy()["interactions"]})),
    "vcrpy base64": ("vcrpy", json.dumps(vcrpy(None, {"body": {"base64_string": A64}})).encode()),
    "vcrpy python bytes": (
        "vcrpy",
        dumped(vcrpy(None, {"body": {"string": "AAA"}})).replace(b"AAA", b"!!python/bytes " + A64.encode()),
    ),
    "go-vcr 1": ("go-vcr", go_vcr(1)),
    "go-vcr 2": ("go-vcr", go_vcr(2, proto="HTTP/2.0", content_length=-1)),
    "ruby string": ("Ruby VCR", ruby({"encoding": "UTF-8", "string": A})),
    "ruby base64": ("Ruby VCR", ruby({"encoding": "ASCII-8BIT", "base64_string": A64})),
    "ruby binary": ("Ruby VCR", ruby({"string": "AAA"}).replace(b"AAA", b"!binary " + A64.encode())),
    "httpmock": ("httpmock", httpmock({"body": A})),
    "httpmock base64": ("httpmock", httpmock({"body_base64": A64})),
    "ddtrace": ("ddtrace", json.dumps(PAIR).encode()),
    "list of pairs": ("ddtrace", json.dumps([PAIR, PAIR]).encode()),
    "httprr": ("httprr", httprr()),
    "httprr chunked": ("httprr", httprr(chunked=True)),
    "httprr packed": ("httprr", gzip.compress(httprr())),
}


@pytest.mark.parametrize("kind", GOOD)
def test_every_layout_is_recognised_and_plays(kind: str, tmp_path: Path) -> None:
    """The same exchange, in each layout, under a name that says nothing."""
    layout, data = GOOD[kind]
    path = tmp_path / "cassette.yaml"
    path.write_bytes(data)
    cassette = read_cassette(path)
    assert cassette.layout == layout
    assert cassette.recorded[0].method.upper() == "POST"
    assert cassette.recorded[0].url.endswith("/v1/chat/completions")
    assert Agent(CassetteBackend(path)).run("?").answer == "hi 北京"


@pytest.mark.parametrize("mode", ["new_episodes", "all"])
@pytest.mark.parametrize("kind", ["vcrpy parsed", "go-vcr 2", "httprr"])
def test_a_layout_that_we_do_not_write_is_not_written_over(kind: str, mode: str, tmp_path: Path) -> None:
    """Recording into a foreign layout is refused before anything is asked; the file stays."""
    path = tmp_path / "cassette.yaml"
    path.write_bytes(GOOD[kind][1])
    with pytest.raises(CassetteError, match="another path"):
        CassetteBackend(path, record=mode, live=ScriptedBackend(["x"]))
    assert path.read_bytes() == GOOD[kind][1]


def test_a_tag_that_asks_for_a_call_is_not_obeyed(tmp_path: Path) -> None:
    """It gives the plain data below it; nothing is imported, called or made."""
    marker = tmp_path / "ran"
    text = f"x: !!python/object/apply:os.mkdir ['{marker}']\n"
    assert load_documents(text.encode()) == [{"x": str(marker)}]
    assert not marker.exists()


FOREIGN = {
    "html": (b"<!DOCTYPE html>\n<html><body>sign in</body></html>", "HTML page"),
    "lock": (b'{"lockfileVersion": 3, "packages": {}}', "lock file"),
    "har": (b'{"log": {"entries": []}}', "HAR"),
    "openapi": (b"openapi: 3.0.0\npaths: {}\n", "OpenAPI"),
    "request": (Q.encode(), "chat request or a transcript"),
    "answer": (A.encode(), "chat answer"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    "comments": (b"# nothing\n", "empty but for comments"),
    "a set": (b"!!set {a, b}\n", "a single set"),
    "cut json": (b'{"interactions": [{"request":', "line 1"),
    "cut yaml": (b"interactions:\n- request: {body: 'x", "line 2"),
    "cut httprr": (httprr()[:-5], "breaks off: the exchange at line 2"),
    "crlf httprr": (httprr().replace(b"\r\n", b"\n") + b"\n1 2\n", "line"),
    "go-vcr 7": (go_vcr(7), "go-vcr's layout, version 7"),
    "bad status": (dumped(vcrpy(None, {"body": None, "status": "fine"})), "status must be a number"),
    "no when": (b"when: {}\nthen: {}\n---\nwhat: 1\n", "interaction 2"),
    "bad base64": (dumped(vcrpy(None, {"body": {"base64_string": "abc"}})), "base64"),
    "brotli": (
        dumped(
            vcrpy(None, {"headers": {"content-encoding": ["br"]}, "body": {"string": b"\x0b\x02\x80\xff"}})
        ),
        "brotli",
    ),
    "zstd": (dumped(vcrpy(None, {"body": {"string": b"\x28\xb5\x2f\xfd\x00"}})), "zstd"),
}

BOMBS = {
    "aliases": "a: &a [x, x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)),
    "long aliases": f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 50_000)}]\n",
    "merges": "a: &a {x: 1, y: 2}\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [*{chr(97 + n)}, *{chr(97 + n)}]}}\n" for n in range(24)),
    "itself": "interactions: &a\n- request: *a\n  response: *a\n",
    "flow": "[" * 200_000,
    "closed": "[" * 100_000 + "]" * 100_000,
    "blocks": "\n".join(" " * n + "a:" for n in range(1500)),
    "tags": "!!python/tuple [" * 900 + "]" * 900,
    "json": '{"a":' * 100_000,
    "number": f"interactions: {'9' * 1_000_000}\n",
    "sixties": f"interactions: {':'.join(['1'] * 200_000)}\n",
    "scalar": f"interactions: {'x' * 5_000_000}\n",
    "dates": "interactions: 2026-99-99\n",
    "no key": "? [a, b]\n: c\n",
    "anchors": "".join(f"- &a{n} x\n" for n in range(20_000)),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_cassette_is_named(kind: str, tmp_path: Path) -> None:
    """The error says what the file is, or what is missing and where."""
    data, said = FOREIGN[kind]
    path = tmp_path / "c.yaml"
    path.write_bytes(data)
    with pytest.raises(CassetteError, match=r"c\.yaml") as caught:
        read_cassette(path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("kind", BOMBS)
def test_a_trap_is_an_error(kind: str, tmp_path: Path) -> None:
    """What multiplies, nests or goes on without end is refused, in YAML and under another name."""
    path = tmp_path / "c.yaml"
    path.write_text(BOMBS[kind])
    with pytest.raises(CassetteError):
        read_cassette(path)


def test_aliases_of_an_honest_file_are_read(tmp_path: Path) -> None:
    """vcrpy's own YAML refers back to equal headers; that is no trap."""
    headers = {"Accept": ["application/json"]}
    document = vcrpy({"body": Q, "headers": headers}, {"body": {"string": A}, "headers": headers})
    document["interactions"] *= 50
    text = yaml.dump(document)
    assert "*id001" in text
    (tmp_path / "c.yaml").write_text(text)
    assert len(read_cassette(tmp_path / "c.yaml").recorded) == 50


def test_merged_headers_of_a_handwritten_file_are_read() -> None:
    """`<<` is followed where it stays small."""
    assert load_documents(b"a: &a {x: 1}\nb: {<<: *a, y: 2}\n") == [{"a": {"x": 1}, "b": {"x": 1, "y": 2}}]


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (A.encode(), "gzip"),
        (A.encode(), "br"),
        (A.encode(), ""),
        (gzip.compress(A.encode()), ""),
        (gzip.compress(A.encode()), "gzip"),
        (gzip.compress(A[:9].encode()) + gzip.compress(A[9:].encode()), "gzip"),
        (zlib.compress(A.encode()), "deflate"),
        (zlib.compress(A.encode())[2:-4], "deflate"),
    ],
)
def test_compression_is_undone_whatever_the_header_says(packed: bytes, encoding: str) -> None:
    """A stale header on a plain body, a body without one, and a body in two members."""
    assert decompressed(packed, encoding) == A.encode()


def test_a_body_that_unpacks_without_end_is_refused() -> None:
    """A small body of zeros that would fill the memory is an error."""
    trap = gzip.compress(gzip.compress(bytes(1 << 20)) * 4)
    assert len(decompressed(trap, "gzip")) < 1 << 20
    with pytest.raises(Unreadable, match="unpacks to more"):
        decompressed(gzip.compress(bytes((256 << 20) + 1), 1), "gzip")


def test_the_next_protocol_over_is_no_chat_turn(tmp_path: Path) -> None:
    """An Anthropic request holds `messages` too, and is kept as other traffic."""
    document = vcrpy()
    document["interactions"][0]["request"]["uri"] = "https://api.anthropic.com/v1/messages?beta=true"
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document))
    [turn] = read_cassette(path).recorded
    assert turn.request is None
    assert not turn.chat


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, "no body"),
        ("{", "no JSON"),
        ("[]", "JSON object"),
        ("{}", "must be a list, found NoneType"),
        ('{"messages": [1]}', r"messages\[0\]"),
        ('{"a":' * 100_000, "nested"),
    ],
)
def test_a_chat_request_that_cannot_be_read_says_why(body: str | None, why: str, tmp_path: Path) -> None:
    """It stays chat traffic, without a request, and with the reason."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(vcrpy({"body": body})))
    [turn] = read_cassette(path).recorded
    assert turn.request is None
    assert turn.chat
    assert re.search(why, turn.unread)


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_a_file_without_an_end_is_not_read() -> None:
    """A device is refused before it is opened."""
    with pytest.raises(CassetteError, match="no regular file"):
        read_cassette(Path("/dev/zero"))


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Documents or `Unreadable`, and nothing else."""
    try:
        assert isinstance(load_documents(data), list)
    except Unreadable as why:
        assert len(str(why)) < 500
