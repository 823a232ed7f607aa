"""Labels, payloads and flags of the text protocols: what a reply is read as, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay.dialects import Answer, Malformed, Outcome, ToolCalls, dialect, parse
from react_replay.dialects.labelled import LabelledDialect
from react_replay.dialects.scanner import ACTION, ANSWER, INPUT, OBSERVATION, THOUGHT
from react_replay.messages import Completion, Flag, ToolSpec

SEARCH = ToolSpec(
    name="search",
    parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)
PING = ToolSpec(name="ping")
HEAD = "Action: search\nAction Input: "


def read(text: str, *, name: str = "labelled", cut: bool = False) -> Outcome:
    reader = dialect(name)
    assert isinstance(reader, LabelledDialect)
    return reader.parse_text(text, cut=cut)


def called(outcome: Outcome) -> tuple[str, Any]:
    assert isinstance(outcome, ToolCalls), outcome
    assert len(outcome.calls) == 1
    return outcome.calls[0].name, outcome.calls[0].arguments


def answered(outcome: Outcome) -> str | None:
    assert isinstance(outcome, Answer), outcome
    return outcome.answer


def refused(outcome: Outcome) -> str:
    assert isinstance(outcome, Malformed), outcome
    assert outcome.reason
    return outcome.reason


# Labels


@pytest.mark.parametrize(
    "text",
    [
        'Thought: t\nAction: search\nAction Input: {"q": "x"}',
        '**Thought:** t\n**Action:** search\n**Action Input:** {"q": "x"}',
        '**Thought**: t\n**Action**: search\n**Action Input**: {"q": "x"}',
        '**Thought: t**\n**Action: search**\n**Action Input: {"q": "x"}**',
        '_Thought:_ t\n`Action`: search\n__Action Input__: {"q": "x"}',
        'thought: t\nACTION: search\naction input: {"q": "x"}',
        'Thought : t\nAction : search\nAction  Input : {"q": "x"}',
        'Thought: t\nAction: search\nAction_Input: {"q": "x"}',
        'Thought: t\nAction: search\nActionInput: {"q": "x"}',
        'Thought 1: t\nAction 1: search\nAction Input 1: {"q": "x"}',
        'Thought 1: t\nAction 1: search\nAction 1 Input: {"q": "x"}',
        '1. Thought: t\n2. Action: search\n3) Action Input: {"q": "x"}',
        '- Thought: t\n- Action: search\n* Action Input: {"q": "x"}',
        '### Thought: t\n### Action: search\n### Action Input: {"q": "x"}',
        '> Thought: t\n> Action: search\n> Action Input: {"q": "x"}',
        'Thought：t\nAction：search\nAction Input：{"q": "x"}',
        '思考：t\n行动：search\n行动输入：{"q": "x"}',
        '**思考：** t\n**行动：** search\n**行动输入：** {"q": "x"}',
        '1、思考: t\n2、行动: search\n3、行动输入: {"q": "x"}',
        '\ufeffThought: t\n\u3000Action: search\n\u3000Action Input: {"q": "x"}',
        'Thought: t\r\nAction: search\r\nAction Input: {"q": "x"}\r\n',
        'Thought: t\n\nAction:\nsearch\n\nAction Input:\n\n{"q": "x"}\n\n',
        'Thought: t\nTool: search\nTool Input: {"q": "x"}',
        'Thought: t\nAction: `search`\nAction Input: {"q": "x"}',
        'Thought: t\nAction: "search"\nAction Input: `{"q": "x"}`',
    ],
)
@pytest.mark.parametrize("name", ["labelled", "json", "zh"])
def test_labels_are_known_in_every_dress(name: str, text: str) -> None:
    """Bold, numbered, quoted, fullwidth and Chinese labels in any case are the same labels."""
    outcome = read(text, name=name)
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.thought.strip("*") == "t"
    assert outcome.flags == ()


def test_a_label_counts_only_at_the_start_of_a_line() -> None:
    """A label in the middle of a line is text."""
    outcome = read("Thought: not Action: foo yet\nFinal Answer: see Action: bar")
    assert answered(outcome) == "see Action: bar"
    assert outcome.thought == "not Action: foo yet"


@pytest.mark.parametrize("letter", ["ı", "İ"])
def test_a_letter_that_only_looks_the_same_is_none(letter: str) -> None:
    """A dotless or dotted Turkish letter makes no label, and no exception either."""
    assert "no label" in refused(read(f"Act{letter}on: search"))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Final Answer: **42**", "**42**"),
        ("**Final Answer:** **42**", "**42**"),
        ("**Final Answer**: **42**", "**42**"),
        ("**Final Answer: 42**", "42"),
        ("**Final Answer: 42**\nand more", "42\nand more"),
        ("Final Answer: `42`", "`42`"),
        ("最终答案：**四十二**", "**四十二**"),
    ],
)
def test_bold_of_the_answer_stays_and_bold_of_the_label_goes(text: str, answer: str) -> None:
    """Marks belong to the label only where they opened before it."""
    assert answered(read(text)) == answer


# Order


def test_the_first_label_decides_for_an_action() -> None:
    """An action before an answer is run; the answer is dropped and flagged."""
    outcome = read(HEAD + '{"q": "x"}\nFinal Answer: y')
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == (Flag.AMBIGUOUS,)
    assert outcome.kept == HEAD + '{"q": "x"}'


def test_the_first_label_decides_for_an_answer() -> None:
    """An answer that speaks of an action is an answer, kept whole and flagged."""
    outcome = read("Final Answer: The log says\nAction: restart\nAction Input: none\nand stops.")
    assert answered(outcome) == "The log says\nAction: restart\nAction Input: none\nand stops."
    assert outcome.flags == (Flag.AMBIGUOUS,)


@pytest.mark.parametrize("label", ["Question", "Thought", "问题"])
def test_an_answer_ends_where_the_model_goes_on_by_itself(label: str) -> None:
    """A new question or thought after the answer is dropped and flagged."""
    outcome = read(f"Final Answer: 42\n\n{label}: next?\nAction: search\nAction Input: x")
    assert answered(outcome) == "42"
    assert outcome.flags == (Flag.TRAILING_TEXT,)
    assert outcome.kept == "Final Answer: 42"


def test_later_rounds_are_dropped() -> None:
    """Of several rounds in one reply only the first is read and kept."""
    first = 'Thought: a\nAction: search\nAction Input: {"q": "x"}'
    outcome = read(first + "\nObservation: f1\nThought: b\nAction: read\nAction Input: {}\nObservation: y")
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)
    assert outcome.kept == first


@pytest.mark.parametrize(
    ("name", "kept", "rest"),
    [
        ("json", HEAD + '{"q": "x"}', "\nObservation: made up\nFinal Answer: y"),
        ("labelled", HEAD + "free text", "\n**Observation:** made up"),
        ("zh", "思考：想\n行动：search\n行动输入：北京", "\n观察：晴\n最终答案：晴"),
        ("bracket", "Action: search[x]", "\nObservation: made up"),
    ],
)
def test_an_invented_observation_is_cut(name: str, kept: str, rest: str) -> None:
    """What the model wrote in the tool's place never reaches the history."""
    outcome = read(kept + rest, name=name)
    called(outcome)
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)
    assert outcome.kept == kept


def test_an_observation_before_any_action_is_refused() -> None:
    """A reply that begins with an observation is malformed, whatever follows."""
    refused(read("Observation: 5\nThought: b\n" + HEAD + "x"))


def test_thoughts_run_together() -> None:
    """A repeated thought label is part of the thought."""
    outcome = read("Thought: a\nThought: b\nAction: ping")
    assert outcome.thought == "a\nThought: b"
    assert called(outcome) == ("ping", {})


def test_an_input_label_in_a_thought_is_passed_over() -> None:
    """A line of the thought that begins with `Input:` does not hide the action."""
    assert called(read("Thought: the\nInput: is csv\n" + HEAD + "x")) == ("search", "x")


# Payloads


def test_the_payload_says_where_it_ends() -> None:
    """Labels, fences and braces inside a JSON string are its text."""
    text = "log\nObservation: ok\n```\nFinal Answer: } none {"
    outcome = read(f'Action: write\nAction Input: {{"text": "{text}"}}')
    assert called(outcome) == ("write", {"text": text})
    assert outcome.flags == ()


@pytest.mark.parametrize("after", [" note", "}", "\nI will wait.", " // done"])
def test_text_behind_the_payload_is_flagged(after: str) -> None:
    """What follows the JSON object is dropped and flagged."""
    outcome = read(HEAD + '{"q": "x"}' + after)
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == (Flag.TRAILING_TEXT,)
    assert outcome.kept == HEAD + '{"q": "x"}'


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{'q': 'x', 'n': 1, 'b': True, 'c': None}", {"q": "x", "n": 1, "b": True, "c": None}),
        ("{'q': 'it\\'s \"x\"'}", {"q": 'it\'s "x"'}),
        ("{“q”：“你好，世界：“}", {"q": "你好，世界："}),
        ('｛"q"：“a”，"n"：2｝', {"q": "a", "n": 2}),
        ('{"q": "a，b：“c”"，"n": 1}', {"q": "a，b：“c”", "n": 1}),
        ('{"q": "True, \'x\'", "b": True,}', {"q": "True, 'x'", "b": True}),
        ('{"q": "a\\nb", "r": \\n[1, 2]\\n}', {"q": "a\nb", "r": [1, 2]}),
    ],
)
def test_what_is_almost_json_is_read_and_flagged(written: str, value: dict[str, Any]) -> None:
    """Other quotes, fullwidth marks and Python's words are mended outside strings, never inside."""
    outcome = read(HEAD + written, name="json")
    assert called(outcome) == ("search", value)
    assert outcome.flags == (Flag.REPAIRED,)


@pytest.mark.parametrize(
    "written",
    [
        '{"q": "x"',
        '{"q": "x',
        '{"q": ',
        "{",
        '{"q": x}',
        "{'q': 'it's'}",
        '{"q": NaN}',
        '{"q": 1e999}',
        '{"q": -Infinity}',
        '{"q": ' + "1" * 5000 + "}",
        '{"q" "x"}',
    ],
)
@pytest.mark.parametrize("name", ["labelled", "json", "zh"])
def test_broken_json_is_refused_with_its_reason(name: str, written: str) -> None:
    """A JSON object that is cut or wrong is never completed; the model is asked to write it again."""
    reason = refused(read(HEAD + written, name=name))
    assert "must be a JSON object" in reason
    assert dialect(name).mend(reason)["role"] == "user"
    assert reason in dialect(name).mend(reason)["content"]


@pytest.mark.parametrize("written", ["x", "[1, 2]", '"x"', "42", "null", "```\nx\n```"])
def test_the_json_dialect_refuses_free_text(written: str) -> None:
    """Seed 003 asks for a JSON object and takes nothing else."""
    assert "it is no JSON object" in refused(read(HEAD + written, name="json"))


@pytest.mark.parametrize("action", ['search("x")', "search[x]", '{"action": "search", "action_input": "x"}'])
def test_the_json_dialect_takes_text_that_says_where_it_ends(action: str) -> None:
    """A text in brackets or in an action's JSON is no guess: it is the call's only value."""
    assert called(read(f"Action: {action}", name="json")) == ("search", "x")


def test_a_json_error_names_its_place() -> None:
    """The reason counts characters from where the input begins."""
    reason = refused(read("Thought: long\n" + HEAD + '{"q": x}', name="json"))
    assert "at character 6 of the input" in reason


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("北京", "北京"),
        ('what is "X"?', 'what is "X"?'),
        ('select * from t where a = "b"', 'select * from t where a = "b"'),
        ('"x"', "x"),
        ("two\nlines", "two\nlines"),
        ("[1, 2]", "[1, 2]"),
        ("15 * 15 + 400", "15 * 15 + 400"),
    ],
)
@pytest.mark.parametrize("name", ["labelled", "zh"])
def test_free_text_is_taken_whole(name: str, written: str, value: str) -> None:
    """Where free text is allowed it goes to the next label, quotes kept unless they are all."""
    assert called(read(f"行动: search\n行动输入: {written}\n观察: z", name=name)) == ("search", value)


@pytest.mark.parametrize(
    ("rest", "name"),
    [("Observ", "labelled"), ("Observation", "labelled"), ("观", "zh"), ("观察", "zh"), ("**Observ", "zh")],
)
def test_a_rest_of_the_stop_word_is_no_input(rest: str, name: str) -> None:
    """A stop word that the server cut in half stays out of the input and of the history."""
    outcome = read(f"Action: word_len\nAction Input: abc\n{rest}", name=name)
    assert called(outcome) == ("word_len", "abc")
    assert outcome.kept == "Action: word_len\nAction Input: abc"


# Fences


@pytest.mark.parametrize("mark", ["```", "~~~", "````", "> ```"])
def test_labels_inside_a_fence_are_text(mark: str) -> None:
    """A fenced example in the thought does not act."""
    outcome = read(f"Thought: so\n{mark}\nAction: no\nAction Input: no\n{mark}\n" + HEAD + "x")
    assert called(outcome) == ("search", "x")


def test_a_fence_closes_with_its_own_mark() -> None:
    """Another kind of fence, or a shorter one, is text inside a fence."""
    assert called(read("~~~\n```\nAction: no\n~~~\n" + HEAD + "x")) == ("search", "x")
    assert called(read("````\n```\nAction: no\n````\n" + HEAD + "x")) == ("search", "x")


@pytest.mark.parametrize("line", ["```", "~~~", "```code``` is a fence"])
def test_a_fence_that_does_not_close_hides_nothing(line: str) -> None:
    """Labels behind a lone fence line, or behind code on one line, still count."""
    assert called(read(f"Thought: so\n{line}\n" + HEAD + '{"q": "x"}')) == ("search", {"q": "x"})


@pytest.mark.parametrize(
    "text",
    [
        'Action: search\nAction Input:\n```json\n{"q": "x"}\n```',
        'Action: search\nAction Input: ```{"q": "x"}```',
        'Action: search\nAction Input:\n  ~~~\n  {"q": "x"}\n  ~~~',
        '```\nAction: search\nAction Input: {"q": "x"}\n```',
        'Action:\n```json\n{"action": "search", "action_input": {"q": "x"}}\n```',
        '```json\n{"action": "search", "action_input": {"q": "x"}}\n```',
    ],
)
@pytest.mark.parametrize("name", ["labelled", "json"])
def test_fences_round_an_input_an_action_or_all_are_taken_off(name: str, text: str) -> None:
    """A fence round JSON, wherever it stands, leaves the JSON and no flag."""
    outcome = read(text, name=name)
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == ()


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "  ```"])
def test_fenced_code_keeps_its_indentation_and_ends_at_its_fence(fence: str) -> None:
    """Code as an input is what the fence holds; fences further on do not matter."""
    code = 'for i in range(2):\n    print({"a": i})'
    outcome = read(f"Action: py\nAction Input:\n{fence}python\n{code}\n{fence}\nObservation: 1\n```\nx\n```")
    assert called(outcome) == ("py", code)
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)


def test_code_in_an_open_fence_ends_at_the_next_label() -> None:
    """A fence without an end does not swallow an invented observation."""
    outcome = read("Action: py\nAction Input:\n```python\nx = 1\nObservation: 2\nFinal Answer: 3")
    assert called(outcome) == ("py", "x = 1")
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)


# Actions


@pytest.mark.parametrize(
    "nothing",
    ["None", "none", "N/A", "n/a", "null", "No tool", "no action needed", "No need to use a tool", "无",
     "无需工具", "不需要", "不需要工具", "没有", "None (direct response required)"],
)  # fmt: skip
def test_no_tool_is_never_called_none(nothing: str) -> None:
    """An action that says there is none asks for the answer's label."""
    assert "Final Answer:" in refused(read(f"Thought: t\nAction: {nothing}\nAction Input: None"))


def test_a_tool_may_bear_such_a_name() -> None:
    """A known tool is called even if its name reads like none."""
    assert called(parse("labelled", "Action: none", ["none"])) == ("none", {})
    assert called(read("Action: 无人机查询\nAction Input: x")) == ("无人机查询", "x")


@pytest.mark.parametrize("text", ["Action:", "Action:\nAction Input: x", "Action: \n\n", "Action: [x]"])
def test_an_action_without_a_name_is_refused(text: str) -> None:
    """An empty action line names no tool."""
    assert "names no tool" in refused(read(text))


@pytest.mark.parametrize("text", ["Action: search", "Action: search()", "Action: search\nAction Input:"])
@pytest.mark.parametrize("name", ["labelled", "json"])
def test_a_missing_input_names_the_fields(name: str, text: str) -> None:
    """A tool that needs something and got nothing is not run; the reason says what it needs."""
    assert "`q`" in refused(parse(name, text, [SEARCH]))


@pytest.mark.parametrize("text", ["Action: ping", "Action: ping()", "Action: ping\nAction Input:\n"])
@pytest.mark.parametrize("name", ["labelled", "json"])
def test_a_tool_without_parameters_needs_no_input(name: str, text: str) -> None:
    """A tool that takes nothing runs with an empty object."""
    assert called(parse(name, text, [PING])) == ("ping", {})


def test_an_input_without_its_label_is_asked_for() -> None:
    """JSON that stands on its own behind the action is neither dropped nor guessed at."""
    assert "Action Input:" in refused(parse("labelled", 'Action: ping\n\n{"q": "x"}', [PING]))


def test_an_input_without_an_action_is_refused() -> None:
    """An input alone names no tool."""
    assert "`Action:`" in refused(read("Thought: t. Action: search\nAction Input: x"))


@pytest.mark.parametrize("line", ["search, calculator", "search: now", "search; then read"])
def test_text_behind_a_tools_name_is_flagged(line: str) -> None:
    """What else stands on the action line is not lost silently."""
    outcome = parse("labelled", f"Action: {line}\nAction Input: x", ["search", "read"])
    assert Flag.TRAILING_TEXT in outcome.flags or outcome.calls[0].name not in ("search", "read")


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ('search({"q": "x"})', {"q": "x"}),
        ('search ({"q": "x)"})', {"q": "x)"}),
        ('search(\n{"q": "x"}\n)', {"q": "x"}),
        ('search("x")', "x"),
        ("search[x]", "x"),
        ("search（北京）", "北京"),
    ],
)
def test_call_syntax_is_understood(action: str, value: Any) -> None:
    """A tool called as in code is called with what its brackets hold."""
    outcome = read(f"Action: {action}")
    assert called(outcome) == ("search", value)
    assert outcome.flags == ()


@pytest.mark.parametrize("name", ["functions.search", "`search`", "search()", "**search**", "search<|x|>y"])
def test_a_decorated_name_is_its_tool(name: str) -> None:
    """Prefixes, quotes and leaked tokens round a known tool's name do not make it unknown."""
    assert called(parse("labelled", f"Action: {name}\nAction Input: x", [SEARCH]))[0] == "search"


@pytest.mark.parametrize(
    "text",
    ["Action: finish\nAction Input: 42", "Action: Final Answer\nAction Input: 42", "Action: Finish[42]",
     'Action: finish\nAction Input: {"answer": "42"}', "行动: 完成\n行动输入: 42", 'Action: finish("42")',
     'Action:\n```json\n{"action": "Final Answer", "action_input": "42"}\n```'],
)  # fmt: skip
def test_finish_is_an_answer(text: str) -> None:
    """Finishing as if by a tool gives the answer."""
    assert answered(read(text)) == "42"


def test_finish_may_be_a_tool() -> None:
    """A tool of that name is a tool."""
    assert called(parse("labelled", "Action: finish\nAction Input: 42", ["finish"])) == ("finish", "42")


def test_a_structured_answer_is_json() -> None:
    """An answer that is no text is spelled as JSON, not as Python."""
    outcome = read('Action: finish\nAction Input: {"城市": "北京", "ok": true}')
    assert answered(outcome) == '{"城市": "北京", "ok": true}'


@pytest.mark.parametrize(
    "text", ["Final Answer:", "Final Answer: \n\n", "Action: finish", "Action: Finish[]"]
)
def test_an_empty_answer_is_refused(text: str) -> None:
    """An answer's label without an answer asks for it."""
    assert "empty" in refused(read(text))


@pytest.mark.parametrize("text", ["", " \n", "just text", "{}", "[]", '{"name": "Bob"}', '{"answer": null}'])
def test_text_without_a_label_is_no_answer(text: str) -> None:
    """Nothing is taken for an answer without its label; the reason names both labels."""
    reason = refused(read(text))
    assert "`Action:`" in reason
    assert "`Final Answer:`" in reason


def test_a_thought_alone_is_no_answer() -> None:
    """A thought alone is refused, and the reason says that it was only a thought."""
    assert "only a thought" in refused(read("Thought: I should look at the data first."))


def test_the_chinese_dialect_names_its_own_labels() -> None:
    """What the Chinese dialect asks for is written as its prompt writes it."""
    reason = refused(read("思考：想", name="zh"))
    assert "`行动:`" in reason
    assert "`最终答案:`" in reason


# A JSON object instead of labels


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "t", "action": "search", "action_input": {"q": "x"}}',
        '{"tool": "search", "arguments": {"q": "x"}, "thought": "t"}',
        '{"thought": "t", "name": "search", "parameters": {"q": "x"}}',
        '{"tool_call": {"thought": "t", "action": "search", "action_input": {"q": "x"}}}',
        '{"思考": "t", "行动": "search", "行动输入": {"q": "x"}}',
        '{"thought": "t", "action": "search", "action_input": {"q": "x"}, "final_answer": ""}',
        '{"thought": "t", "action": "search", "action_input": {"q": "x"}, "answer": null}',
        'Thought: t\nAction: {"action": "search", "action_input": {"q": "x"}}',
        'Thought: t\nAction: {"tool_call": {"name": "search", "arguments": {"q": "x"}}}',
    ],
)
@pytest.mark.parametrize("name", ["labelled", "json", "zh", "bracket"])
def test_an_object_is_read_like_labels(name: str, text: str) -> None:
    """One JSON object that holds the thought, the action and its input is a call."""
    outcome = read(text, name=name)
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.thought == "t"
    assert outcome.flags == ()


def test_an_object_may_hold_its_arguments_encoded_twice() -> None:
    """Arguments that are JSON in a JSON string are decoded and flagged."""
    outcome = read('{"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}', name="json")
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == (Flag.DOUBLE_ENCODED,)


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "42"}',
        '{"final_answer": 42}',
        '{"action": "Final Answer", "action_input": "42"}',
        '{"action": null, "final_answer": "42"}',
        '{"action": "none", "answer": "42"}',
        '{"response": {"answer": "42"}}',
    ],
)
def test_an_object_may_answer(text: str) -> None:
    """An object with an answer and no action is the answer."""
    assert answered(read(text)) == "42"


def test_in_an_object_with_both_the_first_decides() -> None:
    """An action and an answer in one object: the first in order counts, flagged."""
    outcome = read('{"action": "search", "action_input": {"q": "x"}, "answer": "y"}')
    assert called(outcome) == ("search", {"q": "x"})
    assert outcome.flags == (Flag.AMBIGUOUS,)
    outcome = read('{"answer": "y", "action": "search", "action_input": {"q": "x"}}')
    assert answered(outcome) == "y"
    assert outcome.flags == (Flag.AMBIGUOUS,)


def test_json_in_a_thought_is_no_call() -> None:
    """An object in the thought is not promoted to a call."""
    outcome = read('Thought: like {"action": "no", "action_input": {}}\n' + HEAD + "x")
    assert called(outcome) == ("search", "x")


# A cut reply


@pytest.mark.parametrize(
    "text",
    [HEAD + "Taip", "Action: sea", "Action: search[Taip", HEAD, HEAD + '{"q": "x', HEAD + "```\nx"],
)
def test_a_cut_reply_is_no_call(text: str) -> None:
    """What the provider cut may be half of what was meant, so it is not run."""
    refused(read(text, cut=True))


@pytest.mark.parametrize("rest", ["", "\nObservation: cut he"])
def test_a_call_from_complete_json_survives_the_cut(rest: str) -> None:
    """Complete JSON is complete, wherever the reply was cut after it."""
    assert called(read(HEAD + '{"q": "x"}' + rest, cut=True)) == ("search", {"q": "x"})


def test_a_reply_without_its_finish_reason_counts_as_cut() -> None:
    """A stream that broke off is read as a cut reply."""
    broken = Completion(content=HEAD + "Taip", finish_reason=None)
    outcome = dialect("labelled").parse(broken)
    refused(outcome)
    assert outcome.flags == (Flag.TRUNCATED,)


# Tables of labels, and strictness


RUSSIAN = LabelledDialect(
    name="ru",
    labels={
        THOUGHT: ("Мысль",),
        ACTION: ("Действие",),
        INPUT: ("Ввод действия",),
        OBSERVATION: ("Наблюдение",),
        ANSWER: ("Итоговый ответ",),
    },
)


def test_a_dialect_is_a_table_of_labels() -> None:
    """Any table of labels makes a dialect, in any case, bold and numbered like ours."""
    outcome = RUSSIAN.parse_text("мысль: да\n**ДЕЙСТВИЕ:** search\n3. Ввод  действия: x\nНаблюдение: y")
    assert called(outcome) == ("search", "x")
    assert outcome.thought == "да"
    assert outcome.flags == (Flag.INVENTED_OBSERVATION,)
    assert answered(RUSSIAN.parse_text("Итоговый ответ: 42")) == "42"


def test_a_table_replaces_the_usual_labels() -> None:
    """Labels that are not in the table are text, and reasons name those that are."""
    reason = refused(RUSSIAN.parse_text("Action: search\nAction Input: x"))
    assert "`Действие:`" in reason
    assert "`Итоговый ответ:`" in reason


def test_a_table_may_leave_kinds_out() -> None:
    """A dialect without an input label still reads answers and actions."""
    small = LabelledDialect(labels={ACTION: ("Do",), ANSWER: ("Say",)}, input="bracket")
    assert called(small.parse_text("Do: search[x]")) == ("search", "x")
    assert answered(small.parse_text("Say: 42")) == "42"
    refused(small.parse_text("nothing"))
    refused(LabelledDialect(labels={ACTION: ("Do",)}, input="bracket").parse_text("Do: search x"))


STRICT = LabelledDialect(strict=True)


def test_strict_reads_what_is_written_as_agreed() -> None:
    """A well-formed reply reads the same in strict and lenient mode."""
    for text in (HEAD + '{"q": "x"}', HEAD + "free", "Final Answer: 42", "Action: ping"):
        assert STRICT.parse_text(text) == read(text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "{'q': 'x'}",
        HEAD + '{“q”: "x"}',
        "Action: {'action': 'search', 'action_input': {}}",
        "Action: search({'q': 'x'})",
        "Action: search[x",
        '{"action": "search", "action_input": {"q": "x"}}',
        '<tool_call>{"name": "search", "arguments": {"q": "x"}}</tool_call>',
    ],
)
def test_strict_repairs_nothing(text: str) -> None:
    """What the lenient mode mends or recovers, the strict one refuses."""
    called(read(text))
    refused(STRICT.parse_text(text))
