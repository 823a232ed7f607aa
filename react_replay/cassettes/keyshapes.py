"""What a key looks like: the shapes by which services' secrets are known, found in linear time. Pure.

A shape is looked for where its first characters stand, so a text without them costs one quick search a shape.
Shapes are a net and no proof. Words, call ids, fingerprints and base64 images must pass through it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

__all__ = ["Sighting", "key_names", "keys_in_query", "known_spellings", "sightings", "telling"]

LIVE = "the key in use"
_SHORTEST_KNOWN = 4
_OPEN_PLACEHOLDERS = frozenset(
    ("empty", "lm-studio", "no-key-required", "none", "not-needed", "ollama", "sk-no-key-required")
)
"""What local servers tell people to put where a key is asked for."""

# A tail: one long run of letters and digits, or words in which there is a digit. CSS classes have none.
_TAIL = r"(?:[A-Za-z0-9]{20,}|(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,})"


class Sighting(NamedTuple):
    """Where in a text a secret stands, and what it is: `an OpenAI key`."""

    start: int
    end: int
    kind: str


class _Shape(NamedTuple):
    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0  # which part is the secret


def _shape(kind: str, needles: str, pattern: str, group: int = 0) -> _Shape:
    return _Shape(kind, tuple(needles.split(" ")), re.compile(pattern), group)


# The more telling come first: of two at one place the first names it. Each fails within a bounded distance
# where it fails, or is held to one start a run by the check of what stands before it.
_SHAPES = (
    _shape(
        "a private key",
        "-----BEGIN",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s\\:,-]{0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    _shape("an Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape(
        "an OpenAI key",
        "sk-proj- sk-svcacct- sk-admin- sk-None-",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{16,}",
    ),
    _shape("an OpenAI or DeepSeek key", "sk-", r"sk-" + _TAIL),
    _shape("a Cerebras key", "csk-", r"csk-[a-z0-9]{20,}"),
    _shape("a Google key", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    _shape("a Google key", "AQ.Ab", r"AQ\.Ab[0-9A-Za-z_-]{30,}"),
    _shape("a Google token", "ya29.", r"ya29\.[0-9A-Za-z_-]{20,}"),
    _shape("a Google client secret", "GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{24,}"),
    _shape("an AWS key id", "AKIA ASIA ABIA ACCA", r"A(?:KI|SI|BI|CC)A[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _shape(
        "an AWS Bedrock key",
        "ABSK bedrock-api-key-",
        r"(?:ABSKQ[A-Za-z0-9+/=]{60,}|bedrock-api-key-[A-Za-z0-9+/=]{20,})",
    ),
    _shape(
        "an AWS secret key",
        "ecret_access_key ecretAccessKey ECRET_ACCESS_KEY",
        r"(?:ecret_access_key|ecretAccessKey|ECRET_ACCESS_KEY)[\"'\\\s:=]{1,12}"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
    ),
    _shape(
        "an Azure storage key",
        "AccountKey= SharedAccessKey=",
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})",
        1,
    ),
    _shape("an Azure signature", "sig=", r"sig=([A-Za-z0-9%+/]{30,})", 1),
    _shape(
        "an API key",
        "pi-key pi_key PI_KEY piKey PI-KEY pi-Key",
        r"(?:pi-key|pi_key|PI_KEY|piKey|PI-KEY|pi-Key)[\"'\\\s:=\[-]{1,12}"
        r"([0-9a-f]{32}|[A-Za-z0-9]{84}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9])",
        1,
    ),
    _shape("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    _shape("a GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _shape("a GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    _shape("a Slack token", "xox", r"xox[abceoprs]-(?:\d-)?[A-Za-z0-9-]{10,}"),
    _shape("a Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    _shape(
        "a Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})",
        1,
    ),
    _shape(
        "a Stripe key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}",
    ),
    _shape("a Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("a Hugging Face token", "api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    _shape("a Groq key", "gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    _shape("an xAI key", "xai-", r"xai-[A-Za-z0-9]{20,}"),
    _shape("a Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{20,}"),
    _shape("a Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _shape("a Tavily key", "tvly-", r"tvly-[A-Za-z0-9-]{20,}"),
    _shape("an NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{20,}"),
    _shape("a LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}"),
    _shape("a Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _shape("an npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("a PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{30,}"),
    _shape("a SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}"),
    _shape("a JSON web token", "eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    _shape(
        "a bearer token",
        "earer EARER",
        r"(?i:earer)(?:\s|%20|\+|\\[tn]){1,8}([A-Za-z0-9]{24,}[A-Za-z0-9._~+/-]*={0,2}"
        r"|(?=[A-Za-z._~+/-]{0,60}[0-9])[A-Za-z0-9._~+/-]{16,}={0,2})",
        1,
    ),
    _shape(
        "credentials",
        "uthorization UTHORIZATION",
        r"(?i:uthorization)[\"'\\\s:=\[-]{1,12}(?i:basic|token|apikey|key)\s([A-Za-z0-9+/=._-]{8,})",
        1,
    ),
    _shape(
        "a password in a URL",
        "://",
        r"://[^\s/:@?#\"'\\<>]{0,200}:([^\s/@?#\"'\\<>$*{}\[\]]{1,200})@[A-Za-z0-9\[]",
        1,
    ),
)
_INNER = frozenset(  # shapes that begin inside a word, or hold no word's beginning
    (
        "a password in a URL",
        "a bearer token",
        "credentials",
        "an API key",
        "an AWS secret key",
        "a private key",
    )
)
_ESCAPE = re.compile(r"\\[nrtbf]\Z|\\u[0-9a-fA-F]{4}\Z|%[0-9a-fA-F]{2}\Z")
_MORE = re.compile(r"[A-Za-z0-9]")


def sightings(
    text: str, known: Iterable[str] = (), patterns: Sequence[re.Pattern[str]] = (), *, shapes: bool = True
) -> list[Sighting]:
    """Every secret in a text, in order and apart: spellings of known ones, patterns' matches, key shapes."""
    found = [
        Sighting(start, start + len(secret), LIVE) for secret in known for start in _places(text, secret)
    ]
    for pattern in patterns:
        for match in pattern.finditer(text):
            group = 1 if pattern.groups else 0
            if match.end(group) > match.start(group):
                found.append(Sighting(match.start(group), match.end(group), "a match of a pattern"))
    if shapes:
        for needle, shape in _candidates(text):
            found.extend(_shaped(text, shape, needle))
    return _apart(found) if len(found) > 1 else found


# To search a text for every needle takes long, so most are sought only in what is as long as a key: each of
# their shapes has this many characters of the alphabet in a row, its needle among them.
_LEAST = 15
_ALPHABET = bytes(
    code if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_.-") else 0x20
    for code in range(256)
)
_ANYWHERE = frozenset(
    (
        "a password in a URL",
        "a bearer token",
        "credentials",
        "an API key",
        "an AWS secret key",
        "a private key",
        "an Azure storage key",
        "an Azure signature",
        "an AWS Bedrock key",
        "a Slack webhook",
    )
)
_IN_TEXT = {
    needle: [
        (other, shape)
        for shape in _SHAPES
        if shape.kind in _ANYWHERE
        for other in shape.needles
        if other.lower() == needle.decode()
    ]
    for needle in sorted({n.lower().encode() for s in _SHAPES if s.kind in _ANYWHERE for n in s.needles})
}
_IN_RUNS = [
    (needle.encode(), needle, shape)
    for shape in _SHAPES
    if shape.kind not in _ANYWHERE
    for needle in shape.needles
]


def _candidates(text: str) -> Iterator[tuple[str, _Shape]]:
    """The needles that stand in a text, some perhaps in a word too short, with their shapes."""
    data = text.encode("utf-8", "replace")
    lower = data.lower()
    for folded, spelled in _IN_TEXT.items():
        if folded in lower:
            yield from spelled
    if len(data) < _LEAST:
        return
    runs = b" ".join([run for run in data.translate(_ALPHABET).split() if len(run) >= _LEAST])
    for wanted, needle, shape in _IN_RUNS if runs else ():
        if wanted in runs:
            yield needle, shape


def _shaped(text: str, shape: _Shape, needle: str) -> Iterator[Sighting]:
    place = text.find(needle)
    while place >= 0:
        match = shape.pattern.match(text, place) if _begins(text, place, shape.kind) else None
        if match is None:
            place = text.find(needle, place + 1)
            continue
        yield Sighting(match.start(shape.group), match.end(shape.group), shape.kind)
        place = text.find(needle, match.end())


def _begins(text: str, place: int, kind: str) -> bool:
    """Whether a word begins at `place`, be it behind an escape that ends in a letter: `\\n`, `%3D`."""
    if place == 0 or kind in _INNER:
        return True
    before = text[place - 1]
    if kind == "a JSON web token" and before in "_-":  # one start in a run, so that time is linear
        return False
    return not (before.isascii() and before.isalnum()) or bool(
        _ESCAPE.search(text[max(place - 6, 0) : place])
    )


def _places(text: str, secret: str) -> Iterator[int]:
    place = text.find(secret)
    while place >= 0:
        # A short one is looked for as a word of its own: "abcd" is in too many words.
        end = place + len(secret)
        if len(secret) >= 8 or not (_within(text, place - 1, place) or _MORE.match(text, end)):
            yield place
        place = text.find(secret, end)


def _within(text: str, before: int, place: int) -> bool:
    if before < 0 or not _MORE.match(text, before):
        return False
    return not _ESCAPE.search(text[max(place - 6, 0) : place])


def _apart(found: list[Sighting]) -> list[Sighting]:
    found.sort(key=lambda sighting: (sighting.start, -sighting.end))
    kept: list[Sighting] = []
    for sighting in found:
        if not kept or sighting.start >= kept[-1].end:
            kept.append(sighting)
        elif sighting.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=sighting.end)
    return kept


def known_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """How secrets that are known may be written: as they are, in JSON, in a URL, in base64.

    One shorter than four characters is none, and neither is what local servers take for a key.
    """
    spelled: dict[str, None] = {}
    for secret in secrets:
        if len(secret) < _SHORTEST_KNOWN or secret.lower() in _OPEN_PLACEHOLDERS:
            continue
        raw = secret.encode("utf-8", "surrogatepass")
        spelled |= dict.fromkeys((secret, quote(raw, safe=""), b64encode(raw).decode()))
        for plain in (True, False):  # in JSON, and in JSON within JSON
            once = json.dumps(secret, ensure_ascii=plain)[1:-1]
            spelled |= dict.fromkeys((once, json.dumps(once, ensure_ascii=plain)[1:-1]))
    return tuple(spelled)


_SECRET_NAMES = re.compile(
    r"(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:goog-)?api-?key|x-amz-security-token|x-auth-token"
    r"|(?:ocp-apim-)?subscription-key)\Z",
    re.I,
)
_QUERY_NAMES = re.compile(
    r"[?&](?:key|api[_-]?key|(?:access[_-]|auth[_-]?)?token|sig|signature|secret|password|x-amz-signature)="
    r"([^&#\s\"']{4,})",
    re.I,
)
_PLACEHOLDER = re.compile(
    r"redact|filter|mask|scrub|remov|x{3,}|\*{3,}|dummy|fake|placeholder|mock|\btest|\byour|<[\w -]+>|[$%]\{",
    re.I,
)


def key_names(header: str) -> bool:
    """Whether the header of that name holds a secret, whatever its value."""
    return bool(_SECRET_NAMES.match(header))


def telling(value: str) -> bool:
    """Whether a value that stands where a key belongs tells one: it is no placeholder."""
    return len(value) >= _SHORTEST_KNOWN and not _PLACEHOLDER.search(value)


def keys_in_query(url: str) -> list[Sighting]:
    """The values of a URL's parameters that are keys by name."""
    found = [Sighting(match.start(1), match.end(1), "a key in a URL") for match in _QUERY_NAMES.finditer(url)]
    return [sighting for sighting in found if telling(url[sighting.start : sighting.end])]
