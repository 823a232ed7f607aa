"""Exchanges that had no wire, as they would have been, and recorded turns as chunks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from react_replay.backends.base import Chunk
from react_replay.cassettes.reading import Recorded
from react_replay.messages import Request
from react_replay.wire import Exchange, encode_event, split_completion

__all__ = ["SCRIPTED_URL", "ends", "json_bytes", "replayed", "streamed_exchange", "synthesised"]

SCRIPTED_URL = "https://scripted.invalid/v1/chat/completions"


def ends(chunk: Chunk) -> bool:
    """Whether a chunk says that the reply is over."""
    choices = chunk.get("choices")
    return not isinstance(choices, list) or any(
        isinstance(choice, Mapping) and choice.get("finish_reason") for choice in choices
    )


def replayed(turn: Recorded) -> Iterator[Chunk]:
    if turn.streamed and turn.status < 400:
        yield from turn.events()
    else:
        yield from split_completion(turn.completion())


def json_bytes(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace")


def synthesised(request: Request, chunks: tuple[bytes, ...], kind: str, **options: Any) -> Exchange:
    """What an exchange with a backend without a wire would have been; the host says that it was none."""
    return Exchange(
        url=SCRIPTED_URL,
        request_body=json_bytes({**request.body(), **options}),
        request_headers={"content-type": "application/json"},
        response_headers={"content-type": kind},
        chunks=chunks,
    )


def streamed_exchange(request: Request, chunks: list[Chunk]) -> Exchange:
    events = tuple(encode_event(chunk) for chunk in (*chunks, None))
    return synthesised(request, events, "text/event-stream", stream=True)
