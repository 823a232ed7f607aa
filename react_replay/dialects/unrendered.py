"""Messages that a dialect rendered, read back as the texts of the observations. Pure.

It asks the dialect itself how it renders, so a dialect need not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from react_replay.dialects.base import Dialect
from react_replay.messages import Message, Observation, ToolCall

__all__ = ["observed"]


def observed(dialect: Dialect, calls: Sequence[ToolCall], messages: Sequence[Message]) -> list[str] | None:
    """The text of each call's observation; None where the messages are no rendering of so many.

    Observations that a dialect joins in one message are told apart by what it writes between them.
    """
    marks = [f"\0{number}\0" for number in range(len(calls))]
    seen = [Observation(call=call, text=mark) for call, mark in zip(calls, marks, strict=True)]
    frames = dialect.render(seen)
    texts: list[str] = []
    if len(frames) > len(messages):
        return None
    for frame, message in zip(frames, messages, strict=False):
        shape, content = frame.get("content"), message.get("content")
        if not (isinstance(shape, str) and isinstance(content, str)) or frame["role"] != message.get("role"):
            return None
        own = [mark for mark in marks if mark in shape]
        for mark in own:
            before, _, shape = shape.partition(mark)
            if not content.startswith(before):
                return None
            content = content[len(before) :]
            follows = shape.partition("\0")[0]
            end = content.find(follows) if follows and mark != own[-1] else len(content) - len(follows)
            if end < 0 or not content.startswith(follows, end):
                return None
            texts.append(content[:end])
            content = content[end:]
    return texts if len(texts) == len(calls) else None
