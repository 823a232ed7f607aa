"""What a comparison of requests leaves out, and the names by which a user says so. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from react_replay.errors import ConfigurationError
from react_replay.messages import Message

__all__ = ["NOTHING", "Apart", "tolerated"]

_OPTIONS = (
    "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "min_p",
    "model", "n", "presence_penalty", "reasoning_effort", "response_format", "seed", "service_tier", "store",
    "temperature", "tool_choice", "top_k", "top_logprobs", "top_p", "user", "verbosity",
)  # fmt: skip
_FIELDS = ("system", "tools", "tool_descriptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """What a comparison leaves out.

    `system`: system and developer messages. `opening`: whatever stands before the model's first reply.
    `results`: all but what the model wrote. `options`: by name, `*` for all. `descriptions`: those of tools.
    """

    system: bool = False
    opening: bool = False
    results: bool = False
    options: frozenset[str] = frozenset()
    descriptions: bool = False

    def leaves_out(self, message: Message, *, opening: bool) -> bool:
        """Whether a message is left out; `opening`: it stands before the model's first reply."""
        role = message.get("role")
        return (
            (self.opening and opening)
            or (self.system and role in ("system", "developer"))
            or (self.results and role != "assistant")
        )

    def keeps(self, option: str) -> bool:
        """Whether an option of this name is compared."""
        return option not in self.options and "*" not in self.options

    def options_of(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Of canonical options, those that are compared."""
        kept = {name: value for name, value in plain.items() if self.keeps(name)}
        if "tools" in self.options:
            kept.pop("tool_choice", None)
        elif self.descriptions and "tools" in kept:
            kept["tools"] = _without_descriptions(kept["tools"])
        return kept


NOTHING = Apart()


def tolerated(names: Iterable[str]) -> Apart:
    """What `tolerate=[...]` names: `system`, `tools`, `tool_descriptions`, or an option of the request.

    Raises `ConfigurationError` on what is misspelt, and on `messages`: of them only `system` may differ.
    """
    if isinstance(names, str):
        raise ConfigurationError(
            f"`tolerate` must be a list of names, got the text {names!r}: write it in []"
        )
    given = list(names)
    known = (*_FIELDS, *_OPTIONS)
    for name in given:
        if not isinstance(name, str) or not name.isidentifier() or name == "messages":
            raise ConfigurationError(
                f"`tolerate` names fields of a request that may differ: {', '.join(_FIELDS)}, or an option "
                f"such as 'temperature'; got {name!r}"
            )
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
        if close and name not in known:  # else an option that one service has
            raise ConfigurationError(f"`tolerate` names {name!r} (did you mean {close[0]!r}?)")
    if not given:
        return NOTHING
    return Apart(
        system="system" in given,
        descriptions="tool_descriptions" in given,
        options=frozenset(given) - {"system", "tool_descriptions"},
    )


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def _without_descriptions(value: Any) -> Any:
    """Tools, or a schema, without their descriptions; a parameter may be called `description`."""
    if isinstance(value, list):
        return [_without_descriptions(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    plain = {}
    for name, item in value.items():
        if name in _NAMED and isinstance(item, Mapping):
            plain[name] = {key: _without_descriptions(inner) for key, inner in item.items()}
        elif name != "description" or not isinstance(item, str):
            plain[name] = _without_descriptions(item)
    return plain
