"""`bench loop`: one native tool call a step and then the answer, CPU time a step.

Our agent beside a bare loop of 40 lines that does no validation, no flags, no events and keeps no steps.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from react_replay import Agent, Limits, ScriptedBackend, Tool, ToolCall, tool


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def bare(replies: list[dict[str, Any]], tools: dict[str, Callable[..., Any]], max_steps: int) -> str | None:
    """The bare loop: what a tutorial writes, over canned `chat.completion` dicts."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "q"}]
    for step in range(max_steps):
        message = replies[step]["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        turn = {"role": "assistant", "content": message.get("content") or ""}
        if calls:
            turn["tool_calls"] = calls
        messages.append(turn)
        if not calls:
            return str(turn["content"])
        for call in calls:
            function = call["function"]
            arguments = json.loads(function["arguments"])
            implementation = tools.get(function["name"])
            if implementation is None:
                observed = f"error: unknown tool {function['name']}"
            else:
                observed = str(implementation(**arguments))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": observed})
    return None


def _bare_replies(steps: int) -> list[dict[str, Any]]:
    def body(message: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": {"role": "assistant", "content": None, **message}}]}

    replies = [
        body(
            {
                "tool_calls": [
                    {
                        "id": f"call_{step}",
                        "type": "function",
                        "function": {"name": "double", "arguments": '{"number": 21}'},
                    }
                ]
            }
        )
        for step in range(steps)
    ]
    return [*replies, body({"content": "42"})]


def _ours(steps: int, count: int, offered: Tool) -> float:
    """CPU seconds of one run of ours, averaged over `count`."""
    calls = [ToolCall(name="double", arguments={"number": 21}, id=f"call_{n}") for n in range(steps)]
    limits = Limits(max_steps=steps + 1)
    agents = [Agent(ScriptedBackend([*calls, "42"]), tools=[offered], limits=limits) for _ in range(count)]
    begin = time.process_time()
    answers = [agent.run("q").answer for agent in agents]
    spent = time.process_time() - begin
    if set(answers) != {"42"}:
        raise SystemExit("the benchmark's runs did not answer")
    return spent / count


def _bare(steps: int, count: int) -> float:
    """The same of the bare loop."""
    canned = _bare_replies(steps)
    begin = time.process_time()
    answers = [bare(canned, {"double": double}, steps + 1) for _ in range(count)]
    spent = time.process_time() - begin
    if set(answers) != {"42"}:
        raise SystemExit("the benchmark's runs did not answer")
    return spent / count


def loop(sizes: list[int], rounds: int) -> list[dict[str, float]]:
    """CPU microseconds a step at each size: ours, the bare loop's, and the ratio of the medians."""
    offered = tool(double)
    _ours(1, 1, offered)  # the tool's schema is made once, before anything is timed
    rows = []
    for steps in sizes:
        count = max(1000 // steps, 1)
        pairs = [(_ours(steps, count, offered), _bare(steps, count)) for _ in range(rounds)]
        mine, other = (statistics.median(times) / (steps + 1) * 1e6 for times in zip(*pairs, strict=True))
        rows.append({"steps": steps, "ours_us": mine, "bare_us": other, "ratio": mine / other})
    return rows


def show(rows: list[dict[str, float]]) -> None:
    """Print the table."""
    print(f"{'steps':>6} {'us a step':>10} {'bare loop':>10} {'ratio':>6}")
    for row in rows:
        print(f"{row['steps']:>6} {row['ours_us']:>10.1f} {row['bare_us']:>10.1f} {row['ratio']:>6.1f}")
    if len(rows) > 1:
        growth = rows[-1]["ours_us"] / rows[-2]["ours_us"]
        print(f"growth from {rows[-2]['steps']} to {rows[-1]['steps']} steps: {growth:.2f}")
