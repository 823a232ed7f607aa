"""What `tolerate` names, and what it leaves out of a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from react_replay.cassettes.apart import NOTHING, tolerated
from react_replay.cassettes.canonical import Digester
from react_replay.errors import ConfigurationError
from react_replay.messages import Request

QUESTION = {"role": "user", "content": "?"}


def offered(name: str = "f", description: str = "Does.", **properties: Any) -> list[Any]:
    schema = {"type": "object", "properties": properties}
    function = {"name": name, "description": description, "parameters": schema}
    return [{"type": "function", "function": function}]


def same(one: Request, other: Request, *names: str) -> bool:
    digester = Digester(apart=tolerated(names))
    return digester.key(one) == digester.key(other)


def system(text: str, role: str = "system") -> Request:
    return Request([{"role": role, "content": text}, QUESTION], {})


def test_nothing_is_tolerated_by_default() -> None:
    """No name, no tolerance."""
    assert tolerated([]) is NOTHING


def test_system_leaves_out_instructions_by_either_role() -> None:
    """System and developer messages, also where one side has none."""
    assert not same(system("a"), system("b"))
    for other in (system("b"), system("b", "developer"), Request([QUESTION], {})):
        assert same(system("a"), other, "system")
    assert not same(system("a"), Request([{"role": "user", "content": "!"}], {}), "system")


@pytest.mark.parametrize("name", ["temperature", "seed", "top_k", "an_option_of_one_service"])
def test_an_option_is_left_out_by_its_name(name: str) -> None:
    """Any option of the request, and no other one."""
    one, other = (Request([QUESTION], {name: value, "max_tokens": 5}) for value in (1, 2))
    assert not same(one, other)
    assert same(one, other, name)
    assert not same(one, Request([QUESTION], {name: 1, "max_tokens": 6}), name)


def test_tools_are_left_out_with_the_choice_between_them() -> None:
    """Without tools there is no choice, so `tool_choice` goes along."""
    with_tools = Request([QUESTION], {"tools": offered(), "tool_choice": "auto"})
    assert same(with_tools, Request([QUESTION], {}), "tools")


def test_descriptions_are_left_out_and_names_are_not() -> None:
    """Of a tool and of its parameters, but no parameter that is called `description`."""
    one = Request([QUESTION], {"tools": offered("f", "Does.", q={"type": "string", "description": "What."})})
    other = Request(
        [QUESTION], {"tools": offered("f", "Works.", q={"type": "string", "description": "Who."})}
    )
    assert not same(one, other)
    assert same(one, other, "tool_descriptions")
    renamed = Request([QUESTION], {"tools": offered("g", "Does.", q={"type": "string"})})
    assert not same(one, renamed, "tool_descriptions")
    text, number = offered(), offered()
    for tools, kind in ((text, "string"), (number, "integer")):
        tools[0]["function"]["parameters"]["properties"] = {"description": {"type": kind}}
    assert not same(
        Request([QUESTION], {"tools": text}), Request([QUESTION], {"tools": number}), "tool_descriptions"
    )


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["messages"], "`tolerate` names fields of a request that may differ: system, tools"),
        (["messages[0]"], "or an option such as 'temperature'"),
        ([3], "got 3"),
        (["sytem"], "did you mean 'system'"),
        (["temprature"], "did you mean 'temperature'"),
        ("system", "must be a list of names, got the text 'system'"),
    ],
)
def test_what_cannot_be_tolerated_is_refused(names: Any, told: str) -> None:
    """Misspelt names, whole messages and a bare text, each with what to write."""
    with pytest.raises(ConfigurationError) as refused:
        tolerated(names)
    assert told in str(refused.value)
