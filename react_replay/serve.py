"""Any backend as an OpenAI-compatible HTTP endpoint: an ASGI app, streaming included.

A backend is served, it does not serve: nothing below this module imports it. Needs the extra `[serve]`.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from react_replay.backends.base import ChatBackend, Chunk
from react_replay.errors import BackendError, CassetteMiss, ConfigurationError, ReactReplayError
from react_replay.messages import Request
from react_replay.wire import completion_dict, encode_event

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

__all__ = ["app", "serving"]


def app(backend: ChatBackend, *, model: str = "react-replay") -> Starlette:
    """An ASGI app with `/v1/chat/completions` (server-sent events too) and `/v1/models`.

    Errors come in OpenAI's shape; a cassette miss is a 404 whose text is the miss's.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, StreamingResponse
        from starlette.routing import Route
    except ImportError as error:
        raise ConfigurationError(
            "serving needs starlette and uvicorn: pip install 'react-replay[serve]'"
        ) from error

    async def chat(http: HttpRequest) -> Response:
        try:
            body = json.loads(await http.body())
            request = Request.of(body if isinstance(body, dict) else {})
        except (ValueError, RecursionError, ConfigurationError) as error:
            return failed(f"the body is no chat request: {error}", 400)
        try:
            if not body.get("stream"):
                completion = await backend.acomplete(request)
                raw = completion_dict(completion)
                return JSONResponse({**raw, "model": raw.get("model") or model})
            chunks = backend.astream(request)
            # The first chunk is drawn before the headers go out: an error still has a status.
            first = await anext(chunks, None)
        except Exception as error:
            return failed(str(error), _status(error))
        return StreamingResponse(_events(first, chunks), media_type="text/event-stream")

    async def models(_: HttpRequest) -> Response:
        entry = {"id": model, "object": "model", "created": 0, "owned_by": "react-replay"}
        return JSONResponse({"object": "list", "data": [entry]})

    def failed(message: str, status: int) -> Response:
        return JSONResponse(_error(message, status), status_code=status)

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
        ]
    )


def _error(message: str, status: int) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _status(error: Exception) -> int:
    if isinstance(error, CassetteMiss):
        return 404
    if isinstance(error, BackendError):
        return error.status or 502
    return 500


async def _events(first: Chunk | None, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
    if first is not None:
        yield encode_event(first)
    try:
        async for chunk in chunks:
            yield encode_event(chunk)
    except ReactReplayError as error:  # the status has gone out; an error event is what is left
        yield encode_event(_error(str(error), _status(error)))
    yield encode_event(None)


@contextlib.contextmanager
def serving(backend: ChatBackend, *, model: str = "react-replay", port: int = 0) -> Iterator[str]:
    """Serve on 127.0.0.1 while the block runs, on a free port by default; gives the base URL."""
    try:
        import uvicorn
    except ImportError as error:
        raise ConfigurationError(
            "serving needs starlette and uvicorn: pip install 'react-replay[serve]'"
        ) from error
    import socket

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(app(backend, model=model), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
