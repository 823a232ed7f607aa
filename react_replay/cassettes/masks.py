"""Masks: what of a request is not compared, such as a date in a prompt or an id in an argument.

Pure. A mask is a JSON pointer into the request's body where it begins with `/` (`*` stands for any place in a
list, and the path goes on inside arguments that are JSON text), otherwise a regular expression over the texts
of messages and the texts inside arguments. Both sides are masked alike before they are compared; a recording
keeps its masks. A pattern runs on texts that models and tools wrote: one that backtracks is slow on them, so
only the first 100,000 characters of a text are searched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from react_replay.errors import CassetteError, ConfigurationError
from react_replay.messages import Message

__all__ = ["MASKED", "NO_MASKS", "Masks", "masks_of"]

MASKED = "<masked>"
"""What stands for whatever a mask hides."""

_SEARCHED = 100_000
_ANY = "*"
_PLACE = re.compile(r"0|[1-9][0-9]{0,8}")


class Masks:
    """Masks, ready for use. Raises `ConfigurationError` that names the mask and the position in it."""

    def __init__(self, sources: Iterable[str] = ()) -> None:
        if isinstance(sources, str):
            raise ConfigurationError(
                f"`masks` must be a list of texts, got the text {sources!r}: write it in []"
            )
        self.sources = tuple(dict.fromkeys(sources))
        self._patterns: list[re.Pattern[str]] = []
        self._in_messages: list[tuple[str, list[str]]] = []
        self._in_options: list[list[str]] = []
        for number, source in enumerate(self.sources):
            if not isinstance(source, str):
                raise ConfigurationError(f"masks[{number}] must be a text, got {type(source).__name__}")
            if source.startswith("/"):
                self._add_pointer(f"masks[{number}] ({source!r})", source)
            else:
                self._patterns.append(_pattern(f"masks[{number}] ({source!r})", source))
        self._hides_texts = bool(self._patterns or self._in_messages)

    def __bool__(self) -> bool:
        return bool(self.sources)

    def _add_pointer(self, name: str, source: str) -> None:
        steps = _steps(name, source)
        if steps[0] != "messages":
            self._in_options.append(steps)
            return
        if len(steps) < 3:
            raise ConfigurationError(
                f"{name} would hide whole messages; point at a field of one, as /messages/*/content"
            )
        if steps[1] != _ANY and not _PLACE.fullmatch(steps[1]):
            place = len("/messages/")
            raise ConfigurationError(
                f"{name} has {steps[1]!r} at position {place}, where the place of a message stands: "
                "a number from 0, or *"
            )
        if steps[2] == "role":
            raise ConfigurationError(f"{name} would hide who speaks; point at another field of the message")
        self._in_messages.append((steps[1], steps[2:]))

    def message(self, place: int, message: Message) -> Message:
        """The message that stands at `place` of a request, masked; the very same where nothing is hidden."""
        if not self._hides_texts:
            return message
        for wanted, steps in self._in_messages:
            if wanted == _ANY or int(wanted) == place:
                message = _pointed(message, steps)
        return self._searched(message) if self._patterns else message

    def options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The options of a request, masked."""
        for steps in self._in_options:
            options = _pointed(options, steps)
        return options

    def text(self, text: str) -> str:
        """A text with what the patterns find hidden."""
        head, rest = text[:_SEARCHED], text[_SEARCHED:]
        for pattern in self._patterns:
            head = pattern.sub(MASKED, head)
        return head + rest

    def _searched(self, message: Message) -> Message:
        changed = dict(message)
        content = message.get("content")
        if isinstance(content, str):
            changed["content"] = self.text(content)
        elif isinstance(content, list):
            changed["content"] = [self._part(part) for part in content]
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            changed["tool_calls"] = [self._call(call) for call in calls]
        return changed

    def _part(self, part: Any) -> Any:
        text = part.get("text") if isinstance(part, Mapping) else None
        return {**part, "text": self.text(text)} if isinstance(text, str) else part

    def _call(self, call: Any) -> Any:
        function = call.get("function") if isinstance(call, Mapping) else None
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(arguments, str):
            return call
        masked = _in_json(arguments, lambda value: _every_text(value, self.text), self.text)
        return {**call, "function": {**function, "arguments": masked}}


NO_MASKS = Masks()


def masks_of(path: Path, metadata: Mapping[str, Any], given: Iterable[str]) -> Masks:
    """The masks that a cassette keeps, and those given. Raises `CassetteError` where its own are none."""
    kept = metadata.get("masks") or []
    try:
        if not isinstance(kept, list):
            raise ConfigurationError(f"`masks` must be a list of texts, got {type(kept).__name__}")
        own = Masks(kept)
    except ConfigurationError as error:
        raise CassetteError(
            f"the cassette {path} keeps masks: {error}; mend it by hand", path=str(path)
        ) from error
    extra = Masks(given)
    return Masks((*own.sources, *extra.sources)) if own or extra else NO_MASKS


def _pattern(name: str, source: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        place = f" at position {error.pos}" if isinstance(error, re.error) and error.pos is not None else ""
        said = error.msg if isinstance(error, re.error) else type(error).__name__
        raise ConfigurationError(
            f"{name} is no regular expression: {said}{place}; a JSON pointer begins with /"
        ) from error
    if pattern.match(""):
        raise ConfigurationError(f"{name} matches the empty text, at position 0; let it ask for something")
    return pattern


def _steps(name: str, source: str) -> list[str]:
    odd = re.search(r"~(?![01])", source)
    if odd:
        raise ConfigurationError(
            f"{name} is no JSON pointer: ~ at position {odd.start()} must be written ~0, and / in a name ~1"
        )
    steps = [step.replace("~1", "/").replace("~0", "~") for step in source[1:].split("/")]
    if not steps[0]:
        raise ConfigurationError(
            f"{name} names no field at position 1; write for example /messages/*/content"
        )
    return steps


def _pointed(value: Any, steps: list[str]) -> Any:
    """`value` with what the path leads to hidden; as it is where the path leads nowhere."""
    if not steps:
        return MASKED
    step, rest = steps[0], steps[1:]
    if isinstance(value, str):
        return _in_json(value, lambda parsed: _pointed(parsed, steps), lambda text: text)
    if isinstance(value, Mapping):
        return {**value, step: _pointed(value[step], rest)} if step in value else value
    if isinstance(value, list):
        if step == _ANY:
            return [_pointed(item, rest) for item in value]
        if _PLACE.fullmatch(step) and int(step) < len(value):
            place = int(step)
            return [*value[:place], _pointed(value[place], rest), *value[place + 1 :]]
    return value


def _in_json(text: str, inside: Callable[[Any], Any], otherwise: Callable[[str], str]) -> str:
    """A text that holds a JSON object or list, changed inside; any other text, changed as one."""
    if not text.lstrip().startswith(("{", "[")):
        return otherwise(text)
    try:
        return json.dumps(inside(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return otherwise(text)


def _every_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _every_text(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_every_text(item, change) for item in value]
    return value
