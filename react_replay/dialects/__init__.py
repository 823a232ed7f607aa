"""Placeholder until the text dialects land."""
from react_replay.dialects.base import *
def dialect(d):
    from react_replay.dialects.native import NativeDialect
    return NativeDialect() if d=="native" else d
