"""Where in its file each interaction begins, for messages that point at a line. Best effort: never raises."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["first_lines"]

_HTTPRR = re.compile(rb"([0-9]+) ([0-9]+)\r?\n")


def first_lines(path: Path) -> tuple[int, ...]:
    """The line, from 1, of each interaction; empty where the file does not say."""
    try:
        data = path.read_bytes()
    except OSError:
        return ()
    if data.startswith(b"httprr"):
        return tuple(_of_trace(data))
    return _of_yaml(data)


def _of_trace(data: bytes) -> list[int]:
    lines, line, start = [], 2, data.find(b"\n") + 1
    while (found := _HTTPRR.match(data, start)) is not None:
        lines.append(line)
        end = found.end() + int(found[1]) + int(found[2])
        line += data.count(b"\n", start, end)
        start = end
    return lines


def _of_yaml(data: bytes) -> tuple[int, ...]:
    # JSON is near enough to YAML for this; what is not gives no lines.
    import yaml

    try:
        nodes = list(yaml.compose_all(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError, ValueError):
        return ()
    if len(nodes) == 1 and isinstance(nodes[0], yaml.MappingNode):
        for key, value in nodes[0].value:
            if key.value in ("interactions", "http_interactions", "turns") and isinstance(
                value, yaml.SequenceNode
            ):
                return tuple(item.start_mark.line + 1 for item in value.value)
    if len(nodes) == 1 and isinstance(nodes[0], yaml.SequenceNode):
        return tuple(item.start_mark.line + 1 for item in nodes[0].value)
    return tuple(node.start_mark.line + 1 for node in nodes if isinstance(node, yaml.MappingNode))
