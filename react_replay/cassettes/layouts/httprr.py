"""Go's httprr: a line of two lengths, then a request and a response as they stood on the wire, and again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from react_replay.cassettes.documents import Unreadable
from react_replay.cassettes.layouts.parts import status_of
from react_replay.wire import Exchange

__all__ = ["MAGIC", "NAME", "Entry", "entries", "exchange"]

NAME = "httprr"
MAGIC = b"httprr trace v1"
Entry = tuple[bytes, bytes]

_LENGTHS = re.compile(rb"([0-9]{1,12}) ([0-9]{1,12})\r?\n")


def entries(data: bytes) -> Sequence[Entry]:
    """The pairs of a trace. Raises `Unreadable` with the line at which the lengths no longer fit."""
    start = data.find(b"\n") + 1 or len(data)
    found: list[Entry] = []
    while start < len(data):
        lengths = _LENGTHS.match(data, start)
        if lengths is None:
            raise Unreadable(
                f"it is an httprr trace, and line {_line(data, start)} should hold two lengths; were its "
                "line endings changed?"
            )
        middle = lengths.end() + int(lengths[1])
        end = middle + int(lengths[2])
        if end > len(data):
            raise Unreadable(
                f"it is an httprr trace, and breaks off: the exchange at line {_line(data, start)} has "
                f"{end - lengths.end()} bytes, {len(data) - lengths.end()} are left"
            )
        found.append((data[lengths.end() : middle], data[middle:end]))
        start = end
    return found


def _line(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def exchange(entry: Entry) -> Exchange:
    asked, request_headers, request_body = _parted(entry[0])
    answered, response_headers, response_body = _parted(entry[1])
    method, _, rest = asked.partition(" ")
    url = rest.rpartition(" ")[0] or rest
    if url.startswith("/") and "host" in request_headers:
        url = f"https://{request_headers['host']}{url}"
    status = answered.partition(" ")[2]
    return Exchange(
        url=url,
        method=method,
        request_headers=request_headers,
        request_body=_unchunked(request_body, request_headers),
        status=status_of(status),
        reason=status.partition(" ")[2],
        response_headers=response_headers,
        chunks=(_unchunked(response_body, response_headers),),
    )


def _parted(message: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = message.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return first, headers, body


def _unchunked(body: bytes, headers: dict[str, str]) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        return body
    pieces: list[bytes] = []
    start = 0
    while True:
        end = body.find(b"\r\n", start)
        size = body[start : end if end >= 0 else len(body)].partition(b";")[0].strip()
        if end < 0 or not re.fullmatch(rb"[0-9a-fA-F]{1,12}", size):
            raise Unreadable("its chunked body has a chunk without a length")
        length = int(size, 16)
        if length == 0:
            return b"".join(pieces)
        pieces.append(body[end + 2 : end + 2 + length])
        start = end + 4 + length
