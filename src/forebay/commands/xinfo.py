"""XINFO: what a stream, its groups and their consumers look like inside.

    XINFO STREAM key [FULL [COUNT n]]
    XINFO GROUPS key
    XINFO CONSUMERS key group

A map at every level for a RESP3 client, the same as flat arrays for RESP2.
The key is looked up before the options are read.
"""

from __future__ import annotations

from forebay.commands import emit
from forebay.commands.args import Args
from forebay.commands.context import Context
from forebay.commands.spec import LOADING, READONLY, STALE, Command, Keys
from forebay.commands.stream_args import bad_subcommand, no_such_group
from forebay.core.group import Consumer, Group, lag
from forebay.core.stream import Stream
from forebay.errors import NO_SUCH_KEY, CommandError
from forebay.wire.argv import Argv
from forebay.wire.reply import Reply

KEY = 2
OPTIONS = 3
# How much of each list FULL shows unless COUNT says otherwise.
DEFAULT_COUNT = 10
COMMON_FIELDS = 13
NEVER = -1


def xinfo_stream(ctx: Context, argv: Argv) -> None:
    """The stream in numbers, with its ends; or with entries, groups and pending entries."""
    stream = _stream(ctx, argv)
    full, count = _full_and_count(argv)
    out = ctx.out
    out.map(COMMON_FIELDS + (2 if full else 3))
    _common(out, stream)
    if full:
        out.bulk(b"entries")
        emit.range_reply(out, stream, 0, 0, U64_MAX, U64_MAX, count, False)
        out.bulk(b"groups")
        groups = stream.groups.values()
        out.array(len(groups))
        for group in groups:
            _full_group(out, stream, group, count)
        return
    _number(out, b"groups", stream.groups.count)
    out.bulk(b"first-entry")
    _entry_or_null(out, stream, stream.first_live())
    out.bulk(b"last-entry")
    _entry_or_null(out, stream, stream.last_live())
