"""`react-replay demo`: replays the bundled cassettes of every article's questions, step by step."""

from __future__ import annotations

from pathlib import Path

from react_replay.cli.exits import NO_ANSWER

__all__ = ["bundled", "demo"]


def bundled() -> Path:
    """The folder of the cassettes that ship: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "bundled"
    return inside if inside.is_dir() else package.parent / "cassettes"


def demo() -> int:
    """Replay every question of the five articles: no key, no network.

    Each run shows its steps (thought, tool and arguments, observation) on stderr, its answer on stdout, and a
    summary line.
    """
    from react_replay.backends.cassette import CassetteBackend
    from react_replay.cli.terminal import StepPrinter, console, summary
    from react_replay.seeds import SEEDS

    out, answers = console(), console(stderr=False)
    failed = 0
    for seed in SEEDS:
        for question in seed.questions:
            out.rule(f"{seed.number}  {seed.title}  [{seed.dialect}]", align="left", characters="-")
            out.print(question.text, style="bold")
            with CassetteBackend(bundled() / seed.cassette(question)) as backend:
                result = StepPrinter(out, answers=answers).watch(seed.agent(backend).steps(question.text))
            out.print(f"  {summary(result, 'replayed offline, 0 network calls')}", style="dim")
            out.print()
            right = result.answer is not None and all(part in result.answer for part in question.holds)
            failed += not right
    total = sum(len(seed.questions) for seed in SEEDS)
    out.print(f"{total - failed} of {total} questions answered as recorded.", style="bold")
    return NO_ANSWER if failed else 0
