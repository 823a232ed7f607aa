"""What `scripts/bench` measures: CPU time of the same work, side by side in one run, A B A B.

`loop`: a step of the loop beside a bare loop. `parser`, `calculator`: beside the peers that are at hand,
each in a venv and a process of its own; `--peers` installs those that are not. `replay`: a replayed request
and a cassette's load beside the SDK's floor, vcrpy and cassetter.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

from scripts.benches import calculator, loop, parser, replay

SIZES = {
    "loop": "10,100,1000",
    "parser": "1000,2000,4000,8000,16000,32000,64000",
    "calculator": "",
    "replay": "10,100,1000",
}


def main() -> None:
    options = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    options.add_argument("what", choices=list(SIZES), nargs="?", default="loop")
    options.add_argument(
        "--sizes", help="steps a run; characters of the hostile shapes; exchanges of a cassette"
    )
    options.add_argument("--rounds", type=int, default=9, help="rounds of A B (default: %(default)s)")
    options.add_argument(
        "--peers", action="store_true", help="install the peers into venvs of the user's cache"
    )
    options.add_argument("--json", metavar="FILE", help="also write the figures as JSON")
    given = options.parse_args()
    try:
        sizes = [int(size) for size in (given.sizes or SIZES[given.what]).split(",") if size]
    except ValueError:
        options.error(f"--sizes must be numbers with commas between, got {given.sizes!r}")
    if given.rounds < 1 or any(size < 1 for size in sizes):
        options.error("--rounds and --sizes must be at least 1")
    print(f"CPython {platform.python_version()} on {platform.machine()}; CPU time, medians of {given.rounds}")
    figures: Any
    if given.what == "loop":
        figures = loop.loop(sizes, given.rounds)
        loop.show(figures)
    elif given.what == "parser":
        figures = parser.run(sizes, given.rounds, peers=given.peers)
        parser.show(figures)
    elif given.what == "replay":
        figures = replay.run(sizes, given.rounds, peers=given.peers)
        replay.show(figures)
    else:
        figures = calculator.run(given.rounds, peers=given.peers)
        calculator.show(figures)
    if given.json:
        document = {"python": sys.version, "machine": platform.machine(), given.what: figures}
        Path(given.json).write_text(json.dumps(document, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
