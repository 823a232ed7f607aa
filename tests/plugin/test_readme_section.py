"""The READMEs' section on pytest stays true: its files are recorded from a server, replayed without."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
FILE = re.compile(r"^```py\n# (\w+\.py)\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_section_works(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, server: Any, reply: Any, readme: str
) -> None:
    """Its conftest and its tests, recorded with a key in the environment, replay without key and server."""
    files = dict(FILE.findall((ROOT / readme).read_text("utf-8")))
    assert set(files) == {"conftest.py", "test_math.py"}
    for name, text in files.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    call = {"name": "calculator", "arguments": '{"expression": "6 * 7"}'}

    def answer(body: Any) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": "42."}
        if body["messages"][-1]["role"] == "user":
            message = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": call}]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        data = json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )
        return reply(pieces=[data.encode()], headers={"content-type": "application/json"})

    server.answer = answer
    for name, value in (("API_KEY", "a-key-for-tests"), ("BASE_URL", server.url), ("MODEL", "m")):
        monkeypatch.setenv(f"OPENAI_{name}", value)
    count = files["test_math.py"].count("def test_")
    pytester.runpytest_subprocess("--react-record=once").assert_outcomes(passed=count)
    for name in ("API_KEY", "BASE_URL", "MODEL"):
        monkeypatch.delenv(f"OPENAI_{name}")
    seen = len(server.requests)
    pytester.runpytest_subprocess().assert_outcomes(passed=count)
    assert len(server.requests) == seen > 0
