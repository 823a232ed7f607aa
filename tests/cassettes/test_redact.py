"""Secrets: found in every spelling and place, not in ordinary traffic; replaced consistently; linear."""

from __future__ import annotations

import base64
import itertools
import json
import random
import string
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import CassetteError, ConfigurationError
from react_replay.cassettes.documents import load_documents
from react_replay.cassettes.keyshapes import known_spellings, sightings
from react_replay.cassettes.redact import Redaction, leaks, redacted, refuse_secrets

ROOT = Path(__file__).parent.parent.parent
MIXED = "a1B2c3D4e5" * 10
HEX = "0123456789abcdef" * 4

# Put together here, so that no scanner takes this file for a leak.
KEYS = {
    "openai": "sk-" + MIXED[:48],
    "openai-letters": "sk-" + "abcdefgh" * 4,
    "openai-project": "sk-proj-" + MIXED[:20] + "_" + MIXED[:20] + "-x",
    "openai-service": "sk-svcacct-" + MIXED[:40],
    "deepseek": "sk-" + HEX[:32],
    "anthropic": "sk-ant-" + "api03-" + MIXED[:40] + "-AA",
    "openrouter": "sk-or-v1-" + HEX,
    "google": "AIza" + MIXED[:35],
    "aws-id": "AKIA" + "ABCDEFGH23456789",
    "aws-session": "ASIA" + "ABCDEFGH23456789",
    "aws-secret": "aws_secret_access_key = " + MIXED[:40],
    "azure-header": "api-key: " + HEX[:32],
    "azure-storage": "AccountKey=" + MIXED[:86] + "==",
    "github": "ghp_" + MIXED[:36],
    "github-fine": "github_pat_" + MIXED[:22] + "_" + MIXED[:40],
    "slack": "xoxb-" + "123456789012-123456789012-" + MIXED[:24],
    "slack-webhook": "https://hooks.slack.com/" + "services/T0000/B0000/" + MIXED[:24],
    "stripe": "sk_live_" + MIXED[:24],
    "stripe-test": "rk_test_" + MIXED[:24],
    "huggingface": "hf_" + MIXED[:34],
    "groq": "gsk_" + MIXED[:52],
    "xai": "xai-" + MIXED[:80],
    "private-key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "ec-key": "-----BEGIN " + "PRIVATE KEY-----\nMIIE",
    "bearer": "Bearer " + MIXED[:20],
    "bearer-lower": "authorization: bearer " + "abcdefgh" * 4,
    "basic-header": "Authorization: Basic " + "dXNlcjpwYXNzd29yZA==",
    "basic-url": "postgres://" + "admin:s3cret" + "@db.example/x",
    "jwt": "eyJ" + "hbGciOiJIUzI1" + ".eyJ" + "zdWIiOiIxMjM0NTY3" + "." + MIXED[:20],
}


def found(text: str, *secrets: str) -> list[str]:
    return [sighting.kind for sighting in sightings(text, known_spellings(secrets))]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    "frame",
    ["{}", "my key is {}.", '"{}"', "KEY={}", "a\\n{}", "\\u4f60{}", "\\t{} ", "北京{}是", "?q=%3D{}"],
    ids=["alone", "sentence", "quoted", "assigned", "escape", "unicode", "tab", "chinese", "url"],
)
def test_a_key_is_found_wherever_it_stands(name: str, frame: str) -> None:
    """Also right behind an escape, whose letter would else hide that a word begins."""
    assert len(found(frame.format(KEYS[name]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "call_I1tmAsQoP3xKz9LmNbVcXsWq",
        "fp_50cad350e4",
        "req_011CQRrCaWd9kJ2mY5vT8xLz",
        "chatcmpl-B1cDeFgHiJkLmNoPqRsTuVwXyZ012345",
        "sk-estimator-doc-link sk-toggleable__content-arrow sk-top-container-wide",
        "the task-force and the disk-drive-controller2000 of a risk-based approach12345",
        "bearer authentication is required; a Bearer realm-with-a-long-description",
        "https://api.example.com:8080/v1@2 and mailto:someone@example.com and http://a.b/c?d=e:f@g",
        "https://user@host.example and ssh://git@github.com:22/x",
        "postgres://$USER:$PASSWORD@host and https://<user>:<password>@host",
        "550e8400-e29b-41d4-a716-446655440000",
        HEX,
        "api_key: YOUR_API_KEY and Authorization: Bearer $TOKEN",
        "hf_hub_download_something_from_the_model_repository",
        "AKIAlooksLikeAWordButIsNone",
        "gpt-4o-mini-2024-07-18 deepseek-chat",
    ],
)
def test_ordinary_text_passes(text: str) -> None:
    """Call ids, fingerprints, CSS classes, words with `sk-` in them and templates are no keys."""
    assert found(text) == []


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_an_image_in_base64_passes(encode: Any) -> None:
    """A megabyte of it, in either alphabet."""
    text = encode(random.Random(7).randbytes(750_000)).decode()
    assert found(f"data:image/png;base64,{text}") == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "cassettes").rglob("*.yaml")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_bundled_cassettes_hold_no_key(path: Path) -> None:
    """Every recording that ships passes the check with headers and parameters by name."""
    assert list(leaks(load_documents(path.read_bytes())[0], headers=True)) == []


SECRETS = st.text(min_size=8, max_size=20).filter(lambda text: text.strip() == text)


@given(SECRETS, st.booleans())
def test_the_key_in_use_is_found_however_json_spells_it(secret: str, ascii_only: bool) -> None:
    """In a JSON body, and in the JSON text of a call's arguments within one."""
    for text in (secret, json.dumps({"key": secret}, ensure_ascii=ascii_only)):
        body = json.dumps({"text": f"<{text}>"}, ensure_ascii=ascii_only)
        assert list(leaks({"body": body}, [secret]))


@pytest.mark.parametrize(("key", "text", "there"), [
    ("abcd", "the key abcd is", True),
    ("abcd", "abcdefg", False),
    ("abcd", "a\\nabcd", True),
    ("abc", "abc", False),
    ("EMPTY", "an EMPTY list", False),
    ("abcdefgh", "xabcdefghx", True),
])  # fmt: skip
def test_a_short_key_in_use_counts_as_a_word_of_its_own(key: str, text: str, there: bool) -> None:
    """From four characters on; what local servers take for a key is none."""
    assert bool(found(text, key)) is there


def test_the_error_names_the_json_path_and_not_the_key() -> None:
    """Into the body, and into the JSON of a call's arguments in it."""
    key = KEYS["openai"]
    call = {"function": {"arguments": json.dumps({"token": key})}}
    body = json.dumps({"messages": [{"content": "ok"}, {"tool_calls": [call]}]})
    with pytest.raises(CassetteError) as caught:
        refuse_secrets(Path("c.yaml"), {"interactions": [{"request": {"body": body}}]})
    text = str(caught.value)
    path = "interactions[0].request.body.messages[1].tool_calls[0].function.arguments.token"
    assert path in text
    assert key not in text
    assert "an OpenAI or DeepSeek key" in text


def test_escaped_ascii_hides_no_key() -> None:
    """`\\u0073k-...` means a key, whatever its spelling."""
    body = json.dumps({"a": KEYS["openai"]}).replace("sk-", "\\u0073k-")
    assert [leak.place for leak in leaks({"body": body})] == ["body.a"]
    assert "[redacted-1]" in Redaction(shapes=True).text(body)


@pytest.mark.parametrize("place", ["uri", "headers", "metadata"])
def test_every_part_of_an_interaction_is_looked_through(place: str) -> None:
    """URL, header and metadata; names of fields too."""
    with pytest.raises(CassetteError, match=place):
        refuse_secrets(Path("c.yaml"), {place: {"a": [f"x {KEYS['groq']}"]}})
    with pytest.raises(CassetteError, match=place):
        refuse_secrets(Path("c.yaml"), {place: {KEYS["groq"]: 1}})


def stream(*pieces: str, field: str = "content") -> str:
    events = [{"choices": [{"index": 0, "delta": {field: piece}}]} for piece in pieces]
    lines = [f"data: {json.dumps(event, separators=(',', ':'))}\n\n" for event in events]
    return "".join(lines) + "data: [DONE]\n\n"


def said(text: str, field: str = "content") -> str:
    events = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"][field] for event in events)


@given(st.lists(st.integers(0, 70), max_size=6), st.sampled_from(["content", "reasoning_content"]))
def test_a_key_that_a_stream_cuts_is_found_and_replaced(cuts: list[int], field: str) -> None:
    """However its pieces are cut, the stream stays one and says the same but for the key."""
    text = f"it is {KEYS['openai']} and {KEYS['openai']}."
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    body = stream(*pieces, field=field)
    assert list(leaks({"string": body}))
    clean = Redaction(shapes=True).text(body)
    assert said(clean, field) == "it is [redacted-1] and [redacted-1]."
    assert not list(leaks({"string": clean}))
    assert Redaction(shapes=True).text(stream("no", " key")) == stream("no", " key")


def test_chunk_lengths_still_add_up_after_a_redaction() -> None:
    """Pieces that ended with an event end with it again."""
    body = stream("my ", KEYS["openai"], " key")
    lengths = [len(part) + 2 for part in body.split("\n\n")[:-1]]
    response = {"body": {"string": body}, "x_react_replay": {"chunks": lengths}}
    clean = Redaction(shapes=True)(response)
    new, text = clean["x_react_replay"]["chunks"], clean["body"]["string"]
    assert (sum(new), len(new)) == (len(text.encode()), len(lengths))


def test_the_same_secret_gets_the_same_placeholder_everywhere() -> None:
    """Numbers go by first appearance; other values are left as they are, and the input is not changed."""
    value = {"a": ["id-77", "id-12 id-77"], "n": 5, "b": b"id-12", "none": None}
    clean = redacted(value, [r"id-\d+"])
    assert clean == {
        "a": ["[redacted-1]", "[redacted-2] [redacted-1]"],
        "n": 5,
        "b": b"[redacted-2]",
        "none": None,
    }
    assert value["b"] == b"id-12"


def test_a_recording_of_many_turns_keeps_its_numbers() -> None:
    """One `Redaction` serves all of them."""
    redaction = Redaction([r"id-\d+"])
    assert [redaction("id-1"), redaction("id-2 id-1")] == ["[redacted-1]", "[redacted-2] [redacted-1]"]


def test_only_a_patterns_group_is_replaced_where_it_has_one() -> None:
    """`password: (\\S+)` keeps the label."""
    assert redacted("password: abc def", [r"password: (\S+)"]) == "password: [redacted-1] def"


def test_a_greedy_pattern_leaves_json_whole() -> None:
    """It applies to the texts of a JSON body, and of the JSON in its texts, not to their punctuation."""
    arguments = json.dumps({"secret": "abc", "n": 1.0})
    body = '{"x": 1.0e2, "arguments": %s}' % json.dumps(arguments)  # noqa: UP031
    clean = redacted(body, ["abc.*"])
    assert clean.startswith('{"x": 1.0e2, ')
    assert json.loads(json.loads(clean)["arguments"]) == {"secret": "[redacted-1]", "n": 1.0}


def test_a_pattern_that_is_none_is_named() -> None:
    """A misspelt expression is an error of ours, not of `re`."""
    with pytest.raises(ConfigurationError, match=r"'\(' is no regular expression"):
        redacted("x", ["("])


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.text(string.ascii_letters + '\\"{}', max_size=8))
def test_what_holds_no_secret_is_given_back_the_same(value: Any, text: str) -> None:
    """Redaction is the identity on clean values, JSON texts among them."""
    body = {"a": value, "b": json.dumps(value), "c": text}
    assert Redaction(["#never#"], shapes=True)(body) == body


HOSTILE = [
    "sk-",
    "eyJ",
    "-eyJ",
    "eyJaaaaaaaaaaa.",
    "-----BEGIN PRIVATE KEY-----",
    "://a:",
    "Bearer ",
    "xox",
    '"\\',
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear_in_a_hostile_text(piece: str) -> None:
    """Ten times the text takes about ten times as long, in whatever way a shape begins and fails."""

    def seconds(count: int) -> float:
        text = piece * count
        start = time.perf_counter()
        found(text)
        Redaction(shapes=True).text(json.dumps({"a": text}))
        return time.perf_counter() - start

    small = min(seconds(2_000) for _ in range(3))
    assert seconds(20_000) < small * 60 + 0.5
