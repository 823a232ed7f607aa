"""Tools: what the model is told of a function, how a call is bound to it, what comes back."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from react_replay import Agent, Observation, ScriptedBackend, Toolbox, ToolCall, tool
from react_replay.errors import ToolDefinitionError


class Place(BaseModel):
    name: str


def forecast(
    city: Annotated[str, Field(description="the city's name")],
    days: Annotated[int, "how many days"] = 1,
    unit: Literal["C", "F"] = "C",
) -> str:
    """The forecast.

    For some days.
    """
    return f"{city} {days} {unit}"


def single(query: str) -> str:
    """One required field."""
    return f"<{query}>"


def optional(query: str = "none") -> str:
    """One optional field."""
    return f"<{query}>"


def pair(a: int, b: int) -> int:
    """Two required fields."""
    return a + b


def none() -> None:
    """No fields, no value."""


def call(function: Any, arguments: Any = None, **settings: Any) -> Observation:
    box = Toolbox([function])
    [name] = box
    wanted = ToolCall(name=name, arguments={} if arguments is None else arguments, **settings)
    seen = box.call(wanted)
    assert asyncio.run(box.acall(wanted)) == seen, "sync and async calls must agree"
    return seen


def test_the_schema_comes_from_the_signature() -> None:
    """Types, defaults and both kinds of `Annotated` description reach the model."""
    spec = tool(forecast).spec
    assert (spec.name, spec.description) == ("forecast", "The forecast.\n\nFor some days.")
    schema = spec.parameters
    assert schema["type"] == "object"
    assert schema["required"] == ["city"]
    assert schema["properties"]["city"]["description"] == "the city's name"
    assert schema["properties"]["days"]["description"] == "how many days"
    assert schema["properties"]["days"]["default"] == 1
    assert schema["properties"]["unit"]["enum"] == ["C", "F"]
    json.dumps(spec.to_wire())


def test_a_tool_without_parameters_has_an_object_schema() -> None:
    """An empty signature is an object without properties, never nothing."""
    schema = tool(none).spec.parameters
    assert (schema["type"], schema["properties"]) == ("object", {})


def test_a_tool_stays_callable() -> None:
    """Decorating changes nothing for a direct caller."""
    assert tool(forecast)("Oslo", days=2) == "Oslo 2 C"
    assert tool(forecast).__doc__ == forecast.__doc__


def test_name_and_description_can_be_given() -> None:
    """`@tool(name=, description=)` overrides the function's own."""
    made = tool(name="weather", description="Ask me.")(forecast)
    assert (made.name, made.spec.description) == ("weather", "Ask me.")
    assert made.spec.to_wire()["function"]["name"] == "weather"


def test_defaults_stay_optional() -> None:
    """A call with the required field only runs, and the observation shows what was given."""
    seen = call(forecast, {"city": "Oslo"})
    assert (seen.ok, seen.text) == (True, "Oslo 1 C")


def test_arguments_are_converted_to_the_parameters_types() -> None:
    """A number in a string, a date and a model arrive as what the signature says."""

    def visit(place: Place, day: date, count: int = 1) -> str:
        """Visit."""
        return f"{place.name} {day.year} {count + 1}"

    seen = call(visit, {"place": {"name": "Oslo"}, "day": "2026-01-02", "count": "3"})
    assert seen.text == "Oslo 2026 4"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`city` is missing"),
        ({"city": 5}, "`city`"),
        ({"city": "x", "days": "many"}, "`days`"),
        ({"city": "x", "unit": "K"}, "`unit`"),
        ({"city": "x", "town": "y"}, "`town` is not one of its arguments"),
        ({"town": "y"}, "`city` is missing"),
    ],
    ids=json.dumps,
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], said: str) -> None:
    """The observation names the field; the function is not called."""
    seen = call(forecast, arguments)
    assert not seen.ok
    assert seen.text.startswith("error: ")
    assert said in seen.text


def test_raw_text_is_bound_to_the_only_required_parameter() -> None:
    """The input of a text dialect needs no JSON where only one field is required."""
    assert call(single, "a 'quoted' text").text == "<a 'quoted' text>"
    assert call(forecast, "北京").text == "北京 1 C"


def test_raw_text_is_bound_to_the_only_parameter() -> None:
    """A single optional field takes it too."""
    assert call(optional, "x").text == "<x>"


def test_raw_text_for_several_required_fields_names_them() -> None:
    """Nothing is guessed: the observation says which fields a JSON object must hold."""
    seen = call(pair, "1, 2")
    assert not seen.ok
    assert "`a`, `b`" in seen.text


def test_empty_text_calls_a_tool_without_parameters() -> None:
    """An empty input is no argument; other text is an error."""
    assert call(none, " ").ok
    assert not call(none, "x").ok


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, "null"),
        (7, "7"),
        (True, "true"),
        ([], "[]"),
        ({"城市": "北京", "d": date(2026, 1, 2)}, '{"城市": "北京", "d": "2026-01-02"}'),
        ("half \ud83d", "half ?"),
    ],
    ids=repr,
)
def test_what_a_tool_returns_is_always_text(value: Any, text: str) -> None:
    """A str goes as it is, everything else as JSON; the content is always an encodable string."""

    def give() -> Any:
        """Give."""
        return value

    assert call(give).text == text


def test_a_result_that_is_no_json_is_an_error() -> None:
    """A cycle cannot be written; the model is told, the run goes on."""

    def give() -> Any:
        """Give."""
        cycle: list[Any] = []
        cycle.append(cycle)
        return cycle

    seen = call(give)
    assert not seen.ok
    assert seen.text.startswith("error: ")


def test_a_tool_that_raises_is_an_observation() -> None:
    """The type and the text of the exception; without a text the type alone."""

    def fail(why: str = "") -> None:
        """Fail."""
        raise KeyError(why) if why else TimeoutError

    assert call(fail).text == "error: TimeoutError"
    assert call(fail, {"why": "x"}).text == "error: KeyError: 'x'"


def test_an_error_inside_a_tool_is_not_taken_for_a_wrong_argument() -> None:
    """A `TypeError` or a validation error of the body is the tool's own."""

    def fail(x: int) -> None:
        """Fail."""
        Place.model_validate({})

    seen = call(fail, {"x": 1})
    assert "ValidationError" in seen.text
    assert "wrong arguments" not in seen.text


def test_an_interrupt_in_a_tool_leaves_the_run() -> None:
    """Ctrl-C is no observation."""

    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Toolbox([stop]).call(ToolCall(name="stop"))


def test_async_tools_work_in_every_shell() -> None:
    """An `async def` runs under `run`, under `arun`, and under `run` inside a running loop."""

    async def later(x: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return x + 1

    def agent() -> Agent:
        script: list[Any] = [ToolCall(name="later", arguments={"x": 1}), "done"]
        return Agent(ScriptedBackend(script), tools=[later])

    async def inside() -> list[Any]:
        return [(await agent().arun("?")).to_dict(), agent().run("?").to_dict()]

    plain = agent().run("?").to_dict()
    assert plain["steps"][0]["calls"][0]["observation"] == "2"
    assert asyncio.run(inside()) == [plain, plain]


def test_a_registered_tool_keeps_its_schema() -> None:
    """`register` sends a hand-written schema as it is, and `{}` as an empty object."""
    box = Toolbox()
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    box.register(name="find", description="Find.", schema=schema, func=lambda q: f"<{q}>")
    box.register(name="now", description="Now.", schema={}, func=lambda: "12:00")
    assert box["find"].spec.parameters == schema
    assert box["now"].spec.parameters == {"type": "object", "properties": {}}
    assert box.call(ToolCall(name="find", arguments={"q": "x"})).text == "<x>"
    assert box.call(ToolCall(name="find", arguments="x")).text == "<x>"
    assert box.call(ToolCall(name="now")).text == "12:00"
    assert "`q` is missing" in box.call(ToolCall(name="find")).text
    assert "`z`" in box.call(ToolCall(name="find", arguments={"q": "x", "z": 1})).text


@pytest.mark.parametrize("schema", [{"type": "string"}, {"properties": {}}])
def test_a_schema_that_is_no_object_is_refused(schema: dict[str, Any]) -> None:
    """The arguments of a tool are an object."""
    with pytest.raises(ToolDefinitionError, match="object"):
        Toolbox().register(name="x", description="", schema=schema, func=none)


def test_names_are_unique() -> None:
    """A second tool of the same name is our misuse."""
    with pytest.raises(ToolDefinitionError, match="'single'"):
        Toolbox([single, single])


@pytest.mark.parametrize(
    "function",
    [lambda x: x, 7, "name"],
    ids=["lambda", "number", "text"],
)
def test_what_cannot_be_named_is_no_tool(function: Any) -> None:
    """A lambda without a name, or no function at all, is refused at once."""
    with pytest.raises(ToolDefinitionError):
        Toolbox([function])


def test_signatures_without_a_schema_are_refused() -> None:
    """`*args`, `**kwargs` and positional-only parameters have no place in a JSON schema."""

    def star(*values: int) -> None:
        """Star."""

    def double_star(**values: int) -> None:
        """Double star."""

    def positional(x: int, /) -> None:
        """Positional."""

    for function in (star, double_star, positional):
        with pytest.raises(ToolDefinitionError, match="no place in a JSON schema"):
            _ = tool(function).spec


def test_an_unknown_tool_lists_what_there_is() -> None:
    """A box without tools says so."""
    assert "the tools are: single, pair" in Toolbox([single, pair]).call(ToolCall(name="x")).text
    assert "the tools are: none" in Toolbox().call(ToolCall(name="x")).text


def test_a_call_with_an_error_never_runs() -> None:
    """What could not be read is answered with its error."""
    seen = call(none, error="cut")
    assert (seen.ok, seen.text) == (False, "error: cut")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["city", "days", "unit", "a", "b", "query"]) | st.text(max_size=4)


@given(
    st.sampled_from(["forecast", "single", "optional", "pair", "none", "other"]),
    st.dictionaries(FIELDS, JSON, max_size=3) | st.text(max_size=20),
)
def test_any_call_is_an_observation(name: str, arguments: Any) -> None:
    """Whatever the model asks for, calling never raises and always gives encodable text."""
    box = Toolbox([forecast, single, optional, pair, none])
    seen = box.call(ToolCall(name=name, arguments=arguments, id="x"))
    assert seen.call.id == "x"
    seen.text.encode()
    assert seen.ok != seen.text.startswith("error: ")
