"""Calls and their results: every call answered once, before the next turn, under an id of its own. Pure.

Knows nothing of roles, contents and order, which are the business of `history`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from react_replay.check.calls import arguments_fault, called_name, function_of, quoted
from react_replay.check.codes import Violation

__all__ = ["Pairing"]

_MENDS = {
    "missing": "send '{}' where a call takes none",
    "empty": "send '{}' where a call takes none",
    "not-text": "send them as JSON text",
    "not-json": "keep what the model wrote only where it parses, and send '{}' with an error as the "
    "tool's message otherwise",
    "not-object": "send a JSON object, '{}' where there are no arguments",
}


class Pairing:
    """The state of the pairing over the messages so far; faults go to `violations`."""

    def __init__(self, violations: list[Violation], tools: frozenset[str] | None) -> None:
        self.calls: dict[str, tuple[int, Mapping[str, Any]]] = {}
        """Every call by its id: the message it stands in and its function."""
        self.first_call: int | None = None
        self._violations = violations
        self._tools = tools
        self._open: dict[str, bool] = {}  # this turn's calls: answered or not
        self._turn = 0
        self._answered: set[str] = set()
        self._legacy: str | None = None

    def close(self) -> None:
        """The turn is over: what was not answered will not be."""
        self._violations += self.left_open()
        self._open = {}
        self._legacy = None

    def left_open(self) -> list[Violation]:
        """The calls that the messages so far leave without an answer."""
        return [
            *(self._unanswered(identity) for identity, done in self._open.items() if not done),
            *([self._unanswered_legacy()] if self._legacy is not None else []),
        ]

    def turn(self, message: Mapping[str, Any], place: int) -> list[str]:
        """Take an assistant message; gives the ids of its calls."""
        self._turn = place
        legacy = message.get("function_call")
        if isinstance(legacy, Mapping):
            self._legacy = called_name(legacy)
            self._saw_call(legacy, "", place)
        calls = message.get("tool_calls")
        return [self._call(call, place) for call in calls] if isinstance(calls, list) else []

    def tool(self, message: Mapping[str, Any], place: int) -> None:
        """Take a tool message."""
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or not identity:
            self._report(
                "missing-result-id",
                "this tool message has no tool_call_id; give it the id of the call that it answers",
                place,
            )
            identity = ""
        if self._open.get(identity) is False:
            self._open[identity] = True
            self._answered.add(identity)
        elif not identity:
            pass  # calls and results without ids, said above
        elif identity in self._open or identity in self._answered:
            self._report(
                "answered-twice",
                f"the call {quoted(identity)} was answered before; send one tool message a call",
                place,
            )
        elif identity in self.calls:
            self._report(
                "orphan-result",
                f"this answers the call {quoted(identity)} of messages[{self.calls[identity][0]}], but other "
                "messages stand between; put it right behind its call",
                place,
            )
        else:
            self._report(
                "orphan-result",
                f"no call has the id {quoted(identity)}; keep the assistant message with the call before its "
                "result, or drop both",
                place,
            )

    def function(self, place: int) -> None:
        """Take a message of the legacy role `function`."""
        if self._legacy is None:
            self._report(
                "orphan-result",
                "this function message answers no function_call; keep the assistant message with the call "
                "right before it",
                place,
            )
        self._legacy = None

    def _call(self, call: Any, place: int) -> str:
        if not isinstance(call, Mapping):
            call = {}
        identity = call.get("id")
        if not isinstance(identity, str) or not identity:
            self._report(
                "missing-call-id",
                f"a call of {quoted(function_of(call).get('name'))} has the id "
                f"{quoted(identity)}; make one up "
                "and use it in its tool message too",
                place,
            )
            identity = ""
        elif identity in self._open:
            self._report(
                "repeated-call-id",
                f"the id {quoted(identity)} stands for two calls of this turn; give each its "
                "own, in its tool "
                "message too",
                place,
            )
        elif identity in self.calls:
            self._report(
                "reused-call-id",
                f"the id {quoted(identity)} was used in messages[{self.calls[identity][0]}] "
                "already; rename it "
                "in the call and in its tool message",
                place,
            )
            self._answered.discard(identity)
        self._open.setdefault(identity, False)
        function = function_of(call)
        self.calls[identity] = (place, function)
        if "custom" not in call:
            self._saw_call(function, identity, place)
        return identity

    def _saw_call(self, function: Mapping[str, Any], identity: str, place: int) -> None:
        if self.first_call is None:
            self.first_call = place
        name = called_name(function)
        if not name.strip():
            self._report(
                "missing-call-name", f"the call {quoted(identity)} names no tool; drop it or name one", place
            )
        elif self._tools is not None and name not in self._tools:
            known = ", ".join(sorted(self._tools)) or "none"
            self._report(
                "unknown-tool", f"{quoted(name)} was called, but the tools are: {quoted(known, 200)}", place
            )
        ending, fault = arguments_fault(function)
        if ending:
            code = f"arguments-{'empty' if ending == 'missing' else ending}"
            self._report(
                code, f"the call {quoted(identity)} of {quoted(name)} {fault}; {_MENDS[ending]}", place
            )

    def _unanswered(self, identity: str) -> Violation:
        return Violation(
            code="unanswered-call",
            message=f"the call {quoted(identity)} has no tool message before the next turn; answer each call "
            "once, with an error where the tool did not run",
            message_index=self._turn,
        )

    def _unanswered_legacy(self) -> Violation:
        return Violation(
            code="unanswered-call",
            message=f"the function_call of {quoted(self._legacy)} has no function message "
            "after it; answer it, "
            "with an error where the function did not run",
            message_index=self._turn,
        )

    def _report(self, code: str, message: str, place: int) -> None:
        self._violations.append(Violation(code=code, message=message, message_index=place))
