"""Calls and tokens of chat templates, exactly: what is a call, what is text, what is kept and told."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay.dialects import Answer, Malformed, Outcome, ToolCalls, dialect, parse
from react_replay.dialects.leaked import BROKEN_CALL
from react_replay.dialects.markup import Cleaned, clean_reply
from react_replay.messages import Completion, Flag, ToolCall, ToolSpec

HERMES = '<tool_call>{"name": "search", "arguments": {"q": "x"}}</tool_call>'
PYTHON = '<|python_tag|>{"name": "search", "parameters": {"q": "x"}}'
SEARCH = ToolCall(name="search", arguments={"q": "x"})
LEAKED = (Flag.LEAKED_MARKUP,)
ONLY_TOKENS = "the reply holds only special tokens of the chat template"


def calls_in(text: str) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in parse("native", text, ["search", "ping"]).calls]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"{HERMES}\n{HERMES.replace('x', 'y')}\n{HERMES.replace('x', 'z')}", ["x", "y", "z"]),
        (f"</tool_call>\n{HERMES}", ["x"]),
        (f"{HERMES} so </tool_call>", ["x"]),
        (HERMES.removesuffix("</tool_call>"), ["x"]),
        (f'{HERMES}\n<function=search>{{"q": "y"}}</function>', ["x", "y"]),
        ('<tool_call>{"function": {"name": "search", "arguments": {"q": "x"}}}</tool_call>', ["x"]),
        ('  {"name": "search", "arguments": {"q": "x"}}', ["x"]),
        ('```json\n{"name": "search", "arguments": {"q": "x"}}', ["x"]),
        ('~~~\n{"name": "search", "arguments": {"q": "x"}}\n~~~', ["x"]),
        (
            '[{"name": "search", "arguments": {"q": "x"}}, {"name": "search", "arguments": {"q": "y"}}]',
            ["x", "y"],
        ),
        (
            '<｜tool▁call▁begin｜>ping<｜tool▁sep｜>no\n<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"q": "x"}'
            "<｜tool▁call▁end｜>",
            ["x"],
        ),
        ('<｜tool▁call▁begin｜>search<｜tool▁sep｜>```{"q": "x"}```<｜tool▁call▁end｜>', ["x"]),
        ('<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"q": {"r": 1}}<｜tool▁call▁end｜>', [{"r": 1}]),
        (
            '<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"q": "<｜tool▁sep｜>"}<｜tool▁call▁end｜>',
            ["<｜tool▁sep｜>"],
        ),
        (
            '<|tool_call_begin|>search:0<|tool_call_argument_begin|>{"q": "<|tool_call_argument_begin|>"}'
            "<|tool_call_end|>",
            ["<|tool_call_argument_begin|>"],
        ),
        ('<|python_tag|>{"name": "search", "parameters": {"q": "x"}}<|eom_id|><|eot_id|>', ["x"]),
        ('<|channel|>commentary to=search<|message|>{"q": "x"}<|end|><|call|>', ["x"]),
        ('<|channel|>commentary to=search<|message|>{"q": "<|message|>"}<|call|>', []),
        ('<|channel|>commentary to=search<|message|>no<|message|>{"q": "x"}<|call|>', []),
        ('[TOOL_CALLS]search{"q": {"r": 1}}', [{"r": 1}]),
        ("<function=search><parameter=q>x</parameter></function>", ["x"]),
        ("<function=search>\n<parameter=q>\nx\n\n</parameter>\n</function>", ["x\n"]),
        ('<invoke name="search"><parameter name="q">x</parameter></invoke>', ["x"]),
        ('<invoke\n name="search" >\n<parameter name="q">a > b</parameter>\n</invoke>', ["a > b"]),
        (
            '<｜DSML｜invoke name="search"><｜DSML｜parameter name="q">x'
            "</｜DSML｜parameter></｜DSML｜invoke>",
            ["x"],
        ),
    ],
)
def test_a_call_is_read_within_its_own_bounds(text: str, calls: list[Any]) -> None:
    """Each call takes the name and arguments between its own begin and end, nested or with tokens in them."""
    assert calls_in(text) == [("search", {"q": value}) for value in calls]


def test_a_call_of_nothing_has_an_empty_object() -> None:
    """A name alone is a call without arguments."""
    assert calls_in('{"name": "ping"}') == [("ping", {})]
    assert calls_in("<function=ping></function>") == [("ping", {})]
    assert calls_in('<invoke name="ping">\n</invoke>') == [("ping", {})]


def test_parameters_keep_their_names() -> None:
    """A name may stand in quotes, and nothing else of it is taken off."""
    text = "<function=search><parameter=X>1</parameter><parameter='q'>2</parameter></function>"
    assert calls_in(text) == [("search", {"X": "1", "q": "2"})]


@pytest.mark.parametrize(
    "text",
    [
        'Write <function=search>{"q": "x"}</function> for a call.',
        'a<function=search>{"q": "x"}</function>',
        '<b><function=search>{"q": "x"}</function>',
        "<function=search>junk<parameter=q>x</parameter></function>",
        "<function=search><parameter=q>x</parameter>junk</function>",
        "<function=search>\n<parameter=q</function>",
        "<function=search><parameter=q>x</function>",
        "<function=search>\n<parameter=q>x</parameter>",
        '<invoke name="search"><parameter name="q">x</parameter>',
        '<invoke id="search"></invoke>',
        '<INVOKE NAME="search"></INVOKE>',
        '[TOOL_CALLS][{"name": "search", "arguments": {}}, 5]',
        "The <|tool_call_begin|> token opens a call.",
        "a<|tool_call_begin|>b c",
        "<function_calls>\nhello",
        "a <|x|>X b",
        "```\nx",
        "[1",
    ],
)
def test_what_is_no_whole_call_in_its_place_is_an_answer(text: str) -> None:
    """Markup within a line, or with something loose in it, is the model's text, and not flagged."""
    assert parse("native", text, ["search", "ping"]) == Answer(answer=text, kept=text)


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        (Completion(content="x", reasoning="r"), Answer(answer="x", thought="r", kept="x")),
        (Completion(), Answer(answer="")),
        (
            Completion(content="<|im_start|>x", reasoning="r"),
            Answer(answer="x", thought="r", flags=LEAKED, kept="x"),
        ),
        (
            Completion(content="a<｜x｜>b", reasoning="r"),
            Answer(answer="a<｜x｜>b", thought="r", flags=LEAKED, kept="a<｜x｜>b"),
        ),
        (
            Completion(content="<|im_end|>"),
            Malformed(reason=ONLY_TOKENS, flags=LEAKED, kept="<|im_end|>"),
        ),
        (
            Completion(content='<tool_call>{"na', reasoning="r"),
            Malformed(reason=BROKEN_CALL, thought="r", flags=LEAKED, kept='<tool_call>{"na'),
        ),
        (
            Completion(content=f"I go.\n{HERMES}\nSo.", reasoning="r"),
            ToolCalls(calls=(SEARCH,), thought="r", flags=LEAKED, kept="I go.\n\nSo."),
        ),
        (
            Completion(content=f"I go.\n{HERMES}"),
            ToolCalls(calls=(SEARCH,), thought="I go.", flags=LEAKED, kept="I go."),
        ),
        (
            Completion(content='I go.\n<function_calls>\n<invoke name="ping"></invoke>\n</function_calls>'),
            ToolCalls(calls=(ToolCall(name="ping"),), thought="I go.", flags=LEAKED, kept="I go."),
        ),
        (
            Completion(content='{"name": "ping"}', reasoning="r"),
            ToolCalls(calls=(ToolCall(name="ping"),), thought="r", flags=LEAKED),
        ),
        (Completion(content='{"name": "ping"}'), ToolCalls(calls=(ToolCall(name="ping"),), flags=LEAKED)),
        (
            Completion(content="```\nx<|im_end|>\n```"),
            Answer(answer="```\nx\n```", flags=LEAKED, kept="```\nx\n```"),
        ),
        (
            Completion(content=" x ", reasoning="r", tool_calls=(ToolCall(name="ping", id="a"),)),
            ToolCalls(calls=(ToolCall(name="ping", id="a"),), thought="x", kept=" x "),
        ),
        (
            Completion(reasoning="r", tool_calls=(ToolCall(name="ping"),), finish_reason="tool_calls"),
            ToolCalls(calls=(ToolCall(name="ping"),), thought="r"),
        ),
        *(
            (
                Completion(content="x", finish_reason=reason),
                Malformed(
                    reason="finish_reason announces tool calls, but the reply holds none",
                    thought="x",
                    kept="x",
                ),
            )
            for reason in ("tool_calls", "function_call")
        ),
    ],
)
def test_a_native_reply_is_read_whole(completion: Completion, outcome: Outcome) -> None:
    """Calls, answer or reason, with the thought, the flags and what the history keeps."""
    tools = [ToolSpec(name="search"), ToolSpec(name="ping")]
    assert dialect("native").parse(completion, tools) == outcome


@pytest.mark.parametrize(
    ("written", "name", "flags"),
    [
        ("search", "search", ()),
        ("other", "other", ()),
        ("", "", ()),
        ("a.other", "a.other", ()),
        ("functions.search", "search", (Flag.RENAMED_TOOL,)),
        ("functions.a.b", "a.b", (Flag.RENAMED_TOOL,)),
        ("x.y.search", "search", (Flag.RENAMED_TOOL,)),
        (" `search` ", "search", (Flag.RENAMED_TOOL,)),
        ("'search'", "search", (Flag.RENAMED_TOOL,)),
        ("XsearchX", "XsearchX", ()),
        ("search<|a|><|b|>", "search", (Flag.RENAMED_TOOL,)),
    ],
)
def test_a_native_calls_name_is_cleaned_where_that_makes_it_known(
    written: str, name: str, flags: tuple[str, ...]
) -> None:
    """A known tool under decoration is that tool, flagged; any other name stays as it was written."""
    completion = Completion(tool_calls=(ToolCall(name=written, id="a", arguments={"q": 1}),))
    calls = (ToolCall(name=name, id="a", arguments={"q": 1}),)
    tools = [ToolSpec(name="search"), ToolSpec(name="a.b")]
    assert dialect("native").parse(completion, tools) == ToolCalls(calls=calls, flags=flags)
    assert dialect("native").parse(completion).calls == completion.tool_calls


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (
            f"Thought: t\n{HERMES}",
            ToolCalls(calls=(SEARCH,), thought="t", flags=LEAKED, kept=f"Thought: t\n{HERMES}"),
        ),
        (
            f"```\n{HERMES}\n```",
            ToolCalls(calls=(SEARCH,), flags=LEAKED, kept=HERMES),
        ),
        (
            HERMES.removesuffix("</tool_call>"),
            ToolCalls(calls=(SEARCH,), flags=LEAKED, kept=HERMES.removesuffix("</tool_call>")),
        ),
        (
            'Thought: t\n<tool_call>{"na\nObservation: y',
            Malformed(
                reason=BROKEN_CALL,
                thought="t",
                flags=LEAKED,
                kept='Thought: t\n<tool_call>{"na\nObservation: y',
            ),
        ),
        (
            f"{PYTHON}<|eom_id|><|eot_id|>",
            ToolCalls(calls=(SEARCH,), flags=LEAKED, kept=f"{PYTHON}<|eom_id|><|eot_id|>"),
        ),
        (
            'Final Answer: 42\n<tool_call>{"na',
            Answer(answer="42", flags=LEAKED, kept="Final Answer: 42"),
        ),
    ],
)
def test_a_text_reply_with_a_templates_call_is_read_whole(text: str, outcome: Outcome) -> None:
    """A whole call is taken, half a one is refused or dropped, each with what the history keeps."""
    assert parse("labelled", text, ["search"]) == outcome


def test_markup_that_names_no_tool_is_no_call_of_a_text_dialect_either() -> None:
    """What only looks like markup must name a known tool."""
    assert isinstance(parse("labelled", '<function=other>{"q": "x"}</function>', ["search"]), Malformed)


@pytest.mark.parametrize(
    ("text", "clean", "flags"),
    [
        ("<think>a</think>b", "b", ()),
        ("<think>a</think>\nb\n<think>c</think>\nd", "b\n\nd", ()),
        ("<think>a</think>\nb > c", "b > c", ()),
        ("<think>a</think>\n\tb", "\tb", ()),
        ("<think>a</think>\nXb", "Xb", ()),
        ("b\n<think>a", "b\n", ()),
        ("<think>a</think>", "a", ()),
        ("a\n<|x|>b", "a\nb", LEAKED),
        ("<|im_start|>Paris is big", "Paris is big", LEAKED),
        ("<|im_start|>assistant\nParis", "Paris", LEAKED),
        ("a<|x|>\r\nb", "a\r\nb", LEAKED),
        ("a <|x|>X b", "a <|x|>X b", ()),
        ('a\n<tool_call>{"na', "a", LEAKED),
    ],
)
def test_a_reply_is_cleaned(text: str, clean: str, flags: tuple[str, ...]) -> None:
    """Think blocks go without a flag, tokens at the edge of a line with one, and all else stays."""
    assert clean_reply(text) == Cleaned(clean, flags=flags, broken="<tool_call>" in text)


def test_a_name_in_a_template_is_at_most_two_hundred_characters_long() -> None:
    """More is not read, so that no name costs time."""
    text = f"<|tool_call_begin|>{'a' * 300}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    assert [call.name for call in parse("native", text).calls] == ["a" * 200]
