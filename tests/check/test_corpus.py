"""Real traffic: every anomaly that the index names is found where it says, and nothing elsewhere."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from react_replay.check import Violation, check_cassette

FOLDER = os.environ.get("REACT_REPLAY_CORPUS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="REACT_REPLAY_CORPUS is not set")

# What a remark says, and the code that must be found at each interaction that it names.
KINDS = [
    (r"history arguments of \S+ differ from the recorded answer \(only in form\)", "reformatted-arguments"),
    (r"history arguments of \S+ differ from the recorded answer: ", "changed-arguments"),
    (r"history tool_call arguments not JSON", "arguments-not-json"),
    (r"history tool_call arguments JSON but", "arguments-not-object"),
    (r"history has tool_calls but request has no tools", "calls-without-tools"),
    (r"history keeps \d+ of the \d+ tool_calls", "lost-calls"),
    (r"messages end with tool_call\(s\) .* unanswered", "unanswered-call"),
    (r"msg\d+ tool_calls is \[\]", "empty-tool-calls"),
    (r"msg\d+ assistant content '' with no tool_calls", "empty-assistant-message"),
    (r"last message is assistant", "ends-with-assistant"),
    (r"last message is (developer|system)", "ends-with-instructions"),
    (r"request body empty", "request-unreadable"),
    (r"same request as #\d+, other answer", "same-request-other-answer"),
    (r"same request as #\d+, same answer", "same-request-again"),
    (r"(tool_calls|function_call) present but finish_reason", "cut-calls"),
    (r"tool_call \S+ arguments not JSON", "answer-arguments-not-json"),
    (r"tool_call \S+ arguments JSON but", "answer-arguments-not-object"),
    (r"(tool_call \S+|function_call) arguments empty string", "answer-arguments-empty"),
    (r"tool_call \S+ arguments absent or null", "answer-arguments-missing"),
    (r"tool_call id is (None|'')", "answer-missing-id"),
    (r"second tool call delta without index", "call-without-index"),
    (r"tool call written as text in content", "call-as-text"),
    (r"no content and no tool_calls", "empty-answer"),
    (r"^finish_reason=(None|'')", "finish-missing"),
    (r"^finish_reason='\w+'", "finish-unknown"),
    (r"^usage: \d+\+\d+ != \d+", "usage-sum"),
    (r"HTTP \d+ error body has no error object", "error-without-object"),
    (r"HTTP 200 with error object", "error-under-200"),
    (r"response 200 has no choices", "answer-without-choices"),
    (r"HTTP 200 body is not JSON", "answer-not-json"),
    (r"error inside the stream", "stream-error"),
]


def rows() -> list[dict[str, str]]:
    if not FOLDER:
        return []
    with Path(FOLDER, "cassettes", "INDEX.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def named(row: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Interaction and code of every anomaly in a row's remarks."""
    for remark in row["remarks"].split(" | "):
        said = re.match(r"#([\d,]+) (?:request: |stream: )?(.*)", remark)
        if said is None:
            continue  # how the file was made: redacted, written by hand, ids normalized
        codes = [code for pattern, code in KINDS if re.search(pattern, said[2])]
        assert len(codes) == 1, remark
        yield from ((int(number), codes[0]) for number in said[1].split(","))


def checked(row: dict[str, str]) -> list[Violation]:
    return check_cassette(Path(FOLDER, "cassettes", row["file"]))


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row["file"]))
def test_what_the_index_names_is_found_and_nothing_else(row: dict[str, str]) -> None:
    """Codes and interactions are just those of the remarks; each has a line in the file."""
    found = checked(row)
    assert {(violation.interaction, violation.code) for violation in found} == set(named(row))
    assert all(violation.line for violation in found)
