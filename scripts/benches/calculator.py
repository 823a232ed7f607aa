"""`bench calculator`: usual expressions, hostile ones, and memory."""

from __future__ import annotations

from typing import Any

from scripts.benches.workers import Engine, Failure, alone, find, pairs

PEERS = ("simpleeval", "asteval")
TIMEOUT = 10.0  # seconds an expression

USUAL = {
    "a quotient": "2602000/8336000",
    "brackets": "(123+456)*789",
    "a short sum": "15*15+400",
    "spaces": "(2602000 - 8336000) * 3 / 4.5",
    "decimals": "0.1+0.2-0.3*4.5",
    "a rounding": "round(2602000/8336000, 4)",
    "a power": "(1+0.05/12)**36",
    "200 terms": "+".join(str(number) for number in range(1, 201)),
}
HOSTILE = {
    "powers of powers": "((((9**64)**64)**64)**64)**64",
    "a tower": "9**9**9",
    "just under a limit": "3999999**3999999",
    "a negative power": "7**-9999999",
    "a huge exponent": "10**1000000000",
    "many large products": "*".join(["9**2000"] * 250),
    "many roots": "+".join(["7**.3"] * 333),
    "many fractions": "+".join(f"1/{number}" for number in range(100, 430)),
    "signs": "-" * 1999 + "1",
    "brackets": "(" * 1000 + "1" + ")" * 999,
    "digits": "9" * 2000,
    "an exponent beyond all": "1e999999999",
    "a long input": "1+" * 10**6 + "1",
    "a text": '"a"*10**9',
    "a format": '"%999999999d"%1',
}


def run(rounds: int, *, peers: bool) -> dict[str, Any]:
    """All figures: `usual` and `hostile`, a row each, `memory` in KiB, and the `missing` peers."""
    ours, others, missing = Engine("calculator"), [Engine("whitelist")], {}
    for package in PEERS:
        try:
            others.append(Engine(package, find(package, install=peers)))
        except Failure as reason:
            missing[package] = str(reason)
    try:
        return {
            "usual": [_usual(case, ours, others, rounds) for case in USUAL],
            "memory": _memory(ours),
            "hostile": [_hostile(case, [ours, *others]) for case in HOSTILE],
            "missing": missing,
        }
    finally:
        for engine in (ours, *others):
            engine.close()


def _usual(case: str, ours: Engine, others: list[Engine], rounds: int) -> dict[str, Any]:
    text = USUAL[case]
    mine = ours.run(text)["outcome"]
    row: dict[str, Any] = {"case": case, "expression": text[:60], "value": mine, "peers": {}}
    row["ours_us"] = alone(ours, text, rounds)
    for other in others:
        try:
            outcome = str(other.run(text, timeout=TIMEOUT)["outcome"])
            if outcome.startswith("raises"):
                row["peers"][other.name] = {"why": outcome}
                continue
            own, theirs = pairs(ours, other, text, rounds)
        except Failure as reason:
            row["peers"][other.name] = {"why": str(reason)}
        else:
            row["peers"][other.name] = {"us": theirs, "ours_us": own, "ratio": theirs / own, "value": outcome}
    return row


def _hostile(case: str, engines: list[Engine]) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case, "expression": HOSTILE[case][:60], "engines": {}}
    for engine in engines:
        try:
            done = engine.run(HOSTILE[case], timeout=TIMEOUT)
        except Failure as reason:
            row["engines"][engine.name] = {"why": str(reason)}
        else:
            said = str(done["outcome"])[:40]
            row["engines"][engine.name] = {"ms": done["seconds"] * 1e3, "outcome": said}
    return row


def _memory(ours: Engine) -> dict[str, int]:
    """Peak memory before and after every expression of this page was evaluated ten times."""
    before = ours.run("1/3+sqrt(2)")["rss"]
    for text in (*USUAL.values(), *HOSTILE.values()):
        done = ours.run(text, 10)
    return {"before_kib": before, "after_kib": done["rss"], "grown_kib": done["rss"] - before}


def show(figures: dict[str, Any]) -> None:
    """Print the tables."""
    print("usual expressions: median us (ratio to ours)")
    names = list(figures["usual"][0]["peers"])
    print(f"{'':<22} {'ours':>8}" + "".join(f" {name:>20}" for name in names))
    notes = []
    for row in figures["usual"]:
        line = f"{row['case']:<22} {row['ours_us']:>8.1f}"
        for name in names:
            cell = row["peers"][name]
            if "us" in cell:
                line += f" {cell['us']:>11.1f} ({cell['ratio']:5.1f}x)"
            else:
                line += f" {'-':>20}"
                notes.append(f"  {name}, {row['case']}: {cell['why']}")
        print(line)
    for note in notes:
        print(note)
    print("\nhostile expressions: ms of one evaluation")
    engines = list(figures["hostile"][0]["engines"])
    print(f"{'':<22}" + "".join(f" {name:>20}" for name in engines))
    for row in figures["hostile"]:
        line = f"{row['case']:<22}"
        for name in engines:
            cell = row["engines"][name]
            line += f" {cell['ms']:>20.2f}" if "ms" in cell else f" {cell['why']:>20}"
        print(line)
    worst = max(row["engines"]["calculator"].get("ms", float("inf")) for row in figures["hostile"])
    print(f"ours at worst: {worst:.1f} ms")
    memory = figures["memory"]
    print(f"memory of ours after all of them ten times: {memory['grown_kib']} KiB more than at the start")
    for package, reason in figures["missing"].items():
        print(f"{package}: {reason}")
