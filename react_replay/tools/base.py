"""Tools: a typed function as something a model can call, and the box that runs calls against it.

No message shapes and no HTTP may enter here. A tool that raises, or that was called wrongly, gives an
observation for the model; only a wrong definition raises. pydantic is imported when a schema is needed.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, overload

from react_replay.errors import ToolDefinitionError, did_you_mean
from react_replay.messages import Observation, ToolCall, ToolSpec

__all__ = ["Tool", "Toolbox", "tool"]


# Made once: `json.dumps` with these settings would make one for every result.
_JSON = json.JSONEncoder(ensure_ascii=False, default=str)


class Tool:
    """A function that a model may call; called directly, it is still that function.

    `schema` is the JSON schema of its arguments (an object). A schema that is given is sent as it is and
    arguments are passed as they come; one made from the signature also validates them.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(func):
            raise ToolDefinitionError(f"a tool must be a function, got {type(func).__name__}")
        self.func = func
        self.name: str = name or str(getattr(func, "__name__", ""))
        if not self.name.isprintable() or not self.name or self.name == "<lambda>":
            raise ToolDefinitionError(f"a tool needs a name, got {self.name!r}; pass `name=`")
        self.description = inspect.cleandoc(description if description is not None else func.__doc__ or "")
        self._given = None if schema is None else _object_schema(self.name, schema)
        self._plain: bool | None = None
        self.is_async = inspect.iscoroutinefunction(func)
        functools.update_wrapper(self, func, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    @functools.cached_property
    def spec(self) -> ToolSpec:
        """What the model is told of this tool."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.schema)

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, `{"type": "object", "properties": ...}`."""
        if self._given is not None:
            return self._given
        from react_replay.tools.signature import schema_of

        return schema_of(self.name, self.func)

    @functools.cached_property
    def _validate(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        from react_replay.tools.signature import against_schema, validator_of

        if self._given is not None:
            return functools.partial(against_schema, self._given)
        return validator_of(self.name, self.func)

    def bind(self, arguments: dict[str, Any] | str) -> dict[str, Any]:
        """Arguments as the function takes them. Raises `ValueError` with a text for the model."""
        if isinstance(arguments, str):
            arguments = self._bind_text(arguments)
        return self._validate(arguments)

    def _bind_text(self, text: str) -> dict[str, Any]:
        names = list(self.schema.get("properties") or {})
        required = [name for name in self.schema.get("required") or () if name in names]
        if not names and not text.strip():
            return {}
        target = required[0] if len(required) == 1 else names[0] if len(names) == 1 else None
        if target is None:
            fields = ", ".join(f"`{name}`" for name in names) or "none"
            raise ValueError(
                f"the input of {self.name} must be a JSON object with its fields ({fields}), "
                f"got plain text: {text[:80]!a}"
            )
        return {target: text}


def _object_schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A registered schema as an object schema; `{}` is one without properties."""
    if not schema:
        return {"type": "object", "properties": {}}
    if schema.get("type") != "object":
        raise ToolDefinitionError(
            f"the schema of tool {name!r} must have type 'object', got {schema.get('type')!r}"
        )
    return {"properties": {}, **schema}


@overload
def tool(func: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    func: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Offer a typed, documented function to a model. It stays callable as before.

    The schema comes from the signature: a default makes a parameter optional, and
    `Annotated[str, Field(description=...)]` reaches the model.
    """
    if func is not None:
        return Tool(func, name=name, description=description)
    return lambda wrapped: Tool(wrapped, name=name, description=description)


class Toolbox(Mapping[str, Tool]):
    """Tools by name, in the order in which the model is told of them. Names are unique."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] | Toolbox = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools.values() if isinstance(tools, Mapping) else tools:
            self.add(item)

    def add(self, item: Tool | Callable[..., Any]) -> Tool:
        """Add a tool, or a plain function as a tool. Raises `ToolDefinitionError` on a name in use."""
        made = item if isinstance(item, Tool) else Tool(item)
        if made.name in self._tools:
            raise ToolDefinitionError(
                f"there is a tool named {made.name!r} already; pass `name=` to give this one its own"
            )
        self._tools[made.name] = made
        return made

    def register(
        self, *, name: str, description: str, schema: Mapping[str, Any], func: Callable[..., Any]
    ) -> Tool:
        """Add a function under a hand-written schema, as the articles' registry does."""
        return self.add(Tool(func, name=name, description=description, schema=schema))

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(item.spec for item in self._tools.values())

    def call(self, call: ToolCall) -> Observation:
        """Run one call. Whatever goes wrong is an observation that begins with `error:`."""
        bound = self._bind(call)
        if isinstance(bound, Observation):
            return bound
        item, arguments = bound
        try:
            value = item.func(**arguments)
            if hasattr(value, "__await__"):
                value = _wait_for(value)
        except Exception as error:
            return _failed(call, arguments, error)
        return _done(call, arguments, value)

    async def acall(self, call: ToolCall) -> Observation:
        """`call` without blocking the event loop: a plain function runs in a thread."""
        bound = self._bind(call)
        if isinstance(bound, Observation):
            return bound
        item, arguments = bound
        try:
            if item.is_async:
                value = await item.func(**arguments)
            else:
                from asyncio import to_thread

                value = await to_thread(item.func, **arguments)
                if hasattr(value, "__await__"):
                    value = await value
        except Exception as error:
            return _failed(call, arguments, error)
        return _done(call, arguments, value)

    def replayed(self, call: ToolCall, text: str) -> Observation:
        """The observation of a call that was run before and gave `text`: nothing runs."""
        bound = self._bind(call)
        arguments = bound.arguments if isinstance(bound, Observation) else bound[1]
        return Observation(call=call, text=text, ok=not text.startswith("error: "), arguments=arguments)

    def _bind(self, call: ToolCall) -> Observation | tuple[Tool, dict[str, Any]]:
        given = call.arguments if isinstance(call.arguments, dict) else {}
        item = self._tools.get(call.name)
        if item is None:
            listed = ", ".join(self._tools) or "none"
            close = did_you_mean(call.name, self._tools)
            text = f"error: unknown tool {call.name!r}{close}; the tools are: {listed}"
            return Observation(call=call, text=text, ok=False, arguments=given)
        if call.error:
            return Observation(call=call, text=f"error: {call.error}", ok=False, arguments=given)
        try:
            return item, item.bind(call.arguments)
        except ValueError as error:
            return Observation(call=call, text=f"error: {error}", ok=False, arguments=given)

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def _wait_for(value: Any) -> Any:
    """The result of an async tool in a synchronous run, also where an event loop is running."""

    async def wait() -> Any:
        return await value

    import asyncio  # a quarter of the start of a process that needs none

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()


def _failed(call: ToolCall, arguments: dict[str, Any], error: Exception) -> Observation:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Observation(call=call, text=_sendable(f"error: {said}"), ok=False, arguments=arguments)


def _done(call: ToolCall, arguments: dict[str, Any], value: Any) -> Observation:
    ok = True
    try:
        text = value if isinstance(value, str) else _JSON.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        text, ok = f"error: the tool's result cannot be written as JSON: {error}", False
    return Observation(call=call, text=_sendable(text), ok=ok, arguments=arguments)


def _sendable(text: str) -> str:
    # A lone surrogate in a result would make the next request impossible to encode.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def as_toolbox(tools: Sequence[Any] | Toolbox | None) -> Toolbox:
    """A toolbox from what `Agent(tools=...)` takes; a toolbox is used as it is."""
    return tools if isinstance(tools, Toolbox) else Toolbox(cast("Iterable[Any]", tools or ()))
