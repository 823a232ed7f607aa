"""Bodies as bytes: out of what a layout holds for one, and out of their compression. Pure; bounded."""

from __future__ import annotations

import base64
import importlib
import io
import json
import zlib
from collections.abc import Mapping
from typing import Any

from react_replay.cassettes.documents import Unreadable

__all__ = ["MissingDecoder", "body_bytes", "decompressed", "json_bytes"]

_LARGEST = 256 * 1024 * 1024
"""No recorded body is larger; what unpacks to more is a trap."""
_ZSTD = b"\x28\xb5\x2f\xfd"


class MissingDecoder(Unreadable):
    """A body is compressed in a way that only an optional package unpacks."""


def body_bytes(body: Any) -> bytes:
    """A body's bytes, still compressed: from text, bytes, `{string: ...}`, base64, or parsed JSON."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    if isinstance(body, Mapping):
        if "string" in body:
            return body_bytes(body["string"])
        for name in ("base64_string", "base64"):
            if isinstance(body.get(name), (str, bytes)):
                return _unbase64(body[name])
        state = body.get("state")  # a file object that was pickled with its content
        if isinstance(state, (list, tuple)) and state and isinstance(state[0], (str, bytes)):
            return body_bytes(state[0])
        if set(body) <= {"encoding"}:
            return b""
    if isinstance(body, (Mapping, list, int, float)):
        return json_bytes(body)
    raise Unreadable(f"a body must be text, bytes or JSON, found {type(body).__name__}")


def json_bytes(value: Any) -> bytes:
    """The JSON text of a body that a recorder kept parsed."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"its parsed body is no JSON: {type(error).__name__}: {error}") from error


def _unbase64(text: str | bytes) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError as error:
        raise Unreadable(f"a body is no base64: {error}") from error


def decompressed(data: bytes, encoding: str) -> bytes:
    """A body as it was before compression. `encoding` is its Content-Encoding, which may be stale.

    Raises `Unreadable` on a broken body, and `MissingDecoder` where a package is missing.
    """
    if data[:2] == b"\x1f\x8b":
        return _inflated(data, zlib.MAX_WBITS | 16)
    if data[:4] == _ZSTD:
        return _unzstd(data)
    named = encoding.lower()
    if not data or not ("br" in named or "deflate" in named) or _is_text(data):
        return data  # recorders unpack the body and keep the header
    if "br" in named:
        return _unbrotli(data)
    try:
        return _inflated(data, zlib.MAX_WBITS)
    except Unreadable:
        return _inflated(data, -zlib.MAX_WBITS)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _inflated(data: bytes, window: int) -> bytes:
    pieces, size = [], 0
    try:
        while data:
            unpacking = zlib.decompressobj(window)
            piece = unpacking.decompress(data, _LARGEST + 1 - size)
            size += len(piece)
            if size > _LARGEST:
                raise Unreadable(f"a body unpacks to more than {_LARGEST >> 20} MiB")
            if not unpacking.eof:
                raise Unreadable("a compressed body breaks off")
            pieces.append(piece)
            data = unpacking.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise Unreadable(f"a compressed body is broken: {error}") from error
    return b"".join(pieces)


def _unbrotli(data: bytes) -> bytes:
    brotli = _optional("brotli", "brotlicffi", what="brotli", package="brotli")
    try:
        # Piece by piece, so that a trap is met before it fills the memory.
        unpacking, pieces, size = brotli.Decompressor(), [], 0
        for start in range(0, len(data), 4096):
            piece = unpacking.process(data[start : start + 4096])
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST:
                raise Unreadable(f"a body unpacks to more than {_LARGEST >> 20} MiB")
    except brotli.error as error:
        raise Unreadable(f"a body compressed with brotli is broken: {error}") from error
    if not unpacking.is_finished():
        raise Unreadable("a compressed body breaks off")
    return b"".join(pieces)


def _unzstd(data: bytes) -> bytes:
    zstd = _optional("compression.zstd", "zstandard", what="zstd", package="zstandard")
    try:
        if hasattr(zstd, "ZstdFile"):  # the standard library's, since Python 3.14
            body, whole = zstd.ZstdFile(io.BytesIO(data)).read(_LARGEST + 1), True
        else:
            body = zstd.ZstdDecompressor().stream_reader(data).read(_LARGEST + 1)
            whole = len(body) > _LARGEST or _ends(zstd.ZstdDecompressor().decompressobj(), data)
    except (zstd.ZstdError, EOFError) as error:
        raise Unreadable(f"a body compressed with zstd is broken: {error}") from error
    if len(body) > _LARGEST:
        raise Unreadable(f"a body unpacks to more than {_LARGEST >> 20} MiB")
    if not whole:
        raise Unreadable("a compressed body breaks off")
    return bytes(body)


def _ends(unpacking: Any, data: bytes) -> bool:
    """Whether a zstd body is whole; zstandard's reader takes one that breaks off for one that ends."""
    unpacking.decompress(data)
    return bool(unpacking.eof)


def _optional(*modules: str, what: str, package: str) -> Any:
    for module in modules:
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise MissingDecoder(f"a body is compressed with {what}, which needs a package: pip install {package}")
