"""XGROUP: consumer groups and their consumers, by hand.

    XGROUP CREATE key group <id|$> [MKSTREAM] [ENTRIESREAD n]
    XGROUP SETID key group <id|$> [ENTRIESREAD n]
    XGROUP DESTROY key group
    XGROUP CREATECONSUMER key group consumer
    XGROUP DELCONSUMER key group consumer

Rules
  1. Checks go in this order: options, type of the key, key, group, number of
     arguments, ID.
  2. A group is not an entry: its changes go to the log and raise an event, but
     do not disturb who WATCHes the key.
  3. DESTROY wakes whoever is blocked in the group, to be told that it is gone.
"""

from __future__ import annotations

from forebay.commands.args import Args
from forebay.commands.context import Context
from forebay.commands.notify_flags import NOTIFY_STREAM
from forebay.commands.spec import DENYOOM, LOADING, STALE, WRITE, Command, Keys
from forebay.commands.stream_args import bad_subcommand, no_such_group, strict_id
from forebay.core import ids
from forebay.core.group import Group
from forebay.core.stream import Stream
from forebay.errors import INVALID_ID, CommandError
from forebay.wire.argv import Argv

KEY, GROUP, ID, CONSUMER = 2, 3, 4, 4
OPTIONS = 5
MOST_CREATE_ARGS = 8
SETID_ARGS = (5, 7)
#: What entries-read holds while the server cannot know it.
UNKNOWN = -1

KEY_REQUIRED = (
    b"ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to"
    b" use the MKSTREAM option to create an empty stream automatically."
)
BUSYGROUP = b"BUSYGROUP Consumer Group name already exists"
BAD_ENTRIES_READ = b"ERR value for ENTRIESREAD must be positive or -1"


def xgroup_create(ctx: Context, argv: Argv) -> None:
    """Create a group, and the stream with MKSTREAM."""
    mkstream, entries_read = _options(argv, may_make_stream=True)
    stream = ctx.stream_at(argv, KEY)
    if stream is None and not mkstream:
        raise CommandError(KEY_REQUIRED)
    if len(argv) > MOST_CREATE_ARGS:
        raise bad_subcommand(argv)
    if not argv.same(ID, b"$"):
        ms, seq = strict_id(argv, ID)
    else:
        ms, seq = (stream.last_ms, stream.last_seq) if stream is not None else (0, 0)
    if stream is None:
        stream = ctx.create_stream(argv[KEY])
    name = argv[GROUP]
    if stream.groups.find(name) is not None:
        raise CommandError(BUSYGROUP)
    stream.groups.insert(name, Group(name, ms, seq, min(entries_read, stream.entries_added)))
    _changed(ctx, argv, b"xgroup-create")
    ctx.out.ok()


def xgroup_setid(ctx: Context, argv: Argv) -> None:
    """Move a group to another place in the stream; what is pending stays pending."""
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
    ctx.out.ok()


def xgroup_destroy(ctx: Context, argv: Argv) -> None:
    """Remove a group with all that is pending in it."""
    stream = _stream(ctx, argv)
    if not stream.groups.remove(argv[GROUP]):
        ctx.out.integer(0)
        return
    _changed(ctx, argv, b"xgroup-destroy")
    ctx.db.signal(argv[KEY])
    ctx.out.integer(1)


def xgroup_createconsumer(ctx: Context, argv: Argv) -> None:
    """Create a consumer that has read nothing yet."""
    _, group = _stream_and_group(ctx, argv)
    if group.consumer(argv[CONSUMER]) is not None:
        ctx.out.integer(0)
        return
    group.create_consumer(argv[CONSUMER], ctx.now_ms)
    _changed(ctx, argv, b"xgroup-createconsumer")
    ctx.out.integer(1)


def xgroup_delconsumer(ctx: Context, argv: Argv) -> None:
    """Remove a consumer and forget what is pending for it."""
    _, group = _stream_and_group(ctx, argv)
    if group.consumer(argv[CONSUMER]) is None:
        ctx.out.integer(0)
        return
    dropped = group.delete_consumer(argv[CONSUMER])
    _changed(ctx, argv, b"xgroup-delconsumer")
    ctx.out.integer(dropped)


def xgroup_help(ctx: Context, argv: Argv) -> None:
    """The forms of XGROUP as lines of text."""
    ctx.out.array(len(HELP))
    for line in HELP:
        ctx.out.status(line)


def _options(argv: Argv, may_make_stream: bool) -> tuple[bool, int]:
    """What stands behind the ID: (MKSTREAM, ENTRIESREAD)."""
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
    stream = ctx.stream_at(argv, KEY)
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
    """The group changed: log the command as it came, tell who listens."""
    ctx.propagate(argv)
    ctx.notify(NOTIFY_STREAM, event, argv[KEY])


HELP = (
    b"XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    b"CREATE <key> <groupname> <id|$> [option]",
    b"    Create a new consumer group. Options are:",
    b"    * MKSTREAM",
    b"      Create the empty stream if it does not exist.",
    b"    * ENTRIESREAD entries_read",
    b"      Set the group's entries_read counter (internal use).",
    b"CREATECONSUMER <key> <groupname> <consumer>",
    b"    Create a new consumer in the specified group.",
    b"DELCONSUMER <key> <groupname> <consumer>",
    b"    Remove the specified consumer.",
    b"DESTROY <key> <groupname>",
    b"    Remove the specified group.",
    b"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
    b"    Set the current group ID and entries_read counter.",
    b"HELP",
    b"    Print this help.",
)

_SUBCOMMANDS = [
    Command(
        "create",
        xgroup_create,
        -5,
        WRITE | DENYOOM,
        "write stream slow",
        Keys(2, 2, 1, "RW INSERT"),
        "5.0.0",
        "Creates a consumer group.",
        "stream",
        "XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
    ),
    Command(
        "setid",
        xgroup_setid,
        -5,
        WRITE,
        "write stream slow",
        Keys(2, 2, 1, "RW UPDATE"),
        "5.0.0",
        "Sets the last-delivered ID of a consumer group.",
        "stream",
        "XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]",
    ),
    Command(
        "destroy",
        xgroup_destroy,
        4,
        WRITE,
        "write stream slow",
        Keys(2, 2, 1, "RW DELETE"),
        "5.0.0",
        "Destroys a consumer group.",
        "stream",
        "XGROUP DESTROY key group",
    ),
    Command(
        "createconsumer",
        xgroup_createconsumer,
        5,
        WRITE | DENYOOM,
        "write stream slow",
        Keys(2, 2, 1, "RW INSERT"),
        "6.2.0",
        "Creates a consumer in a consumer group.",
        "stream",
        "XGROUP CREATECONSUMER key group consumer",
    ),
    Command(
        "delconsumer",
        xgroup_delconsumer,
        5,
        WRITE,
        "write stream slow",
        Keys(2, 2, 1, "RW DELETE"),
        "5.0.0",
        "Deletes a consumer from a consumer group.",
        "stream",
        "XGROUP DELCONSUMER key group consumer",
    ),
    Command(
        "help",
        xgroup_help,
        2,
        LOADING | STALE,
        "stream slow",
        since="5.0.0",
        summary="Returns helpful text about the different subcommands.",
        group="stream",
        syntax="XGROUP HELP",
    ),
]

ROWS = [
    Command(
        "xgroup",
        None,
        -2,
        0,
        "slow",
        since="5.0.0",
        summary="A container for consumer groups commands.",
        group="stream",
        subcommands=_SUBCOMMANDS,
    )
]
