"""Cassettes from one layout into another of ours: by bytes of exchanges, compared before a file is replaced.

What is known of a recording's provenance is kept, and nothing is invented: another recorder's says
`origin: converted`. Headers and URLs pass by allow-list, and bodies are unpacked and indented.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from react_replay.cassettes.journal import locked_folder
from react_replay.cassettes.reading import Cassette, Recorded, read_exchanges, read_interactions
from react_replay.cassettes.redact import Redaction, refuse_secrets
from react_replay.cassettes.writing import check_layout, document_of, interaction_of, write_document
from react_replay.errors import BackendError, CassetteError, ConfigurationError
from react_replay.wire import Exchange

__all__ = ["UNRECORDED", "convert"]

UNRECORDED = "https://unrecorded.invalid"
"""The host of a recording that kept none."""


def convert(
    source: Path,
    target: Path,
    *,
    layout: str = "full",
    force: bool = False,
    scrub: bool = False,
) -> Cassette:
    """Write `source` to `target` in one of our layouts; gives what was read. `scrub` replaces keys.

    It is JSON where `target` ends so. Raises `ConfigurationError` where `target` is `source`, or is there
    and not `force`, and `CassetteError`: the target is then as it was.
    """
    check_layout(layout)
    if source.exists() and target.exists() and source.samefile(target):
        raise ConfigurationError(
            f"{target} is the file that is to be read; convert into another one, and move it when you have "
            "looked at it"
        )
    if target.exists() and not force:
        raise ConfigurationError(f"{target} is there already; --force replaces it")
    cassette, exchanges, entries = read_exchanges(source)
    if cassette.extensible and cassette.metadata.get("recorder"):  # ours: as it stands
        interactions = list(cassette.interactions)
        metadata: Mapping[str, Any] = cassette.metadata
    else:
        interactions = [interaction_of(_completed(exchange)) for exchange in exchanges]
        metadata = _provenance(cassette, entries)
    if scrub:
        redaction = Redaction(shapes=True, headers=True)
        interactions, metadata = redaction(interactions), redaction(metadata)
    else:
        _compare(source, cassette.recorded, read_interactions(target, interactions))
    document = document_of(interactions, metadata, layout=layout)
    refuse_secrets(target, document, mend="Convert it with --scrub, which replaces keys")
    with locked_folder(target):
        write_document(target, document)
    return cassette


def _completed(exchange: Exchange) -> Exchange:
    """An exchange with what vcrpy needs to play it: a whole URL, a method, and the types of its bodies."""
    asked, answered = dict(exchange.request_headers), dict(exchange.response_headers)
    body, answer = exchange.request_body, b"".join(exchange.chunks)
    if _is_json(body):
        asked.setdefault("content-type", "application/json")  # without it vcrpy compares bytes
    if "content-type" not in answered:
        streamed = answer[:64].lstrip().startswith((b"data:", b"event:", b":"))
        if streamed or _is_json(answer):
            answered["content-type"] = "text/event-stream" if streamed else "application/json"
    url = exchange.url
    if "://" not in url:
        url = f"{UNRECORDED}/{url.lstrip('/')}"
    return replace(
        exchange,
        url=url,
        method=exchange.method or ("POST" if body else "GET"),
        request_headers=asked,
        response_headers=answered,
    )


def _is_json(body: bytes) -> bool:
    if body[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _provenance(cassette: Cassette, entries: Sequence[Any]) -> dict[str, Any]:
    """What the source says of itself: its model, its date where it has one, what stands under our key."""
    from importlib.metadata import version

    known: dict[str, Any] = {"origin": "converted"}
    models = [turn.request.options.get("model") for turn in cassette.recorded if turn.request is not None]
    named = next((model for model in models if isinstance(model, str)), None)
    if named is not None:
        known["model"] = named
    if (when := _recorded_at(entries)) is not None:
        known["recorded_at"] = when
    known |= {str(name): value for name, value in cassette.metadata.items() if name != "layout"}
    return {
        **known,
        "converted_from": cassette.layout,
        "converter": f"react-replay {version('react-replay')}",
    }


def _recorded_at(entries: Sequence[Any]) -> str | None:
    """The date of the first exchange, in ISO 8601, where its recorder kept one (Ruby VCR does)."""
    from datetime import datetime
    from email.utils import parsedate_to_datetime

    first = entries[0] if entries else None
    said = first.get("recorded_at") if isinstance(first, Mapping) else None
    if isinstance(said, datetime):
        return said.astimezone().isoformat()
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(str(said)).astimezone().isoformat()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _compare(source: Path, before: Sequence[Recorded], after: Sequence[Recorded]) -> None:
    """Raise `CassetteError` where a turn would not say what it said."""
    for old, new in zip(before, after, strict=True):
        asked = (old.request is None, new.request is None)
        same = asked == (True, True) or (
            old.request is not None and new.request is not None and old.request.body() == new.request.body()
        )
        if not same or (old.request is not None and _said(old) != _said(new)):
            raise CassetteError(
                f"interaction {old.number} of {source} would not mean the same after the conversion; nothing "
                "was written. Please report it, with the file if you can",
                path=str(source),
            )


def _said(turn: Recorded) -> Any:
    try:
        return turn.completion()
    except BackendError as error:
        return (str(error), error.status)
