"""What each dialect writes: the opening messages and options, the history's turns, prompts, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from react_replay import dialects
from react_replay.dialects import (
    Answer,
    History,
    Opening,
    ToolCalls,
    dialect,
    parse,
)
from react_replay.dialects.labelled import LabelledDialect
from react_replay.dialects.prompts import PROMPTS, has_chinese
from react_replay.errors import ConfigurationError
from react_replay.messages import Completion, Observation, ToolCall, ToolSpec
from react_replay.tools import calculator

GOLDEN = Path(__file__).parent.parent / "golden" / "prompts.json"
TOOLS = [
    ToolSpec(
        name="search",
        description="Look  things\n up. 查资料。",
        parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    ),
    ToolSpec(name="ping"),
]
WIRE = [tool.to_wire() for tool in TOOLS]
NATIVE = dialect("native")
TEXT = ["json", "bracket", "zh", "labelled"]
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Who?"}


def instructions(prompt: str, language: str) -> str:
    return PROMPTS[prompt, language].instructions(TOOLS, "Who?")


@pytest.mark.parametrize(("prompt", "language"), PROMPTS, ids=["-".join(key) for key in PROMPTS])
def test_every_prompt_is_fixed(prompt: str, language: str) -> None:
    """The words in which a protocol is explained change only together with their golden file."""
    golden = json.loads(GOLDEN.read_text("utf-8"))[f"{prompt}-{language}"]
    texts = PROMPTS[prompt, language]
    written = {
        "instructions": instructions(prompt, language).split("\n"),
        "observation": texts.observation,
        "mend": texts.mend,
    }
    assert written == golden


def test_the_native_dialect_opens_with_the_question_alone() -> None:
    """The system prompt and the tools are sent only where there are some."""
    assert NATIVE.open("Who?", tools=()) == Opening(messages=(USER,), options={})
    assert NATIVE.open("Who?", tools=TOOLS, system="Be brief.") == Opening(
        messages=(SYSTEM, USER), options={"tools": WIRE}
    )


@pytest.mark.parametrize("name", ["json", "bracket", "labelled"])
def test_a_text_dialect_opens_with_its_instructions(name: str) -> None:
    """The instructions are the system prompt, below the caller's own; tools and stop words are not sent."""
    whole = instructions(name, "en")
    system = {"role": "system", "content": whole}
    assert dialect(name).open("Who?", tools=TOOLS) == Opening(messages=(system, USER), options={})
    system = {"role": "system", "content": f"Be brief.\n\n{whole}"}
    assert dialect(name).open("Who?", tools=TOOLS, system="Be brief.") == Opening(messages=(system, USER))


def test_the_chinese_dialect_opens_with_one_message_and_a_stop_word() -> None:
    """Seed 001 puts all into the user's message, and stops before an observation."""
    user = {"role": "user", "content": instructions("zh", "zh")}
    options = {"stop": ["观察:"]}
    assert dialect("zh").open("Who?", tools=TOOLS) == Opening(messages=(user,), options=options)
    assert dialect("zh").open("Who?", tools=TOOLS, system="Be brief.") == Opening(
        messages=(SYSTEM, user), options=options
    )


@pytest.mark.parametrize("name", TEXT)
def test_a_question_in_chinese_gets_its_prompt_in_chinese(name: str) -> None:
    """The prompts are in the language of the question; the Chinese dialect has only the one."""
    own = dialect(name)
    assert own.localised("Who?") is own
    chinese = own.localised("谁？").open("谁？", tools=TOOLS)
    assert any(has_chinese(message["content"].partition("ping")[2]) for message in chinese.messages)
    assert own.localised("谁？").name == name
    assert dialect("zh").localised("谁？") is dialect("zh")


@pytest.mark.parametrize("name", TEXT)
def test_a_text_dialect_writes_plain_messages(name: str) -> None:
    """The reply as it is kept, the observations behind their label in one message, the request to mend."""
    own = dialect(name)
    label = "观察: " if name == "zh" else "Observation: "
    seen = [Observation(call=ToolCall(name="ping"), text=text) for text in ("a", "b")]
    assert own.render(seen) == [{"role": "user", "content": f"{label}a\n{label}b"}]
    assert own.assistant(Completion(content="long"), Answer(kept="short")) == {
        "role": "assistant",
        "content": "short",
    }
    language = "zh" if name == "zh" else "en"
    assert own.mend("it rains") == {
        "role": "user",
        "content": PROMPTS[name, language].mend.replace("{reason}", "it rains"),
    }


def test_the_native_dialect_writes_tool_messages() -> None:
    """Each observation under its id, and a request to mend that names both ways out."""
    seen = [Observation(call=ToolCall(name="ping", id=i), text=i * 2) for i in "ab"]
    assert NATIVE.render(seen) == [
        {"role": "tool", "tool_call_id": "a", "content": "aa"},
        {"role": "tool", "tool_call_id": "b", "content": "bb"},
    ]
    assert NATIVE.mend("it rains") == {
        "role": "user",
        "content": "Your last reply could not be used: it rains. "
        "Call a tool, or write your final answer as plain text.",
    }


@pytest.mark.parametrize(
    ("completion", "kept", "calls", "message"),
    [
        (Completion(content="x"), "x", (), {"content": "x"}),
        (Completion(content=None), "", (), {"content": ""}),
        (Completion(content="x<|im_end|>"), "x", (), {"content": "x"}),
        (Completion(content="x", reasoning="r"), "x", (), {"content": "x"}),
        (
            Completion(content="x", reasoning="r"),
            "x",
            (ToolCall(name="ping", id="a", arguments={"城": 1}),),
            {"content": "x", "reasoning_content": "r", "tool_calls": [("a", "ping", '{"城": 1}')]},
        ),
        (
            Completion(),
            "",
            (
                ToolCall(name="", id="a", arguments='{"q":  1}'),
                ToolCall(name="ping", id="b", written='{ "q": 1}'),
            ),
            {"content": "", "tool_calls": [("a", "unnamed", '{"q":  1}'), ("b", "ping", '{ "q": 1}')]},
        ),
    ],
)
def test_the_native_history_keeps_a_turn(
    completion: Completion, kept: str, calls: tuple[ToolCall, ...], message: dict[str, Any]
) -> None:
    """Text as it is kept, reasoning only beside calls, arguments in the model's spelling or as an object."""
    whole: dict[str, Any] = {"role": "assistant", **message}
    if "tool_calls" in message:
        whole["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, name, arguments in message["tool_calls"]
        ]
    assert NATIVE.assistant(completion, ToolCalls(kept=kept, calls=calls)) == whole


def test_a_text_history_owes_the_actions_of_its_last_reply() -> None:
    """A last reply with an action is what is pending; any other history owes nothing."""
    text = "Action: ping\nAction Input: x"
    asked = {"role": "assistant", "content": text}
    own = dialect("labelled")
    assert own.pending([USER, asked], TOOLS) == History(
        messages=(USER, asked),
        ids=("call00000",),
        calls=(ToolCall(name="ping", arguments="x", id="call00000"),),
        completion=Completion(content=text),
    )
    said = {"role": "assistant", "content": "Final Answer: x"}
    assert own.pending([said]) == History(messages=(said,), completion=Completion(content="Final Answer: x"))
    for history in ([], [asked, USER]):
        assert own.pending(history, TOOLS) == History(messages=tuple(history))


def test_a_text_history_reads_its_last_reply_with_its_tools() -> None:
    """A tool that needs nothing is known from the list that goes on with the history."""
    asked = {"role": "assistant", "content": "Action: none"}
    assert dialect("labelled").pending([asked]).calls == ()
    assert [call.name for call in dialect("labelled").pending([asked], [ToolSpec(name="none")]).calls] == [
        "none"
    ]


def test_a_native_history_owes_the_calls_without_a_result() -> None:
    """The open calls of the last turn under their tools' names, with every id that was used."""
    function = {"name": "functions.ping", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in "bc"]
    asked = {"role": "assistant", "content": "x", "tool_calls": calls}
    told = [{"role": "tool", "tool_call_id": i, "content": "pong"} for i in "bc"]
    pending = NATIVE.pending([USER, asked, told[0]], TOOLS)
    assert pending.messages == (USER, asked, told[0])
    assert pending.ids == ("b", "c")
    assert pending.calls == (ToolCall(name="ping", id="c"),)
    assert (pending.completion.content, pending.completion.finish_reason) == ("x", "tool_calls")
    assert pending.completion.flags == ()
    closed: tuple[dict[str, Any], ...] = (USER, asked, *told, USER)
    assert NATIVE.pending(closed, TOOLS) == History(messages=closed, ids=("b", "c"))


def test_a_native_history_without_calls_owes_nothing() -> None:
    """No message, or a result of no call: nothing is pending, and what is no call is none."""
    told = {"role": "tool", "tool_call_id": "b", "content": "pong"}
    assert NATIVE.pending([]) == History(messages=())
    assert NATIVE.pending([told]) == History(messages=(told,))
    nameless = {"role": "assistant", "tool_calls": [{"type": "function"}]}
    assert NATIVE.pending([nameless]).ids == ("",)
    for calls in (5, [5]):
        odd: dict[str, Any] = {"role": "assistant", "content": "x", "tool_calls": calls}
        assert NATIVE.pending([odd]) == History(messages=(odd,))


def test_calls_of_another_role_are_no_calls() -> None:
    """Calls in a message that is not the assistant's are nobody's."""
    call = {"id": "a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    odd = {"role": "user", "content": "x", "tool_calls": [call]}
    assert NATIVE.pending([odd]) == History(messages=(odd,))


def test_the_dialects_have_names() -> None:
    """Five dialects, and an unknown name is told which."""
    assert dialects.names() == ("native", "json", "bracket", "zh", "labelled")
    known = "the dialects are: native, json, bracket, zh, labelled"
    for wrong, hint in (("labeled", " (did you mean 'labelled'?)"), ("q", ""), (["zh"], "")):
        with pytest.raises(ConfigurationError) as caught:
            dialect(wrong)  # type: ignore[arg-type]
        assert str(caught.value) == f"unknown dialect {wrong!r}{hint}; {known}"


def test_each_name_is_its_dialect() -> None:
    """What a name stands for: input, prompt, language, stop words."""
    own = {name: LabelledDialect(name=name, prompt=name) for name in TEXT}
    own["json"] = LabelledDialect(name="json", prompt="json", input="json")
    own["bracket"] = LabelledDialect(name="bracket", prompt="bracket", input="bracket")
    own["zh"] = LabelledDialect(name="zh", prompt="zh", language="zh", one_message=True, stop=("观察:",))
    assert {name: dialect(name) for name in TEXT} == own
    assert own["labelled"] == LabelledDialect()
    assert NATIVE.name == "native"
    assert dialect(NATIVE) is NATIVE


@pytest.mark.parametrize(
    "tool", ["calculator", ToolSpec(name="calculator"), calculator], ids=["name", "spec", "tool"]
)
def test_a_tool_may_be_given_in_three_ways(tool: Any) -> None:
    """`parse` knows a tool by name, by its spec, and as itself."""
    assert [call.name for call in parse("labelled", "Action: functions.calculator[1]", [tool]).calls] == [
        "calculator"
    ]


def test_what_is_no_tool_is_refused() -> None:
    """`parse` says what it was given instead."""
    with pytest.raises(ConfigurationError) as caught:
        parse("labelled", "x", [5])
    assert str(caught.value) == "a tool must be a name, a ToolSpec or a Tool, got int"


def test_the_package_has_one_lazy_name() -> None:
    """`LabelledDialect` is loaded on first use; any other name is an error as in every module."""
    assert dialects.__getattr__("LabelledDialect") is LabelledDialect
    with pytest.raises(AttributeError) as caught:
        dialects.__getattr__("labelled_dialect")
    assert str(caught.value) == "module 'react_replay.dialects' has no attribute 'labelled_dialect'"
