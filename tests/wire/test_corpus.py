"""Real failing replies, native and streamed, through an agent: what ran, what went back, how it ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, Limits, RunResult, ScriptedBackend
from react_replay.messages import Flag

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")
FILE = Path(FOLDER, "agent_cases.jsonl")
CASES: dict[str, Any] = {}
if FOLDER:
    for line in FILE.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] in ("native", "stream") and case["id"][0] in "ns":
            CASES[case["id"]] = case["input"]

OSLO = ("get_weather", {"city": "Oslo", "days": 1})
A, B, C = (("get_weather", {"city": city, "days": 1}) for city in "ABC")


class Played:
    """A run over one reply (then `done`), with what the tools really were given."""

    def __init__(self, *replies: Any, then: str = "done", **limits: Any) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.backend = ScriptedBackend([*replies, then])
        tools: list[Callable[..., Any]] = [self.get_weather, self.ping, self.boom, self.blob]
        self.result: RunResult = Agent(
            self.backend, tools=tools, limits=Limits(**limits) if limits else None
        ).run("?")

    def get_weather(self, city: str, days: int = 1) -> str:
        """The weather of a city."""
        self.ran.append(("get_weather", {"city": city, "days": days}))
        return f"{city}: 25°C"

    def ping(self) -> str:
        """Answers."""
        self.ran.append(("ping", {}))
        return "pong"

    def boom(self) -> str:
        """Always fails."""
        self.ran.append(("boom", {}))
        raise RuntimeError("kaput")

    def blob(self) -> dict[str, Any]:
        """A value that is no text."""
        self.ran.append(("blob", {}))
        return {"城市": "北京", "path": Path("x")}

    @property
    def observations(self) -> list[str]:
        return [seen.text for step in self.result.steps for seen in step.observations]

    @property
    def stop(self) -> str:
        return str(self.result.stop_reason)

    def check(self) -> None:
        """What holds for every case: pairs, JSON arguments, an encodable history."""
        messages = self.result.messages
        ids: list[str] = []
        for place, message in enumerate(messages):
            asked = [call["id"] for call in message.get("tool_calls", ())]
            answered = [m.get("tool_call_id") for m in messages[place + 1 : place + 1 + len(asked)]]
            assert asked == answered
            ids += asked
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
        assert len(ids) == len(set(ids))
        json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()


def play(name: str, **settings: Any) -> Played:
    played = Played(CASES[name], **settings)
    played.check()
    return played


RUNS = {
    "n01_args_empty": [("ping", {})],
    "n02_args_null_str": [("ping", {})],
    "n37_args_object": [OSLO],
    "n04_double_encoded": [OSLO],
    "n36_length_valid_args": [OSLO],
    "n07_trailing_brace": [OSLO],
    "n08_raw_newline": [("get_weather", {"city": "Os\nlo", "days": 1})],
    "n45_lone_surrogate": [("get_weather", {"city": "\ud83d", "days": 1})],
    "n38_functions_prefix": [OSLO],
    "n40_harmony_name": [OSLO],
    "n11_dup_ids": [A, B],
    "n50_id_reused_next_turn": [A],
    "n13_empty_id": [A, B],
    "n51_id_trailing_space": [OSLO],
    "n21_tool_returns_dict": [("blob", {})],
    "n22_parallel_one_bad": [A, ("boom", {}), C],
    "n25_usage_null": [OSLO],
    "n26_legacy_function_call": [OSLO],
    "n32_reasoning_content": [OSLO],
    "n34_dsml_text": [OSLO],
    "s00_ok": [OSLO],
    "s01_no_index": [OSLO],
    "s02_all_index0_two_calls": [A, B],
    "s03_name_repeated": [OSLO],
    "s05_dup_index_first_chunk": [OSLO],
    "s06_args_null_delta": [("ping", {})],
    "s13_delta_null": [OSLO],
    "s10_index_from_1": [OSLO],
    "s17_index_drift": [OSLO],
    "s12_finish_stop": [OSLO],
    "s22_id_only_in_second": [OSLO],
    "s24": [OSLO],
}
TAUGHT = {
    "n44_deep_nesting": "error: ",
    "n42_nan": "NaN",
    "n09_unknown_tool": "the tools are: get_weather, ping, boom, blob",
    "n28_type_error_args": "`city`",
    "n29_missing_required": "`city` is missing",
    "s21_cumulative_args": "not valid JSON",
    "s27": "error: ",
}
STOPS = {
    "n05_truncated_len": ("length", ""),
    "n16_content_filter": ("content_filter", ""),
    "n18_empty_content": ("empty", ""),
    "n19_refusal": ("refusal", "I can't help"),
    "n24_choices_empty": ("backend_error", ""),
    "n48_error_200": ("backend_error", ""),
    "s15_length_cut": ("length", ""),
    "s20_no_finish_text": ("incomplete", "The answer is"),
    "s19_error_chunk": ("backend_error", "par"),
}
ANSWERS = {"n46_content_list": "hello", "s16_empty_toolcalls_list": "hello"}
SEPARATE = {"n15_toolcalls_no_calls", "n30_endless", "s25"}


def test_every_case_of_the_corpus_has_its_expectation() -> None:
    """No native or stream case is left out, and none is named that is not there."""
    assert {*RUNS, *TAUGHT, *STOPS, *ANSWERS, *SEPARATE} == set(CASES)


@pytest.mark.parametrize("name", RUNS)
def test_the_right_calls_run(name: str) -> None:
    """Exactly the calls that the reply asks for run, with its arguments, and the loop goes on."""
    played = play(name)
    assert played.ran == RUNS[name]
    assert played.result.answer == "done"


@pytest.mark.parametrize("name", TAUGHT)
def test_an_unreadable_call_teaches_the_model(name: str) -> None:
    """Nothing runs; the observation says what was wrong; the loop goes on."""
    played = play(name)
    assert played.ran == []
    [text] = played.observations
    assert TAUGHT[name] in text
    assert played.backend.requests[1]["messages"][-1]["role"] == "tool"
    assert played.result.answer == "done"


@pytest.mark.parametrize("name", STOPS)
def test_the_run_ends_by_name(name: str) -> None:
    """The stop reason is the case's, the text is partial, nothing ran and nothing was asked again."""
    played = play(name)
    assert (played.stop, played.result.partial) == STOPS[name]
    assert played.result.answer is None
    assert played.ran == []
    assert len(played.backend.requests) == 1


@pytest.mark.parametrize("name", ANSWERS)
def test_the_text_is_the_answer(name: str) -> None:
    """Text in an unusual shape is the answer."""
    assert play(name).result.answer == ANSWERS[name]


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("n04_double_encoded", Flag.DOUBLE_ENCODED),
        ("n36_length_valid_args", Flag.TRUNCATED),
        ("n07_trailing_brace", Flag.REPAIRED),
        ("n38_functions_prefix", Flag.RENAMED_TOOL),
        ("n40_harmony_name", Flag.RENAMED_TOOL),
        ("n11_dup_ids", Flag.RENAMED_ID),
        ("n26_legacy_function_call", Flag.LEGACY_CALL),
        ("n34_dsml_text", Flag.LEAKED_MARKUP),
        ("s24", Flag.REPAIRED),
        ("s20_no_finish_text", Flag.UNFINISHED),
    ],
)
def test_what_was_odd_is_flagged(name: str, flag: str) -> None:
    """A repair or a guess-free reading of something odd is never silent."""
    assert flag in play(name).result.flags


def test_the_same_call_in_a_second_turn_gets_an_id_of_its_own() -> None:
    """n50: an id of an earlier turn is renamed, and both calls run."""
    reply = CASES["n50_id_reused_next_turn"]
    played = Played(reply, reply)
    played.check()
    assert played.ran == [A, A]


def test_the_providers_own_id_is_echoed() -> None:
    """n51: an id with a trailing space comes back byte for byte."""
    played = play("n51_id_trailing_space")
    assert played.result.messages[2]["tool_call_id"] == "call_1 "


def test_a_dict_is_sent_as_json() -> None:
    """n21: non-ASCII stays readable, and what JSON does not know becomes its text."""
    assert play("n21_tool_returns_dict").observations == ['{"城市": "北京", "path": "x"}']


def test_the_siblings_of_a_failed_call_are_kept() -> None:
    """n22: three observations in call order, the middle one an error."""
    texts = play("n22_parallel_one_bad").observations
    assert texts == ["A: 25°C", "error: RuntimeError: kaput", "C: 25°C"]


def test_reasoning_goes_back_with_its_calls() -> None:
    """n32: `reasoning_content` stays on the assistant turn that holds calls."""
    messages = play("n32_reasoning_content").result.messages
    assert messages[1]["reasoning_content"] == "R1 thoughts"


def test_announced_calls_that_never_come_end_as_malformed() -> None:
    """n15: a bounded number of tries, then an ending of its own name."""
    played = Played(*[CASES["n15_toolcalls_no_calls"]] * 3)
    assert (played.stop, len(played.result.steps)) == ("malformed", 3)


def test_an_endless_model_ends_at_the_limit() -> None:
    """n30: no answer, truncated, the whole history, every id of its own."""
    played = Played(*[CASES["n30_endless"]] * 4, max_steps=4)
    played.check()
    assert (played.stop, played.result.truncated, len(played.ran)) == ("max_steps", True, 4)


def test_a_marker_cut_by_a_chunk_border_is_seen_in_the_joined_text() -> None:
    """s25: streamed and whole, the same reading of the joined text; nothing runs."""
    played = play("s25")
    whole = {"content": "hello<‖DSML‖tool_calls>world"}
    other = Played({"choices": [{"message": whole, "finish_reason": "stop"}]})
    assert played.ran == []
    assert played.result.to_dict() == other.result.to_dict()
