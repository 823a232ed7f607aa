"""The values that pass between the loop, a dialect, a backend and a tool.

Messages themselves stay the wire's own dicts, so that what is documented by the API is what is sent,
recorded and compared. Nothing here parses provider output (that is `wire`) and nothing here does IO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from react_replay.errors import ConfigurationError

__all__ = [
    "SHORTEST_OBSERVATION",
    "Completion",
    "Flag",
    "Message",
    "Observation",
    "Request",
    "ToolCall",
    "ToolSpec",
    "Usage",
    "checked_messages",
]

Message: TypeAlias = dict[str, Any]
"""One chat message in the wire's shape: `{"role": ..., "content": ..., ...}`."""

SHORTEST_OBSERVATION = 100
"""The least length, in characters, to which an observation can be cut: its mark needs some of them."""


class Flag:
    """What was odd about a turn but could be read without a guess. Plain strings, stable."""

    AMBIGUOUS = "ambiguous"  # an action and an answer in one reply; the first in order counts
    DOUBLE_ENCODED = "double_encoded"  # arguments were JSON inside a JSON string
    IMPLICIT_ANSWER = "implicit_answer"  # an answer without its label
    INVENTED_OBSERVATION = "invented_observation"  # the model wrote the tool's result itself; cut
    LEAKED_MARKUP = "leaked_markup"  # tokens of a chat template, or a call written as text
    LEGACY_CALL = "legacy_function_call"  # `function_call` instead of `tool_calls`
    LYING_FINISH = "finish_reason_mismatch"  # finish_reason contradicts the reply
    OBSERVATION_CUT = "observation_cut"  # a tool's result was too long for the model; its middle is left out
    RENAMED_ID = "renamed_id"  # a call id was missing or used before
    RENAMED_TOOL = "renamed_tool"  # `functions.search` or `search<|channel|>` read as `search`
    REPAIRED = "repaired"  # the payload was not quite JSON; what it says is beyond doubt
    TRAILING_TEXT = "trailing_text"  # text after the payload, ignored
    TRUNCATED = "truncated"  # the provider cut the reply
    UNFINISHED = "unfinished"  # a stream without finish_reason, or a reply that the provider broke off
    UNKNOWN_FINISH = "unknown_finish_reason"  # a finish_reason that nobody documents, taken as an end


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model asked for.

    `arguments` is a dict, or the raw text that a text dialect read where its payload is no JSON object;
    the toolbox binds such text to the tool's one parameter. A call whose arguments could not be read
    has `error` set: it is never run, and the error is its observation. `written` is the model's own
    spelling of them where it is a JSON object, for the history.
    """

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""
    error: str = ""
    written: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came of a call: `text` is what the model is told, `arguments` what the tool was given.

    `whole` is the tool's whole text where `text` was cut to fit; otherwise it is empty.
    """

    call: ToolCall
    text: str
    ok: bool = True
    arguments: dict[str, Any] = field(default_factory=dict)
    whole: str = ""

    def shortened(self, most: int) -> Observation:
        """This, its text at most `most` characters long: head and tail, and a mark that counts the rest."""
        text = self.text
        if len(text) <= most:
            return self
        kept = most - len(_CUT.format(len(text)))  # no mark is longer, whatever number it holds
        head, tail = kept - kept // 2, len(text) - kept // 2
        head, tail = head - _splits_pair(text, head), tail + _splits_pair(text, tail)
        cut = text[:head] + _CUT.format(tail - head) + text[tail:]
        return replace(self, text=cut, whole=self.whole or text)


_CUT = "\n[... {} characters left out ...]\n"


def _splits_pair(text: str, place: int) -> bool:
    """Whether a surrogate pair, in a text that holds it as two halves, stands across `place`."""
    before, after = text[place - 1 : place], text[place : place + 1]
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; adds up with `+`."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return bool(self.total_tokens or self.prompt_tokens or self.completion_tokens)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One reply of the model, read but not interpreted.

    `content` is None where the message had none. `raw` is the provider's own `chat.completion` dict
    (for a stream: the folded one), untouched. `finish_reason` is OpenAI's word for what the provider
    said, and None where the reply broke off.
    """

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = "stop"
    usage: Usage = Usage()
    model: str = ""
    id: str = ""
    reasoning: str = ""
    refusal: str = ""
    flags: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a dialect tells the model of a tool: `parameters` is a JSON schema of type object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def to_wire(self) -> dict[str, Any]:
        """The entry of a request's `tools` list."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }


def checked_messages(messages: Any) -> Sequence[Message]:
    """The messages of a caller. Raises `ConfigurationError` where they are no list of objects."""
    found = type(messages).__name__
    if isinstance(messages, Sequence) and not isinstance(messages, (str, bytes)):
        for item in messages:
            if type(item) is not dict and not isinstance(item, Mapping):  # the first is faster, and usual
                odd = item
                break
        else:
            return messages
        found = f"a list that holds {type(odd).__name__}"
    raise ConfigurationError(
        f'`messages` must be a list such as [{{"role": "user", "content": "..."}}], got {found}'
    )


@dataclass(frozen=True, slots=True)
class Request(Mapping[str, Any]):
    """One request to a model: messages and options (`tools`, `stop`, `temperature`, ...).

    `messages` may be a view of a growing log: read it, do not keep a changed copy in it. A request reads
    like the JSON body that it stands for (`request["messages"]`); `body()` is that body, free to change.
    """

    messages: Sequence[Message]
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request | Mapping[str, Any]) -> Request:
        """A request from a request or from a JSON body with `messages`."""
        if isinstance(request, Request):
            return request
        options = dict(request)
        messages = options.pop("messages", None)
        return cls(checked_messages(messages), options)

    def body(self) -> dict[str, Any]:
        """The JSON body: a new dict and a new list; the message dicts are shared."""
        return {**self.options, "messages": list(self.messages)}

    def __getitem__(self, key: str) -> Any:
        return self.messages if key == "messages" else self.options[key]

    def __iter__(self) -> Iterator[str]:
        yield "messages"
        yield from self.options

    def __len__(self) -> int:
        return 1 + len(self.options)
