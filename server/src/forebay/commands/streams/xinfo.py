"""XINFO: details of a stream, its groups and their consumers.

    XINFO STREAM key [FULL [COUNT n]]
    XINFO GROUPS key
    XINFO CONSUMERS key group

    STREAM {length, ..., groups: 2, first-entry, last-entry}
    FULL   {length, ..., entries: [...], groups: [{name, ..., pending: [[id, consumer, time, n]],
                                           consumers: [{name, ..., pending: [[id, time, n]]}]}]}

RESP3 clients get a map at every level, RESP2 clients the same as flat arrays.  Groups and
consumers are in the order of their names.  The key is looked up before the options are read.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.streams import entry_writer
from forebay.commands.streams.parsing import no_such_group
from forebay.core.cursor import Cursor
from forebay.core.group import Consumer, Group, lag
from forebay.core.layout import NEVER
from forebay.core.stream import Stream
from forebay.errors import NO_SUCH_KEY, NOT_AN_INTEGER, CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

KEY, GROUP = 2, 3
# "XINFO STREAM key", then with "FULL", then with "COUNT n".
SHORT_ARGS, FULL_ARGS, COUNT_ARGS = 3, 4, 6
# How many items of each list FULL shows without COUNT.
DEFAULT_COUNT = 10
COMMON_FIELDS = 13
TWO_TO_64 = 1 << 64
# COUNT 0; more than any list can hold.
EVERYTHING = mem.I64_MAX


def xinfo_stream(ctx: Context, argv: Argv) -> None:
    """The counters of a stream, with its ends; or with entries, groups and pending entries."""
    stream = _stream(ctx, argv)
    count = _full_count(argv)
    out = ctx.reply
    if count is None:
        out.map(COMMON_FIELDS + 3)
        _common(out, stream)
        _number(out, b"groups", stream.groups.count)
        _end_entry(out, b"first-entry", stream, False)
        _end_entry(out, b"last-entry", stream, True)
        return
    out.map(COMMON_FIELDS + 2)
    _common(out, stream)
    out.bulk(b"entries")
    entry_writer.entries(out, _all_entries(stream, False), count, min(count, stream.length))
    out.bulk(b"groups")
    out.array(stream.groups.count)
    for group in stream.groups.values():
        _full_group(out, stream, group, count)


def xinfo_groups(ctx: Context, argv: Argv) -> None:
    """The groups of a stream and their progress."""
    stream = _stream(ctx, argv)
    out = ctx.reply
    out.array(stream.groups.count)
    for group in stream.groups.values():
        out.map(6)
        _name(out, group.name)
        _number(out, b"consumers", group.consumers.count)
        _number(out, b"pending", group.pending.count)
        _progress(out, stream, group)


def xinfo_consumers(ctx: Context, argv: Argv) -> None:
    """The consumers of a group and their idle times."""
    stream = _stream(ctx, argv)
    group: Group | None = stream.groups.find(argv[GROUP])
    if group is None:
        raise no_such_group(argv[KEY], argv[GROUP])
    out = ctx.reply
    out.array(group.consumers.count)
    for consumer in group.consumers.values():
        out.map(4)
        _name(out, consumer.name)
        _number(out, b"pending", consumer.pending)
        _number(out, b"idle", max(ctx.now_ms - consumer.seen_ms, 0))
        inactive_ms = ctx.now_ms - consumer.active_ms
        _number(out, b"inactive", NEVER if consumer.active_ms == NEVER else max(inactive_ms, 0))


def _stream(ctx: Context, argv: Argv) -> Stream:
    stream = ctx.read_stream(argv, KEY).stream
    if stream is None:
        raise CommandError(NO_SUCH_KEY)
    return stream


def _full_count(argv: Argv) -> int | None:
    """How many items FULL shows of each list; None for the short form."""
    if len(argv) == SHORT_ARGS:
        return None
    if len(argv) not in (FULL_ARGS, COUNT_ARGS) or not argv.word(3, b"FULL"):
        raise bad_subcommand(argv)
    if len(argv) == FULL_ARGS:
        return DEFAULT_COUNT
    if not argv.word(4, b"COUNT"):
        raise bad_subcommand(argv)
    ok, count = argv.integer(5)
    if not ok:
        raise CommandError(NOT_AN_INTEGER)
    if count < 0:
        return DEFAULT_COUNT
    return count if count > 0 else EVERYTHING


def _name(out: RespWriter, name: bytes) -> None:
    out.bulk(b"name")
    out.bulk(name)


def _number(out: RespWriter, field: bytes, value: int | None) -> None:
    out.bulk(field)
    if value is None:
        out.null()
    else:
        # A dump may hold a counter beyond the largest signed number; Redis wraps it, too.
        out.integer(value if value <= mem.I64_MAX else value - TWO_TO_64)


def _id(out: RespWriter, field: bytes, ms: int, seq: int) -> None:
    out.bulk(field)
    out.stream_id(ms, seq)


def _common(out: RespWriter, stream: Stream) -> None:
    """The first fields of both forms of STREAM."""
    _number(out, b"length", stream.length)
    _number(out, b"radix-tree-keys", stream.nodes.count)
    _number(out, b"radix-tree-nodes", stream.nodes.node_count)
    _id(out, b"last-generated-id", stream.last_ms, stream.last_seq)
    _id(out, b"max-deleted-entry-id", stream.maxdel_ms, stream.maxdel_seq)
    _number(out, b"entries-added", stream.entries_added)
    _id(out, b"recorded-first-entry-id", stream.first_ms, stream.first_seq)
    _number(out, b"idmp-duration", stream.idmp_duration_s)
    _number(out, b"idmp-maxsize", stream.idmp_maxsize)
    _number(out, b"pids-tracked", 0 if stream.idmp is None else stream.idmp.pids)
    _number(out, b"iids-tracked", 0 if stream.idmp is None else stream.idmp.iids)
    _number(out, b"iids-added", stream.iids_added)
    _number(out, b"iids-duplicates", stream.iids_duplicates)


def _all_entries(stream: Stream, reverse: bool) -> Cursor:
    cursor = stream.cursor()
    cursor.open(0, 0, mem.U64_MAX, mem.U64_MAX, reverse)
    return cursor


def _end_entry(out: RespWriter, field: bytes, stream: Stream, reverse: bool) -> None:
    """The first entry, or the last; null in an empty stream."""
    out.bulk(field)
    cursor = _all_entries(stream, reverse)
    if cursor.next():
        entry_writer.entry(out, cursor, 2)
    else:
        out.null()


def _progress(out: RespWriter, stream: Stream, group: Group) -> None:
    """The progress of a group; an unknown count is null."""
    _id(out, b"last-delivered-id", group.last_ms, group.last_seq)
    _number(out, b"entries-read", None if group.entries_read < 0 else group.entries_read)
    _number(out, b"lag", lag(stream, group))


def _full_group(out: RespWriter, stream: Stream, group: Group, count: int) -> None:
    out.map(8)
    _name(out, group.name)
    _progress(out, stream, group)
    _number(out, b"pel-count", group.pending.count)
    _number(out, b"nacked-count", group.pending.nacked)
    _pending(out, group, None, count)
    out.bulk(b"consumers")
    out.array(group.consumers.count)
    for consumer in group.consumers.values():
        out.map(5)
        _name(out, consumer.name)
        _number(out, b"seen-time", consumer.seen_ms)
        _number(out, b"active-time", consumer.active_ms)
        _number(out, b"pel-count", consumer.pending)
        _pending(out, group, consumer, count)


def _pending(out: RespWriter, group: Group, consumer: Consumer | None, count: int) -> None:
    """The records of a group, each with its owner; or those of one consumer."""
    view = group.pending.by_id if consumer is None else consumer.view
    records = group.pending
    out.bulk(b"pending")
    shown = min(count, view.count)
    out.array(shown)
    slot = view.first()
    for _ in range(shown):
        out.array(4 if consumer is None else 3)
        out.stream_id(records.id_ms(slot), records.id_seq(slot))
        if consumer is None:
            out.bulk(group.owner_name(slot))
        out.integer(records.time_ms(slot))
        out.integer(records.deliveries(slot))
        slot = view.after(slot)


_HELP = """
CONSUMERS <key> <groupname>
    Show consumers of <groupname>.
GROUPS <key>
    Show the stream consumer groups.
STREAM <key> [FULL [COUNT <count>]
    Show information about the stream.
"""
_CATEGORIES = "@read @stream @slow"
_KEY = Keys(2, 2, 1, "RO ACCESS")

ROWS = [
    Command(
        name="xinfo",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="5.0.0",
        summary="Shows a stream, its groups and their consumers.",
        group="stream",
        subcommands=[
            Command(
                name="stream",
                handler=xinfo_stream,
                arity=-3,
                flags=READONLY,
                categories=_CATEGORIES,
                keys=_KEY,
                since="5.0.0",
                summary="Shows the counters and the ends of a stream, or all of it.",
                group="stream",
                syntax="key [FULL [COUNT count]]",
            ),
            Command(
                name="groups",
                handler=xinfo_groups,
                arity=3,
                flags=READONLY,
                categories=_CATEGORIES,
                keys=_KEY,
                since="5.0.0",
                summary="Lists the consumer groups of a stream.",
                group="stream",
                syntax="key",
            ),
            Command(
                name="consumers",
                handler=xinfo_consumers,
                arity=4,
                flags=READONLY,
                categories=_CATEGORIES,
                keys=_KEY,
                since="5.0.0",
                summary="Lists the consumers of a group.",
                group="stream",
                syntax="key group",
            ),
            help_row(
                container="xinfo",
                text=_HELP,
                since="5.0.0",
                group="stream",
                categories="@stream @slow",
            ),
        ],
    )
]
