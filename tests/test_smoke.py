"""The smallest whole thing: a question, a tool call, an answer."""

from __future__ import annotations

from react_replay import Agent, ScriptedBackend, StopReason, ToolCall, tool


@tool
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def test_a_tool_call_is_answered_and_the_answer_ends_the_run() -> None:
    """A native call runs its tool, and the next text is the answer."""
    backend = ScriptedBackend([ToolCall(name="double", arguments={"number": 21}), "42"])
    result = Agent(backend, tools=[double]).run("twice 21?")
    assert (result.answer, result.stop_reason) == ("42", StopReason.ANSWER)
    assert [message["role"] for message in result.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
