"""OpenAI's JSON to our values and back. Every vendor's quirk lives in this package and nowhere else.

`read_completion` takes a whole answer, `fold` the chunks of a stream; a `Provider` shapes what is sent. No
sockets, no files.
"""

from react_replay.wire.arguments import Arguments, dump_arguments, excerpt, read_arguments
from react_replay.wire.completion import completion_dict, read_completion, read_usage
from react_replay.wire.events import ChunkDecoder, EventDecoder, decode_events, encode_event
from react_replay.wire.exchange import Exchange
from react_replay.wire.provider import (
    DEEPSEEK,
    LOCAL,
    MISTRAL,
    NEUTRAL,
    OPENAI,
    PROVIDERS,
    Provider,
    provider_for,
)
from react_replay.wire.stream import StreamFold, fold, split_completion

__all__ = [
    "DEEPSEEK",
    "LOCAL",
    "MISTRAL",
    "NEUTRAL",
    "OPENAI",
    "PROVIDERS",
    "Arguments",
    "ChunkDecoder",
    "EventDecoder",
    "Exchange",
    "Provider",
    "StreamFold",
    "completion_dict",
    "decode_events",
    "dump_arguments",
    "encode_event",
    "excerpt",
    "fold",
    "provider_for",
    "read_arguments",
    "read_completion",
    "read_usage",
    "split_completion",
]
