"""A live model behind the openai SDK: any OpenAI-compatible endpoint. The only importer of openai.

The SDK does keys, retries and time-outs; bodies are read by `wire`, so that a live answer, a recorded one and
a served one go through the same code. A request's bytes and its answer's are kept for a recorder.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.backends.wired import ExchangeTap, WiredBackend
from react_replay.errors import BackendError, ConfigurationError
from react_replay.messages import Completion, Request
from react_replay.wire import ChunkDecoder, Exchange, Provider, provider_for, read_completion

__all__ = ["LiveBackend"]

DEEPSEEK_URL = "https://api.deepseek.com"
OPENAI_URL = "https://api.openai.com/v1"


class LiveBackend(WiredBackend, ChatBackend):
    """Asks `model` at `base_url`. `options` are the SDK client's: `timeout`, `max_retries`, ...

    `provider` shapes the bodies that are sent: a `Provider`, a name, or by default what the URL tells.
    Raises `BackendError` with the provider's own words where it fails; `status` is the HTTP status.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str | None = None,
        provider: Provider | str | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        self.base_url = base_url
        if not isinstance(provider, Provider):
            # Without a URL the SDK takes this one.
            provider = provider_for(provider or base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        self.provider = provider
        self._api_key = api_key
        self._options = options
        self._sync: Any = None
        self._async: tuple[Any, Any] | None = None

    @classmethod
    def from_env(cls, *, model: str | None = None, env_file: str | Path | None = None) -> Self:
        """From the environment, or a `.env` file here or in a parent folder (the environment wins for a
        name that both give).

        DeepSeek with `DEEPSEEK_API_KEY` (`DEEPSEEK_BASE_URL`, `MODEL`), else OpenAI with `OPENAI_API_KEY`
        (`OPENAI_BASE_URL`, `OPENAI_MODEL` or `MODEL`). Raises `ConfigurationError` without a key.
        """
        settings = {**_env_file(env_file), **{k: v for k, v in os.environ.items() if v}}
        if key := settings.get("DEEPSEEK_API_KEY"):
            return cls(
                model=model or settings.get("MODEL") or "deepseek-chat",
                api_key=key,
                base_url=settings.get("DEEPSEEK_BASE_URL") or DEEPSEEK_URL,
            )
        if key := settings.get("OPENAI_API_KEY"):
            named = settings.get("OPENAI_MODEL") or settings.get("MODEL")
            return cls(
                model=model or named or "gpt-4o-mini",
                api_key=key,
                base_url=settings.get("OPENAI_BASE_URL") or None,
            )
        raise ConfigurationError(
            "a live model needs a key: set DEEPSEEK_API_KEY (and DEEPSEEK_BASE_URL, MODEL) or "
            "OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL), in the environment or in a .env file; "
            "to run without one, replay a cassette or a script"
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self._api_key,)

    @property
    def provenance(self) -> dict[str, Any]:
        from importlib.metadata import version

        return {"origin": "live", "model": self.model, "sdk": f"openai {version('openai')}"}

    def complete(self, request: Request, *, tap: ExchangeTap | None = None) -> Completion:
        import openai

        body = self._body(request)
        try:
            raw = self._client().chat.completions.with_raw_response.create(**body)
            data = raw.http_response.read()
        except openai.APIError as error:
            raise _fault(error) from error
        completion = _completion(data)  # an answer that is none is not worth keeping
        if tap is not None:
            tap(_exchange(raw.http_response, (data,)))
        return completion

    async def acomplete(self, request: Request, *, tap: ExchangeTap | None = None) -> Completion:
        import openai

        body = self._body(request)
        try:
            raw = await self._aclient().chat.completions.with_raw_response.create(**body)
            data = await raw.http_response.aread()
        except openai.APIError as error:
            raise _fault(error) from error
        completion = _completion(data)  # an answer that is none is not worth keeping
        if tap is not None:
            tap(_exchange(raw.http_response, (data,)))
        return completion

    def stream(self, request: Request, *, tap: ExchangeTap | None = None) -> Iterator[Chunk]:
        import httpx2
        import openai

        body = self._body(request, stream=True)
        pieces: list[bytes] = []
        decoder = ChunkDecoder()
        try:
            raw = self._client().chat.completions.with_raw_response.create(**body)
            response = raw.http_response
            try:
                for piece in response.iter_bytes():
                    if tap is not None:
                        pieces.append(piece)
                    yield from decoder.feed(piece)
                yield from decoder.feed(b"", final=True)
            finally:
                response.close()
        except openai.APIError as error:
            raise _fault(error) from error
        except httpx2.HTTPError as error:
            raise BackendError(f"the stream broke off: {type(error).__name__}: {error}") from error
        if tap is not None:
            tap(_exchange(response, tuple(pieces)))

    async def astream(self, request: Request, *, tap: ExchangeTap | None = None) -> AsyncIterator[Chunk]:
        import httpx2
        import openai

        body = self._body(request, stream=True)
        pieces: list[bytes] = []
        decoder = ChunkDecoder()
        try:
            raw = await self._aclient().chat.completions.with_raw_response.create(**body)
            response = raw.http_response
            try:
                async for piece in response.aiter_bytes():
                    if tap is not None:
                        pieces.append(piece)
                    for chunk in decoder.feed(piece):
                        yield chunk
                for chunk in decoder.feed(b"", final=True):
                    yield chunk
            finally:
                await response.aclose()
        except openai.APIError as error:
            raise _fault(error) from error
        except httpx2.HTTPError as error:
            raise BackendError(f"the stream broke off: {type(error).__name__}: {error}") from error
        if tap is not None:
            tap(_exchange(response, tuple(pieces)))

    def close(self) -> None:
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    def _client(self) -> Any:
        if self._sync is None:
            import openai

            self._sync = openai.OpenAI(api_key=self._api_key, base_url=self.base_url, **self._options)
        return self._sync

    def _aclient(self) -> Any:
        """The client of the running event loop: connections of another loop cannot be used again."""
        from asyncio import get_running_loop

        running = get_running_loop()
        if self._async is None or self._async[0] is not running:
            import httpx2
            import openai

            # No connection is kept: one that outlives its loop can neither be used nor closed.
            limits = httpx2.Limits(max_keepalive_connections=0)
            options = {"http_client": openai.DefaultAsyncHttpxClient(limits=limits), **self._options}
            client = openai.AsyncOpenAI(api_key=self._api_key, base_url=self.base_url, **options)
            self._async = (running, client)
        return self._async[1]

    def _body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        body = self.provider.shape({"model": self.model, **Request.of(request).body()})
        body.pop("stream", None)
        body.pop("stream_options", None)
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        # The SDK takes its own parameters by name; whatever it does not know goes along as it is.
        known = _parameters()
        extra = {name: body.pop(name) for name in list(body) if name not in known}
        return {**body, "extra_body": extra} if extra else body


def _parameters() -> frozenset[str]:
    from openai.types.chat import completion_create_params as params

    names = params.CompletionCreateParamsBase.__annotations__
    return frozenset(names) | {"stream"}


def _completion(data: bytes) -> Completion:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"the provider's answer is no JSON: {data[:200]!a}") from error
    return read_completion(body)


def _exchange(response: Any, chunks: tuple[bytes, ...]) -> Exchange:
    asked = response.request
    return Exchange(
        url=str(asked.url),
        method=asked.method,
        request_headers=dict(asked.headers),
        request_body=asked.content,
        status=response.status_code,
        reason=response.reason_phrase,
        response_headers=dict(response.headers),
        chunks=chunks,
    )


def _fault(error: Any) -> BackendError:
    status = getattr(error, "status_code", None)
    prefix = f"HTTP {status}: " if status else f"{type(error).__name__}: "
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, Mapping) else None
    cause = f" ({error.__cause__})" if error.__cause__ and not status else ""
    return BackendError(f"{prefix}{str(said or error)[:500]}{cause}", status=status)


def _env_file(path: str | Path | None) -> dict[str, str]:
    from dotenv import dotenv_values, find_dotenv

    if path is not None and not Path(path).is_file():
        raise ConfigurationError(f"there is no env file at {path}")
    found = str(path) if path is not None else find_dotenv(usecwd=True)
    try:
        return {k: v for k, v in dotenv_values(found).items() if v} if found else {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the env file {found} cannot be read: {error}") from error
