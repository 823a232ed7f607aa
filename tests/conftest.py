"""Shared fixtures. Every test starts without a key, and no test reaches past this machine."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import dotenv
import pytest
from hypothesis import settings

from react_replay import GuardBackend, RunResult
from react_replay.check import Severity, Violation, check_messages

settings.register_profile("react_replay", deadline=None, database=None, print_blob=True)
settings.load_profile("react_replay")

Piece: TypeAlias = "bytes | float | threading.Event | None"
"""Of a reply: bytes are sent, a number is a pause in seconds, an event is waited for, None cuts the line."""

_KEYS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_ADMIN_KEY",
    "DEEPSEEK_API_KEY",
    "DEEPSEEK_BASE_URL",
    "MODEL",
)


# What the model left out stays left out in the record of a run: the service's `Provider` shapes what is sent.
# A native answer may speak the text protocol; that the text dialects cut it has a test of its own.
_AS_THE_MODEL_SAID_IT = frozenset({"empty-assistant-message", "invented-observation"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Every transcript that a run of ours ends with, in any test, keeps the invariants of `check`.

    The marker `breaks_invariants` is for tests of broken loops, and of histories that the test itself breaks.
    """
    if item.get_closest_marker("breaks_invariants"):
        return (yield)
    broken: list[Violation] = []
    made = RunResult.__init__

    def watched(result: RunResult, *args: Any, **fields: Any) -> None:
        made(result, *args, **fields)
        broken.extend(
            violation
            for violation in check_messages(result.messages)
            if violation.severity is not Severity.NOTE and violation.code not in _AS_THE_MODEL_SAID_IT
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunResult, "__init__", watched)
        outcome = yield
    assert not broken, f"a run left a transcript that breaks its invariants: {broken[:5]}"
    return outcome


@pytest.fixture(scope="session", autouse=True)
def no_live_calls() -> Iterator[None]:
    """No key in the environment or in a `.env` above, and no connection but to this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in ("127.0.0.1", "::1"):
            raise AssertionError(f"a test tried to connect to {address!r}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        for name in _KEYS:
            patch.delenv(name, raising=False)
        patch.setattr(dotenv, "find_dotenv", lambda *_, **__: "")
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture
def guard() -> GuardBackend:
    """A backend that refuses every request."""
    return GuardBackend()


@pytest.fixture
def backend(guard: GuardBackend) -> GuardBackend:
    """The default backend of a test: any call to it is an error."""
    return guard


@dataclass(frozen=True, kw_only=True)
class HttpReply:
    """What the loopback server sends: the pieces go out one by one, each as a chunk of its own."""

    pieces: Sequence[Piece]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request that the loopback server got."""

    path: str
    headers: Mapping[str, str]
    body: Any


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # the default of five refuses a burst of connections


class LoopbackServer:
    """An HTTP server on 127.0.0.1 that plays replies in order, or asks `answer` for each."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.replies: list[HttpReply] = []
        self.answer: Callable[[Any], HttpReply] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def json(self, body: Any, *, status: int = 200, **headers: str) -> None:
        """Queue a JSON reply."""
        sent = {"content-type": "application/json", **headers}
        data = json.dumps(body, ensure_ascii=False).encode()
        self.replies.append(HttpReply(pieces=[data], status=status, headers=sent))

    def events(self, *pieces: Piece, **headers: str) -> None:
        """Queue a stream of server-sent events, cut as given."""
        sent = {"content-type": "text/event-stream; charset=utf-8", **headers}
        self.replies.append(HttpReply(pieces=pieces, headers=sent))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _serve(self, http: BaseHTTPRequestHandler) -> None:
        body = json.loads(http.rfile.read(int(http.headers.get("content-length") or 0)) or b"null")
        headers = {name.lower(): value for name, value in http.headers.items()}
        self.requests.append(Seen(path=http.path, headers=headers, body=body))
        if self.answer is not None:
            reply = self.answer(body)
        elif self.replies:
            reply = self.replies.pop(0)
        else:
            reply = HttpReply(pieces=[b'{"error": {"message": "nothing left to play"}}'], status=418)
        http.send_response(reply.status)
        for name, value in {"connection": "close", **reply.headers}.items():
            http.send_header(name, value)
        http.close_connection = reply.headers.get("connection") != "keep-alive"
        http.send_header("transfer-encoding", "chunked")
        http.end_headers()
        for piece in reply.pieces:
            if piece is None:
                http.close_connection = True
                return
            if isinstance(piece, threading.Event):
                piece.wait(10)
            elif isinstance(piece, float):
                time.sleep(piece)
            else:
                http.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                http.wfile.flush()
        http.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A fake provider on loopback; the live tests talk to it through the real SDK."""
    running = LoopbackServer()
    yield running
    running.close()


@pytest.fixture
def reply() -> type[HttpReply]:
    """The class of what `server.answer` returns."""
    return HttpReply
