"""What the fuzzer found: told once a place in the code, and written where the tests run it from then on."""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REGRESSIONS = ROOT / "tests" / "regressions"


class Findings:
    """The inputs that broke a property; each place in the code that breaks one is reported once."""

    def __init__(self, target: str, folder: Path) -> None:
        self.target = target
        self.folder = folder
        self.known: set[tuple[str, str, str]] = set()
        self.count = 0

    def signature(self, held: Any, error: BaseException) -> tuple[str, str, str]:
        return held.name, type(error).__name__, place(error)

    def add(self, held: Any, given: Any, error: Exception) -> None:
        """Report an input that broke a property, and pass over others that break it in the same place."""
        self.known.add(self.signature(held, error))
        lines = [_statement(error), str(error).strip()]
        self.report(held.name, given, type(error).__name__, place(error), [line for line in lines if line])

    def report(self, name: str, given: Any, kind: str, where: str, said: list[str]) -> None:
        """Write an input as a test case, and say how to run it."""
        self.count += 1
        document = {
            "target": self.target,
            "property": name,
            "found": ": ".join([kind, *said])[:500],
            "input": given,
        }
        canonical = json.dumps([name, given], sort_keys=True)
        stem = f"{self.target}_{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"
        path = self.folder / f"{stem}.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        # ASCII, so that a lone surrogate can be written and is seen.
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        text = json.dumps(given)
        print(f"\nfound: {self.target}: {name}: {kind} at {where}", flush=True)
        for each in said:
            print(f"  {each}"[:600])
        print(f"  input: {text if len(text) < 600 else text[:600] + '... (the file has it whole)'}")
        print(f"  written to {shown}")
        case = f"tests/test_regressions.py::test_a_found_input_stays_mended[{stem}]"
        print(f'  run it alone: scripts/test "{case}"')
        sys.stdout.flush()


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    ours = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(ROOT))
    ]
    own = ("scripts/fuzzing.py", "properties/__init__.py")
    return [frame for frame in ours if "/.venv/" not in frame.filename and not frame.filename.endswith(own)]


def place(error: BaseException) -> str:
    frames = _frames(error)
    if not frames:
        return "unknown"
    if isinstance(error, RecursionError) or type(error).__name__ == "TooSlow":
        # Where exactly the time ran out differs each time; what was asked does not.
        frames = frames[:1]
    return f"{Path(frames[-1].filename).relative_to(ROOT)}:{frames[-1].lineno}"


def _statement(error: BaseException) -> str:
    frames = _frames(error)
    return (frames[-1].line or "") if frames else ""
