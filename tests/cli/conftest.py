"""What the tests of commands on cassettes share: commands as a user gives them, and files to give them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from react_replay.cassettes.writing import interaction_of, save
from react_replay.cli.app import run
from react_replay.wire import Exchange

URL = "https://x.example/v1/chat/completions"


class Done(NamedTuple):
    """What a command did: its exit code, and what it printed."""

    code: int
    out: str
    err: str


Command: TypeAlias = Callable[..., Done]
Make: TypeAlias = Callable[..., Path]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command line in this process; `react_replay` as a process is tested for `run` and `check`."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return call


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a cassette of a growing conversation: one turn a question, the answer in capitals."""

    def made(name: str, *questions: str, layout: str = "full", **metadata: Any) -> Path:
        history: list[Any] = []
        interactions = []
        for question in questions:
            history = [*history, {"role": "user", "content": question}]
            choice = {"message": {"content": question.upper()}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
            answer = {"choices": [choice], "usage": usage}
            kind = {"content-type": "application/json"}
            interactions.append(
                interaction_of(
                    Exchange(
                        url=URL,
                        request_body=json.dumps({"model": "m", "messages": history}).encode(),
                        request_headers=kind,
                        response_headers=kind,
                        chunks=(json.dumps(answer).encode(),),
                    )
                )
            )
            history = [*history, {"role": "assistant", "content": question.upper()}]
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        save(
            path,
            interactions,
            {"recorder": "react-replay 0", "origin": "scripted", **metadata},
            layout=layout,
        )
        return path

    return made


BAD: dict[str, tuple[str, bytes | None, str]] = {
    "missing": ("c.yaml", None, "there is no cassette at"),
    "empty": ("c.yaml", b"", "it is empty"),
    "binary": ("c.yaml", bytes(range(256)) * 4, "is no cassette"),
    "truncated": ("c.json", b'{"interactions": [{"request": {"uri": "x"', "cannot be read: it is no JSON"),
    "foreign": ("c.json", b'{"name": "x", "version": "1.0.0", "dependencies": {}}', "is no cassette: it is"),
    "future": ("c.yaml", b"interactions: []\nversion: 9\n", "its format version is 9"),
    "future-delta": (
        "c.yaml",
        b"x_react_replay:\n  layout: delta\nturns: []\nversion: 9\n",
        "its format version is 9",
    ),
}


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A path that holds no readable cassette, and what an error says of it; nothing in its folder changes."""
    name, data, why = BAD[request.param]
    folder = tmp_path / "bad"
    folder.mkdir()
    path = folder / name
    if data is not None:
        path.write_bytes(data)
    yield path, why
    assert [*folder.iterdir()] == ([] if data is None else [path])
    assert data is None or path.read_bytes() == data


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder in which nothing can be written, for the superuser neither."""
    folder = Path("/proc")
    if not folder.is_dir():
        folder = tmp_path / "locked"
        folder.mkdir(mode=0o500)
    return folder
