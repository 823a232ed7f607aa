"""A history, message by message: roles, contents, order, and pairing. Pure, linear, never raises.

A `History` is fed once and remembers, so that a request that continues an earlier one costs its new messages
only. What a message means for the next request, and what was recorded before, is the business of `exchanges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from react_replay.check.calls import has_text, invents_observation, offered_names, quoted, text_of
from react_replay.check.codes import Violation
from react_replay.check.pairing import Pairing

__all__ = ["History", "check_messages"]

_INSTEAD_OF_CONTENT = ("function_call", "refusal", "audio", "prefix")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def check_messages(messages: Iterable[Any], tools: Iterable[Any] | None = None) -> list[Violation]:
    """What is wrong with a transcript. `tools` are names, or entries of a request's `tools`, if known.

    A transcript may end with an answer; a call that is left open at its end is a violation. Never raises.
    """
    history = History(tools=None if tools is None else offered_names(tools))
    for message in messages:
        history.feed(message)
    return [*history.violations, *history.pairing.left_open()]


class History:
    """The state of the check over the messages so far; `violations` are what was found in them.

    `recorded` histories are an application's own choice: what a framework may do on purpose is left alone,
    such as instructions between the turns, or a text protocol that keeps observations in one message.
    """

    def __init__(self, *, tools: frozenset[str] | None = None, recorded: bool = False) -> None:
        self.violations: list[Violation] = []
        self.length = 0
        self.pairing = Pairing(self.violations, tools)
        self._recorded = recorded
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
            self._content(message, "tool", place)
            self.pairing.tool(message, place)
            return []
        if role == "function":
            self.pairing.function(place)
            return []
        self.pairing.close()
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

    def ending(self) -> list[Violation]:
        """What makes these messages no request: open calls, or a last word that leaves nothing to answer."""
        found = self.pairing.left_open()
        last = self._last
        role = last.get("role") if isinstance(last, Mapping) else None
        if role == "assistant" and not found and not (last.get("prefix") or last.get("partial")):
            found.append(
                Violation(
                    code="ends-with-assistant",
                    message="the last message is the assistant's, so the model is asked to go on with its "
                    "own words; end with a user or tool message, or mark it as a prefix where the server "
                    "has that",
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

    def _assistant(self, message: Mapping[str, Any], place: int) -> list[str]:
        self._content(message, "assistant", place)
        calls = message.get("tool_calls")
        if calls is not None and (not isinstance(calls, list) or not calls):
            self._report(
                "empty-tool-calls",
                f"tool_calls is {quoted(calls)}; leave the field out where there are no calls",
                place,
            )
        found = self.pairing.turn(message, place)
        if found:
            return found
        content = message.get("content")
        if not has_text(content) and not any(message.get(name) for name in _INSTEAD_OF_CONTENT):
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
