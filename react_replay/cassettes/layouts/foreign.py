"""What a file is that is no cassette: half a sentence for the error, so that nobody has to open it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["EXPECTED", "what_it_is"]

EXPECTED = (
    "expected recorded HTTP traffic: `interactions` (vcrpy, go-vcr), `http_interactions` (Ruby VCR), `when` "
    "and `then` (httpmock), `request` and `response` (ddtrace), or an httprr trace"
)

_BY_KEY = (
    ("lockfileVersion", "a lock file of a package manager"),
    ("lockVersion", "a lock file of a package manager"),
    ("openapi", "an OpenAPI description"),
    ("swagger", "an OpenAPI description"),
    ("jobs", "a CI workflow"),
    ("services", "a compose file"),
    ("repos", "a pre-commit configuration"),
    ("apiVersion", "a Kubernetes manifest"),
    ("$schema", "a JSON schema or a configuration"),
    ("choices", "the body of one chat answer, without its request"),
    ("messages", "a chat request or a transcript, not a recording of traffic"),
)


def what_it_is(documents: Sequence[Any]) -> str:
    """What was found in place of a cassette: `an HTML page`."""
    found = [document for document in documents if document is not None]
    if not found:
        return "empty but for comments"
    if len(found) > 1:
        return f"a file of {len(found)} YAML documents, the first of them {_one(found[0])}"
    return _one(found[0])


def _one(document: Any) -> str:
    if isinstance(document, Mapping):
        log = document.get("log")
        if isinstance(log, Mapping) and "entries" in log:
            return "a HAR recording, a layout that this release does not read"
        for key, kind in _BY_KEY:
            if key in document:
                return f"{kind} (it has a key `{key}`)"
        keys = ", ".join(str(key)[:40] for key in list(document)[:6])
        return f"a mapping with the keys {keys or '(none)'}"
    if isinstance(document, list):
        kinds = f", the first a {type(document[0]).__name__}" if document else ""
        return f"a list of {len(document)} items{kinds}"
    if isinstance(document, str):
        start = document.lstrip()[:200].lower()
        if start.startswith(("<!doctype html", "<html")):
            return "an HTML page"
        if start.startswith("version https://git-lfs"):
            return "a pointer of Git LFS: fetch the file itself with `git lfs pull`"
        return f"a text that begins {document[:60]!r}"
    return f"a single {type(document).__name__}"
