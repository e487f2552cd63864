"""XSETID: set a stream's last ID and its counters, when commands rebuild a stream.

    XSETID key last-id [ENTRIESADDED n] [MAXDELETEDID id]

Values that contradict the existing entries are refused.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import DENYOOM, FAST, WRITE, Command, Keys
from forebay.commands.streams.parsing import integer, strict_id
from forebay.core import ids
from forebay.core.stream import Stream
from forebay.errors import NO_SUCH_KEY, SYNTAX, CommandError
from forebay.wire.argv import Argv


def xsetid(ctx: Context, argv: Argv) -> None:
    """Set a stream's last ID and counters, as the AOF does when it rebuilds one."""
    ms, seq = strict_id(argv, 2)
    entries_added = -1
    maxdel_ms = maxdel_seq = 0
    i = 3
    while i < argv.n:
        if i + 1 < argv.n and argv.word(i, b"ENTRIESADDED"):
            entries_added = integer(argv, i + 1)
            if entries_added < 0:
                raise CommandError(b"ERR entries_added must be positive")
        elif i + 1 < argv.n and argv.word(i, b"MAXDELETEDID"):
            maxdel_ms, maxdel_seq = strict_id(argv, i + 1)
            if ids.before(ms, seq, maxdel_ms, maxdel_seq):
                raise CommandError(
                    b"ERR The ID specified in XSETID is smaller than the provided "
                    b"max_deleted_entry_id"
                )
        else:
            raise CommandError(SYNTAX)
        i += 2
    found = ctx.find_stream(argv, 1)
    stream = found.stream
    if stream is None:
        raise CommandError(NO_SUCH_KEY)
    check_set_id(stream, ms, seq, entries_added)
    stream.last_ms = ms
    stream.last_seq = seq
    if entries_added != -1:
        stream.entries_added = entries_added
    if maxdel_ms != 0 or maxdel_seq != 0:
        stream.maxdel_ms = maxdel_ms
        stream.maxdel_seq = maxdel_seq
    ctx.reply.ok()
    ctx.effects.record_call(argv)
    ctx.notify(NOTIFY_STREAM, b"xsetid", found.key)


def check_set_id(stream: Stream, ms: int, seq: int, entries_added: int) -> None:
    """Whether XSETID would contradict the existing entries."""
    if ids.before(ms, seq, stream.maxdel_ms, stream.maxdel_seq):
        raise CommandError(
            b"ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
        )
    if stream.length == 0:
        return
    _, top_ms, top_seq = stream.last_live()
    if ids.before(ms, seq, top_ms, top_seq):
        raise CommandError(
            b"ERR The ID specified in XSETID is smaller than the target stream top item"
        )
    if entries_added != -1 and stream.length > mem.wrap(entries_added):
        raise CommandError(
            b"ERR The entries_added specified in XSETID is smaller than the target stream length"
        )


ROWS = [
    Command(
        name="xsetid",
        handler=xsetid,
        arity=-3,
        flags=WRITE | DENYOOM | FAST,
        categories="@write @stream @fast",
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="5.0.0",
        summary="Sets the last ID of a stream; replicas and the AOF need it.",
        group="stream",
        syntax="key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
    ),
]
