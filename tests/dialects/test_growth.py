"""Reading time is linear in the reply: the shapes that hang other parsers, at 64,000 characters."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from react_replay.dialects import Malformed, ToolCalls, names, parse

LENGTH = 64_000
WATCHDOG = 2.0  # seconds of CPU; a quadratic reader needs many times that, ours some hundredths

Shape = Callable[[int], str]


def repeated(unit: str, before: str = "", after: str = "") -> Shape:
    return lambda length: before + unit * (length // len(unit)) + after


def issue_6898(length: int) -> str:
    """The string of langchain-ai/langchain#6898."""
    n = length // 6
    tabs = "\t" * n
    return f"Action{chr(10) * n}:{tabs}\t0Input:{tabs}\nAction{tabs}Input{tabs}\t0Input:ActionInput:"


INPUT = "Action: a\nAction Input: "
SHAPES: dict[str, Shape] = {
    "issue 6898": issue_6898,
    "blanks after an action label": repeated(" ", "Action:", "x"),
    "newlines after an action label": repeated("\n", "Action:", "x"),
    "two actions in blanks": lambda n: "Action: a" + " " * (n // 2) + "Action" + " " * (n // 2),
    "two actions in newlines": lambda n: "Action: a" + "\n" * (n // 2) + "Action" + "\n" * (n // 2),
    "action and blanks": repeated(" ", "Action", "x"),
    "action and digits": repeated("1", "Action", "x"),
    "a number before a label": repeated("1", "", ". Action: a"),
    "repeated rounds": repeated(INPUT + "b\n"),
    "repeated actions": repeated("Action: a\n"),
    "repeated thoughts": repeated("Thought: a\n"),
    "repeated answers": repeated("Final Answer: a\n"),
    "repeated observations": repeated("Observation: a\n", INPUT + "b\n"),
    "repeated Chinese rounds": repeated("行动：a\n行动输入：b\n"),
    "repeated bracket actions": repeated("Action: search[a\n"),
    "repeated inputs with an open brace": repeated("Action Input: {", "Action: a\n"),
    "the same, a line each": repeated("Action Input: {\n", "Action: a\n"),
    "rounds with an open brace": repeated(INPUT + "{\n"),
    "backticks": repeated("`"),
    "backticks as the input": repeated("`", INPUT),
    "backticks as the action": repeated("`", "Action: "),
    "backticks, one more each line": lambda n: "\n".join("`" * k for k in range(int((2 * n) ** 0.5))),
    "fences": repeated("```\na\n```\n"),
    "an odd number of fences": repeated("```\na\n```\n", "", "```\n"),
    "fences in a quotation": repeated("> ```\n"),
    "two kinds of fences": repeated("```\n~~~\n"),
    "fences that open after an action": repeated("```\n", "Action:\n"),
    "fences after an input": repeated("```\na\n```\n", INPUT + "b\n"),
    "fences on one line": repeated("```a``` "),
    "opening brackets": repeated("["),
    "opening brackets of a call": repeated("[", "Action: a"),
    "brackets of a call": lambda n: "Action: a" + "[" * (n // 2) + "]" * (n // 2),
    "brackets of an answer over lines": repeated("[\n", "Action: Finish"),
    "brackets as the input": repeated("[", INPUT),
    "blanks before a bracket": repeated(" ", "Action: a", "["),
    "words before a bracket": repeated("a ", "Action: ", "["),
    "objects that open": repeated('{"a":'),
    "objects that open as the input": repeated('{"a":', INPUT),
    "an object of brackets": repeated("[", INPUT + '{"a": '),
    "a Python object of minus signs": repeated("-", INPUT + "{'a': ", "1}"),
    "commas and blanks in an object": repeated(", ", INPUT + "{", "}"),
    "escaped quotes in an object": repeated('\\"', INPUT + "{"),
    "escaped single quotes in an object": repeated("\\'", INPUT + "{"),
    "curly quotes in an object": repeated("“", INPUT + "{"),
    "a number": repeated("1", INPUT + '{"a": ', "}"),
    "quotes": repeated('"', INPUT),
    "backslashes in quotes": repeated("\\", INPUT + '"', '"'),
    "think tags": repeated("<think>"),
    "think tags, a line each": repeated("<think>\n"),
    "closing think tags": repeated("</think>"),
    "closing think tags, a line each": repeated("</think>\n"),
    "think tags and blanks": repeated(" ", "a</think>", "x"),
    "empty thinking": repeated("<think></think>"),
    "unfinished think tags": repeated("<think"),
    "token openings": repeated("<|"),
    "token openings with a letter": repeated("<|a"),
    "tokens": repeated("<|a|>", "", "x"),
    "tokens and blanks": repeated("<|a|>  ", "x", "x"),
    "wide token openings": repeated("<｜"),
    "Hermes calls that open": repeated("<tool_call>"),
    "Hermes calls, a line each": repeated("<tool_call>\n"),
    "Hermes calls": repeated('<tool_call>{"name": "a"}</tool_call>\n'),
    "Kimi calls that open": repeated("<|tool_call_begin|>"),
    "Kimi calls without arguments": repeated("<|tool_call_begin|>a<|tool_call_argument_begin|>"),
    "Kimi call with blanks": repeated(" ", "<|tool_call_begin|>a:1", "x<|tool_call_argument_begin|>{}"),
    "DeepSeek calls that open": repeated("<｜tool▁call▁begin｜>"),
    "DeepSeek call sections": repeated("<｜tool▁calls▁begin｜>"),
    "DeepSeek separators": repeated("<｜tool▁sep｜>", "<｜tool▁call▁begin｜>"),
    "DSML calls that open": repeated('<｜DSML｜invoke name="a">'),
    "DSML parameters that open": repeated('<｜DSML｜parameter name="a">', '<｜DSML｜invoke name="a">'),
    "DSML openings": repeated("<｜DSML｜"),
    "function elements that open": repeated("<function=a>\n"),
    "parameters that open": repeated("<parameter=a>", "<function=a>", "</function>"),
    "invoke elements that open": repeated("<invoke\n"),
    "Mistral's token": repeated("[TOOL_CALLS]\n"),
    "Mistral's calls": repeated("[TOOL_CALLS]a{}\n"),
    "gpt-oss calls that open": repeated("<|channel|>commentary to="),
    "python tags": repeated("<|python_tag|>{"),
    "closing wrappers": repeated("</function_calls>\n", "<function=a>{}</function>\n"),
    "stars": repeated("*"),
    "bullets": repeated("* "),
    "blanks": repeated(" "),
    "blank lines": repeated(" \n"),
    "carriage returns": repeated("Action: a\r"),
}


def seconds(name: str, text: str) -> float:
    gc.collect()
    start = time.process_time()
    parse(name, text)
    return time.process_time() - start


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", names())
def test_time_grows_with_the_length_and_no_faster(name: str, shape: str) -> None:
    """A hostile reply of 64,000 characters is read at once, in no more than its share of a shorter one's."""
    long = seconds(name, SHAPES[shape](LENGTH))
    assert long < WATCHDOG
    if long > 0.05:
        short = min(seconds(name, SHAPES[shape](LENGTH // 4)) for _ in range(3))
        again = min(seconds(name, SHAPES[shape](LENGTH)) for _ in range(3))
        assert again < 8 * short


@pytest.mark.parametrize("before", ["", INPUT, "Action: ", "Action: a(", "Final Answer: "])
@pytest.mark.parametrize("unit", ["[", "{", '{"a":', '[{"a":', "(", "{'a':"])
@pytest.mark.parametrize("name", names())
def test_deep_nesting_is_read_or_refused(name: str, unit: str, before: str) -> None:
    """A hundred thousand brackets give an outcome and no exception."""
    outcome = parse(name, before + unit * 100_000)
    assert outcome.calls or outcome.answer is not None or outcome.reason


@pytest.mark.parametrize("depth", [50, 500, 5_000, 50_000])
def test_arguments_too_deep_to_be_written_again_are_refused(depth: int) -> None:
    """Nesting that JSON writers could not follow is malformed, with that reason; less of it is read."""
    outcome = parse("json", INPUT + '{"a":' * depth + "1" + "}" * depth)
    if depth > 100:
        assert isinstance(outcome, Malformed)
        assert "nested too deeply" in outcome.reason
    else:
        assert isinstance(outcome, ToolCalls)
