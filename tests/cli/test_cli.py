"""The command line as a user runs it: real processes, their streams and their exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, CassetteBackend, Request, ScriptedBackend
from react_replay.cassettes.reading import read_cassette

ROOT = Path(__file__).parent.parent.parent
QUESTION = "台北人口除以纽约人口是多少？保留 4 位小数。"
CASSETTE = str(ROOT / "cassettes" / "000-population-ratio.yaml")
NO_NETWORK = """
import socket, sys
def refuse(*a, **k): raise SystemExit("a socket was opened")
socket.socket.connect = refuse
from react_replay.cli import main
sys.argv = ["react-replay", *sys.argv[1:]]
main()
"""


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    keyless = {
        k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "DEEPSEEK_")) and k != "MODEL"
    }
    return subprocess.run(
        [sys.executable, "-m", "react_replay", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**keyless, "COLUMNS": "80", **environment},
        timeout=60,
        check=False,
    )


def script(tmp_path: Path, *replies: Any) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(replies), encoding="utf-8")
    return str(path)


def test_the_answer_goes_to_stdout_and_the_steps_to_stderr() -> None:
    """Only the answer is on stdout; thought, tool, observation and summary are on stderr."""
    done = run("run", QUESTION, "--cassette", CASSETTE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "台北人口除以纽约人口约等于 **0.3121**。\n"
    for part in (
        "先查两座城市的人口",
        "lookup_fact",
        "2602000",
        "3 steps",
        "replayed offline, 0 network calls",
    ):
        assert part in done.stderr


def test_a_cassette_brings_its_dialect_tools_and_limits() -> None:
    """A recording of another dialect replays without a word about it on the command line."""
    path = str(ROOT / "cassettes" / "002-rivers.yaml")
    done = run("run", "长江比黄河长多少公里？", "--cassette", path)
    assert (done.returncode, "836" in done.stdout) == (0, True), done.stderr


def test_json_prints_one_document_of_the_result() -> None:
    """`--json` prints `RunResult.to_dict()` and nothing else on stdout."""
    done = run("run", QUESTION, "--cassette", CASSETTE, "--json")
    document = json.loads(done.stdout)
    assert document["schema"] == "react_replay.run/1"
    assert (document["stop_reason"], len(document["steps"])) == ("answer", 3)


def test_streaming_gives_the_same_answer() -> None:
    """`--stream` changes what is shown, not what comes out."""
    done = run("run", QUESTION, "--cassette", CASSETTE, "--stream")
    assert (done.returncode, "0.3121" in done.stdout) == (0, True)


def test_a_run_without_an_answer_exits_with_1(tmp_path: Path) -> None:
    """A run that reached its limit exits with 1, with nothing on stdout."""
    call = {"name": "calculator", "arguments": {"expression": "1+1"}}
    done = run("run", "?", "--script", script(tmp_path, call, call), "--max-steps", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "max_steps" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "?", "--no-such-option"),
        ("run", "?", "--cassette", "x.yaml", "--record", "sometimes"),
        ("run", "?", "--dialect", "klingon"),
        ("run", "?", "--tools", "calculater", "--script", "SCRIPT"),
        ("run", "?", "--script", "no-such-file.json"),
        ("run", "?"),
    ],
)
def test_a_usage_error_exits_with_2_and_says_what_to_do(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Wrong options, unknown names and a missing key exit with 2 and no traceback."""
    made = script(tmp_path, "hello")
    done = run(*(made if part == "SCRIPT" else part for part in arguments), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("react-replay: ")
    assert "Traceback" not in done.stderr


def test_a_missing_key_is_an_error_that_names_the_variables(tmp_path: Path) -> None:
    """Without cassette, script and key the error says which variables to set."""
    done = run("run", "?", cwd=tmp_path)
    assert "DEEPSEEK_API_KEY" in done.stderr
    assert "OPENAI_API_KEY" in done.stderr


@pytest.mark.parametrize("content", [None, "", "no: interactions", "{", "\x00\x01"])
def test_a_missing_or_unreadable_cassette_exits_with_3(content: str | None, tmp_path: Path) -> None:
    """A cassette that is not there or cannot be read exits with 3 and is left as it is."""
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_text(content)
    for command in (("run", "?", "--cassette", str(path)), ("show", str(path))):
        done = run(*command)
        assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    assert (path.read_text() if path.exists() else None) == content


def test_a_replay_miss_exits_with_3_and_explains_itself() -> None:
    """Another question than the recorded one names the turn and the first differing path."""
    done = run("run", "台北人口是多少？", "--cassette", CASSETTE)
    assert done.returncode == 3
    assert "messages[0].content" in done.stderr
    assert "turn 1" in done.stderr


def test_an_interrupt_exits_with_130(tmp_path: Path) -> None:
    """Ctrl-C ends a run with 130 and one line, not with a traceback."""
    code = (
        "import signal, sys, time; from react_replay.tools import BUILTIN, tool\n"
        # A shell starts what runs in its background with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def slow(expression: str) -> str:\n"
        "    print('started', file=sys.stderr, flush=True); time.sleep(30)\n"
        "BUILTIN['calculator'] = tool(name='calculator', description='x')(slow)\n"
        "from react_replay.cli import main; main()"
    )
    made = script(tmp_path, {"name": "calculator", "arguments": {"expression": "1"}}, "x")
    command = [sys.executable, "-c", code, "run", "?", "--script", made]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr is not None
        while "started" not in process.stderr.readline():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert "Traceback" not in rest


def test_model_text_cannot_command_the_terminal(tmp_path: Path) -> None:
    """Control characters and markup in a reply reach neither stream as such."""
    done = run("run", "?", "--script", script(tmp_path, "\x1b[31m[red]boo\x07\u202e"), FORCE_COLOR="1")
    assert done.stdout == "\\x1b[31m[red]boo\\x07\\u202e\n"
    assert "\x1b[31m[red]" not in done.stderr
    assert "\x07" not in done.stderr


def test_no_color_is_honoured(tmp_path: Path) -> None:
    """Without a terminal, and with NO_COLOR, nothing is coloured."""
    made = script(tmp_path, "hi")
    for done in (run("run", "?", "--script", made), run("run", "?", "--script", made, NO_COLOR="1")):
        assert "\x1b" not in done.stderr + done.stdout


def test_a_script_is_recorded_and_replays(tmp_path: Path) -> None:
    """`--script` with `--cassette --record once` records; the same command replays afterwards."""
    path = tmp_path / "c.yaml"
    call = {"name": "calculator", "arguments": {"expression": "6*7"}}
    made = script(tmp_path, call, "42")
    arguments = ("run", "6*7?", "--cassette", str(path), "--record", "once")
    first = run(*arguments, "--script", made)
    assert (first.returncode, first.stdout) == (0, "42\n"), first.stderr
    assert "recorded 2 turns" in first.stderr
    again = run("run", "6*7?", "--cassette", str(path))
    assert (again.returncode, again.stdout) == (0, "42\n"), again.stderr


@pytest.mark.parametrize("arguments", [("demo",), ("run", QUESTION, "--cassette", CASSETTE)])
def test_what_replays_never_opens_a_socket(arguments: tuple[str, ...]) -> None:
    """demo and run over a cassette connect to nothing, with no key in the environment."""
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_demo_answers_every_question() -> None:
    """demo shows every run with its summary, its answers on stdout, and all are answered as recorded."""
    done = run("demo")
    assert done.returncode == 0
    assert done.stdout.count("  answer ") == 11
    assert "0.3121" in done.stdout
    assert "11 of 11 questions answered as recorded." in done.stderr
    assert done.stderr.count("replayed offline, 0 network calls") == 11


def test_the_demo_fits_80_columns() -> None:
    """No line of the demo is wider than 80 columns, wide characters counted as two."""
    from react_replay.cli.terminal import _columns

    done = run("demo")
    shown = (done.stderr + done.stdout).splitlines()
    assert max(sum(map(_columns, line)) for line in shown) <= 80


def test_show_lists_a_cassettes_turns() -> None:
    """show prints provenance and turns; `--last` cuts, `--json` is one document."""
    whole = run("show", CASSETTE)
    assert "origin: scripted" in whole.stdout
    assert whole.stdout.count("\nturn ") == 3
    last = json.loads(run("show", CASSETTE, "--last", "1", "--json").stdout)
    assert [turn["number"] for turn in last["turns"]] == [3]


def test_arguments_that_could_not_be_read_are_not_shown_as_empty() -> None:
    """A call whose JSON the model cut is told from one that it made without arguments, by show and by run."""
    path = str(ROOT / "cassettes" / "local-model" / "000-arguments-cut-streamed.yaml")
    called = [line for line in run("show", path).stdout.splitlines() if line.startswith("  called")]
    assert called[0].startswith("  called    lookup_fact: arguments are not valid JSON")
    assert called[1].startswith("  called    lookup_fact({")
    turns = json.loads(run("show", path, "--json").stdout)["turns"]
    assert [bool(call["error"]) for turn in turns for call in turn["calls"]] == [True, False]
    question = read_cassette(Path(path)).metadata["question"]
    shown = run("run", str(question), "--cassette", path).stderr
    assert "lookup_fact(unreadable)" in shown
    assert "lookup_fact({})" not in shown


@pytest.mark.parametrize("command", [(), ("run",), ("demo",), ("show",)])
def test_help_names_the_exit_codes(command: tuple[str, ...]) -> None:
    """Every --help states the exit codes."""
    done = run(*command, "--help")
    assert done.returncode == 0
    assert "130 interrupted" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--record", "once"), "--record needs --cassette"),
        (("--record", "bogus", "--cassette", "x.yaml"), "unknown record mode 'bogus'"),
        (("--dialect", "xx"), "unknown dialect 'xx'"),
        (("--cassette", CASSETTE, "--script", "x.json"), "give one of them"),
        (("--cassette", CASSETTE, "--model", "m"), "--model is for a live model"),
        (("--env-file", "nowhere.env"), "there is no env file"),
    ],
)
def test_options_that_could_do_nothing_are_refused(arguments: tuple[str, ...], said: str) -> None:
    """What is misspelt or without effect is usage, said before anything is asked of a model."""
    made = run("run", "?", *arguments)
    assert made.returncode == 2
    assert said in made.stderr


def test_what_replays_needs_no_key_in_any_mode(tmp_path: Path) -> None:
    """`--record new_episodes` goes live only for what the cassette does not answer."""
    made = run("run", QUESTION, "--cassette", CASSETTE, "--record", "new_episodes")
    assert made.returncode == 0, made.stderr
    assert "replayed offline, 0 network calls" in made.stderr


def test_a_call_that_failed_is_not_called_offline(tmp_path: Path) -> None:
    """A live call that recorded nothing is still a call, and said."""
    made = run(
        "run",
        "?",
        "--cassette",
        str(tmp_path / "c.yaml"),
        "--record",
        "once",
        OPENAI_API_KEY="x",
        OPENAI_BASE_URL="http://127.0.0.1:9",
    )
    assert made.returncode == 1
    assert "offline" not in made.stderr.splitlines()[-1]


def test_a_library_recording_replays_without_options(tmp_path: Path) -> None:
    """A cassette that says nothing of its agent replays with the tools that its first request offered."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["Hello."])) as backend:
        Agent(backend).run("Say hello.")
    made = run("run", "Say hello.", "--cassette", str(path))
    assert (made.returncode, made.stdout) == (0, "Hello.\n"), made.stderr


def test_show_prints_no_control_characters(tmp_path: Path) -> None:
    """Whatever a cassette holds, none of it steers the terminal."""
    path = tmp_path / "c.yaml"
    evil = "x\x1b]0;pwn\x07\x1b[31m"
    reply = {"choices": [{"message": {"content": evil}, "finish_reason": evil}]}
    with CassetteBackend(
        path, record="once", live=ScriptedBackend([reply]), metadata={evil: evil}
    ) as backend:
        backend.complete(Request([{"role": evil, "content": evil}]))
    made = run("show", str(path))
    assert made.returncode == 0
    assert "\x1b" not in made.stdout + made.stderr
    assert "\x07" not in made.stdout + made.stderr


@pytest.mark.parametrize(
    "setting", ["dialect: [1]", "tools: 5", "tools: [[1]]", "max_steps: many", "options: 1"]
)
def test_an_edited_setting_in_a_cassette_is_named(tmp_path: Path, setting: str) -> None:
    """A cassette's agent settings are checked: exit 3 and the setting, no traceback."""
    text = Path(CASSETTE).read_text(encoding="utf-8")
    head, agent, rest = text.partition("  agent:\n")
    assert agent
    name = setting.partition(":")[0]
    path = tmp_path / "c.yaml"
    path.write_text(f"{head}  agent:\n    {setting}\n  was:\n{rest}", encoding="utf-8")
    made = run("run", QUESTION, "--cassette", str(path))
    assert made.returncode == 3
    assert f"agent.{name}" in made.stderr
    assert "Traceback" not in made.stderr


def test_output_that_nobody_reads_is_no_error() -> None:
    """A reader that closes the pipe early ends the command without a word."""
    command = f"{sys.executable} -m react_replay show {CASSETTE} | head -1"
    made = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, text=True, timeout=60
    )
    assert (made.returncode, made.stderr) == (0, "")


def test_a_terminal_without_our_characters_gets_escapes() -> None:
    """An ASCII-only output is no traceback."""
    made = run("show", CASSETTE, PYTHONIOENCODING="ascii")
    assert made.returncode == 0, made.stderr
    assert "\\u53f0" in made.stdout
