"""XGROUP: create, change and delete consumer groups and their consumers.

    XGROUP CREATE key group <id|$> [MKSTREAM] [ENTRIESREAD n]
    XGROUP SETID key group <id|$> [ENTRIESREAD n]
    XGROUP DESTROY key group
    XGROUP CREATECONSUMER key group consumer
    XGROUP DELCONSUMER key group consumer

Rules
  1. The order of checks: options, type of the key, key, group, number of
     arguments, ID.
  2. A group is not an entry: its changes are recorded in the AOF and raise an
     event, but do not break a WATCH of the key.
  3. DESTROY wakes clients that are blocked in the group; they get an error.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.notify_flags import NOTIFY_STREAM
from forebay.commands.api.spec import DENYOOM, WRITE, Command, Keys
from forebay.commands.streams.parsing import no_such_group, strict_id
from forebay.commands.streams.xadd import create, new_stream
from forebay.core import ids
from forebay.core.group import Group
from forebay.core.layout import UNKNOWN
from forebay.core.stream import Stream
from forebay.errors import INVALID_ID, CommandError
from forebay.wire.argv import Argv

KEY, GROUP, ID, CONSUMER = 2, 3, 4, 4
OPTIONS = 5
MOST_CREATE_ARGS = 8
SETID_ARGS = (5, 7)
#: The value of entries-read while the server does not know it.

KEY_REQUIRED = (
    b"ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to"
    b" use the MKSTREAM option to create an empty stream automatically."
)
BUSYGROUP = b"BUSYGROUP Consumer Group name already exists"
BAD_ENTRIES_READ = b"ERR value for ENTRIESREAD must be positive or -1"


def xgroup_create(ctx: Context, argv: Argv) -> None:
    """Create a group, and the stream with MKSTREAM."""
    mkstream, entries_read = _options(argv, may_make_stream=True)
    stream = ctx.find_stream(argv, KEY).stream
    if stream is None and not mkstream:
        raise CommandError(KEY_REQUIRED)
    if len(argv) > MOST_CREATE_ARGS:
        raise bad_subcommand(argv)
    if not argv.same(ID, b"$"):
        ms, seq = strict_id(argv, ID)
    else:
        ms, seq = (stream.last_ms, stream.last_seq) if stream is not None else (0, 0)
    if stream is None:
        stream = new_stream(ctx)
        create(ctx, argv[KEY], stream)
    name = argv[GROUP]
    if stream.groups.find(name) is not None:
        raise CommandError(BUSYGROUP)
    stream.groups.insert(name, Group(name, ms, seq, min(entries_read, stream.entries_added)))
    _changed(ctx, argv, b"xgroup-create")
    ctx.reply.ok()


def xgroup_setid(ctx: Context, argv: Argv) -> None:
    """Move a group to another place in the stream; pending entries stay pending."""
    _, entries_read = _options(argv, may_make_stream=False)
    stream, group = _stream_and_group(ctx, argv)
    if len(argv) not in SETID_ARGS:
        raise bad_subcommand(argv)
    if argv.same(ID, b"$"):
        ms, seq = stream.last_ms, stream.last_seq
    else:
        raw = argv[ID]
        ok, ms, seq = ids.parse_bound(raw, 0, len(raw), 0)
        if not ok:
            raise CommandError(INVALID_ID)
    group.last_ms = ms
    group.last_seq = seq
    group.entries_read = min(entries_read, stream.entries_added)
    _changed(ctx, argv, b"xgroup-setid")
    ctx.reply.ok()


def xgroup_destroy(ctx: Context, argv: Argv) -> None:
    """Remove a group with all its pending entries."""
    stream = _stream(ctx, argv)
    if not stream.groups.remove(argv[GROUP]):
        ctx.reply.integer(0)
        return
    _changed(ctx, argv, b"xgroup-destroy")
    ctx.db.signal(argv[KEY])
    ctx.reply.integer(1)


def xgroup_createconsumer(ctx: Context, argv: Argv) -> None:
    """Create a consumer that has read nothing yet."""
    _, group = _stream_and_group(ctx, argv)
    if group.consumer(argv[CONSUMER]) is not None:
        ctx.reply.integer(0)
        return
    group.create_consumer(argv[CONSUMER], ctx.now_ms)
    _changed(ctx, argv, b"xgroup-createconsumer")
    ctx.reply.integer(1)


def xgroup_delconsumer(ctx: Context, argv: Argv) -> None:
    """Remove a consumer with its pending entries."""
    _, group = _stream_and_group(ctx, argv)
    if group.consumer(argv[CONSUMER]) is None:
        ctx.reply.integer(0)
        return
    dropped = group.delete_consumer(argv[CONSUMER])
    _changed(ctx, argv, b"xgroup-delconsumer")
    ctx.reply.integer(dropped)


def _options(argv: Argv, may_make_stream: bool) -> tuple[bool, int]:
    """The options after the ID: (MKSTREAM, ENTRIESREAD)."""
    mkstream, entries_read = False, UNKNOWN
    args = Args(argv, OPTIONS)
    while args.more():
        if may_make_stream and args.word(b"MKSTREAM"):
            mkstream = True
        elif args.left() > 1 and args.word(b"ENTRIESREAD"):
            entries_read = args.integer()
            if entries_read < UNKNOWN:
                raise CommandError(BAD_ENTRIES_READ)
        else:
            raise bad_subcommand(argv)
    return mkstream, entries_read


def _stream(ctx: Context, argv: Argv) -> Stream:
    stream = ctx.find_stream(argv, KEY).stream
    if stream is None:
        raise CommandError(KEY_REQUIRED)
    return stream


def _stream_and_group(ctx: Context, argv: Argv) -> tuple[Stream, Group]:
    stream = _stream(ctx, argv)
    group: Group | None = stream.groups.find(argv[GROUP])
    if group is None:
        raise no_such_group(argv[KEY], argv[GROUP])
    return stream, group


def _changed(ctx: Context, argv: Argv, event: bytes) -> None:
    """The group changed: record the command as received, publish the event."""
    ctx.effects.record_call(argv)
    ctx.notify(NOTIFY_STREAM, event, argv[KEY])


_HELP = """
CREATE <key> <groupname> <id|$> [option]
    Create a new consumer group. Options are:
    * MKSTREAM
      Create the empty stream if it does not exist.
    * ENTRIESREAD entries_read
      Set the group's entries_read counter (internal use).
CREATECONSUMER <key> <groupname> <consumer>
    Create a new consumer in the specified group.
DELCONSUMER <key> <groupname> <consumer>
    Remove the specified consumer.
DESTROY <key> <groupname>
    Remove the specified group.
SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]
    Set the current group ID and entries_read counter.
"""
_CATEGORIES = "@write @stream @slow"

ROWS = [
    Command(
        name="xgroup",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="5.0.0",
        summary="Adds, changes and removes consumer groups.",
        group="stream",
        subcommands=[
            Command(
                name="create",
                handler=xgroup_create,
                arity=-5,
                flags=WRITE | DENYOOM,
                categories=_CATEGORIES,
                keys=Keys(2, 2, 1, "RW INSERT"),
                since="5.0.0",
                summary="Adds a consumer group to a stream.",
                group="stream",
                syntax="key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
            ),
            Command(
                name="setid",
                handler=xgroup_setid,
                arity=-5,
                flags=WRITE,
                categories=_CATEGORIES,
                keys=Keys(2, 2, 1, "RW UPDATE"),
                since="5.0.0",
                summary="Moves a consumer group to another place in its stream.",
                group="stream",
                syntax="key group <id | $> [ENTRIESREAD entries-read]",
            ),
            Command(
                name="destroy",
                handler=xgroup_destroy,
                arity=4,
                flags=WRITE,
                categories=_CATEGORIES,
                keys=Keys(2, 2, 1, "RW DELETE"),
                since="5.0.0",
                summary="Removes a consumer group with its pending entries.",
                group="stream",
                syntax="key group",
            ),
            Command(
                name="createconsumer",
                handler=xgroup_createconsumer,
                arity=5,
                flags=WRITE | DENYOOM,
                categories=_CATEGORIES,
                keys=Keys(2, 2, 1, "RW INSERT"),
                since="6.2.0",
                summary="Adds a consumer to a group.",
                group="stream",
                syntax="key group consumer",
            ),
            Command(
                name="delconsumer",
                handler=xgroup_delconsumer,
                arity=5,
                flags=WRITE,
                categories=_CATEGORIES,
                keys=Keys(2, 2, 1, "RW DELETE"),
                since="5.0.0",
                summary="Removes a consumer with its pending entries.",
                group="stream",
                syntax="key group consumer",
            ),
            help_row(
                container="xgroup",
                text=_HELP,
                since="5.0.0",
                group="stream",
                categories="@stream @slow",
            ),
        ],
    )
]
