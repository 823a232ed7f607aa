"""Think blocks, special tokens and calls as tokens: taken out at the edges of lines, left alone in text."""

from __future__ import annotations

import pytest

from react_replay.dialects import Answer, Malformed, ToolCalls, parse
from react_replay.dialects.markup import Cleaned, clean_reply
from react_replay.messages import Flag

ACTION = 'Thought: t\nAction: search\nAction Input: {"q": "x"}'
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n"
    '```json\n{"q": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
DEEPSEEK_31 = '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"q": "x"}<｜tool▁call▁end｜>'
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>"
    '{"q": "x"}<|tool_call_end|><|tool_calls_section_end|>'
)
HERMES = '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>'
DSML = """<｜DSML｜function_calls>
<｜DSML｜invoke name="search">
<｜DSML｜parameter name="q" string="true">x</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>"""
BARE_DSML = DSML.replace("｜DSML｜", "")
QWEN_CODER = "<tool_call>\n<function=search>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>"
HARMONY = '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"q": "x"}<|call|>'
FORMS = {
    "DeepSeek V3.2": DSML,
    "DeepSeek V4": DSML.replace("function_calls", "tool_calls"),
    "DeepSeek, with another bar": DSML.replace("｜", "‖"),
    "DeepSeek, with an ASCII bar": DSML.replace("｜", "|"),
    "DeepSeek V3.2 without its token": BARE_DSML,
    "Qwen coder": QWEN_CODER,
    "Llama's function": '<function=search>{"q": "x"}</function>',
    "Llama's python tag": '<|python_tag|>{"name": "search", "parameters": {"q": "x"}}<|eom_id|>',
    "Mistral": '[TOOL_CALLS][{"name": "search", "arguments": {"q": "x"}}]',
    "Mistral, arguments encoded": '[TOOL_CALLS] [{"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}]',
    "Mistral, newer": '[TOOL_CALLS]search[ARGS]{"q": "x"}',
    "Mistral, newest": '[TOOL_CALLS]search{"q": "x"}',
    "gpt-oss": HARMONY,
    "gpt-oss, with its start": f"<|start|>assistant{HARMONY}",
    "gpt-oss, the name first": (
        '<|start|>assistant to=functions.search<|channel|>commentary json<|message|>{"q": "x"}<|call|>'
    ),
    "parameters instead of arguments": '<tool_call>{"name": "search", "parameters": {"q": "x"}}</tool_call>',
}
HERMES_TWICE = '<tool_call>{"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}</tool_call>'


@pytest.mark.parametrize(
    "before",
    [
        "<think>maybe Action: foo\nAction: foo\nAction Input: {}\nno.</think>\n",
        "<thinking>\nAction: foo\n</thinking>\n\n",
        "I could do\nAction: foo\nAction Input: {}\nbut no.</think>\n",
        "Action: foo\nno.</think>",
        "<think>a</think>\n<think>Action: foo\nb</think>\n",
        "<think>a\n<think>b</think>\nAction: foo\n</think>\n",
    ],
)
def test_thinking_is_skipped(before: str) -> None:
    """Labels inside a think block do not count, also where its opening tag is missing."""
    outcome = parse("labelled", before + ACTION)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]
    assert outcome.thought == "t"


@pytest.mark.parametrize("text", [f"<think>{ACTION}</think>", f"<think>\n{ACTION}\n", f"{ACTION}</think>"])
def test_a_whole_turn_inside_the_block_is_read(text: str) -> None:
    """Where nothing stands outside the block, what stands inside is the reply."""
    outcome = parse("labelled", text)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]


def test_thinking_behind_the_reply_is_dropped() -> None:
    """A block that opens on its own line after the reply is no part of it, closed or not."""
    for close in ("", "</think>", "</think>\n"):
        outcome = parse("labelled", f"Action: search\nAction Input: x\n<think>hm{close}")
        assert [call.arguments for call in outcome.calls] == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        "use <think> tags",
        "the tag </think> ends it",
        "write <think>x</think> there",
        "let f = g <| h",
        "a <|x|> b",
        "<b>bold</b> and <|pipe",
        "say <tool_call> to call",
    ],
)
def test_marks_in_the_middle_of_a_line_are_text(text: str) -> None:
    """An answer that speaks of tags and tokens is kept as it is, without a flag."""
    outcome = parse("labelled", f"Final Answer: {text}.")
    assert outcome.answer == f"{text}."
    assert outcome.flags == ()


@pytest.mark.parametrize("value", ["<|x|>", "a </think> b", "<think>a</think>", "<｜x｜>", "<tool_call>"])
def test_marks_in_a_payload_are_its_text(value: str) -> None:
    """What a JSON string holds reaches the tool unchanged."""
    outcome = parse("json", f'Action: search\nAction Input: {{"q": "{value}"}}')
    assert [call.arguments for call in outcome.calls] == [{"q": value}]
    assert outcome.flags == ()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("The answer is 4.<｜DSML｜function_calls", "The answer is 4."),
        ("The answer is 4.<|im_end|>", "The answer is 4."),
        ("The answer is 4.<|im_end|>\n<|im_start|>", "The answer is 4."),
        ("<|im_start|>assistant\nThe answer is 4.", "The answer is 4."),
        ("<|start|>assistant<|channel|>final<|message|>The answer is 4.<|return|>", "The answer is 4."),
        ("The answer is 4.<|im_en", "The answer is 4."),
        ("The answer is 4.</tool_call>", "The answer is 4."),
    ],
)
def test_tokens_at_the_edge_of_a_line_go(text: str, clean: str) -> None:
    """Special tokens at a line's start or end are the template's, and flagged."""
    assert clean_reply(text) == Cleaned(clean, flags=(Flag.LEAKED_MARKUP,))
    outcome = parse("native", text)
    if isinstance(outcome, Answer) and outcome.flags:
        assert outcome.answer == clean


def test_a_token_glued_to_a_name_or_an_input_goes() -> None:
    """Tokens behind a tool's name and behind free text reach neither."""
    outcome = parse("labelled", "Action: search<|channel|>commentary\nAction Input: x<|im_end|>")
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", "x")]
    assert outcome.flags == (Flag.LEAKED_MARKUP,)


@pytest.mark.parametrize("name", ["native", "labelled", "json", "bracket", "zh"])
@pytest.mark.parametrize("text", [DEEPSEEK, DEEPSEEK_31, KIMI, HERMES, HERMES_TWICE])
@pytest.mark.parametrize("before", ["", "Thought: t\n", "I will search.\n", "<think>hm</think>\n"])
def test_a_call_written_as_tokens_is_recovered(name: str, text: str, before: str) -> None:
    """A whole call in the tokens of a template is the call it says, flagged."""
    outcome = parse(name, before + text)
    assert isinstance(outcome, ToolCalls)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]
    assert outcome.flags == (Flag.LEAKED_MARKUP,)


@pytest.mark.parametrize("text", [DEEPSEEK, DEEPSEEK_31, KIMI, HERMES, HERMES_TWICE])
def test_a_text_dialect_keeps_the_first_call_and_nothing_behind_it(text: str) -> None:
    """A second call and an invented answer behind the first are cut from the history."""
    outcome = parse("labelled", f"Thought: t\n{text}\n{HERMES}\nObservation: 1\nFinal Answer: made up")
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]
    assert outcome.kept.startswith("Thought: t\n<")
    assert "made up" not in outcome.kept
    assert parse("labelled", outcome.kept).calls == outcome.calls


def test_labels_before_such_a_call_decide() -> None:
    """The first in order counts: an action or an answer with a label before the tokens."""
    outcome = parse("labelled", f"Action: read\nAction Input: y\n{HERMES}")
    assert [call.name for call in outcome.calls] == ["read"]
    assert outcome.flags == (Flag.LEAKED_MARKUP,)
    outcome = parse("labelled", f"Final Answer: 42\n{HERMES}")
    assert outcome.answer == "42"
    assert outcome.flags == (Flag.LEAKED_MARKUP,)


@pytest.mark.parametrize("cut", [8, 20, 60])
@pytest.mark.parametrize("text", [DEEPSEEK_31, KIMI, HERMES])
def test_half_a_call_is_none(text: str, cut: int) -> None:
    """A call whose JSON is not complete is never made."""
    json_begins = text.index("{")
    outcome = parse("labelled", text[: json_begins + cut].partition("}")[0])
    assert isinstance(outcome, Malformed)


@pytest.mark.parametrize("arguments", ["[1]", '"x"', "1", "null", '{"a": NaN}', '{"a": 1e999}'])
def test_arguments_that_are_no_object_make_no_call(arguments: str) -> None:
    """A call in tokens is recovered only with a JSON object for arguments."""
    outcome = parse("labelled", f'<tool_call>{{"name": "a", "arguments": {arguments}}}</tool_call>')
    assert isinstance(outcome, Malformed)


def test_a_reply_without_marks_passes_untouched() -> None:
    """Text without template marks comes back as it is, blanks included."""
    text = "  a < b and c > d\n"
    assert clean_reply(text) == Cleaned(text)


@pytest.mark.parametrize("name", ["native", "labelled", "json", "bracket", "zh"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["", "I will search.\n"])
def test_every_templates_call_is_recovered(name: str, form: str, before: str) -> None:
    """A call in the spelling of any common template is the call it says, and never an answer."""
    outcome = parse(name, before + FORMS[form], ["search"])
    assert isinstance(outcome, ToolCalls)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]
    assert outcome.flags == (Flag.LEAKED_MARKUP,)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["native", "labelled"])
def test_no_cut_of_a_templates_call_runs_half_of_it(name: str, form: str) -> None:
    """Wherever such a call is cut it is whole or none: no other name, no other arguments."""
    for end in range(len(FORMS[form])):
        calls = parse(name, FORMS[form][:end], ["search"]).calls
        assert [(call.name, call.arguments) for call in calls] in ([], [("search", {"q": "x"})])


def test_typed_parameters_of_dsml_are_json() -> None:
    """`string="false"` marks a JSON value; any other is the text as it stands, line breaks included."""
    text = DSML.replace(
        "</｜DSML｜invoke>",
        '<｜DSML｜parameter name="n" string="false">[10, true]</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="t" string="true">10\n20</｜DSML｜parameter>\n</｜DSML｜invoke>',
    )
    assert parse("native", text).calls[0].arguments == {"q": "x", "n": [10, True], "t": "10\n20"}


def test_several_calls_of_a_template_keep_their_order() -> None:
    """The native dialect runs all calls of a turn in order; a text dialect takes the first."""
    text = '[TOOL_CALLS][{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]'
    assert [call.name for call in parse("native", text).calls] == ["a", "b"]
    assert [call.name for call in parse("labelled", text).calls] == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "Write <function=name>{...}</function> for a call.",
        "An <invoke> element calls it.",
        '<function=other>{"q": "x"}</function>',
        '<invoke name="other"></invoke>',
        '[TOOL_CALLS]other{"q": "x"}',
        '{"name": "other", "arguments": {}}',
        '{"name": "search"} is how it begins.',
        '{"city": "Oslo"}',
        "[1, 2]",
    ],
)
def test_what_only_looks_like_a_call_is_an_answer(text: str) -> None:
    """Markup and JSON that name no tool, or stand in a sentence, are the model's text."""
    outcome = parse("native", text, ["search"])
    assert (type(outcome), outcome.answer) == (Answer, text)


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}```"])
@pytest.mark.parametrize("key", ["arguments", "parameters", "args", "input"])
def test_a_native_call_written_as_json_is_recovered(fence: str, key: str) -> None:
    """A reply that is nothing but the JSON of a known tool's call is that call, flagged."""
    text = fence.replace("{}", f'{{"name": "search", "{key}": {{"q": "x"}}}}')
    outcome = parse("native", text, ["search"])
    assert [(call.name, call.arguments) for call in outcome.calls] == [("search", {"q": "x"})]
    assert outcome.flags == (Flag.LEAKED_MARKUP,)


@pytest.mark.parametrize("name", ["native", "labelled"])
def test_half_a_call_is_sent_back_with_its_reason(name: str) -> None:
    """A call that began in tokens and is not whole is no answer: the model is told, its text kept."""
    text = f"I will search.\n{DSML[:60]}"
    outcome = parse(name, text)
    assert isinstance(outcome, Malformed)
    assert "not whole" in outcome.reason
    assert outcome.kept == text


def test_tokens_inside_a_line_are_flagged_in_a_native_answer() -> None:
    """A token that no text holds by chance is left where it stands and said."""
    outcome = parse("native", "hello<‖DSML‖tool_calls>world")
    assert (outcome.answer, outcome.flags) == ("hello<‖DSML‖tool_calls>world", (Flag.LEAKED_MARKUP,))
