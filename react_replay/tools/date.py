"""The date tool of article 003. Its time comes from `clock`, so that a replay sees the recording's."""

from __future__ import annotations

from react_replay.tools.base import tool
from react_replay.tools.clock import current_time

__all__ = ["get_current_date"]


@tool
def get_current_date() -> str:
    """Get the current local date and time, as YYYY-MM-DD HH:MM:SS. 获取当前日期和时间。"""
    return current_time().strftime("%Y-%m-%d %H:%M:%S")
