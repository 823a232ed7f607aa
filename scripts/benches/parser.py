"""`bench parser`: usual replies, and growth on the shapes that hang other parsers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from scripts.benches.workers import Engine, Failure, alone, find, pairs

PEERS = ("langchain-classic", "llama-index-core", "crewai")
TIMEOUT = 10.0  # seconds a shape
THOUGHT = "I need the populations of both cities before I can divide them, so I look the first one up."
QUERY = {"query": "population of Taipei City", "year": 2024}
PAYLOAD = {
    "notes": [{"id": number, "text": 'a "quoted" line\n{with} braces: ' + "x" * 60} for number in range(95)]
}


def _action(payload: Any) -> str:
    return f"Thought: {THOUGHT}\nAction: lookup_fact\nAction Input: {json.dumps(payload, ensure_ascii=False)}"


USUAL: dict[str, tuple[str, str, Any]] = {
    "action, JSON": ("json", _action(QUERY), ["lookup_fact", QUERY]),
    "action, brackets": (
        "bracket",
        f"Thought: {THOUGHT}\nAction: search[population of Taipei City in 2024]",
        ["search", "population of Taipei City in 2024"],
    ),
    "action, Chinese": (
        "zh",
        "思考: 先要知道两座城市的人口。\n行动: calculator\n行动输入: round(2602000/8336000, 4)",
        ["calculator", "round(2602000/8336000, 4)"],
    ),
    "final answer": (
        "json",
        "Thought: I now know the answer.\nFinal Answer: Taipei has 0.3121 times the population of New York.",
        "Taipei has 0.3121 times the population of New York.",
    ),
    "11 kB payload": ("json", _action(PAYLOAD), ["lookup_fact", PAYLOAD]),
}
"""Our dialect for it, the reply, and the tool with its input, or the answer."""


def _issue_6898(length: int) -> str:
    n = length // 6
    tabs = "\t" * n
    return f"Action{chr(10) * n}:{tabs}\t0Input:{tabs}\nAction{tabs}Input{tabs}\t0Input:ActionInput:"


def _repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda length: before + unit * (length // len(unit)) + after


SHAPES: dict[str, tuple[str, Callable[[int], str]]] = {
    "langchain issue 6898": ("json", _issue_6898),
    "'Action:' and blanks": ("json", _repeated(" ", "Action:", "x")),
    "'Action' and blanks": ("json", _repeated(" ", "Action", "x")),
    "two actions in blanks": (
        "json",
        lambda n: "Action: a" + " " * (n // 2) + "Action" + " " * (n // 2),
    ),
    "newlines after an action": ("json", _repeated("\n", "Action:", "x")),
    "rounds, repeated": ("json", _repeated("Action: a\nAction Input: b\n")),
    "actions, repeated": ("json", _repeated("Action: a\n")),
    "inputs with an open brace": ("json", _repeated("Action Input: {", "Action: a\n")),
    "blanks before a bracket": ("bracket", _repeated(" ", "Action: a", "[")),
    "opening brackets": ("json", _repeated("[", "Thought: x\nAction: a\nAction Input: ")),
    "backticks": ("json", _repeated("`")),
    "think tags": ("zh", _repeated("<think>\n")),
}


def run(sizes: Sequence[int], rounds: int, *, peers: bool) -> dict[str, Any]:
    """All figures: `usual` and `growth`, a row each, and the `missing` peers."""
    ours = {name: Engine(name) for name in ("json", "bracket", "zh")}
    others: list[Engine] = []
    missing: dict[str, str] = {}
    for package in PEERS:
        try:
            python = find(package, install=peers)
        except Failure as reason:
            missing[package] = str(reason)
            continue
        others.append(Engine(package, python))
        if package == "langchain-classic":
            others.append(Engine("langchain-classic bracket", python))
    try:
        usual = [_usual(case, ours, others, rounds) for case in USUAL]
        growth = [_growth(shape, ours, others, sizes) for shape in SHAPES]
    finally:
        for engine in (*ours.values(), *others):
            engine.close()
    return {"usual": usual, "growth": growth, "missing": missing}


def _right(outcome: Any, wanted: Any) -> bool:
    """Whether it is what was meant; parsers that hand the payload over as text are taken at that."""
    if isinstance(wanted, list) and isinstance(outcome, list) and isinstance(outcome[1], str):
        try:
            return outcome[0] == wanted[0] and json.loads(outcome[1]) == wanted[1]
        except ValueError:
            return bool(outcome == wanted)
    return bool(outcome == wanted)


def _usual(case: str, ours: dict[str, Engine], others: list[Engine], rounds: int) -> dict[str, Any]:
    name, text, wanted = USUAL[case]
    row: dict[str, Any] = {"case": case, "characters": len(text), "peers": {}}
    if not _right(ours[name].run(text)["outcome"], wanted):
        raise SystemExit(f"the benchmark's own reply is not read as meant: {case}")
    row["ours_us"] = alone(ours[name], text, rounds)
    for other in others:
        try:
            outcome = other.run(text, timeout=TIMEOUT)["outcome"]
            if not _right(outcome, wanted):
                said = outcome if str(outcome).startswith("raises") else "reads something else"
                row["peers"][other.name] = {"why": said}
                continue
            mine, theirs = pairs(ours[name], other, text, rounds)
        except Failure as reason:
            row["peers"][other.name] = {"why": str(reason)}
        else:
            row["peers"][other.name] = {"us": theirs, "ours_us": mine, "ratio": theirs / mine}
    return row


def _growth(
    shape: str, ours: dict[str, Engine], others: list[Engine], sizes: Sequence[int]
) -> dict[str, Any]:
    name, make = SHAPES[shape]
    row = {"shape": shape, "sizes": list(sizes), "ours": _times(ours[name], make, sizes)}
    row["peers"] = {other.name: _times(other, make, sizes) for other in others}
    return row


def _times(engine: Engine, make: Callable[[int], str], sizes: Sequence[int]) -> dict[str, Any]:
    """Milliseconds at each size until the time-out, and the exponent of the last doubling."""
    times: list[float] = []
    outcome, stopped, left = "", "", TIMEOUT
    for size in sizes:
        text = make(size)
        try:
            first = engine.run(text, timeout=left)
            seconds = first["seconds"]
            left -= seconds
            again = 0 if seconds > 0.2 else 2
            best = min([seconds, *(engine.run(text)["seconds"] for _ in range(again))])
        except Failure as reason:
            stopped = f"{reason} at {size}" if "no end" not in str(reason) else f"stopped at {size}"
            break
        times.append(best * 1e3)
        outcome = str(first["outcome"])[:60]
        if left <= 0:
            stopped = f"stopped after {size}"
            break
    exponent = None
    if len(times) > 1 and times[-2] > 0 and times[-1] > 0:
        doublings = math.log2(sizes[len(times) - 1] / sizes[len(times) - 2])
        exponent = math.log2(times[-1] / times[-2]) / doublings
    return {"ms": times, "exponent": exponent, "stopped": stopped, "outcome": outcome}


def show(figures: dict[str, Any]) -> None:
    """Print the tables."""
    print("usual replies: median us (ratio to ours)")
    names = list(figures["usual"][0]["peers"])
    print(f"{'':<18} {'chars':>6} {'ours':>8}" + "".join(f" {name:>26}" for name in names))
    notes = []
    for row in figures["usual"]:
        line = f"{row['case']:<18} {row['characters']:>6} {row['ours_us']:>8.1f}"
        for name in names:
            cell = row["peers"][name]
            if "us" in cell:
                line += f" {cell['us']:>17.1f} ({cell['ratio']:5.1f}x)"
            else:
                line += f" {'-':>26}"
                notes.append(f"  {name}, {row['case']}: {cell['why']}")
        print(line)
    for note in notes:
        print(note)
    sizes = figures["growth"][0]["sizes"]
    print("  langchain-classic hands a JSON input over undecoded; the others and ours decode it")
    print(
        f"\nhostile shapes: ms at {sizes[0]} characters and at the last size reached, {sizes[-1]} at most; "
        "e = log2 of the last ratio"
    )
    for row in figures["growth"]:
        print(f"{row['shape']}")
        for name, cell in (("ours", row["ours"]), *row["peers"].items()):
            shown = f"{cell['ms'][0]:10.2f} {cell['ms'][-1]:10.2f}" if cell["ms"] else f"{'':>21}"
            exponent = f"e = {cell['exponent']:4.1f}" if cell["exponent"] is not None else ""
            print(f"  {name:<26}{shown}  {exponent:<9} {cell['stopped']}".rstrip())
    for package, reason in figures["missing"].items():
        print(f"{package}: {reason}")
