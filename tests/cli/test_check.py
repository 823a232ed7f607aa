"""`react-replay check` as a user runs it: what is printed, what is skipped, and the exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from react_replay.check import CODES

ROOT = Path(__file__).parent.parent.parent
OK = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
EOS = {"choices": [{"message": {"content": "hi"}, "finish_reason": "eos"}]}


def cassette(path: Path, *answers: Any, uri: str = "https://x/v1/chat/completions") -> Path:
    """A cassette of as many different questions as there are answers."""
    interactions = []
    for number, answer in enumerate(answers):
        messages = [{"role": "user", "content": f"{number}?"}]
        request = {"method": "POST", "uri": uri, "headers": {}, "body": json.dumps({"messages": messages})}
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": json.dumps(answer)},
        }
        interactions.append({"request": request, "response": response})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"interactions": interactions, "version": 1}, indent=1))
    return path


def check(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "react_replay", "check", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=60,
        check=False,
    )


def test_a_clean_cassette_is_said_to_be_clean(tmp_path: Path) -> None:
    """Exit code 0 and a line with the number of files."""
    done = check(cassette(tmp_path / "a.json", OK))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 cassette checked: clean\n", "")


def test_violations_are_listed_under_their_file_within_80_columns(tmp_path: Path) -> None:
    """Exit code 1; the place, the severity, the code and the sentence; interactions counted from 0."""
    done = check("a.json", cwd=cassette(tmp_path / "a.json", OK, EOS).parent)
    assert done.returncode == 1
    assert done.stdout.startswith("a.json\n  #1 warning finish-unknown: finish_reason is 'eos'")
    assert done.stdout.endswith("1 cassette checked: 1 warning\n")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_only_notes_are_no_failure(tmp_path: Path) -> None:
    """A note is printed, and the exit code stays 0."""
    path = cassette(tmp_path / "a.json", OK)
    document = json.loads(path.read_text())
    document["interactions"] *= 2
    path.write_text(json.dumps(document))
    done = check(path)
    assert done.returncode == 0
    assert "#1 note same-request-again" in done.stdout


def test_json_is_a_list_on_stdout(tmp_path: Path) -> None:
    """Each item has path, interaction, code, message_index and message; a clean run prints an empty list."""
    path = cassette(tmp_path / "a.json", EOS)
    done = check(path, "--json")
    assert done.returncode == 1
    [item] = json.loads(done.stdout)
    assert (item["path"], item["interaction"], item["code"]) == (str(path), 0, "finish-unknown")
    assert item["message_index"] is None
    assert "eos" in item["message"]
    assert json.loads(check(cassette(tmp_path / "b.json", OK), "--json").stdout) == []


def test_github_annotations_are_escaped(tmp_path: Path) -> None:
    """One command a violation, with file and line; nothing in a message begins another command."""
    bad = {"choices": [{"message": {"content": "hi"}, "finish_reason": "%\n::error::x\x1b[2J"}]}
    cassette(tmp_path / "a,b:c.json", bad)
    done = check("a,b:c.json", "--github", cwd=tmp_path)
    assert done.returncode == 1
    [line] = done.stdout.splitlines()
    assert line.startswith(
        "::warning file=a%2Cb%3Ac.json,line=3,title=finish-unknown::#0: finish_reason is '%25"
    )
    assert "\x1b" not in line


def test_untrusted_text_reaches_no_terminal(tmp_path: Path) -> None:
    """What a recorded file or its name holds is shown, not obeyed."""
    done = check(cassette(tmp_path / "a\x1b[2J.json", {"choices": [], "\x1b[31m\u202e": 1}))
    assert done.returncode == 1
    assert not re.search("[\x1b\u202e]", done.stdout)


def test_a_folder_is_walked_and_what_is_no_cassette_is_skipped_and_said(tmp_path: Path) -> None:
    """Cassettes below it are checked; other files, hidden folders and other traffic are not."""
    cassette(tmp_path / "deep" / "er" / "a.yaml", EOS)
    cassette(tmp_path / ".git" / "b.json", EOS)
    cassette(tmp_path / "c.json", OK, uri="https://api.anthropic.com/v1/messages")
    (tmp_path / "package-lock.json").write_text('{"lockfileVersion": 3}')
    (tmp_path / "page.yml").write_text("<!doctype html><html></html>")
    (tmp_path / "template.yaml").write_text("{{ if .Values.x }}")
    (tmp_path / "notes.txt").write_text("interactions")
    done = check(".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == str(Path("deep", "er", "a.yaml"))
    skipped = [line for line in done.stderr.splitlines() if "skipped" in line]
    assert len(skipped) == 4
    for said in ("lock file", "HTML page", "POST https://api.anthropic.com/v1/messages"):
        assert said in done.stderr


def test_a_broken_cassette_in_a_folder_is_an_error(tmp_path: Path) -> None:
    """What was meant for a cassette is not skipped: exit code 3, and the others are checked still."""
    cassette(tmp_path / "a.json", EOS)
    (tmp_path / "b.yaml").write_text("interactions:\n- request: {")
    done = check(tmp_path)
    assert done.returncode == 3
    assert "finish-unknown" in done.stdout
    assert "b.yaml" in done.stderr
    assert "line 3, column 1" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no cassette"),
        ('{"lockfileVersion": 3}', "lock file"),
        ('{"interactions": []}', "no chat completions"),
    ],
)
def test_a_named_file_that_cannot_be_checked_is_an_error(
    content: str | None, said: str, tmp_path: Path
) -> None:
    """Exit code 3 and the reason: it is missing, something else, or holds no chat traffic."""
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content)
    done = check(path)
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr


def test_an_empty_folder_is_not_clean(tmp_path: Path) -> None:
    """A typo in a CI job must not pass: nothing to check is exit code 3."""
    done = check(tmp_path)
    assert done.returncode == 3
    assert "nothing to check" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--json", "--github", "x"], ["--nope"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    """No path, two outputs, an unknown option."""
    assert check(*arguments).returncode == 2


def test_the_codes_can_be_listed() -> None:
    """`--codes` prints the one table, a line a code."""
    done = check("--codes")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(CODES)


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_readmes_list_the_codes_as_they_are(name: str) -> None:
    """Code and severity of every row, in the order of the table; the English words too."""
    text = (ROOT / name).read_text("utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|note) \| (.+) \|$", text, re.M)
    assert [(code, severity) for code, severity, _ in rows] == [
        (n, str(c.severity)) for n, c in CODES.items()
    ]
    if name == "README.md":
        assert [meaning for _, _, meaning in rows] == [code.meaning for code in CODES.values()]


def test_the_help_teaches() -> None:
    """An example and the exit codes."""
    done = check("--help")
    assert done.returncode == 0
    assert "Example: react-replay check" in done.stdout
    assert "Exit codes: 0 clean" in done.stdout
