"""The measured side of cassetter, run in its own venv: prints CPU seconds of the load, and of each request.

Standard library only, beside cassetter and the SDK. Arguments: the cassette, a JSON list of the
requests, the base URL.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path


def main():
    import openai
    from cassetter import use_cassette

    path, bodies, url = sys.argv[1:4]
    first, *requests = json.loads(Path(bodies).read_text(encoding="utf-8"))
    client = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
    start = time.process_time()
    with use_cassette(path, record_mode="none", match_on=["method", "uri", "json_body"]):
        loaded = time.process_time() - start
        client.chat.completions.create(**first)
        gc.collect()
        start = time.process_time()
        for request in requests:
            client.chat.completions.create(**request)
        spent = time.process_time() - start
    print(json.dumps({"load": loaded, "request": spent / len(requests)}))


if __name__ == "__main__":
    main()
