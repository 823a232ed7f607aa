"""OpenAI's JSON to our values and back. Every vendor's quirk lives in this package and nowhere else.

`read_completion` takes a whole answer, `fold` the chunks of a stream. No sockets, no files.
"""

from react_replay.wire.arguments import Arguments, dump_arguments, excerpt, read_arguments
from react_replay.wire.completion import completion_dict, read_completion, read_usage
from react_replay.wire.exchange import Exchange
from react_replay.wire.stream import (
    EventDecoder,
    StreamFold,
    decode_events,
    encode_event,
    fold,
    split_completion,
)

__all__ = [
    "Arguments",
    "EventDecoder",
    "Exchange",
    "StreamFold",
    "completion_dict",
    "decode_events",
    "dump_arguments",
    "encode_event",
    "excerpt",
    "fold",
    "read_arguments",
    "read_completion",
    "read_usage",
    "split_completion",
]
