"""`bench replay`: what a replayed request costs, and a cassette's load, beside the SDK's floor and the peers.

Every row replays the same generated file. The floor is the openai SDK over a mock transport with a dict by
the digest of the body. Where a whole run would take minutes, evenly spaced positions of it are asked, the
earlier ones marked as played: that is what each would have cost in the run.
"""

from __future__ import annotations

import gc
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from react_replay import Agent, CassetteBackend, Limits, Request, ScriptedBackend
from scripts.benches.traffic import KINDS, URL, exchanges, long_run, read_file, script, write
from scripts.benches.workers import Failure, find

TURNS = (30, 100, 300)
SAMPLE = 100  # requests of a row that goes through the SDK
SLOW_SAMPLE = 10  # the same where one takes as long as the cassette is
PEER = ("openai>=3.50,<4", "httpx2")

Ask = Callable[[dict[str, Any]], Any]


def run(sizes: list[int], rounds: int, *, peers: bool) -> dict[str, Any]:
    """All figures: CPU seconds of a request and of a load by kind and size, memory, and long runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: dict[str, Any] = {"requests": [], "loads": [], "memory": [], "runs": [], "peers": {}}
        for kind in KINDS:
            for size in sizes:
                _say(f"{kind}, {size} exchanges")
                path = folder / f"{kind}-{size}.yaml"
                pairs = [*exchanges(kind, size + 1)]  # one more, to warm up with
                length = write(path, pairs)
                about = {"kind": kind, "size": size, "bytes": length}
                bodies = [json.dumps(body) for body, _ in pairs]
                peer = _cassetter(path, bodies, install=peers)
                figures["peers"]["cassetter"] = peer if isinstance(peer, str) else "measured"
                found = peer if isinstance(peer, dict) else {}
                figures["requests"].append({**about, **_requests(path, pairs, rounds, found)})
                figures["loads"].append({**about, **_loads(path, rounds, found)})
            figures["memory"] += _memory(kind, path)
        turns = [count for count in TURNS if count <= max(sizes)] or [max(sizes)]
        for count in turns:
            _say(f"a run of {count} turns")
            figures["runs"].append(_run(folder, count, rounds))
    return figures


def _say(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr, flush=True)


def _requests(path: Path, pairs: Sequence[Any], rounds: int, peer: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of one request, each way."""
    bodies = [json.dumps(body) for body, _ in pairs]
    answers = {_digest(body): json.dumps(answer).encode() for body, answer in pairs}
    size = len(pairs) - 1
    sample, slow = _spaced(size, SAMPLE), _spaced(size, SLOW_SAMPLE)
    above = _alternate(rounds, above=lambda: _above(path, bodies))
    ways = _alternate(
        rounds,
        floor=lambda: _through_sdk(_floor(answers), bodies, sample),
        transport=lambda: _through_sdk(_transport(path), bodies, sample),
    )
    vcrpy = {
        f"vcrpy {name}": _through_vcrpy(path, bodies, slow, name) for name in ("default", "body", "chat")
    }
    return {
        **above,
        **ways,
        **vcrpy,
        "cassetter": peer.get("request"),
        "sample": len(sample),
        "slow_sample": len(slow),
    }


def _spaced(size: int, most: int) -> list[int]:
    """At most so many positions, each in the middle of its part of 1..size (0 warms up)."""
    count = min(size, most)
    return [int((number + 0.5) * size / count) + 1 for number in range(count)]


def _alternate(rounds: int, **ways: Callable[[], float]) -> dict[str, float]:
    """The median of each way's figures, taken in turns."""
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, measure in ways.items():
            seen[name].append(measure())
    return {name: statistics.median(values) for name, values in seen.items()}


def _above(path: Path, bodies: Sequence[str]) -> float:
    """Our backend, above the SDK; every request is built anew, every one of the file is asked."""
    backend = CassetteBackend(path)
    first, *requests = (Request.of(json.loads(body)) for body in bodies)
    backend.complete(first)
    gc.collect()
    start = time.process_time()
    for request in requests:
        backend.complete(request)
    return (time.process_time() - start) / len(requests)


def _through_sdk(transport: Any, bodies: Sequence[str], sample: Sequence[int]) -> float:
    import httpx2
    import openai

    requests = [json.loads(bodies[place]) for place in sample]
    http = httpx2.Client(transport=transport)
    with openai.OpenAI(api_key="k", base_url=URL, max_retries=0, http_client=http) as client:
        client.chat.completions.create(**json.loads(bodies[0]))
        gc.collect()
        start = time.process_time()
        for request in requests:
            client.chat.completions.create(**request)
        return (time.process_time() - start) / len(requests)


def _transport(path: Path) -> Any:
    from react_replay.cassettes import cassette_transport

    return cassette_transport(path)


def _floor(answers: dict[bytes, bytes]) -> Any:
    import httpx2

    def answer(request: Any) -> Any:
        found = answers[_digest(json.loads(request.content))]
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=found)

    return httpx2.MockTransport(answer)


def _digest(body: Any) -> bytes:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()


def _through_vcrpy(path: Path, bodies: Sequence[str], sample: Sequence[int], match: str) -> float:
    """One round: vcrpy with its default matching, with `body`, or with our matcher instead of it."""
    import openai
    import vcr

    from react_replay.cassettes import chat_matcher

    recorder = vcr.VCR(record_mode="none")
    recorder.register_matcher("chat", chat_matcher)
    match_on = [*recorder.match_on, *([] if match == "default" else [match])]
    spent = 0.0
    with (
        recorder.use_cassette(str(path), match_on=match_on) as cassette,
        openai.OpenAI(api_key="k", base_url=URL, max_retries=0) as client,
    ):
        client.chat.completions.create(**json.loads(bodies[0]))
        # The last one once before: it has looked at every request of the file.
        for timed, place in ((False, len(bodies) - 1), *((True, place) for place in sample)):
            request = json.loads(bodies[place])
            cassette.play_counts.clear()
            cassette.play_counts.update(range(place))
            gc.collect()
            start = time.process_time()
            client.chat.completions.create(**request)
            spent += timed * (time.process_time() - start)
    return spent / len(sample)


def _loads(path: Path, rounds: int, peer: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of reading a cassette: ours with its index, vcrpy's with the C loader."""
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.serializers import yamlserializer

    def ours() -> object:
        return CassetteBackend(path)

    def vcrpy() -> object:
        return FilesystemPersister.load_cassette(path, yamlserializer)

    return {
        **_alternate(rounds, ours=lambda: _timed(ours), vcrpy=lambda: _timed(vcrpy)),
        "cassetter": peer.get("load"),
    }


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    kept = work()
    spent = time.process_time() - start
    del kept
    return spent


_PEAK = """
import sys
from pathlib import Path
path = Path(sys.argv[2])
{imports}
def peak():
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
{work}  # a small one first: what a load imports is no cost of this file
before, path = peak(), Path(sys.argv[1])
kept = {work}
print(peak() - before)
"""
_PEAKS = {
    "ours": (
        "import yaml\nfrom react_replay.backends.cassette import CassetteBackend",
        "CassetteBackend(path)",
    ),
    "vcrpy": (
        "from vcr.persisters.filesystem import FilesystemPersister as files\n"
        "from vcr.serializers import yamlserializer",
        "files.load_cassette(path, yamlserializer)",
    ),
}


def _memory(kind: str, path: Path) -> Iterator[dict[str, Any]]:
    """How far a load raises the peak of a fresh process, in bytes a byte of the file: Linux only.

    A long file with Chinese words and emoji as well: Python holds them at two or four bytes a character.
    """
    if not Path("/proc/self/status").exists():
        return
    files = {kind: path}
    text = path.read_text("utf-8")
    words = "the report names every river of the province"
    if words in text:
        wide = files[f"{kind}, Chinese and emoji"] = path.with_name(f"wide-{path.name}")
        wide.write_text(text.replace(words, "报告写明了该省每一条河流的长度🌊"), "utf-8")
    small = path.with_name("warm-up.yaml")
    write(small, exchanges("small", 1))
    for name, file in files.items():
        grown = {"bytes": file.stat().st_size}
        for engine, (imports, work) in _PEAKS.items():
            code = _PEAK.format(imports=imports, work=work)
            command = [sys.executable, "-c", code, str(file), str(small)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
            grown[engine] = int(done.stdout) / file.stat().st_size
        yield {"kind": name, **grown}


def _run(folder: Path, turns: int, rounds: int) -> dict[str, Any]:
    """CPU seconds of a whole replayed run of the agent, load included, in both layouts."""
    full = folder / f"run-{turns}.yaml"
    row: dict[str, Any] = {"turns": turns, "full_bytes": write(full, long_run(turns))}
    layouts = {"full": full, "delta": _recorded_delta(folder, turns)}
    row["delta_bytes"] = layouts["delta"].stat().st_size

    def replayed(path: Path) -> float:
        def work() -> object:
            agent = Agent(CassetteBackend(path), tools=[read_file], limits=Limits(max_steps=turns + 1))
            result = agent.run("Read them all.")
            if result.answer != "done":
                raise SystemExit(f"the benchmark's run did not answer: {result.stop_reason}")
            return result

        return _timed(work)

    measured = _alternate(rounds, **{name: _bound(replayed, path) for name, path in layouts.items()})
    full.unlink()
    return {**row, **measured}


def _bound(function: Callable[[Path], float], path: Path) -> Callable[[], float]:
    return lambda: function(path)


def _recorded_delta(folder: Path, turns: int) -> Path:
    path = folder / f"run-{turns}-delta.yaml"
    live = ScriptedBackend(script(turns))
    with CassetteBackend(path, record="once", live=live, layout="delta") as backend:
        Agent(backend, tools=[read_file], limits=Limits(max_steps=turns + 1)).run("Read them all.")
    return path


@contextmanager
def _list_of(bodies: Sequence[str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.json"
        path.write_text(f"[{','.join(bodies)}]", encoding="utf-8")
        yield path


def _cassetter(path: Path, bodies: Sequence[str], *, install: bool) -> dict[str, Any] | str:
    """The figures of cassetter, in its own venv; or why there are none."""
    try:
        python = find("cassetter", install=install, also=PEER)
    except Failure as why:
        return str(why)
    child = Path(__file__).with_name("peer_cassetter.py")
    asked = [bodies[0], *(bodies[place] for place in _spaced(len(bodies) - 1, SLOW_SAMPLE))]
    with _list_of(asked) as requests:
        command = [python, "-P", str(child), str(path), str(requests), URL]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        return said[-1].strip()[:120]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def show(figures: dict[str, Any]) -> None:
    """Print the tables."""
    rows = figures["requests"]
    print("\nmilliseconds a replayed request (x: of the floor)")
    names = ("above", "floor", "transport", "vcrpy default", "vcrpy body", "vcrpy chat", "cassetter")
    print(f"{'':>6} {'size':>5}" + "".join(f"{name:>19}" for name in names))
    for row in rows:
        cells = "".join(f"{_cell(row[name], row['floor']):>19}" for name in names)
        print(f"{row['kind']:>6} {row['size']:>5}{cells}")
    slowest = max(row["slow_sample"] for row in rows)
    print(
        f"vcrpy and cassetter: {slowest} positions at most, one round; floor and transport: {SAMPLE} at most."
    )
    for kind in KINDS:
        of_kind = [row["above"] for row in rows if row["kind"] == kind]
        print(f"above the SDK, {kind}: growth {of_kind[-1] / of_kind[0]:.2f} from the first size to the last")
    for name, why in figures["peers"].items():
        if why != "measured":
            print(f"{name}: {why}")
    print("\nmilliseconds a load (x: of vcrpy)")
    for row in figures["loads"]:
        other = "" if row["cassetter"] is None else f", cassetter {_cell(row['cassetter'], row['vcrpy'])}"
        print(
            f"{row['kind']:>6} {row['size']:>5} {row['bytes'] / 1e6:>6.2f} MB: "
            f"ours {_cell(row['ours'], row['vcrpy'])}, vcrpy {row['vcrpy'] * 1e3:.1f}{other}"
        )
    print("\npeak memory of a load, in sizes of the file")
    for row in figures["memory"]:
        size = row["bytes"] / 1e6
        print(f"{row['kind']}, {size:.2f} MB: ours {row['ours']:.1f}, vcrpy {row['vcrpy']:.1f}")
    print("\nthe agent replaying its cassette, load included: milliseconds a turn")
    for row in figures["runs"]:
        turns = row["turns"] + 1
        megabytes = row["full_bytes"] / 1e6
        a_megabyte = row["full"] / megabytes * 1e3
        full = f"full {row['full'] / turns * 1e3:.3f} ({megabytes:.2f} MB, {a_megabyte:.1f} a MB)"
        delta = f"delta {row['delta'] / turns * 1e3:.3f} ({row['delta_bytes'] / 1e6:.2f} MB)"
        print(f"{row['turns']:>6} turns: {full}, {delta}")


def _cell(seconds: float | None, floor: float) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f} (x{seconds / floor:.2f})"
