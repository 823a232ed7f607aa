"""Replies to the text dialects and what is read in them: call, thought, flags, what is kept, every reason."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay.dialects import Answer, Malformed, Outcome, ToolCalls, dialect, parse
from react_replay.dialects.labelled import LabelledDialect
from react_replay.dialects.scanner import ACTION, ANSWER
from react_replay.messages import Completion, Flag, ToolCall, ToolSpec

SEARCH = ToolSpec(name="search", parameters={"type": "object", "required": ["q", "lang"]})
PING = ToolSpec(name="ping")
TOOLS = [SEARCH, PING]
HEAD = "Action: search\nAction Input: "
NO_LABEL = "after the thought write `Action:` to use a tool or `Final Answer:` to finish"
OBJECT = 'the Action Input must be a JSON object such as {"name": "value"}: '
NO_TOOL = "no tool is named; to finish without a tool write `Final Answer:`"
EMPTY = "the final answer is empty; write it after its label"
CUT = "the reply was cut before the input ended"
STRICT = LabelledDialect(strict=True)


def read(text: str, name: str | LabelledDialect = "labelled", *, cut: bool = False) -> Outcome:
    reader = dialect(name)
    assert isinstance(reader, LabelledDialect)
    return reader.parse_text(text, TOOLS, cut=cut)


def called(outcome: Outcome) -> tuple[str, Any, tuple[str, ...]]:
    assert isinstance(outcome, ToolCalls), outcome
    (call,) = outcome.calls
    return call.name, call.arguments, outcome.flags


@pytest.mark.parametrize(
    ("action", "name", "value", "flags"),
    [
        # Behind a fence, of either mark, past blanks.
        ('\n~~~\n{"action": "look", "action_input": {"q": "x"}}\n~~~', "look", {"q": "x"}, ()),
        ('\n```json\n\n  {"action": "look", "action_input": {"q": "x"}}\n```', "look", {"q": "x"}, ()),
        ('\n```json\n {"action": "look", "action_input": {"q": "x"}}\n```', "look", {"q": "x"}, ()),
        (' ｛"action"："look"，"action_input"：｛｝｝', "look", {}, (Flag.REPAIRED,)),
        # An action's JSON: its name, its input, what stands behind it.
        (' {"action": "ping"}', "ping", {}, ()),
        (' {"action": "functions.ping"}', "ping", {}, (Flag.RENAMED_TOOL,)),
        (' {"action": "look", "action_input": 5}', "look", "5", ()),
        (' {"action": "look", "action_input": [1, "北"]}', "look", '[1, "北"]', ()),
        (' {"action": "look", "action_input": "x"} and more', "look", "x", (Flag.TRAILING_TEXT,)),
        (' {"action": "look", "action_input": "x"} X', "look", "x", (Flag.TRAILING_TEXT,)),
        # A name and what stands behind it.
        (" functions.ping", "ping", {}, (Flag.RENAMED_TOOL,)),
        (" functions.ping()", "ping", {}, (Flag.RENAMED_TOOL,)),
        (" functions.ping[x]", "ping", "x", (Flag.RENAMED_TOOL,)),
        (" functions.ping[x] y", "ping", "x", (Flag.RENAMED_TOOL, Flag.TRAILING_TEXT)),
        (" ping 。", "ping", {}, ()),
        (" ping* X", "ping", {}, (Flag.TRAILING_TEXT,)),
        # Call syntax.
        (' look(X{"q": 1})', "look", 'X{"q": 1}', ()),
        (" look(XaX)", "look", "XaX", ()),
        (' look(")', "look", '"', ()),
        (' look("")', "look", "", ()),
        (" look[", "look", "", (Flag.REPAIRED,)),
        (' look({"q": "x"}', "look", {"q": "x"}, ()),
        (' look({"q": "x"} y)', "look", {"q": "x"}, (Flag.TRAILING_TEXT,)),
        (" look({'q': 'x'}", "look", {"q": "x"}, (Flag.REPAIRED,)),
        (" look({'q': 'a)'})", "look", {"q": "a)"}, (Flag.REPAIRED,)),
        (" look({'q': 'x'}) X", "look", {"q": "x"}, (Flag.REPAIRED, Flag.TRAILING_TEXT)),
        (
            " look({'q': 'x'})\nObservation: (y)",
            "look",
            {"q": "x"},
            (Flag.REPAIRED, Flag.INVENTED_OBSERVATION),
        ),
        (" look[x\nObservation: y]", "look", "x", (Flag.REPAIRED, Flag.INVENTED_OBSERVATION)),
        (" look[x)**", "look", "x", (Flag.REPAIRED,)),
    ],
)
def test_an_action_is_read_to_its_end(action: str, name: str, value: Any, flags: tuple[str, ...]) -> None:
    """The tool, its input and the flags of an action in each spelling; the thought before it is whole."""
    outcome = read(f"So (a) I go on.\nAction:{action}")
    assert called(outcome) == (name, value, flags)
    assert outcome.thought == "So (a) I go on."


@pytest.mark.parametrize(
    ("written", "value", "flags"),
    [
        ('```\n {"q": "x"}\n```', {"q": "x"}, ()),
        ("```\n{'q': 'x'}\n```", {"q": "x"}, (Flag.REPAIRED,)),
        ("```\nx  \n```", "x  ", ()),
        ("```\nX\n```", "X", ()),
        ("```x```", "x", ()),
        ("```15 * 15 + 400```", "15 * 15 + 400", ()),
        ("``` a b ```", "a b", ()),
        ('```json {"q": "x"}```', {"q": "x"}, ()),
        ("```python\nx\n```", "x", ()),
        ('"a" or "b"', '"a" or "b"', ()),
        ('{"q": "x"} X', {"q": "x"}, (Flag.TRAILING_TEXT,)),
        ("{'q': 'a \\\"b\\\"'}", {"q": 'a "b"'}, (Flag.REPAIRED,)),
    ],
)
def test_an_input_is_read_to_its_end(written: str, value: Any, flags: tuple[str, ...]) -> None:
    """The value behind the input's label: a word in an inline fence is input."""
    assert called(read(HEAD + written)) == ("search", value, flags)


@pytest.mark.parametrize("text", ["Action: ping\nAction Input: ```", 'Action: ping\nAction Input: ""'])
def test_an_empty_input_is_none(text: str) -> None:
    """An empty fence or string is no input to a tool that needs none."""
    assert read(text) == ToolCalls(calls=(ToolCall(name="ping"),), kept=text)


def test_bold_that_opens_before_the_inputs_label_is_taken_off() -> None:
    """Marks that began before a label and end its line are none of the text, nor are blanks before them."""
    assert called(read("Action: look\n**Action Input: x **")) == ("look", "x", ())
    assert read("**Final Answer: 42 **\nb").answer == "42\nb"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('Action:\n```json\n{"action": "ping"}\n```\nI wait.', 'Action:\n```json\n{"action": "ping"}\n```'),
        ('Action:\n```json\n{"action": "ping"}\n```', 'Action:\n```json\n{"action": "ping"}\n```'),
        ('Action: {"action": "ping"}\nObservation: y', 'Action: {"action": "ping"}'),
        ("Action: ping()\nObservation: y", "Action: ping()"),
        ("Action: finish\nAction Input: 42\nObservation: y", "Action: finish\nAction Input: 42"),
        ("```\nAction: ping\nAction Input: x", "```\nAction: ping\nAction Input: x"),
        ("Thought: t\nObservation: y", "Thought: t\nObservation: y"),
        ("Thought: t\nAction: None\nObservation: y", "Thought: t\nAction: None"),
        ("Thought: t\nInput: {}\nObservation: y\nb", "Thought: t\nInput: {}"),
    ],
)
def test_what_the_history_keeps(text: str, kept: str) -> None:
    """The reply up to the end of what was read, a fence closed, and no observation behind an action."""
    assert read(text).kept == kept


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Action: [x]", "the action names no tool"),
        (
            'Action: {"action": x}',
            "the action's JSON cannot be read: Expecting value at character 11 of the input",
        ),
        (
            'Action:\n```json\n{"action": "ping", x}\nObservation: y',
            "the action's JSON cannot be read: Expecting property name enclosed in double quotes "
            "at character 19 of the input",
        ),
        ('Action: {"foo": 1}', "the action's JSON names no tool; write its name under `action`"),
        ('Action: {"action": "none", "action_input": {}}', NO_TOOL),
        ("Action: None", NO_TOOL),
        (
            'Action: search({"q": x})',
            "the input is not valid JSON: Expecting value at character 6 of the input",
        ),
        ("Action: search", "the action search has no input; it needs `q`, `lang`"),
        ('{"action": "search"}', "the action search has no input; it needs `q`, `lang`"),
        ('Action: ping\n\n{"q": "x"}', "an input stands without its `Action Input:` label"),
        ('Action: ping\n``` {"q": "x"}```', "an input stands without its `Action Input:` label"),
        ("Final Answer:", EMPTY),
        ("Action: finish", EMPTY),
        ('Action: finish\nAction Input: " "', EMPTY),
        ("Thought: t\nInput: x", "an input stands without its `Action:` line"),
        ("Thought: t", f"found only a thought; {NO_LABEL}"),
        ("hello", f"found no label; {NO_LABEL}"),
        ('{"": "42"}', f"found no label; {NO_LABEL}"),
        (HEAD + '{"q": NaN}', f"{OBJECT}NaN is no JSON number"),
        (HEAD + '{"q": 1e999}', f"{OBJECT}1e999 is no JSON number"),
        (HEAD + '{"q": 1' + "0" * 30 + "e999}", f"{OBJECT}1{'0' * 19} is no JSON number"),
        (HEAD + '{"q": ' + "1" * 5000 + "}", f"{OBJECT}a number has too many digits"),
        (HEAD + '{"q": ' + "[" * 100 + "]" * 100 + "}", f"{OBJECT}it is nested too deeply"),
        ("Action: look[x\nI wait.", "the bracket is not closed"),
    ],
)
def test_each_reason_is_told_to_the_model(text: str, reason: str) -> None:
    """What is refused says what was found, where, and what to write, word for word."""
    outcome = read(text)
    assert isinstance(outcome, Malformed), outcome
    assert outcome.reason == reason


@pytest.mark.parametrize(
    ("name", "written", "reason"),
    [
        ("json", "x", f"{OBJECT}it is no JSON object"),
        ("json", '""', f"{OBJECT}it is no JSON object"),
        ("json", '```json\n{"q": x}\n```', f"{OBJECT}Expecting value at character 6 of the input"),
        (
            STRICT,
            "{'q': 'x'}",
            f"{OBJECT}Expecting property name enclosed in double quotes at character 1 of the input",
        ),
    ],
)
def test_the_input_label_wants_json(name: Any, written: str, reason: str) -> None:
    """The reason of a dialect that wants JSON, or mends none, names the label, the form and the place."""
    outcome = read(f"Action: ping\nAction Input: {written}", name)
    assert isinstance(outcome, Malformed)
    assert outcome.reason == reason


def test_strict_says_what_it_does_not_mend() -> None:
    """An open bracket is read and then refused by name."""
    assert read("Action: look[x", STRICT).reason == (
        "the input is not written as agreed: check its quotes and brackets"
    )


def test_the_bracket_dialect_takes_only_json_proper_for_json() -> None:
    """In its brackets what is not quite JSON is text, which ends at the closing bracket."""
    assert called(read("Action: look[{'q': 'x]'}]", "bracket")) == (
        "look",
        "{'q': 'x",
        (Flag.TRAILING_TEXT,),
    )


def test_a_malformed_reply_keeps_its_thought_and_flags() -> None:
    """What was read before a reply is refused goes with the refusal."""
    assert read('Thought: t\nAction: {"action": x}\nObservation: y') == Malformed(
        reason="the action's JSON cannot be read: Expecting value at character 11 of the input",
        thought="t",
        flags=(Flag.INVENTED_OBSERVATION,),
        kept='Thought: t\nAction: {"action": x}',
    )
    assert read("Thought: t").thought == "t"
    assert read("just text").thought == "just text"


@pytest.mark.parametrize(
    ("text", "answer", "flags"),
    [
        ("Final Answer: a\nInput: b", "a\nInput: b", ()),
        ("Final Answer: a\nFinal Answer: b", "a\nFinal Answer: b", ()),
        ("Final Answer: a\nObservation: b", "a", (Flag.INVENTED_OBSERVATION,)),
        ("Action: {'action': 'finish', 'action_input': '42'}", "42", (Flag.REPAIRED,)),
        ('{"action": "finish", "answer": "42"}', "42", ()),
    ],
)
def test_an_answer_and_its_flags(text: str, answer: str, flags: tuple[str, ...]) -> None:
    """An answer ends where the model goes on by itself, and is flagged for that only."""
    outcome = read(text)
    assert isinstance(outcome, Answer), outcome
    assert (outcome.answer, outcome.flags, outcome.thought) == (answer, flags, "")


@pytest.mark.parametrize("action", ["", "Action: "])
@pytest.mark.parametrize("name", ["finish", "none", "完成"])
def test_in_json_too_a_tool_may_be_called_finish_or_none(action: str, name: str) -> None:
    """A known tool is called with its own input, whatever its name would mean otherwise."""
    outcome = parse("labelled", f'{action}{{"action": "{name}", "action_input": {{"a": 1}}}}', [name])
    assert called(outcome) == (name, {"a": 1}, ())
    both = f'{action}{{"action": "{name}", "action_input": {{"a": 1}}, "answer": "x"}}'
    assert called(parse("labelled", both, [name])) == (name, {"a": 1}, (Flag.AMBIGUOUS,))


@pytest.mark.parametrize(
    ("text", "name", "value", "flags"),
    [
        ('{"action": "functions.ping"}', "ping", {}, (Flag.RENAMED_TOOL,)),
        ('{"a": {"b": {"c": {"action": "look", "input": "x"}}}}', "look", "x", ()),
    ],
)
def test_an_object_for_a_reply(text: str, name: str, value: Any, flags: tuple[str, ...]) -> None:
    """An object may wrap the call three deep, and its tool's name is cleaned."""
    outcome = read(text)
    assert called(outcome) == (name, value, flags)
    assert (outcome.thought, outcome.kept) == ("", text)


def test_an_answer_in_an_actions_json_calls_no_tool() -> None:
    """Not even one that is called `finish`."""
    text = 'Action: {"answer": "42"}'
    assert parse("labelled", text, ["finish"]) == Answer(answer="42", kept=text)


def test_an_object_that_wraps_deeper_is_none() -> None:
    """Four outer keys hold no call."""
    assert isinstance(read('{"a": {"b": {"c": {"d": {"action": "look", "input": "x"}}}}}'), Malformed)


@pytest.mark.parametrize(
    ("reason", "cut"), [("stop", False), ("tool_calls", False), ("length", True), (None, True)]
)
def test_a_reply_is_cut_where_its_provider_says_so(reason: str | None, cut: bool) -> None:
    """Free text at the end of a reply counts unless `length` or no reason at all ended it."""
    text = "Action: look\nAction Input: Taip"
    outcome = dialect("labelled").parse(Completion(content=text, finish_reason=reason))
    if cut:
        assert outcome == Malformed(reason=CUT, flags=(Flag.TRUNCATED,), kept=text)
    else:
        assert outcome == ToolCalls(calls=(ToolCall(name="look", arguments="Taip"),), kept=text)


def test_a_cut_reply_with_thinking_is_cut() -> None:
    """Taking template marks out of a reply does not forget that it was cut."""
    outcome = read("<think>a</think>\nAction: look\nAction Input: Taip", cut=True)
    assert (outcome.reason, outcome.flags) == (CUT, (Flag.TRUNCATED,))


def test_a_small_payload_is_mended_however_long_the_thought() -> None:
    """Only the payload's own length bounds what is mended."""
    assert called(read("a " * 15_000 + "\n" + HEAD + "{'q': 'x'}")) == (
        "search",
        {"q": "x"},
        (Flag.REPAIRED,),
    )


def test_labels_of_no_language_are_named_as_they_are() -> None:
    """A Chinese prompt over a table without Chinese names the first spelling of each label."""
    own = LabelledDialect(
        prompt="zh", language="zh", labels={ACTION: ("Do", "Make"), ANSWER: ("Say", "Tell")}
    )
    assert own.parse_text("x").reason == (
        "found no label; after the thought write `Do:` to use a tool or `Say:` to finish"
    )
