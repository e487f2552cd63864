"""Error replies that many commands share, as EngineClient returns them."""

from __future__ import annotations

from testkit.engine_client import ReplyError

BAD_ID = ReplyError("ERR Invalid stream ID specified as stream command argument")
BAD_NUMIDS = ReplyError("ERR Number of IDs must be a positive integer")
BOTH_STRATEGIES = ReplyError(
    "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
)
LIMIT_ALONE = ReplyError(
    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
)
LIMIT_EXACT = ReplyError("ERR syntax error, LIMIT cannot be used without the special ~ option")
MISMATCH = ReplyError("ERR The `numids` parameter must match the number of arguments")
NOT_AN_INTEGER = ReplyError("ERR value is not an integer or out of range")
NO_SUCH_KEY = ReplyError("ERR no such key")
SYNTAX = ReplyError("ERR syntax error")
WRONGTYPE = ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value")
