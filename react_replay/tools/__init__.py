"""The tools that come with the package, and what makes a function a tool."""

from react_replay.tools.base import Tool, Toolbox, tool
from react_replay.tools.calculator import calculate, calculator
from react_replay.tools.clock import current_time, ticking
from react_replay.tools.date import get_current_date
from react_replay.tools.tables import (
    get_weather,
    lookup_fact,
    lookup_fact_tool,
    search,
    search_tool,
    weather_tool,
)

__all__ = [
    "BUILTIN",
    "Tool",
    "Toolbox",
    "calculate",
    "calculator",
    "current_time",
    "get_current_date",
    "get_weather",
    "lookup_fact",
    "lookup_fact_tool",
    "search",
    "search_tool",
    "ticking",
    "tool",
    "weather_tool",
]

BUILTIN: dict[str, Tool] = {
    item.name: item for item in (calculator, calculate, lookup_fact, search, get_weather, get_current_date)
}
"""Every tool of this package by name: what the command line's `--tools` takes."""
