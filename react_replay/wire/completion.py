"""The provider's `chat.completion` dict, read into a `Completion`, and back. No HTTP and no streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_replay.errors import BackendError
from react_replay.messages import Completion, Flag, ToolCall, Usage
from react_replay.wire.arguments import dump_arguments, excerpt, read_arguments

__all__ = ["completion_dict", "read_completion", "read_usage", "reasoning_of", "text_of"]


_BROKE_OFF = "broke off"
_FINISH = {
    **{name: name for name in ("stop", "length", "tool_calls", "function_call", "content_filter")},
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence", "completed"), "stop"),
    **dict.fromkeys(("tool_use", "tool_call"), "tool_calls"),
    **dict.fromkeys(("max_tokens", "model_length"), "length"),
    **dict.fromkeys(("safety", "sensitive"), "content_filter"),
    # DeepSeek's own word for an interrupted request, then other servers'.
    **dict.fromkeys(("insufficient_system_resource", "error", "abort", "aborted"), _BROKE_OFF),
    **dict.fromkeys(("cancelled", "canceled", "network_error", "timeout"), _BROKE_OFF),
}


def read_completion(raw: Mapping[str, Any], *, ended: bool = True) -> Completion:
    """Read a `chat.completion` body. Raises `BackendError` where it is none.

    Ids are kept byte for byte; a missing one stays empty, the loop gives it a name. `ended` is False for
    the body of a stream that broke off.
    """
    if not isinstance(raw, Mapping):
        raise BackendError(f"the provider sent {type(raw).__name__}, not a chat.completion object")
    choices = raw.get("choices")
    if not choices or not isinstance(choices, list) or not isinstance(choices[0], Mapping):
        raise BackendError(*_no_choice(raw))
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        # A choice without a message is an empty reply, not a broken connection.
        message = {}
    flags: list[str] = []
    finish = _finish_reason(choice.get("finish_reason"), flags)
    ended = ended and Flag.UNFINISHED not in flags
    calls = _read_calls(message, flags, cut=finish == "length" or not ended)
    if finish is None and ended:
        # A body that arrived whole has ended; what a missing reason means is plain from what it holds.
        finish = "tool_calls" if calls else "stop"
    elif finish is None:
        flags.append(Flag.UNFINISHED)
    if finish == "length":
        flags.append(Flag.TRUNCATED)
    if bool(calls) != (finish in ("tool_calls", "function_call")) and finish in (
        "stop",
        "tool_calls",
        "function_call",
    ):
        flags.append(Flag.LYING_FINISH)
    return Completion(
        content=text_of(message.get("content")),
        tool_calls=calls,
        finish_reason=finish,
        usage=read_usage(raw.get("usage")),
        model=_string(raw.get("model")),
        id=_string(raw.get("id")),
        reasoning=reasoning_of(message),
        refusal=text_of(message.get("refusal")) or "",
        flags=tuple(dict.fromkeys(flags)),
        raw=raw,
    )


def _no_choice(raw: Mapping[str, Any]) -> tuple[str]:
    error = raw.get("error")
    if error:
        text = error.get("message") if isinstance(error, Mapping) else error
        code = f" (code {error['code']!r})" if isinstance(error, Mapping) and "code" in error else ""
        return (f"the provider answered with an error{code}: {str(text)[:500]}",)
    return (f"the provider's answer holds no choice: {excerpt(str(dict(raw)), 200)}",)


def _read_calls(message: Mapping[str, Any], flags: list[str], *, cut: bool) -> tuple[ToolCall, ...]:
    entries = message.get("tool_calls")
    if not isinstance(entries, list):
        entries = []
    legacy = message.get("function_call")
    if not entries and isinstance(legacy, Mapping):
        flags.append(Flag.LEGACY_CALL)
        entries = [{"function": legacy}]
    # Only the last call can be the one that a cut reply was writing.
    last = len(entries) - 1 if cut else -1
    return tuple(_read_call(entry, flags, cut=place == last) for place, entry in enumerate(entries))


def _read_call(entry: Any, flags: list[str], *, cut: bool) -> ToolCall:
    if not isinstance(entry, Mapping):
        entry = {}
    function = entry.get("function")
    if not isinstance(function, Mapping):
        # Some local servers leave the wrapper out.
        function = entry
    identity = entry.get("id")
    given = function.get("arguments")
    arguments = read_arguments(given)
    flags += arguments.flags
    error = arguments.error
    if cut and (given is None or (isinstance(given, str) and not given.strip())):
        # Without a cut this is a call without arguments; here nobody knows what was to come.
        error = "the reply was cut before the arguments of this call"
        flags.append(Flag.TRUNCATED)
    if arguments.cut:
        flags.append(Flag.TRUNCATED)
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        name, error = "", error or "the call names no tool"
    return ToolCall(
        name=name,
        arguments=arguments.value,
        id=identity if isinstance(identity, str) else "",
        error=error,
        written=arguments.text,
    )


def read_usage(raw: Any) -> Usage:
    """Token counts of OpenAI's and DeepSeek's spelling; whatever is missing or odd is 0."""
    if not isinstance(raw, Mapping):
        return Usage()
    prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    prompt_details = raw.get("prompt_tokens_details")
    completion_details = raw.get("completion_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(raw, "total_tokens") or prompt + completion,
        cached_tokens=_count(prompt_details, "cached_tokens") or _count(raw, "prompt_cache_hit_tokens"),
        reasoning_tokens=_count(completion_details, "reasoning_tokens"),
    )


def _count(raw: Any, name: str) -> int:
    value = raw.get(name) if isinstance(raw, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _finish_reason(given: Any, flags: list[str]) -> str | None:
    """OpenAI's word for why a reply ended; None, flagged, where the provider says that it broke off."""
    if not isinstance(given, str) or not given:
        return None
    reason = _FINISH.get(given) or _FINISH.get(given.casefold())
    if reason is None:
        flags.append(Flag.UNKNOWN_FINISH)
        return given
    if reason == _BROKE_OFF:
        flags.append(Flag.UNFINISHED)
        return None
    return reason


def reasoning_of(message: Mapping[str, Any]) -> str:
    """The model's thinking: DeepSeek's field, OpenRouter's, or Mistral's parts of the content list."""
    text = text_of(message.get("reasoning_content") or message.get("reasoning"))
    if text is None and isinstance(message.get("content"), list):
        parts = [part.get("thinking") for part in message["content"] if isinstance(part, Mapping)]
        text = "".join(text_of(part) or "" for part in parts if part)
    return text or ""


def text_of(value: Any) -> str | None:
    """Text as it stands, or the text parts of a content list joined; None where there is neither."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        parts = [
            part if isinstance(part, str) else part.get("text")
            for part in value
            if isinstance(part, (str, Mapping))
        ]
        return "".join(part for part in parts if isinstance(part, str))
    return None


def completion_dict(completion: Completion) -> dict[str, Any]:
    """A `chat.completion` dict for a completion that came without one (a scripted reply)."""
    if completion.raw:
        return dict(completion.raw)
    message: dict[str, Any] = {"role": "assistant", "content": completion.content}
    if completion.reasoning:
        message["reasoning_content"] = completion.reasoning
    if completion.refusal:
        message["refusal"] = completion.refusal
    if completion.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments
                    if isinstance(call.arguments, str)
                    else dump_arguments(call.arguments),
                },
            }
            for call in completion.tool_calls
        ]
    body: dict[str, Any] = {
        "id": completion.id,
        "object": "chat.completion",
        "created": 0,
        "model": completion.model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason}],
    }
    usage = completion.usage
    if usage != Usage():
        body["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
            **(
                {"prompt_tokens_details": {"cached_tokens": usage.cached_tokens}}
                if usage.cached_tokens
                else {}
            ),
            **(
                {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
                if usage.reasoning_tokens
                else {}
            ),
        }
    return body
