"""A cassette's file as recorded turns. What cannot be read is an error that says where and why.

Every layout of `layouts` is read, whatever the file is called; here is decided which of the exchanges are
chat requests. Nothing is written, and nothing that a file names is constructed.
"""

from __future__ import annotations

import functools
import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from react_replay.cassettes.blocks import Unusual
from react_replay.cassettes.bodies import MissingDecoder, decompressed
from react_replay.cassettes.documents import Unreadable, load_documents
from react_replay.cassettes.layouts import Foreign, Found, delta, recognise, recognise_text, vcrpy
from react_replay.cassettes.layouts.vcrpy import METADATA
from react_replay.errors import BackendError, CassetteError, CassetteMissing, NotACassette
from react_replay.log import Log
from react_replay.messages import Completion, Request
from react_replay.wire import Exchange, decode_events, fold, read_completion

__all__ = [
    "METADATA",
    "Cassette",
    "Recorded",
    "read_cassette",
    "read_document",
    "read_exchanges",
    "read_interactions",
]

_LARGEST = 512 * 1024 * 1024
# Other protocols that hold `messages` as well: Anthropic, OpenAI's responses, Ollama, Cohere, Bedrock.
_OTHER_PROTOCOL = re.compile(
    r"/(messages(/count_tokens|/batches)?|responses|api/chat|v[12]/chat|converse(-stream)?"
    r"|invoke(-with-response-stream)?|threads/[^/]+/runs|[^/]*:[a-zA-Z]+)/?\Z"
)
# What a file holds that was meant for a cassette, however broken it is.
_LIKENESS = re.compile(rb"\b(?:http_)?interactions\b|\Ahttprr|^(?:when|then):", re.M)
_CHAT = re.compile(r"/chat/completions/?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One recorded exchange. `request` is None where it is no chat request with a JSON body.

    `number` counts from 1 over the whole file; `chunks` is the answer's body, cut as it arrived, and
    `headers` are the answer's, names in lower case. `asked` is equal for requests of the same bytes, in one
    process. `sent` is the request: its body, which is read whenever `request` is asked for, so that a long
    cassette takes no more memory than its file; or what was read from it, and why there is none.
    """

    number: int
    url: str
    status: int
    chunks: tuple[bytes, ...]
    streamed: bool
    sent: bytes | tuple[Request | None, str] = field(repr=False)
    method: str = "POST"
    asked: int = 0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def request(self) -> Request | None:
        """What was asked. Not to be changed: others may be given the same."""
        return self._read()[0]

    @property
    def unread(self) -> str:
        """Why a request to a chat endpoint is none; empty where it is one, and for other traffic."""
        return self._read()[1]

    def _read(self) -> tuple[Request | None, str]:
        if isinstance(self.sent, tuple):
            return self.sent
        request, why = _chat_request(self.sent)
        return request, why if _wants_chat(self.method, self.url) else ""

    @property
    def chat(self) -> bool:
        """Whether this is chat-completions traffic, its request readable or not."""
        return self.request is not None or bool(self.unread)

    def completion(self) -> Completion:
        """The recorded reply. Raises `BackendError` where an error was recorded."""
        if self.streamed and self.status < 400:
            return fold(self.events())
        return read_completion(self._json())

    def events(self) -> list[dict[str, Any]]:
        """The chunks of a recorded stream."""
        return list(decode_events(self.chunks))

    def _json(self) -> dict[str, Any]:
        body = b"".join(self.chunks)
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BackendError(
                f"the recorded answer (status {self.status}) is no JSON: {body[:120]!a}",
                status=self.status,
            ) from error
        if self.status >= 400 and isinstance(parsed, Mapping):
            said = parsed.get("error", parsed)
            said = said.get("message", said) if isinstance(said, Mapping) else said
            raise BackendError(f"HTTP {self.status}: {str(said)[:500]}", status=self.status)
        return parsed if isinstance(parsed, dict) else {"error": f"not an object: {parsed!r}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """A file's recorded exchanges, its provenance, and the layout it was read from.

    `interactions` is the document's own list where the layout is one that we write too, else empty.
    """

    path: Path
    recorded: tuple[Recorded, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    interactions: Sequence[Mapping[str, Any]] = ()
    layout: str = "vcrpy"

    @property
    def extensible(self) -> bool:
        """Whether more can be recorded into the file without changing what stands there."""
        return len(self.interactions) == len(self.recorded)


def read_cassette(path: Path) -> Cassette:
    """Read a cassette. Raises `CassetteMissing` or `CassetteError`; never takes it for empty."""
    data = _contents(path)
    try:
        return _cassette(path, data, lazy=True)
    except Unusual:
        return _cassette(path, data, lazy=False)


def _cassette(path: Path, data: bytes, *, lazy: bool) -> Cassette:
    try:
        documents, found = _found(path, data, lazy=lazy)
    except Foreign as why:
        raise NotACassette(f"{path} is no cassette: {why}", path=str(path), found=why.found) from why
    except Unreadable as why:
        if not _LIKENESS.search(data):
            raise NotACassette(f"{path} is no cassette: {why}", path=str(path), found=str(why)) from why
        raise _unreadable(path, str(why)) from why
    recorded: list[Recorded] = []
    one, ours = _one(path, found), found.layout in (delta.NAME, vcrpy.NAME)
    if isinstance(found.entries, delta.Turns):
        recorded = _grown(found.entries.steps, path)
    else:
        for number, entry in enumerate(found.entries, 1):
            recorded.append(one(number, entry))
            ours = ours and not _is_parsed(entry)
    metadata = documents[0].get(METADATA) or {} if isinstance(documents[0], Mapping) else {}
    if not isinstance(metadata, Mapping):
        raise _unreadable(path, f"`{METADATA}` must be a mapping, found {type(metadata).__name__}")
    return Cassette(
        path=path,
        recorded=tuple(recorded),
        metadata=metadata,
        interactions=found.entries if ours else (),
        layout=found.layout,
    )


def _one(path: Path, found: Found) -> Callable[[int, Any], Recorded]:
    def one(number: int, entry: Any) -> Recorded:
        try:
            return _recorded(number, found.exchange(entry))
        except Unreadable as why:
            where = "" if found.layout == "vcrpy" else f" (layout: {found.layout})"
            raise _unreadable(path, f"interaction {number} is not readable: {why}{where}") from why

    return one


def read_exchanges(path: Path) -> tuple[Cassette, list[Exchange], Sequence[Any]]:
    """A cassette, its exchanges with unpacked bodies, its entries as they stand. As `read_cassette`."""
    cassette = read_cassette(path)
    _, found = _found(path, _contents(path))
    exchanges = []
    for number, entry in enumerate(found.entries, 1):
        exchange = found.exchange(entry)
        try:
            asked = _unpacked(exchange.request_body, exchange.request_headers, chat=True)
            chunks = exchange.chunks
            if len(chunks) == 1:
                chunks = (_unpacked(chunks[0], exchange.response_headers, chat=True),)
        except Unreadable as why:
            raise _unreadable(path, f"interaction {number} is not readable: {why}") from why
        exchanges.append(replace(exchange, request_body=asked, chunks=chunks))
    return cassette, exchanges, found.entries


def read_document(path: Path, *, writing: bool = True) -> Any:
    """A cassette's document, or a list of them. For `writing`, `CassetteError` where it is not ours to."""
    cassette = read_cassette(path)
    if writing and not cassette.extensible:
        what = "with parsed bodies" if cassette.layout == "vcrpy" else f"in the layout of {cassette.layout}"
        raise CassetteError(
            f"the cassette {path} is {what}, which is not written here. Convert it first: "
            f"react-replay convert {path} NEW.yaml",
            path=str(path),
        )
    documents, found = _found(path, _contents(path))
    if documents == [None]:  # a trace: bytes and lengths
        return list(found.entries)
    return documents[0] if len(documents) == 1 else documents


def read_interactions(
    path: Path, interactions: Sequence[Mapping[str, Any]], *, first: int = 1
) -> tuple[Recorded, ...]:
    """Interactions of our own layout that are in no file yet, numbered from `first`."""
    try:
        return tuple(
            _recorded(number, vcrpy.exchange(entry)) for number, entry in enumerate(interactions, first)
        )
    except Unreadable as why:
        raise _unreadable(path, str(why)) from why


def _contents(path: Path) -> bytes:
    try:
        facts = path.stat()
        if stat.S_ISREG(facts.st_mode) and facts.st_size > _LARGEST:
            raise _unreadable(path, f"it has {facts.st_size >> 20} MiB; at most {_LARGEST >> 20} are read")
        if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
            raise _unreadable(path, "it is no regular file")
        return path.read_bytes()
    except FileNotFoundError:
        raise CassetteMissing(f"there is no cassette at {path}", path=str(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error


def _found(path: Path, data: bytes, *, lazy: bool = False) -> tuple[list[Any], Found]:
    if data[:2] == b"\x1f\x8b":  # a trace that was packed to save room
        data = decompressed(data, "gzip")
    if not data.strip():
        raise Unreadable("it is empty")
    if (traced := recognise_text(data)) is not None:
        return [None], traced
    documents = load_documents(data, json_only=path.suffix.lower() == ".json", lazy=lazy)
    return documents, recognise(documents)


def _unreadable(path: Path, why: str) -> CassetteError:
    return CassetteError(
        f"the cassette {path} cannot be read: {why}. It is left as it is; mend it, or delete it and "
        "record again",
        path=str(path),
    )


def _is_parsed(entry: Mapping[str, Any]) -> bool:
    return "parsed_body" in entry["request"] or "parsed_body" in entry["response"]


def _recorded(
    number: int,
    exchange: Exchange,
    *,
    step: delta.Whole | delta.Unfolded | None = None,
    base: Recorded | None = None,
) -> Recorded:
    """One turn; that of a `step` of the delta layout continues the request of `base`."""
    chat, other = _protocol(exchange.url)
    asked = _unpacked(exchange.request_body, exchange.request_headers, chat=chat)
    chunks = exchange.chunks
    if len(chunks) == 1:  # the pieces of a stream are kept unpacked
        chunks = (_unpacked(chunks[0], exchange.response_headers, chat=chat),)
    sent: bytes | tuple[Request | None, str] = (None, "") if other else asked
    if step is not None:
        request, unread = (None, "") if other else _chat_request(asked)
        request, unread = _continued(request, unread, step, base)
        sent = request, unread if _wants_chat(exchange.method, exchange.url) else ""
    kind = exchange.response_headers.get("content-type", "")
    return Recorded(
        number=number,
        url=exchange.url,
        method=exchange.method,
        sent=sent,
        asked=hash(asked if step is None else step.mark),
        status=exchange.status,
        chunks=chunks,
        streamed="event-stream" in kind or _is_stream(chunks[0] if chunks else b""),
        headers=exchange.response_headers,
    )


def _grown(steps: Sequence[delta.Whole | delta.Unfolded], path: Path) -> list[Recorded]:
    """Turns of the delta layout: a request's messages are a view of the log that it continues."""
    found: list[Recorded] = []
    for number, step in enumerate(steps, 1):
        base = found[step.base - 1] if isinstance(step, delta.Unfolded) else None
        try:
            found.append(_recorded(number, vcrpy.exchange(step.interaction), step=step, base=base))
        except Unreadable as why:
            raise _unreadable(path, f"turn {number} is not readable: {why}") from why
    return found


def _continued(
    request: Request | None, unread: str, step: delta.Whole | delta.Unfolded, base: Recorded | None
) -> tuple[Request | None, str]:
    """The whole request of a turn that was read as it stands, and why there is none."""
    if base is not None and base.request is None:
        return None, unread or base.unread
    if request is None:
        return None, unread
    if base is None or base.request is None:
        return Request(Log(request.messages), request.options), ""
    assert isinstance(base.request.messages, Log)
    bare = isinstance(step, delta.Unfolded) and step.bare
    options = base.request.options if bare else request.options
    return Request(base.request.messages.extend(request.messages), options), ""


def _wants_chat(method: str, url: str) -> bool:
    return method.upper() in ("POST", "") and _protocol(url)[0]


@functools.lru_cache(maxsize=64)  # a cassette has few addresses
def _protocol(url: str) -> tuple[bool, bool]:
    """Whether a URL is one of chat completions, or else one of a protocol that looks like it."""
    place = _place(url)
    chat = _CHAT.search(place) is not None
    return chat, not chat and _OTHER_PROTOCOL.search(place) is not None


def _place(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return url.partition("?")[0]


def _is_stream(body: bytes) -> bool:
    start = body[:256].lstrip()
    return start.startswith((b"data:", b"event:")) or (start[:1] == b":" and b"\ndata:" in body[:65536])


def _unpacked(body: bytes, headers: Mapping[str, str], *, chat: bool) -> bytes:
    try:
        return decompressed(body, headers.get("content-encoding", ""))
    except MissingDecoder:
        if chat:
            raise
        return body  # other traffic: nobody asks for it


@functools.lru_cache(maxsize=1)  # one turn is asked for its request several times in a row
def _chat_request(body: bytes) -> tuple[Request | None, str]:
    """The request in a body; or None, and what is wrong with it."""
    if not body or body.isspace():
        return None, "the request has no body"
    try:
        parsed = json.loads(body)
    except RecursionError:
        return None, "the request's body is nested too deeply to read"
    except ValueError as error:
        return None, f"the request's body is no JSON: {str(error)[:200]}"
    if not isinstance(parsed, dict):
        return None, f"the request's body must be a JSON object, found {type(parsed).__name__}"
    messages = parsed.get("messages")
    if not isinstance(messages, list):
        return None, f"the request's `messages` must be a list, found {type(messages).__name__}"
    for place, message in enumerate(messages):
        if not isinstance(message, dict):
            return None, f"messages[{place}] must be an object, found {type(message).__name__}"
    return Request.of(parsed), ""
