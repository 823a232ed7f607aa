"""A history's invariants, message by message: pairing, ids, roles, arguments. Pure, linear, never raises.

A `History` is fed once and remembers, so that a request that continues an earlier one costs its new messages
only. What a message means for the next request, and what was recorded before, is the business of `exchanges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from react_replay.check.calls import (
    arguments_fault,
    called_name,
    has_text,
    invents_observation,
    quoted,
    text_of,
)
from react_replay.check.codes import Violation

__all__ = ["History", "check_messages", "offered_names", "starts_with"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MENDS = {
    "missing": "send '{}' where a call takes none",
    "empty": "send '{}' where a call takes none",
    "not-text": "send them as JSON text",
    "not-json": "keep what the model wrote only where it parses, and send '{}' with an error as the "
    "tool's message otherwise",
    "not-object": "send a JSON object, '{}' where there are no arguments",
}


def check_messages(messages: Iterable[Any], tools: Iterable[Any] | None = None) -> list[Violation]:
    """What is wrong with a transcript. `tools` are names, or entries of a request's `tools`, if known.

    A transcript may end with an answer; a call that is left open at its end is a violation. Never raises.
    """
    history = History(tools=None if tools is None else offered_names(tools))
    for message in messages:
        history.feed(message)
    return [*history.violations, *history.left_open()]


def offered_names(tools: Any) -> frozenset[str]:
    """The names of tools: of a request's `tools` or `functions`, or names as they are."""
    names = set()
    for tool in tools if isinstance(tools, Iterable) and not isinstance(tools, (str, Mapping)) else ():
        if isinstance(tool, str):
            names.add(tool)
        elif isinstance(tool, Mapping):
            inner = next((tool[kind] for kind in ("function", "custom") if kind in tool), tool)
            name = inner.get("name") if isinstance(inner, Mapping) else None
            if isinstance(name, str):
                names.add(name)
        elif isinstance(name := getattr(tool, "name", None), str):
            names.add(name)
    return frozenset(names)


class History:
    """The state of the check over the messages so far; `violations` are what was found in them.

    `recorded` histories are an application's own choice: what a framework may do on purpose is left alone,
    such as instructions between the turns, or a text protocol that keeps observations in one message.
    """

    def __init__(self, *, tools: frozenset[str] | None = None, recorded: bool = False) -> None:
        self.violations: list[Violation] = []
        self.length = 0
        self.calls: dict[str, tuple[int, Mapping[str, Any]]] = {}
        """Every call by its id: the message it stands in and its function."""
        self.first_call: int | None = None
        self._tools = tools
        self._recorded = recorded
        self._open: dict[str, bool] = {}  # this turn's calls: answered or not
        self._turn = 0
        self._answered: set[str] = set()
        self._legacy: str | None = None
        self._spoke = False
        self._last: Any = None

    def feed(self, message: Any) -> list[str]:
        """Take the next message; gives the ids of the calls in it."""
        place = self.length
        self.length += 1
        self._last = message
        if not isinstance(message, Mapping):
            self._report(
                "message-not-object",
                f"it is a {type(message).__name__}; a message is an object with a role",
                place,
            )
            return []
        role = message.get("role")
        if role == "tool":
            self._tool(message, place)
            return []
        if role == "function":
            self._function(message, place)
            return []
        self._close()
        if role == "assistant":
            self._spoke = True
            return self._assistant(message, place)
        if role in ("system", "developer"):
            if self._spoke and not self._recorded:
                self._report(
                    "late-system-message",
                    f"a {role} message stands after the conversation began; several servers refuse that, "
                    "so put instructions first",
                    place,
                )
        elif role == "user":
            self._spoke = True
        else:
            self._report(
                "unknown-role",
                f"the role {quoted(role)} is not known; use one of {', '.join(_ROLES)}",
                place,
            )
            return []
        self._content(message, str(role), place)
        return []

    def left_open(self) -> list[Violation]:
        """The calls that the messages so far leave without an answer."""
        return [
            *(self._unanswered(identity) for identity, done in self._open.items() if not done),
            *([self._unanswered_legacy()] if self._legacy is not None else []),
        ]

    def ending(self) -> list[Violation]:
        """What makes these messages no request: open calls, or a last word that leaves nothing to answer."""
        found = self.left_open()
        last = self._last
        role = last.get("role") if isinstance(last, Mapping) else None
        if role == "assistant" and not found and not (last.get("prefix") or last.get("partial")):
            found.append(
                Violation(
                    code="ends-with-assistant",
                    message="the last message is the assistant's, so the model is asked to "
                    "go on with its own "
                    "words; end with a user or tool message, or mark it as a prefix where "
                    "the server has that",
                    message_index=self.length - 1,
                )
            )
        elif role in ("system", "developer"):
            found.append(
                Violation(
                    code="ends-with-instructions",
                    message=f"the last message is {role}, so nobody asked anything; end with a user or "
                    "tool message",
                    message_index=self.length - 1,
                )
            )
        return found

    def _report(self, code: str, message: str, place: int | None) -> None:
        self.violations.append(Violation(code=code, message=message, message_index=place))

    def _close(self) -> None:
        """The turn is over: what was not answered will not be."""
        self.violations += self.left_open()
        self._open = {}
        self._legacy = None

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

    def _content(self, message: Mapping[str, Any], role: str, place: int) -> None:
        content = message.get("content")
        if content is None:
            if role != "assistant":
                self._report(
                    "missing-content",
                    f"this {role} message has no content; send a text, '' where there is nothing to say",
                    place,
                )
        elif isinstance(content, list):
            for number, part in enumerate(content):
                if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
                    self._report(
                        "wrong-content",
                        f"part {number} of this {role} message's content is no object with a `type`; "
                        'write {"type": "text", "text": ...}',
                        place,
                    )
                    return
        elif not isinstance(content, str):
            self._report(
                "wrong-content",
                f"this {role} message's content is a {type(content).__name__}; send a text or "
                "a list of parts",
                place,
            )

    def _tool(self, message: Mapping[str, Any], place: int) -> None:
        self._content(message, "tool", place)
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or not identity:
            self._report(
                "missing-result-id",
                "this tool message has no tool_call_id; give it the id of the call that it answers",
                place,
            )
            if not isinstance(identity, str) and "" not in self._open:
                return
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

    def _function(self, message: Mapping[str, Any], place: int) -> None:
        if self._legacy is None:
            self._report(
                "orphan-result",
                "this function message answers no function_call; keep the assistant message with the call "
                "right before it",
                place,
            )
        self._legacy = None

    def _assistant(self, message: Mapping[str, Any], place: int) -> list[str]:
        self._content(message, "assistant", place)
        self._turn = place
        calls = message.get("tool_calls")
        legacy = message.get("function_call")
        if calls is not None and (not isinstance(calls, list) or not calls):
            self._report(
                "empty-tool-calls",
                f"tool_calls is {quoted(calls)}; leave the field out where there are no calls",
                place,
            )
        if isinstance(legacy, Mapping):
            self._legacy = called_name(legacy)
            self._saw_call(legacy, "", place)
        if isinstance(calls, list) and calls:
            return [self._call(call, place) for call in calls]
        content = message.get("content")
        if not (
            has_text(content) or legacy or any(message.get(name) for name in ("refusal", "audio", "prefix"))
        ):
            self._report(
                "empty-assistant-message",
                f"this assistant message has content {quoted(content)} and no calls; leave it out, or keep "
                "what the model said",
                place,
            )
        elif not self._recorded and invents_observation(text_of(content)):
            self._report(
                "invented-observation",
                "this assistant message holds an observation after its action: cut the model's text there "
                "(stop words alone do not), and send the tool's result as a message of its own",
                place,
            )
        return []

    def _call(self, call: Any, place: int) -> str:
        if not isinstance(call, Mapping):
            call = {}
        identity = call.get("id")
        if not isinstance(identity, str) or not identity:
            self._report(
                "missing-call-id",
                f"a call of {quoted(_function_of(call).get('name'))} has the id "
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
        function = _function_of(call)
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


def _function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    for kind in ("function", "custom"):
        if isinstance(call.get(kind), Mapping):
            found: Mapping[str, Any] = call[kind]
            return found
    return {}


def starts_with(messages: Sequence[Any], beginning: Sequence[Any]) -> bool:
    """Whether a history continues another one. Never raises, whatever is compared."""
    if len(messages) < len(beginning):
        return False
    try:
        return all(a is b or a == b for a, b in zip(beginning, messages, strict=False))
    except RecursionError:
        return False
