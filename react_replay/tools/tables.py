"""Tools that look things up in a small table: facts, weather, search. Offline and deterministic.

Each is made by a function that takes another table: a mapping, or a JSON file of one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

from react_replay.errors import ConfigurationError
from react_replay.tools.base import Tool, tool

__all__ = [
    "Table",
    "get_weather",
    "lookup_fact",
    "lookup_fact_tool",
    "search",
    "search_tool",
    "weather_tool",
]

Table: TypeAlias = "Mapping[str, str] | str | Path"
"""Names to texts: a mapping, or the path of a JSON file that holds one."""

FACTS: Mapping[str, str] = {
    "台北人口": "2602000",
    "纽约人口": "8336000",
    "光速": "299792458",
    "Taipei population": "2602000",
    "New York population": "8336000",
    "speed of light": "299792458",
}

WEATHER: Mapping[str, str] = {
    "Beijing": "25°C",
    "Shanghai": "22°C",
    "New York": "15°C",
    "北京": "25°C",
    "上海": "22°C",
    "纽约": "15°C",
}

PAGES: Mapping[str, str] = {
    "苹果公司": "苹果公司（Apple Inc.）成立于 1976 年 4 月 1 日。",
    "珠穆朗玛峰": "珠穆朗玛峰的高度约为 8849 米。",
    "埃菲尔铁塔": "埃菲尔铁塔的高度约为 330 米。",
    "长江": "长江的长度约为 6300 公里。",
    "黄河": "黄河的长度约为 5464 公里。",
    "Apple": "Apple Inc. was founded on 1 April 1976.",
    "Mount Everest": "Mount Everest is about 8849 metres high.",
    "Eiffel Tower": "The Eiffel Tower is about 330 metres high.",
    "Yangtze": "The Yangtze is about 6300 kilometres long.",
    "Yellow River": "The Yellow River is about 5464 kilometres long.",
}


def _load(table: Table) -> Mapping[str, str]:
    """The mapping itself, or the one in a JSON file. Raises `ConfigurationError` where it is none."""
    if isinstance(table, Mapping):
        return table
    try:
        loaded = json.loads(Path(table).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the table {str(table)!r} cannot be read: {error}") from error
    if not isinstance(loaded, dict) or not all(isinstance(text, str) for text in loaded.values()):
        raise ConfigurationError(f"the table {str(table)!r} must be a JSON object of texts")
    return loaded


def _matching(table: Mapping[str, str], query: str) -> list[str]:
    """Keys that the query names or that name the query, longest first: the most specific wins."""
    wanted = query.casefold()
    found = [key for key in table if key.casefold() in wanted or (wanted and wanted in key.casefold())]
    return sorted(found, key=lambda key: (-len(key), key))


def lookup_fact_tool(table: Table = FACTS) -> Tool:
    """`lookup_fact` over another table."""
    facts = _load(table)

    def lookup_fact(query: Annotated[str, "what to look up, such as 台北人口"]) -> str:
        """Look up one fact by its keyword, such as a population or a physical constant. 查询一个事实。"""
        key = query.strip()
        return facts.get(key, f"unknown: {key}")

    return tool(lookup_fact)


def weather_tool(table: Table = WEATHER) -> Tool:
    """`get_weather` over another table."""
    weather = _load(table)

    def get_weather(city: Annotated[str, "the city's name, such as 北京"]) -> str:
        """Get the current weather of a city. 查询指定城市的天气。"""
        return weather.get(city.strip(), "未知城市无法查询天气")

    return tool(get_weather)


def search_tool(table: Table = PAGES) -> Tool:
    """`search` over another table."""
    pages = _load(table)

    def search(query: Annotated[str, "a few keywords"]) -> str:
        """Search an encyclopedia and return what it says of the keywords. 搜索百科资料。"""
        found = [pages[key] for key in _matching(pages, query.strip())]
        return "\n".join(dict.fromkeys(found)) or f"no result for: {query.strip()}"

    return tool(search)


lookup_fact = lookup_fact_tool()
get_weather = weather_tool()
search = search_tool()
