"""The text dialects: any reply has one outcome, a well-formed one what was written, in linear time."""

from __future__ import annotations

import gc
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from react_replay.dialects import Answer, Dialect, Malformed, Outcome, ToolCalls, dialect, names
from react_replay.dialects.labelled import LABELS, LabelledDialect
from react_replay.messages import Completion, Flag, ToolSpec
from react_replay.wire import dump_arguments
from tests.properties import Property, TooSlow

TEXT_DIALECTS = [name for name in names() if name != "native"]
READERS: Mapping[str, Dialect] = {
    **{name: dialect(name) for name in names()},
    "strict": LabelledDialect(name="strict", strict=True),
    "strict json": LabelledDialect(name="strict json", strict=True, input="json"),
    "strict bracket": LabelledDialect(name="strict bracket", strict=True, input="bracket"),
}
FLAGS = {value for name, value in vars(Flag).items() if name.isupper()}
TOOLS = tuple(ToolSpec(name=name) for name in ("search", "calculator", "get_weather"))

# --- Replies of any kind -------------------------------------------------------------------------

any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates too
PIECES = [
    *("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Observ", "Question:"),
    *(
        "思考：",
        "行动：",
        "行动输入：",
        "观察：",
        "最终答案：",
        "**Action:**",
        "1. Action:",
        "Actıon:",
        "**Action: ",
    ),
    *("**", "`", "```", "```json", "````", "~~~", "> ", "- "),
    *("[", "]", "(", ")", "（", "）", "【", "】", "［", "］"),
    *("search", "finish", "None", "无", "北京", "42", "x", "{", "}", "｛", '{"q": "x"}', "{'q': 'x'}"),
    *('{"q": 1e999}', "{“q”：“x”}", '"', "'", "“", "”", "\\", ",", ":", "|", "<", ">", "<|", "<｜"),
    *("<think>", "</think>", "<|channel|>", "<|im_end|>", "<tool_call>", "</tool_call>"),
    *('{"name": "search", "arguments": {}}', '{"action": "search", "action_input": {}}', '{"answer": 1}'),
    *("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *("\n", "\n\n", "\r\n", "\r", " ", "\t", "\u3000", "\ud800", "\ufeff", "\u2028"),
]
pieces = st.sampled_from(PIECES)
soup = st.lists(pieces, max_size=30).map("".join)

_spellings = st.sampled_from([spelling for table in LABELS.values() for spelling in table])
_labels = st.builds(
    lambda before, spelling, case, after: before + case(spelling) + after,
    st.sampled_from(["", "**", "1. ", "## ", "- ", "* ", "> ", "  ", "__", "`"]),
    _spellings,
    st.sampled_from([str, str.upper, str.lower]),
    st.sampled_from([":", "：", ": ", ":**", "**:", " :", "：\n", "", ":\n\n"]),
)
_nested = st.builds(
    lambda unit, count, middle, closing: unit * count + middle + closing * count,
    st.sampled_from(["[", "{", '{"a":', "(", "【", "<think>", "```\n", "> ", '[{"a":']),
    st.sampled_from([1, 2, 3, 60, 120, 1200]),
    st.sampled_from(["", "1", "x", '"', "\n"]),
    st.sampled_from(["", "]", "}", ")", "】", "</think>", "```\n", "}]"]),
)
_json_texts = st.builds(
    lambda value, cut: json.dumps(value, ensure_ascii=False)[: None if cut is None else -cut],
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["action", "action_input", "name", "arguments", "tool", "input", "answer", "thought"]
                )
                | st.text(max_size=3),
                inner,
                max_size=3,
            )
        ),
        max_leaves=6,
    ),
    st.none() | st.integers(1, 3),
)
label_soup = st.lists(
    st.one_of(_labels, _labels, pieces, _nested, _json_texts, st.just("\n"), any_text), max_size=16
).map("".join)
replies = st.one_of(any_text, soup, st.lists(st.one_of(pieces, any_text), max_size=12).map("".join))
wild_replies = replies | label_soup
finishes = st.sampled_from(["stop", "length", None])
read_inputs = st.fixed_dictionaries(
    {
        "dialect": st.sampled_from(sorted(READERS)),
        "reply": wild_replies,
        "finish": finishes,
        "tools": st.booleans(),
    }
)


def read(given: Mapping[str, Any]) -> Outcome:
    """The outcome of `{"dialect", "reply", "finish"?, "tools"?}`."""
    completion = Completion(content=given["reply"], finish_reason=given.get("finish", "stop"))
    return READERS[given["dialect"]].parse(completion, TOOLS if given.get("tools") else ())


def one_consistent_outcome(given: Mapping[str, Any]) -> None:
    """Exactly one of call, answer and refusal, with the fields that go with it; the same when asked again."""
    outcome = read(given)
    assert type(outcome) in (ToolCalls, Answer, Malformed)
    assert bool(outcome.calls) == isinstance(outcome, ToolCalls)
    assert (outcome.answer is not None) == isinstance(outcome, Answer)
    assert bool(outcome.reason) == isinstance(outcome, Malformed)
    assert set(outcome.flags) <= FLAGS
    assert len(set(outcome.flags)) == len(outcome.flags)
    for call in outcome.calls:
        assert call.name
        assert isinstance(call.arguments, (dict, str))
        if isinstance(call.arguments, dict):
            dump_arguments(call.arguments)
    assert len(outcome.kept) <= len(given["reply"])
    assert outcome == read(given)
    completion = Completion(content=given["reply"], finish_reason=given.get("finish", "stop"))
    json.dumps(READERS[given["dialect"]].assistant(completion, outcome))


def kept_reads_the_same(given: Mapping[str, Any]) -> None:
    """A run resumed from the history sees the calls or the answer that it saw in the reply."""
    outcome = read({**given, "finish": "stop"})
    again = read({**given, "finish": "stop", "reply": outcome.kept})
    assert again.calls == outcome.calls
    assert again.answer == outcome.answer


def no_invented_observation(given: Mapping[str, Any]) -> None:
    """No free text of a call holds an observation's line, unless a fence makes it part of the payload."""
    reply = given["reply"]
    for call in read({**given, "finish": "stop"}).calls:
        if isinstance(call.arguments, str) and "```" not in reply and "~~~" not in reply:
            assert not re.search(r"^Observation:", call.arguments, re.M)


# --- Replies as the prompts ask for --------------------------------------------------------------

line = st.text(
    st.sampled_from("abcdefghij 北京天气如何 0123456789 +-*/.?!，。"), min_size=1, max_size=30
).filter(lambda text: text.strip() == text and not text.startswith(("*", "-", "+", "#", ">", "`", "~")))
lines = st.lists(line, min_size=1, max_size=3).map("\n".join)
tool_names = st.from_regex(r"\A[a-z][a-z0-9_]{0,15}\Z").filter(
    lambda name: not re.match(r"(?:none|null|na|finish|no)\b", name)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)

_ENGLISH = ("Thought", "Action", "Action Input", "Final Answer", "Observation")
_CHINESE = ("思考", "行动", "行动输入", "最终答案", "观察")


@st.composite
def _written(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(TEXT_DIALECTS))
    thought_label, action, action_input, answer_label, observation = draw(
        st.sampled_from([_ENGLISH, _CHINESE])
    )
    bold = draw(st.booleans())
    colon = draw(st.sampled_from([":", "："]))

    def label(word: str) -> str:
        return f"**{word}{colon}** " if bold else f"{word}{colon} "

    thought = draw(st.just("") | lines)
    reply = label(thought_label) + thought + "\n" if thought else ""
    written: dict[str, Any] = {"dialect": name, "thought": thought, "plain": not bold}
    if draw(st.booleans()):
        answer = draw(lines)
        return {**written, "answer": answer, "reply": reply + label(answer_label) + answer}
    called = draw(tool_names)
    payload: Any
    if name == "bracket":
        payload = draw(line)
        reply += f"{label(action)}{called}[{payload}]"
    else:
        payload = draw(objects if name == "json" else objects | line)
        text = payload
        if isinstance(payload, dict):
            text = json.dumps(payload, ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(2)))
            if "```" not in text and draw(st.booleans()):
                text = f"```json\n{text}\n```"
                written["plain"] = False
        reply += f"{label(action)}{called}\n{label(action_input)}{text}"
    if draw(st.booleans()):
        written["plain"] = False
        reply += f"\n{label(observation)}{draw(line)}\n{label(answer_label)}{draw(line)}"
    return {**written, "name": called, "arguments": payload, "reply": reply}


written = _written()


def reads_what_was_written(given: Mapping[str, Any]) -> None:
    """A reply as the prompt asks for is read as it was meant: thought, name and payload, or answer."""
    outcome = read(given)
    assert outcome.thought == given["thought"]
    if "answer" in given:
        assert outcome.answer == given["answer"]
        assert outcome.calls == ()
    else:
        assert [(call.name, call.arguments) for call in outcome.calls] == [
            (given["name"], given["arguments"])
        ]
    if given["plain"]:
        assert outcome.flags == ()


# --- Time ----------------------------------------------------------------------------------------

LENGTH = 64_000
_units = st.lists(
    st.one_of(_labels, pieces, _nested.filter(lambda text: len(text) < 40)), min_size=1, max_size=4
).map("".join)
shapes = st.fixed_dictionaries(
    {
        "dialect": st.sampled_from(sorted(READERS)),
        "before": st.lists(st.one_of(_labels, pieces), max_size=4).map("".join),
        "unit": _units | st.sampled_from([" ", "\n", "\t", "1", "[", "a", "`", "*", "\\", '"']),
        "after": st.lists(st.one_of(_labels, pieces), max_size=3).map("".join),
    }
)


def _seconds(given: Mapping[str, Any], length: int) -> float:
    repeated = given["unit"] * (length // len(given["unit"]))
    asked = {"dialect": given["dialect"], "reply": given["before"] + repeated + given["after"]}
    gc.collect()
    start = time.process_time()
    read(asked)
    return time.process_time() - start


def time_grows_with_the_length(given: Mapping[str, Any]) -> None:
    """A repetition of 64,000 characters is read in no more than its share of a shorter one's time."""
    if _seconds(given, LENGTH) > 0.05:
        short, long = (min(_seconds(given, length) for _ in range(3)) for length in (LENGTH // 4, LENGTH))
        if long > 8 * short:
            raise TooSlow(f"{LENGTH // 4} characters: {short:.3f} s, {LENGTH}: {long:.3f} s of CPU time")


_text_inputs = st.fixed_dictionaries(
    {"dialect": st.sampled_from(TEXT_DIALECTS), "reply": wild_replies, "tools": st.booleans()}
)
PROPERTIES = (
    Property(name="one consistent outcome", inputs=read_inputs, check=one_consistent_outcome),
    Property(name="kept reads the same", inputs=_text_inputs, check=kept_reads_the_same),
    Property(name="no invented observation", inputs=_text_inputs, check=no_invented_observation),
    Property(name="reads what was written", inputs=written, check=reads_what_was_written),
    Property(name="time grows with the length", inputs=shapes, check=time_grows_with_the_length),
)
