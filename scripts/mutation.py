"""What `scripts/mutate` does: mutmut over one part of the package, with the tests that are about it.

It works on a copy in the user's cache, so that the repository keeps no trace. A second run tries again what
survived and what changed, and takes the rest from the first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("react_replay", "tests", "scripts", "cassettes", "pyproject.toml", "README.md", "LICENSE")
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.txt"
MEMORY = 4 << 30
"""Bytes of address space that a process of mutmut may take."""
KILLED = ("killed", "timeout", "suspicious", "segfault", "caught by type check")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is mutated, and the tests that must notice; `without` are pytest's node ids that are too slow."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()


PARTS = {
    "loop": Part(
        sources=("react_replay/loop.py",),
        tests=(
            "tests/test_loop.py",
            "tests/test_agent.py",
            "tests/test_loop_steps.py",
            "tests/test_properties.py",
        ),
        # These are about the shells, the cassette and the dialects around the loop, and take long.
        without=(
            "tests/test_properties.py::test_deep_and_long_replies_are_read",
            "tests/test_properties.py::test_parsing_never_raises",
            "tests/test_properties.py::test_the_four_shells_cannot_be_told_apart",
            "tests/test_properties.py::test_a_replay_is_the_recording_to_the_byte",
        ),
    ),
    "wire": Part(
        sources=("react_replay/wire/*.py",),
        tests=("tests/wire", "tests/test_regressions.py"),
    ),
    "calculator": Part(
        sources=("react_replay/tools/arithmetic/*.py",),
        tests=(
            "tests/tools/test_arithmetic.py",
            "tests/tools/test_arithmetic_corpus.py",
            "tests/tools/test_arithmetic_values.py",
            "tests/tools/test_arithmetic_wording.py",
        ),
        # A mutant stands behind one more frame a call, and is compiled beside all others of its module;
        # and a watchdog of wall time says more of the machine than of the mutant.
        without=(
            "tests/tools/test_arithmetic.py::test_no_input_takes_long",
            "tests/tools/test_arithmetic.py::test_the_recursion_limit_may_be_near",
            "tests/tools/test_arithmetic.py::test_a_small_stack_is_enough_for_the_first_use",
            "tests/tools/test_arithmetic.py::test_import_is_light",
        ),
    ),
    "dialects": Part(
        sources=("react_replay/dialects/*.py",),
        tests=(
            "tests/dialects",
            "tests/test_agent.py",
            "tests/test_loop.py",
            "tests/test_loop_steps.py",
            "tests/test_seeds.py",
        ),
        without=("tests/dialects/test_growth.py",),
    ),
    "check": Part(
        sources=("react_replay/check*", "react_replay/check/*.py"),
        tests=("tests/check",),
        # Watchdogs of wall time, over much that each mutant would run again.
        without=(
            "tests/check/test_exchanges.py::test_a_thousand_turns_with_full_histories_are_checked_in_time",
            "tests/check/test_history.py::test_a_long_history_takes_time_in_its_length",
        ),
    ),
}


def prepared(name: str, part: Part) -> Path:
    """The working copy of a part, brought up to date, with mutmut's settings in it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "react-replay-mutate" / name
    folder.mkdir(parents=True, exist_ok=True)
    for entry in COPIED:
        source, target = ROOT / entry, folder / entry
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target)
    settings = {
        "source_paths": ["react_replay"],
        "only_mutate": list(part.sources),
        "also_copy": ["cassettes", "scripts", "README.md", "LICENSE"],
        "pytest_add_cli_args": [
            "-x",
            "-q",
            "--hypothesis-seed=0",
            *(f"--deselect={each}" for each in part.without),
        ],
        "pytest_add_cli_args_test_selection": [each for each in part.tests if (ROOT / each).exists()],
        "use_git_change_detection": False,
        "use_setproctitle": False,
    }
    lines = ["", "[tool.mutmut]", *(f"{key} = {_toml(value)}" for key, value in settings.items()), ""]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return folder


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    assert isinstance(value, list)
    return "[" + ", ".join(f'"{each}"' for each in value) + "]"


def _bounded_memory() -> None:
    """A mutant that loops may gather memory until the system ends the whole run: let it fail alone."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def mutmut(folder: Path, *arguments: str, quiet: bool = True) -> str:
    """Run mutmut in a working copy and return what it printed."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=quiet, check=False, preexec_fn=_bounded_memory
    )
    if done.returncode:  # not that a mutant survives: the tests fail without one, or mutmut does
        said = f":\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}" if quiet else ""
        raise SystemExit(f"mutmut {' '.join(arguments)} failed{said}")
    return done.stdout or ""


def check_names(folder: Path, part: Part) -> None:
    """Stop where pytest does not find a test by its own name: mutmut would take that for a killed mutant."""
    pytest = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--no-header"]
    tests = [each for each in part.tests if (folder / each).exists()]
    listed = subprocess.run([*pytest, *tests], cwd=folder, text=True, capture_output=True, check=False)
    names = [line for line in listed.stdout.splitlines() if "::" in line]
    (folder / "names.txt").write_text("\n".join(names), encoding="utf-8")
    again = subprocess.run([*pytest, "@names.txt"], cwd=folder, text=True, capture_output=True, check=False)
    if listed.returncode or again.returncode:
        missing = [line for line in (again.stdout + again.stderr).splitlines() if "not found" in line]
        said = "\n".join(missing or [listed.stdout[-2000:]])
        raise SystemExit(f"tests that cannot be run by their names; give them plain ids:\n{said}")


def forget_survivors(folder: Path) -> None:
    """Have what survived tried again: mutmut keeps a verdict while the code stays, whatever the tests do."""
    (folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    for path in (folder / "mutants").glob("**/*.py.meta"):
        seen = json.loads(path.read_text(encoding="utf-8"))
        codes = seen["exit_code_by_key"]
        seen["exit_code_by_key"] = {name: code if code == 1 else None for name, code in codes.items()}
        path.write_text(json.dumps(seen), encoding="utf-8")


def results(folder: Path) -> dict[str, str]:
    """Each mutant's name and what became of it."""
    found = re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", mutmut(folder, "results", "--all", "true"), re.M)
    return dict(found)


def equivalent() -> frozenset[str]:
    """Changes that no test could see, each as `function: the changed code`; the file says why."""
    if not EQUIVALENT.exists():
        return frozenset()
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line.strip() and not line.startswith("#"))


def change(folder: Path, mutant: str) -> tuple[str, str]:
    """A survivor's difference, and what names it in every version: its function and the new code."""
    shown = mutmut(folder, "show", mutant)
    new = [line[1:].strip() for line in shown.splitlines() if line.startswith("+") and line[:3] != "+++"]
    return shown, f"{mutant.rpartition('__mutmut_')[0]}: {' '.join(new) or '(deleted)'}"


def main() -> int:
    options = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    options.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    options.add_argument("--show", action="store_true", help="print the difference of each survivor")
    options.add_argument("--children", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    given = options.parse_args()
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        options.error(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    survived = 0
    for name in given.parts or PARTS:
        part = PARTS[name]
        if not any(list(ROOT.glob(pattern)) for pattern in part.sources):
            print(f"{name}: nothing there to mutate")
            continue
        folder = prepared(name, part)
        check_names(folder, part)
        forget_survivors(folder)
        mutmut(folder, "run", "--max-children", str(given.children), quiet=False)
        survived += report(name, folder, show=given.show)
    return 1 if survived else 0


def report(name: str, folder: Path, *, show: bool) -> int:
    """Print a part's figures and survivors; return how many survivors are not known to be equivalent."""
    became, known = results(folder), equivalent()
    killed = [mutant for mutant, said in became.items() if said in KILLED]
    alive = {mutant: change(folder, mutant) for mutant, said in became.items() if said not in KILLED}
    open_ones = {mutant: seen for mutant, seen in alive.items() if seen[1] not in known}
    share = 100 * len(killed) / max(len(became), 1)
    print(
        f"\n{name}: {len(became)} mutants, {len(killed)} killed ({share:.1f} %), {len(alive)} not, "
        f"{len(alive) - len(open_ones)} of these known to be equivalent"
    )
    for mutant, (shown, changed) in open_ones.items():
        print(f"  {became[mutant]}: {changed}")
        if show:
            print(shown)
    return len(open_ones)


if __name__ == "__main__":
    sys.exit(main())
