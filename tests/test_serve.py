"""Any backend as an HTTP endpoint, over real sockets on loopback."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from react_replay import Agent, BackendError, CassetteBackend, LiveBackend, ScriptedBackend, ToolCall, tool
from react_replay.serve import serving


@tool
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def post(url: str, body: Any) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/chat/completions", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_an_agent_runs_over_the_wire() -> None:
    """A scripted model served on loopback answers an agent as it would in the process, streamed or not."""
    script: list[Any] = [ToolCall(name="double", arguments={"number": 21}, id="a"), "42"]
    with (
        serving(ScriptedBackend(script * 2)) as url,
        LiveBackend(model="m", api_key="k", base_url=url) as live,
    ):
        agent = Agent(live, tools=[double])
        whole = agent.run("twice 21?")
        *_, last = agent.stream("twice 21?")
        assert whole.answer == "42"
        assert last.result.to_dict() == whole.to_dict()  # type: ignore[union-attr]


def test_models_are_listed() -> None:
    """/v1/models names the served model."""
    with serving(ScriptedBackend([]), model="mine") as url, urllib.request.urlopen(f"{url}/models") as answer:
        assert [entry["id"] for entry in json.load(answer)["data"]] == ["mine"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": "hi"}'])
def test_a_body_that_is_no_chat_request_is_refused(body: bytes) -> None:
    """What is no chat request gets a 400 in OpenAI's error shape."""
    with serving(ScriptedBackend(["never"])) as url:
        status, answer = post(url, body)
    assert status == 400
    assert "no chat request" in answer["error"]["message"]


def test_a_miss_is_a_404_that_explains_itself(tmp_path: Path) -> None:
    """A served cassette answers an unknown request with the text of its miss."""
    path = tmp_path / "c.yaml"
    with CassetteBackend(path, record="once", live=ScriptedBackend(["hi"])) as backend:
        Agent(backend).run("hello")
    with serving(CassetteBackend(path)) as url:
        status, answer = post(url, {"messages": [{"role": "user", "content": "goodbye"}]})
    assert status == 404
    assert "messages[0].content" in answer["error"]["message"]


def test_a_providers_failure_keeps_its_status() -> None:
    """A backend's error reaches the client with its status, streamed or not."""
    failing = ScriptedBackend([BackendError("slow down", status=429), BackendError("slow down", status=429)])
    with serving(failing) as url:
        for streamed in (False, True):
            status, answer = post(url, {"messages": [], "stream": streamed})
            assert (status, answer["error"]["message"]) == (429, "slow down")
