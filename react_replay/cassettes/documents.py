"""A file's bytes as plain data: dicts, lists, texts, bytes, numbers. Bounded, and constructs nothing else.

Knows JSON and YAML and no cassette layout. A tag that asks for a Python or Ruby object gives the plain data
below it. Hostile files (aliases that multiply, deep nesting, endless numbers) end in `Unreadable`.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from react_replay.cassettes.blocks import Entries, Unusual, read_blocks

__all__ = ["Unreadable", "load_documents"]

_WEIGHT = 16
"""Aliases may make the data this many times as large as the file, plus a megabyte."""
_DIGITS = 400
"""A longer number is taken for a text: reading it takes time in the square of its length."""
_MERGES = 10_000
"""How many pairs one mapping may hold after `<<` was followed."""
_ANCHOR = re.compile(rb"&[^\s&]")


class Unreadable(ValueError):
    """Why a file, or a part of it, cannot be read: half a sentence, which names the line where it can."""


def load_documents(data: bytes, *, json_only: bool = False, lazy: bool = False) -> list[Any]:
    """The documents of a JSON or YAML file; one for JSON, any number for YAML. Raises `Unreadable`.

    With `lazy` the interactions of a file of ours may be `Entries`, and so be `Unusual` when they are read.
    """
    if json_only:
        return [_json(data)]
    try:
        return [_ours(data, lazy=lazy)]
    except Unusual:
        pass
    if data.lstrip()[:1] in (b"{", b"["):
        # JSON is nearly YAML, but not its surrogate escapes; and its own reader is 50 times as fast.
        try:
            return [_json(data)]
        except Unreadable as no_json:
            try:
                documents = _yaml(data)
            except Unreadable as no_yaml:
                raise (no_json if data.lstrip()[:1] == b"{" else no_yaml) from None
    else:
        documents = _yaml(data)
    if _has_anchor(data):
        _weigh(documents, len(data) * _WEIGHT + 1_000_000)
    return documents


def _ours(data: bytes, *, lazy: bool) -> Any:
    """A document as we write it, several times as fast as by a YAML parser. Raises `Unusual`."""
    document = read_blocks(data)
    if not lazy:
        for name, value in document.items():
            if isinstance(value, Entries):
                document[name] = list(value)
    return document


def _has_anchor(data: bytes) -> bool:
    return any(
        found.start() == 0 or data[found.start() - 1] in b" \t\r\n[{,-:" for found in _ANCHOR.finditer(data)
    )


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise Unreadable("it is no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"it is no JSON: {str(error)[:300]}") from error


def _yaml(data: bytes) -> list[Any]:
    import yaml

    try:
        loader = _loader(bounds_merges=b"<<" in data)(data)
        try:
            documents = []
            while loader.check_data():
                documents.append(loader.get_data())
            return documents
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise Unreadable(f"it is no YAML: {' '.join(str(error).split())[:300]}") from error
    except RecursionError:
        raise Unreadable("it is no YAML that can be read: it is nested too deeply") from None
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        # PyYAML's own constructors on a date that is none, a set of lists, a value that is missing.
        raise Unreadable(f"it is no YAML: {type(error).__name__}: {str(error)[:300]}") from error


def _weigh(documents: list[Any], budget: int) -> None:
    """Refuse data that aliases blow up: whatever walks it later would not end."""
    stack: list[Any] = [documents]
    while stack:
        value = stack.pop()
        budget -= 1
        if isinstance(value, (str, bytes)):
            budget -= len(value)
        elif isinstance(value, dict):
            stack.extend(value)
            stack.extend(value.values())
        elif isinstance(value, (list, tuple, set)):
            stack.extend(value)
        if budget < len(stack):
            raise Unreadable(
                "its YAML aliases multiply what it holds beyond all measure (or refer to themselves); "
                "write the values out"
            )


@functools.cache
def _loader(*, bounds_merges: bool) -> Any:
    """libyaml's safe loader, where there is one, that takes unknown tags for what stands below them."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def flatten_mapping(self: Any, node: Any) -> None:
        merges = any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value)
        super(Loader, self).flatten_mapping(node)
        if merges and len(node.value) > _MERGES:
            raise yaml.constructor.ConstructorError(
                None, None, "`<<` multiplies this mapping beyond all measure", node.start_mark
            )

    if bounds_merges:  # it costs a call for every mapping
        Loader.flatten_mapping = flatten_mapping

    def plain(loader: Any, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return loader.construct_scalar(node)
        if isinstance(node, yaml.SequenceNode):
            only = node.value[0] if len(node.value) == 1 else None
            if "python/object" in node.tag and isinstance(only, yaml.ScalarNode):
                return loader.construct_scalar(only)  # a subclass of str, such as multidict's header names
            return loader.construct_sequence(node, deep=True)
        return loader.construct_mapping(node, deep=True)

    def number(base: Any) -> Any:
        def construct(loader: Any, node: Any) -> Any:
            text = loader.construct_scalar(node)
            return text if len(text) > _DIGITS else base(loader, node)

        return construct

    safe = yaml.constructor.SafeConstructor
    Loader.add_constructor(None, plain)
    Loader.add_constructor("!binary", safe.construct_yaml_binary)
    Loader.add_constructor("tag:yaml.org,2002:python/bytes", safe.construct_yaml_binary)
    Loader.add_constructor("tag:yaml.org,2002:int", number(safe.construct_yaml_int))
    Loader.add_constructor("tag:yaml.org,2002:float", number(safe.construct_yaml_float))
    return Loader
