"""The measured side: a child process that runs one engine on the texts it is sent, in the engine's own venv.

Standard library only, beside the engine itself. A line of JSON in, `{"text", "count"}`, a line out,
`{"seconds", "outcome", "rss"}`: CPU seconds of `count` runs, what the last one gave, and peak memory in KiB.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time


def _ours(name):
    from react_replay.dialects import dialect
    from react_replay.messages import Completion

    reader = dialect(name)

    def parse(text):
        return reader.parse(Completion(content=text))

    def read(outcome):
        if outcome.calls:
            return [outcome.calls[0].name, outcome.calls[0].arguments]
        return outcome.answer if outcome.answer is not None else f"refused: {outcome.reason}"

    return parse, read


def _langchain():
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser

    return ReActSingleInputOutputParser().parse, _read_langchain


def _langchain_bracket():
    from langchain_classic.agents.react.output_parser import ReActOutputParser

    return ReActOutputParser().parse, _read_langchain


def _read_langchain(outcome):
    if hasattr(outcome, "tool"):
        return [outcome.tool, outcome.tool_input]
    return outcome.return_values["output"]


def _llama_index():
    from llama_index.core.agent.react.output_parser import ReActOutputParser

    def read(outcome):
        if hasattr(outcome, "action"):
            return [outcome.action, outcome.action_input]
        return outcome.response

    return ReActOutputParser().parse, read


def _crewai():
    os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
    from crewai.agents.parser import parse

    def read(outcome):
        return [outcome.tool, outcome.tool_input] if hasattr(outcome, "tool") else outcome.output

    return parse, read


def _calculator():
    from react_replay.tools.arithmetic import evaluate

    return evaluate, str


def _whitelist():
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    import whitelist

    return whitelist.evaluate, str


def _simpleeval():
    from simpleeval import simple_eval

    return simple_eval, str


def _asteval():
    from asteval import Interpreter

    interpreter = Interpreter()

    def evaluate(text):
        return interpreter(text, raise_errors=True)

    return evaluate, str


ENGINES = {
    "json": lambda: _ours("json"),
    "bracket": lambda: _ours("bracket"),
    "zh": lambda: _ours("zh"),
    "langchain-classic": _langchain,
    "langchain-classic bracket": _langchain_bracket,
    "llama-index-core": _llama_index,
    "crewai": _crewai,
    "calculator": _calculator,
    "whitelist": _whitelist,
    "simpleeval": _simpleeval,
    "asteval": _asteval,
}


def _run(function, read, text, count):
    outcome = error = None
    gc.collect()
    start = time.process_time()
    for _ in range(count):
        try:
            outcome = function(text)
        except BaseException as raised:
            error = raised
    seconds = time.process_time() - start
    try:
        said = read(outcome) if error is None else f"raises {type(error).__name__}"
    except BaseException as raised:  # a result that cannot be printed
        said = f"raises {type(raised).__name__} when printed"
    return {"seconds": seconds, "outcome": said, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints is no answer
    function, read = ENGINES[sys.argv[1]]()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        done = _run(function, read, asked["text"], asked["count"])
        print(json.dumps(done, default=str), file=answers, flush=True)


if __name__ == "__main__":
    main()
