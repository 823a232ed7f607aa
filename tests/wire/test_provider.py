"""What is sent: each service's ways, the corpus's `r` cases, and that requests compare alike in all."""

from __future__ import annotations

import copy
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay import (
    Agent,
    CassetteBackend,
    ConfigurationError,
    Limits,
    LiveBackend,
    Request,
    ScriptedBackend,
)
from react_replay.backends.base import ChatBackend
from react_replay.cassettes.canonical import Digester
from react_replay.cassettes.index import Index
from react_replay.cassettes.reading import Recorded
from react_replay.dialects import parse
from react_replay.wire import (
    DEEPSEEK,
    LOCAL,
    MISTRAL,
    NEUTRAL,
    OPENAI,
    PROVIDERS,
    Provider,
    provider_for,
)

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
CASES: dict[str, Any] = {}
if FOLDER:
    for line in Path(FOLDER, "agent_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["id"].startswith("r"):
            CASES[case["id"]] = case["input"]
corpus = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")
EACH = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: str(provider.name))

USER = {"role": "user", "content": "q"}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def asked(*ids: str, **fields: Any) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls, **fields}


def told(identity: str, text: str = "1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def sent(provider: Provider, *messages: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    shaped: list[dict[str, Any]] = provider.shape({"model": "m", "messages": list(messages), **options})[
        "messages"
    ]
    return shaped


def f() -> None:
    """Does nothing."""


# The corpus's cases, by id.


@corpus
def test_r01_an_open_call_in_the_middle_is_closed_before_anything_else() -> None:
    """A history that went on past an unanswered call is resumed with that call answered by an error."""
    backend = ScriptedBackend(["done"])
    result = Agent(backend, tools=[f]).resume(CASES["r01"])
    seen = backend.requests[0]["messages"]
    assert [m["role"] for m in seen] == ["assistant", "tool", "tool", "user"]
    assert [m["tool_call_id"] for m in seen[1:3]] == ["a", "b"]
    assert seen[2]["content"] == "error: this call was not answered"
    assert result.answer == "done"


@corpus
@EACH
def test_r02_content_beside_calls_is_as_the_service_wants(provider: Provider) -> None:
    """null, "" or no content at all; the history itself stays as it is."""
    before = copy.deepcopy(CASES["r02"])
    [message] = sent(provider, *CASES["r02"])
    assert before == CASES["r02"]
    assert message["content"] is None if provider is OPENAI else message["content"] == ""
    assert "content" not in sent(replace(provider, content="omit"), *CASES["r02"])[0]


@corpus
def test_r04_mistral_gets_nine_letters_or_digits() -> None:
    """An id of another form is replaced, the same way on both sides and in every request."""
    [call] = CASES["r04"]
    identity = call["tool_calls"][0]["id"]
    message, result = sent(MISTRAL, call, told(identity))
    made = message["tool_calls"][0]["id"]
    assert re.fullmatch(r"[A-Za-z0-9]{9}", made)
    assert result["tool_call_id"] == made
    assert sent(MISTRAL, call, told(identity), asked("other"), told("other"))[0] == message
    assert sent(NEUTRAL, call)[0]["tool_calls"][0]["id"] == identity


@corpus
def test_r05_openai_gets_at_most_forty_characters() -> None:
    """A longer id is replaced on both sides; one of forty is kept."""
    [call] = CASES["r05"]
    identity = call["tool_calls"][0]["id"]
    message, result = sent(OPENAI, call, told(identity))
    assert message["tool_calls"][0]["id"] == result["tool_call_id"] != identity
    assert len(result["tool_call_id"]) == 9
    assert sent(OPENAI, asked("x" * 40))[0]["tool_calls"][0]["id"] == "x" * 40


@corpus
@pytest.mark.parametrize(
    "model", ["gpt-5", "gpt-5-mini", "gpt-5.1", "o1", "o3-mini", "openai/o4-mini", "ft:gpt-5:x"]
)
@EACH
def test_r07_stop_is_left_out_for_models_that_refuse_it(provider: Provider, model: str) -> None:
    """By the model's name, also behind a gateway's prefix."""
    assert "stop" not in provider.shape({"model": model, "messages": [], **CASES["r07"]})


@corpus
@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4.1", "deepseek-chat", "gpt-oss:20b", "olmo-2", "o", "qwen3"]
)
@EACH
def test_r07_stop_goes_out_to_all_others(provider: Provider, model: str) -> None:
    """A model that takes stop words gets them."""
    assert provider.shape({"model": model, "messages": [], **CASES["r07"]})["stop"] == ["\nObservation:"]


@corpus
@EACH
def test_r08_empty_tools_are_left_out(provider: Provider) -> None:
    """With no tools there is neither `tools` nor what would choose among them."""
    options = {**CASES["r08"], "tool_choice": "auto", "parallel_tool_calls": False}
    assert set(provider.shape({"model": "m", "messages": [USER], **options})) == {"model", "messages"}


@corpus
@pytest.mark.parametrize(("value", "text"), [(None, "null"), ([], "[]")])
def test_r10_a_tool_that_returned_nothing_is_still_answered(value: Any, text: str) -> None:
    """None and [] give a tool message like any other result."""

    def f() -> Any:
        """Nothing much."""
        return value

    backend = ScriptedBackend([{"choices": [{"message": CASES["r10"][0]}]}, "done"])
    result = Agent(backend, tools=[f]).run("q")
    assert result.messages[2] == {"role": "tool", "tool_call_id": "a", "content": text}


@corpus
def test_r11_a_huge_observation_is_cut_in_the_middle() -> None:
    """Head and tail are kept, with a mark that counts what is missing; the record has all of it."""
    whole = "".join(chr(ord("a") + place % 26) for place in range(200_000))

    def f() -> str:
        """Much."""
        return whole

    backend = ScriptedBackend([{"choices": [{"message": asked("a")}]}, "done"])
    result = Agent(backend, tools=[f]).run("q")
    text = result.messages[2]["content"]
    assert len(text) <= 100_000
    found = re.search(r"\n\[\.\.\. (\d+) characters left out \.\.\.\]\n", text)
    assert found
    head, tail = text[: found.start()], text[found.end() :]
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + int(found[1]) + len(tail) == len(whole)
    assert result.flags == ("observation_cut",)
    assert result.steps[0].flags == ("observation_cut",)
    assert result.steps[0].observations[0].whole == whole
    assert result.trace[0]["obs"] == text
    assert result.to_dict()["steps"][0]["calls"][0]["whole"] == whole


@corpus
@pytest.mark.parametrize("key", ["arguments", "parameters", "args", "input"])
@pytest.mark.parametrize(
    "text", ["{}", "Action: {}", "<tool_call>{}</tool_call>"], ids=["json", "label", "markup"]
)
def test_r13_arguments_have_other_names_in_texts(key: str, text: str) -> None:
    """A call that is written as text says its arguments under any of four names."""
    [case] = CASES["r13"]
    written = text.replace("{}", json.dumps({"name": case["name"], key: case["parameters"]}))
    [call] = parse("native" if "<" in text else "json", written, [case["name"]]).calls
    assert (call.name, call.arguments) == ("search", {"q": "x"})


@corpus
@EACH
def test_r14_tool_choice_goes_out_only_when_asked_for(provider: Provider) -> None:
    """Nothing is added; what was asked for is sent."""
    body = {"model": "m", "messages": [USER], "tools": TOOLS}
    assert provider.shape(body) == body
    choice = CASES["r14"]["tool_choice"]
    assert provider.shape({**body, "tool_choice": choice})["tool_choice"] == choice


@corpus
@pytest.mark.parametrize("provider", [DEEPSEEK, MISTRAL, LOCAL], ids=lambda provider: str(provider.name))
def test_r16_neighbours_of_one_role_are_merged(provider: Provider) -> None:
    """Two user turns in a row are one, with a blank line between."""
    assert sent(provider, *CASES["r16"]) == [{"role": "user", "content": "Question\n\nObservation: ..."}]
    assert sent(NEUTRAL, *CASES["r16"]) == CASES["r16"]


@corpus
def test_r17_reasoning_goes_back_by_the_services_rule() -> None:
    """Kept beside calls, kept everywhere, or dropped."""
    turns = [*CASES["r17"], told("a"), {"role": "assistant", "content": "x", "reasoning_content": "y"}]

    def kept(provider: Provider) -> list[bool]:
        return ["reasoning_content" in message for message in sent(provider, *turns)]

    assert kept(DEEPSEEK) == [True, False, False]
    assert kept(replace(DEEPSEEK, reasoning="keep")) == [True, False, True]
    assert kept(replace(DEEPSEEK, reasoning="drop")) == [False, False, False]


# Which provider.


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://mine.openai.azure.com/openai/v1/", "openai"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://API.DeepSeek.com:443/beta", "deepseek"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("http://localhost:11434/v1", "local"),
        ("http://127.0.0.1:8000", "local"),
        ("http://[::1]:8000/v1", "local"),
        ("http://192.168.1.7:1234/v1", "local"),
        ("http://10.0.0.1", "local"),
        ("http://vllm:8000/v1", "local"),
        ("http://box.local/v1", "local"),
        ("http://host.docker.internal:8080", "local"),
        ("http://gpu.example.com:11434/v1", "local"),
        ("localhost", "local"),
        ("127.0.0.1:8000", "local"),
        ("https://api.example.com/v1", "neutral"),
        ("https://api.openai.com.example.com/v1", "neutral"),
        ("https://notdeepseek.com", "neutral"),
        ("https://8.8.8.8/v1", "neutral"),
        ("http://[oops", "neutral"),
        ("https://", "neutral"),
        *((name, name) for name in PROVIDERS),
    ],
)
def test_a_provider_is_found_by_its_url_or_name(given: str, name: str) -> None:
    """Hosts count whole or as a suffix after a dot; who is not known gets the neutral ways."""
    assert provider_for(given) is PROVIDERS[name]


def test_an_unknown_name_is_an_error_with_the_list() -> None:
    """A slip of the pen is shown what it may have meant."""
    with pytest.raises(ConfigurationError, match=r"'deepsek' \(did you mean 'deepseek'\?\).*mistral"):
        provider_for("deepsek")


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("content", "nul", "did you mean 'null'"),
        ("reasoning", "kept", "keep_with_tool_calls, keep, drop"),
        ("id_length", 0, "at least 8"),
        ("max_observation", 10, "at least 100"),
        ("max_observation", True, "at least 100"),
    ],
)
def test_a_wrong_setting_is_refused(field: str, value: Any, match: str) -> None:
    """A provider that could not work is none."""
    with pytest.raises(ConfigurationError, match=re.escape(match)):
        replace(NEUTRAL, **{field: value})


def test_a_live_backend_takes_a_provider_a_name_or_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given wins; then the URL, which the SDK may take from the environment."""

    def live(**settings: Any) -> Provider:
        return LiveBackend(model="m", api_key="k", **settings).provider

    own = replace(DEEPSEEK, reasoning="drop")
    assert live(provider=own, base_url="http://localhost") is own
    assert live(provider="mistral", base_url="http://localhost") is MISTRAL
    assert live(base_url="https://api.deepseek.com") is DEEPSEEK
    assert live() is OPENAI
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert live() is LOCAL
    assert ScriptedBackend(["x"]).provider is NEUTRAL


# Shaping.


def test_parallel_tool_calls_is_left_out_where_it_is_refused() -> None:
    """By the service's switch, or by the model's name; elsewhere it is sent as it was asked for."""
    body = {"model": "m", "messages": [USER], "tools": TOOLS, "parallel_tool_calls": False}
    assert NEUTRAL.shape(body)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in replace(NEUTRAL, parallel_tool_calls=False).shape(body)
    assert "parallel_tool_calls" not in NEUTRAL.shape({**body, "model": "o3-mini"})
    assert NEUTRAL.shape({**body, "model": "gpt-5"})["parallel_tool_calls"] is False


def test_stop_is_left_out_where_the_service_takes_none() -> None:
    """By the switch; an empty or null `stop` is never sent."""
    body = {"model": "m", "messages": [USER], "stop": ["x"]}
    assert "stop" not in replace(NEUTRAL, stop=False).shape(body)
    assert "stop" not in NEUTRAL.shape({**body, "stop": []})
    assert "stop" not in NEUTRAL.shape({**body, "stop": None})


def test_content_without_calls_is_never_null() -> None:
    """An assistant turn that says nothing and asks nothing has an empty text, whatever the service."""
    for provider in PROVIDERS.values():
        assert sent(provider, {"role": "assistant", "content": None})[0]["content"] == ""


def test_only_plain_texts_are_merged() -> None:
    """Turns with calls, names or content parts stay as they are, and results beside their calls."""
    messages = [
        {"role": "assistant", "content": "a"},
        asked("a"),
        told("a"),
        told("b"),
        {**USER, "name": "x"},
        USER,
        {"role": "user", "content": [{"type": "text", "text": "y"}]},
    ]
    assert sent(LOCAL, *messages) == messages


def test_merging_passes_over_empty_texts_and_keeps_reasoning() -> None:
    """A blank line stands only between two texts."""
    merged = sent(
        replace(LOCAL, reasoning="keep"),
        {"role": "assistant", "content": None, "reasoning_content": "r"},
        {"role": "assistant", "content": "a", "reasoning_content": "s"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "b"},
    )
    assert merged == [{"role": "assistant", "content": "a\n\nb", "reasoning_content": "r\n\ns"}]


def test_lone_surrogates_are_replaced_everywhere() -> None:
    """In texts, in options and in ids, where two that differ stay apart."""
    body = NEUTRAL.shape(
        {"user": "\ud800", "messages": [asked("\ud800", "\ud801"), told("\ud800"), told("\ud801", "x\udfff")]}
    )
    json.dumps(body, ensure_ascii=False).encode()
    first, second = (call["id"] for call in body["messages"][0]["tool_calls"])
    assert first != second
    assert [message["tool_call_id"] for message in body["messages"][1:]] == [first, second]
    assert body["messages"][2]["content"] == "x?"


# The form in which requests are compared.

TEXT = st.text('ab\n"\\ 北\ud800', max_size=6)
IDS = st.sampled_from(["a", "call_00000001", "x" * 50, "abcdefgh9", "b c", "\ud83d"])
OPTIONAL = st.fixed_dictionaries(
    {}, optional={"reasoning_content": TEXT, "reasoning": TEXT, "tool_calls": st.just([])}
)
PLAIN = st.builds(
    lambda role, content, extra: {"role": role, "content": content, **(extra if role == "assistant" else {})},
    st.sampled_from(["user", "assistant"]),
    TEXT,
    OPTIONAL,
)
CALLING = st.builds(
    lambda ids, content, reasoning: [
        asked(*ids, content=content, reasoning_content=reasoning),
        *(told(identity) for identity in ids),
    ],
    st.lists(IDS, min_size=1, max_size=3, unique=True),
    TEXT | st.none(),
    TEXT,
)
OTHER = st.sampled_from([{"role": "system", "content": "s"}, {"role": "user", "content": "n", "name": "x"}])
HISTORY = st.lists((PLAIN | OTHER).map(lambda m: [m]) | CALLING, max_size=8).map(
    lambda runs: [m for r in runs for m in r]
)
OPTIONS = st.fixed_dictionaries(
    {"model": st.sampled_from(["m", "o3-mini", "gpt-5"])},
    optional={
        "stop": st.sampled_from([[], ["x"], None, "y"]),
        "tools": st.sampled_from([[], TOOLS]),
        "tool_choice": st.just("auto"),
        "parallel_tool_calls": st.booleans(),
        "temperature": st.just(0),
    },
)
ANY = st.sampled_from(list(PROVIDERS.values())) | st.builds(
    Provider,
    name=st.just("own"),
    content=st.sampled_from(["null", "empty", "omit"]),
    id_length=st.sampled_from([None, 9, 12]),
    id_exact=st.booleans(),
    stop=st.booleans(),
    parallel_tool_calls=st.booleans(),
    merge_roles=st.booleans(),
    reasoning=st.sampled_from(["keep_with_tool_calls", "keep", "drop"]),
)


def key(body: dict[str, Any]) -> Any:
    return Digester().key(Request.of(body))


@given(HISTORY, OPTIONS, ANY)
def test_shaping_never_changes_what_is_compared(messages: Any, options: Any, provider: Provider) -> None:
    """A request and its shaped form have one key; the given body is untouched; shaping twice is once."""
    body = {**options, "messages": messages}
    before = copy.deepcopy(body)
    shaped = provider.shape(body)
    assert body == before
    assert key(shaped) == key(body)
    assert provider.shape(shaped) == shaped
    json.dumps(shaped, ensure_ascii=False).encode()


@given(HISTORY, ANY)
def test_calls_stay_beside_their_results(messages: Any, provider: Provider) -> None:
    """Behind every turn with calls stand its results, under the ids that were sent, each id its own."""
    out = sent(provider, *messages)
    for place, message in enumerate(out):
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        assert [m.get("tool_call_id") for m in out[place + 1 : place + 1 + len(ids)]] == ids
        assert len(set(ids)) == len(ids)


@given(HISTORY, st.integers(0, 30))
def test_a_growing_history_digests_as_the_whole(messages: Any, cut: int) -> None:
    """Turn by turn or at once, also where the cut falls between texts that are merged."""
    from react_replay.log import Log

    growing = Digester()
    log: Log[Any] = Log(messages[:cut])
    growing.key(Request(log))
    assert growing.key(Request(log.extend(messages[cut:]))) == Digester().key(Request(messages))


@given(HISTORY, HISTORY)
def test_different_histories_have_different_keys(first: Any, second: Any) -> None:
    """The key tells apart whatever the canonical messages tell apart."""
    from react_replay.cassettes.canonical import canonical_messages

    def plain(messages: Any) -> str:
        text = json.dumps([m for _, m in canonical_messages(messages)], ensure_ascii=False, sort_keys=True)
        return text.encode("utf-8", "replace").decode()

    same = key({"messages": first}) == key({"messages": second})
    assert same == (plain(first) == plain(second))


@EACH
def test_what_was_recorded_through_a_provider_replays(
    server: Any, tmp_path: Path, provider: Provider
) -> None:
    """Recorded over HTTP, shaped; replayed from the unshaped request, without a key, cut as it was then."""
    long_id = "call_" + "x" * 60
    calls = [{"id": long_id, "type": "function", "function": {"name": "big", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": calls}
    server.json({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    server.json({"choices": [{"index": 0, "message": {"content": "done"}, "finish_reason": "stop"}]})
    path = tmp_path / "c.yaml"

    def big() -> str:
        """Much."""
        return "北" * 700

    own = replace(provider, max_observation=500)
    live = LiveBackend(model="o3-mini", api_key="k" * 24, base_url=server.url, provider=own, max_retries=0)
    history = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]

    def run(backend: ChatBackend) -> dict[str, Any]:
        options = {"stop": ["x"], "parallel_tool_calls": True, "tool_choice": "auto"}
        return Agent(backend, tools=[big], options=options).resume(history).to_dict()

    with live, CassetteBackend(path, record="all", live=live) as backend:
        recorded = run(backend)
    first, second = (seen.body for seen in server.requests)
    assert "stop" not in first and "parallel_tool_calls" not in first and first["tool_choice"] == "auto"
    assert len(first["messages"]) == (1 if provider.merge_roles else 2)
    assert len(second["messages"][-1]["content"]) <= 500
    with CassetteBackend(path) as replay:
        assert replay.metadata["provider"] == provider.name
        assert replay.provider == own
        assert run(replay) == recorded
        assert replay.unplayed == []
    assert recorded["answer"] == "done" and "observation_cut" in recorded["flags"]


def recording(url: str, **metadata: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "?"}]})
    answer = json.dumps({"choices": [{"message": {"content": "!"}, "finish_reason": "stop"}]})
    asked = {"method": "POST", "uri": url, "body": body, "headers": {}}
    answered = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answer}}
    return {
        "version": 1,
        "x_react_replay": metadata,
        "interactions": [{"request": asked, "response": answered}],
    }


def replayed(path: Path, document: dict[str, Any]) -> CassetteBackend:
    path.write_text(json.dumps(document), encoding="utf-8")
    return CassetteBackend(path)


def test_a_recording_that_names_no_provider_has_its_hosts_and_cuts_nothing(tmp_path: Path) -> None:
    """Whoever recorded it had the observations whole."""
    backend = replayed(tmp_path / "c.json", recording("https://api.deepseek.com/chat/completions"))
    assert backend.provider == replace(DEEPSEEK, max_observation=None)


def test_a_recording_of_ones_own_provider_is_cut_as_it_was(tmp_path: Path) -> None:
    """A name that is no preset's is kept, with the limit that was written beside it."""
    facts = {"provider": "mine", "max_observation": 777}
    backend = replayed(tmp_path / "c.json", recording("https://x.example/v1/chat/completions", **facts))
    assert (backend.provider.name, backend.provider.max_observation) == ("mine", 777)


def test_a_wrong_limit_in_a_recording_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    """What was edited by hand is checked."""
    from react_replay import CassetteError

    backend = replayed(tmp_path / "c.json", recording("https://x.example/v1", max_observation="many"))
    with pytest.raises(CassetteError, match=r"c\.json says max_observation: 'many'"):
        Agent(backend).run("?")


def test_a_miss_names_the_message_by_its_place_in_the_request(tmp_path: Path) -> None:
    """Merged neighbours before it do not shift the path."""
    from react_replay import CassetteMiss

    merged = [
        {"role": "user", "content": "a\n\nb"},
        asked("i"),
        told("i", "1"),
        {"role": "user", "content": "c"},
    ]
    document = recording("https://x.example/v1/chat/completions")
    document["interactions"][0]["request"]["body"] = json.dumps({"model": "m", "messages": merged})
    backend = replayed(tmp_path / "c.json", document)
    apart = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, asked("i"), told("i", "2")]
    with pytest.raises(CassetteMiss) as caught:
        backend.complete(Request([*apart, {"role": "user", "content": "c"}]))
    assert caught.value.differing == "messages[3].content"
    assert "Cause: the tool call f({})" in str(caught.value)


def test_an_index_answers_a_merged_request_from_an_unmerged_one() -> None:
    """Both spellings are one request, in either direction."""
    apart = Request([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], {"model": "m"})
    joined = Request([{"role": "user", "content": "a\n\nb"}], {"model": "m"})
    for recorded, now in ((apart, joined), (joined, apart)):
        turn = Recorded(number=1, sent=(recorded, ""), url="", status=200, chunks=(b"{}",), streamed=False)
        assert Index([turn]).take(now) is turn


# Oversized observations.


@given(st.integers(100, 400), st.text("a北🌤\ud83d\ude00", max_size=900))
def test_a_cut_text_is_never_longer_than_asked_and_keeps_its_ends(most: int, text: str) -> None:
    """At most `most` characters, head and tail from the text, the count right, no pair of halves split."""
    from react_replay import Observation, ToolCall

    seen = Observation(call=ToolCall(name="f"), text=text).shortened(most)
    assert len(seen.text) <= most
    if len(text) <= most:
        assert (seen.text, seen.whole) == (text, "")
        return
    assert seen.whole == text
    found = re.search(r"\n\[\.\.\. (\d+) characters left out \.\.\.\]\n", seen.text)
    assert found
    head, tail = seen.text[: found.start()], seen.text[found.end() :]
    assert text == head + text[len(head) : len(text) - len(tail)] + tail
    assert int(found[1]) == len(text) - len(head) - len(tail)
    for edge in (len(head), len(text) - len(tail)):
        assert text[edge - 1 : edge + 1] != "\ud83d\ude00"


def test_limits_override_the_provider() -> None:
    """`Limits(max_observation=...)` counts where it is given, in `run` and `arun` alike."""
    import asyncio

    def f() -> str:
        """Much."""
        return "x" * 1000

    def agent(**limits: Any) -> Agent:
        backend = ScriptedBackend([{"choices": [{"message": asked("a")}]}, "done"])
        return Agent(backend, tools=[f], limits=Limits(**limits))

    cut = agent(max_observation=200).run("q")
    assert len(cut.messages[2]["content"]) <= 200
    assert asyncio.run(agent(max_observation=200).arun("q")).to_dict() == cut.to_dict()
    assert len(agent().run("q").messages[2]["content"]) == 1000
    with pytest.raises(ConfigurationError, match="`max_observation` must be a whole number of at least 100"):
        Limits(max_observation=99)
