"""Schemas and validation from a function's signature, by pydantic. The only importer of pydantic.

The function itself is never called here: a stand-in with its signature returns the bound arguments, so
that an error raised inside a tool cannot be taken for a wrong argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from react_replay.errors import ToolDefinitionError

__all__ = ["against_schema", "schema_of", "validator_of"]


def _adapter(name: str, func: Callable[..., Any]) -> Any:
    """A pydantic adapter that turns given arguments into the dict the function is called with."""
    from pydantic import PydanticUserError, TypeAdapter

    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"tool {name!r} has no readable signature: {error}") from error
    for parameter in signature.parameters.values():
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise ToolDefinitionError(
                f"tool {name!r} takes {parameter}, which has no place in a JSON schema; "
                "name its parameters one by one"
            )

    def bound(**arguments: Any) -> dict[str, Any]:
        return arguments

    try:
        hints = get_type_hints(func, include_extras=True)
        bound.__name__ = name
        bound.__annotations__ = {key: _described(hint) for key, hint in hints.items()}
        bound.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                parameter.replace(annotation=bound.__annotations__.get(key, parameter.annotation))
                for key, parameter in signature.parameters.items()
            ]
        )
        adapter: Any = TypeAdapter
        return adapter(bound)
    except (PydanticUserError, NameError, TypeError) as error:
        raise ToolDefinitionError(f"tool {name!r} has no schema: {error}") from error


def _described(hint: Any) -> Any:
    """`Annotated[str, "text"]` with its text as the description that the model sees."""
    if get_origin(hint) is not Annotated:
        return hint
    from pydantic import Field

    base, *metadata = get_args(hint)
    for note in metadata:
        base = Annotated[base, Field(description=note) if isinstance(note, str) else note]
    return base


def schema_of(name: str, func: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema of a function's arguments. Raises `ToolDefinitionError` where there is none."""
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        schema: dict[str, Any] = _adapter(name, func).json_schema()
    except PydanticInvalidForJsonSchema as error:
        raise ToolDefinitionError(f"tool {name!r} has no JSON schema: {error}") from error
    return {"type": "object", "properties": {}, **_untitled(schema)}


def _untitled(schema: Any) -> Any:
    """Without pydantic's `title`s, which repeat the names: less to send, and less that may change."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _untitled(item) for name, item in schema.items() if name != "properties"}
    if isinstance(plain.get("title"), str):
        del plain["title"]
    if "properties" in schema:
        plain["properties"] = {name: _untitled(item) for name, item in schema["properties"].items()}
    return plain


def validator_of(name: str, func: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function from given to bound arguments that raises `ValueError` and names each wrong field."""
    from pydantic import ValidationError
    from pydantic_core import ArgsKwargs

    validate = _adapter(name, func).validate_python

    def checked(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            bound: dict[str, Any] = validate(ArgsKwargs((), arguments))
        except ValidationError as error:
            raise ValueError(_explain(name, error)) from None
        return bound

    return checked


def _explain(name: str, error: Any) -> str:
    parts = []
    for problem in error.errors(include_url=False, include_context=False)[:5]:
        field = ".".join(str(part) for part in problem["loc"])
        kind = problem["type"]
        if kind == "missing_argument":
            parts.append(f"`{field}` is missing")
        elif kind == "unexpected_keyword_argument":
            parts.append(f"`{field}` is not one of its arguments")
        else:
            parts.append(f"`{field}`: {problem['msg']}, got {ascii(problem['input'])[:80]}")
    return f"wrong arguments for {name}: {'; '.join(parts)}"


def against_schema(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments checked against a hand-written schema's names. Raises `ValueError` naming the field."""
    properties = schema.get("properties") or {}
    missing = [name for name in schema.get("required") or () if name not in arguments]
    unknown = [name for name in arguments if name not in properties]
    problems = [f"`{name}` is missing" for name in missing]
    if schema.get("additionalProperties") is not True:
        problems += [f"`{name}` is not one of its arguments" for name in unknown]
    if problems:
        raise ValueError(f"wrong arguments: {'; '.join(problems)}")
    return arguments
