"""What a service wants of the bodies that we send: one frozen value, and the services we know.

A `Provider` changes how a request is spelled, never what it says: a cassette that was recorded through one
answers the same request whoever is asked. Reading replies needs no provider; nothing of that enters here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from react_replay.errors import ConfigurationError, did_you_mean
from react_replay.messages import SHORTEST_OBSERVATION

__all__ = [
    "DEEPSEEK",
    "LOCAL",
    "MISTRAL",
    "NEUTRAL",
    "OPENAI",
    "PROVIDERS",
    "Provider",
    "provider_for",
]

_CHOICES = {
    "content": ("null", "empty", "omit"),
    "reasoning": ("keep_with_tool_calls", "keep", "drop"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One service's ways. Another one is made of a preset: `dataclasses.replace(DEEPSEEK, stop=False)`.

    `content` is what stands beside tool calls where the turn has no text. A call id longer than `id_length`
    is replaced on both sides; `id_exact`: by one of exactly that many letters and digits. `stop` and
    `parallel_tool_calls` say whether the service takes the option; neither is ever added. `merge_roles`
    joins user (or assistant) texts in a row by a blank line. `reasoning` is what becomes of the
    `reasoning_content` of a history; our own runs keep it beside tool calls only. `max_observation` is in
    characters; None never cuts.
    """

    name: str
    content: Literal["null", "empty", "omit"] = "empty"
    id_length: int | None = None
    id_exact: bool = False
    stop: bool = True
    parallel_tool_calls: bool = True
    merge_roles: bool = False
    reasoning: Literal["keep_with_tool_calls", "keep", "drop"] = "keep_with_tool_calls"
    max_observation: int | None = 100_000

    def __post_init__(self) -> None:
        for field, known in _CHOICES.items():
            value = getattr(self, field)
            if value not in known:
                raise ConfigurationError(
                    f"unknown `{field}` {value!r} of a provider{did_you_mean(str(value), known)}; "
                    f"one of: {', '.join(known)}"
                )
        for field, least in (("id_length", 8), ("max_observation", SHORTEST_OBSERVATION)):
            value = getattr(self, field)
            if value is not None and (type(value) is not int or value < least):
                raise ConfigurationError(
                    f"`{field}` of a provider must be None or a whole number of at least {least}, "
                    f"got {value!r}"
                )

    def shape(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body as this service takes it. `body` stays as it is; what needs no change is shared."""
        from react_replay.wire.shaping import shaped

        return shaped(body, self)


NEUTRAL = Provider(name="neutral")
"""For a service that is not known: what nearly all take. Ids pass as they are, since some gateways keep
state in them."""

OPENAI = Provider(name="openai", content="null", id_length=40, reasoning="drop")
"""Its models never write `reasoning_content`; what another service's left in a history is not sent."""

DEEPSEEK = Provider(name="deepseek", merge_roles=True)
"""In thinking mode a turn with calls must bring its reasoning back; elsewhere the early R1 refused it, and
two texts of one role in a row."""

MISTRAL = Provider(name="mistral", id_length=9, id_exact=True, merge_roles=True, reasoning="drop")
"""Ids of exactly nine letters or digits, and no field that it does not know."""

LOCAL = Provider(name="local", merge_roles=True, max_observation=32_000)
"""Ollama, LM Studio, llama.cpp, vLLM: null content is refused, chat templates want roles to alternate,
and contexts are short."""

PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider for provider in (NEUTRAL, OPENAI, DEEPSEEK, MISTRAL, LOCAL)
}

_HOSTS = {
    "api.openai.com": OPENAI,
    "openai.azure.com": OPENAI,
    "deepseek.com": DEEPSEEK,
    "mistral.ai": MISTRAL,
    "localhost": LOCAL,
    "local": LOCAL,
    "internal": LOCAL,
}
_LOCAL_PORTS = frozenset({11434, 1234})  # Ollama's and LM Studio's own, on whatever host


def provider_for(base_url_or_name: str) -> Provider:
    """The provider of a base URL (`NEUTRAL` where the host is unknown), or of a name.

    Raises `ConfigurationError` for an unknown name.
    """
    given = base_url_or_name.strip()
    if given in PROVIDERS:
        return PROVIDERS[given]
    if not any(mark in given for mark in "./:") and given != "localhost":
        raise ConfigurationError(
            f"unknown provider {base_url_or_name!r}{did_you_mean(given, PROVIDERS)}; "
            f"the providers are: {', '.join(PROVIDERS)}; or give a base URL, or a Provider of your own"
        )
    return _by_url(given if "://" in given else f"//{given}")


def _by_url(url: str) -> Provider:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:  # no URL at all: whoever connects to it will say so
        return NEUTRAL
    for known, provider in _HOSTS.items():
        if host == known or host.endswith(f".{known}"):
            return provider
    # A name without a dot is a machine of this network, or a service of a compose file.
    if port in _LOCAL_PORTS or _is_private(host) or (host and "." not in host and ":" not in host):
        return LOCAL
    return NEUTRAL


def _is_private(host: str) -> bool:
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_private or address.is_loopback or address.is_link_local or address.is_unspecified
