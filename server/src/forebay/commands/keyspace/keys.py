"""Commands on keys of any type: count, delete, rename, copy, move, flush.

Renaming, copying and moving share one function, `_place`: it puts a value at a
key, with its expiry time, and drops the old value.  The database itself
notifies clients that watch the old or the new key or wait on it.

A command that changed anything is propagated as received.  FLUSHALL and FLUSHDB
are always propagated, since a replica may hold keys that have expired here.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand
from forebay.commands.api.notify_flags import NOTIFY_GENERIC
from forebay.commands.api.spec import DENYOOM, FAST, NOSCRIPT, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.encodings import LAZY_EFFORT, free_effort
from forebay.commands.keyspace.value_ops import (
    DB_OUT_OF_RANGE,
    INT_MAX,
    INT_MIN,
    add,
    database_of,
    integer_of,
    lookup_in,
    overwritten,
    read,
    remove,
    type_name,
)
from forebay.commands.keyspace.value_ops import copy_value as copy_value
from forebay.core.keyspace import Database, Value
from forebay.errors import NO_SUCH_KEY, SYNTAX, CommandError
from forebay.wire.argv import Argv

SAME_OBJECT = b"ERR source and destination objects are the same"
FUNCTION_FLUSH_OPTION = b"ERR FUNCTION FLUSH only supports SYNC|ASYNC option"


# Looking


def dbsize(ctx: Context, argv: Argv) -> None:
    """DBSIZE: the number of keys, including expired keys that are not removed yet."""
    ctx.reply.integer(len(ctx.db))


def exists(ctx: Context, argv: Argv) -> None:
    """EXISTS key [key ...]: how many exist; a key named twice counts twice."""
    ctx.reply.integer(sum(read(ctx, argv[i]) is not None for i in range(1, len(argv))))


def type_(ctx: Context, argv: Argv) -> None:
    """TYPE key."""
    value = read(ctx, argv[1])
    ctx.reply.status(b"none" if value is None else type_name(value))


# Deleting


def delete(ctx: Context, argv: Argv) -> None:
    """DEL key [key ...]: how many existed."""
    _delete(ctx, argv, ctx.settings.lazyfree_lazy_user_del)


def unlink(ctx: Context, argv: Argv) -> None:
    """UNLINK key [key ...]: the same; large values are counted as Redis does."""
    _delete(ctx, argv, True)


def _delete(ctx: Context, argv: Argv, is_lazy: bool) -> None:
    """Count values that Redis would free in a thread; here they are freed at once."""
    count = 0
    for i in range(1, len(argv)):
        key = argv[i]
        value = ctx.lookup(key)
        if value is not None:
            if is_lazy and free_effort(value, ctx.settings) > LAZY_EFFORT:
                ctx.services.stats.lazyfreed_objects += 1
            remove(ctx, key)
            count += 1
    if count:
        ctx.effects.record_call(argv, count)
    ctx.reply.integer(count)


def flushall(ctx: Context, argv: Argv) -> None:
    """FLUSHALL [ASYNC|SYNC]."""
    _read_flush_mode(argv)
    _flush(ctx, argv, ctx.keyspace.databases)
    if ctx.settings.save_points and not ctx.session.is_replaying:
        # An old snapshot must not bring the flushed keys back.
        ctx.services.durability.save_flushed()
    ctx.reply.ok()


def flushdb(ctx: Context, argv: Argv) -> None:
    """FLUSHDB [ASYNC|SYNC]."""
    _read_flush_mode(argv)
    _flush(ctx, argv, [ctx.db])
    ctx.reply.ok()


def _flush(ctx: Context, argv: Argv, databases: list[Database]) -> None:
    count = sum(db.clear() for db in databases)
    ctx.services.tracking.flushed()
    ctx.services.stats.lazyfreed_objects += count
    ctx.effects.record_call(argv, count)


def _read_flush_mode(argv: Argv) -> None:
    """Both words mean the same here: everything is freed at once."""
    args = Args(argv)
    if args.more() and not (args.word(b"ASYNC") or args.word(b"SYNC")):
        raise CommandError(SYNTAX)
    args.done()


def function_flush(ctx: Context, argv: Argv) -> None:
    """FUNCTION FLUSH [ASYNC|SYNC]: there are no functions, so there is nothing to do."""
    args = Args(argv, 2)
    if args.left() > 1:
        raise bad_subcommand(argv)
    if args.more() and not (args.word(b"ASYNC") or args.word(b"SYNC")):
        raise CommandError(FUNCTION_FLUSH_OPTION)
    ctx.reply.ok()


# Renaming, copying, moving


def rename(ctx: Context, argv: Argv) -> None:
    """RENAME key newkey."""
    old, new = argv[1], argv[2]
    value = _must_lookup(ctx, old)
    if old != new:
        _rename(ctx, argv, value)
    ctx.reply.ok()


def renamenx(ctx: Context, argv: Argv) -> None:
    """RENAMENX key newkey: only if newkey does not exist."""
    value = _must_lookup(ctx, argv[1])
    if ctx.lookup(argv[2]) is not None:
        ctx.reply.integer(0)
        return
    _rename(ctx, argv, value)
    ctx.reply.integer(1)


def _must_lookup(ctx: Context, key: bytes) -> Value:
    value = ctx.lookup(key)
    if value is None:
        raise CommandError(NO_SUCH_KEY)
    return value


def _rename(ctx: Context, argv: Argv, value: Value) -> None:
    old, new = argv[1], argv[2]
    before = ctx.lookup(new)  # an expired key is removed as such, not overwritten
    _place(ctx, ctx.db, new, value, ctx.db.expires.get(old))
    ctx.delete(old)
    ctx.notify(NOTIFY_GENERIC, b"rename_from", old)
    ctx.notify(NOTIFY_GENERIC, b"rename_to", new)
    overwritten(ctx, new, before, value)
    ctx.effects.record_call(argv)


def _place(ctx: Context, db: Database, key: bytes, value: Value, when_ms: int | None) -> None:
    """Let the key hold this value, and nothing of its old state."""
    db.remove(key)
    add(ctx, key, value, db)
    if when_ms is not None:
        db.expire_at(key, when_ms)


def copy(ctx: Context, argv: Argv) -> None:
    """COPY source destination [DB index] [REPLACE]."""
    old, new = argv[1], argv[2]
    target, replace = _read_copy_options(ctx, Args(argv, 3))
    if target is ctx.db and old == new:
        raise CommandError(SAME_OBJECT)
    value = read(ctx, old)
    before = None if value is None else lookup_in(ctx, target, new)
    if value is None or (before is not None and not replace):
        ctx.reply.integer(0)
        return
    _place(ctx, target, new, copy_value(value), ctx.db.expires.get(old))
    ctx.notify_in(target, NOTIFY_GENERIC, b"copy_to", new)
    overwritten(ctx, new, before, value, target)
    ctx.effects.record_call(argv)
    ctx.reply.integer(1)


def _read_copy_options(ctx: Context, args: Args) -> tuple[Database, bool]:
    target, replace = ctx.db, False
    while args.more():
        if args.word(b"REPLACE"):
            replace = True
        elif args.word(b"DB"):
            target = database_of(ctx, args.next())
        else:
            raise CommandError(SYNTAX)
    return target, replace


def move(ctx: Context, argv: Argv) -> None:
    """MOVE key db: only if the other database has no such key."""
    key = argv[1]
    target = database_of(ctx, argv[2])
    if target is ctx.db:
        raise CommandError(SAME_OBJECT)
    value = ctx.lookup(key)
    if value is None or lookup_in(ctx, target, key) is not None:
        ctx.reply.integer(0)
        return
    _place(ctx, target, key, value, ctx.db.expires.get(key))
    ctx.delete(key)
    ctx.notify(NOTIFY_GENERIC, b"move_from", key)
    ctx.notify_in(target, NOTIFY_GENERIC, b"move_to", key)
    ctx.effects.record_call(argv)
    ctx.reply.integer(1)


def swapdb(ctx: Context, argv: Argv) -> None:
    """SWAPDB index index: the clients of each database see the keys of the other."""
    first = _swap_index(argv[1], b"ERR invalid first DB index")
    second = _swap_index(argv[2], b"ERR invalid second DB index")
    databases = ctx.keyspace.databases
    if not (0 <= first < len(databases) and 0 <= second < len(databases)):
        raise CommandError(DB_OUT_OF_RANGE)
    if first != second:
        databases[first].exchange(databases[second], ctx.now_ms)
    ctx.effects.record_call(argv)
    ctx.reply.ok()


def _swap_index(text: bytes, error: bytes) -> int:
    index = integer_of(text, error)
    if not INT_MIN <= index <= INT_MAX:
        raise CommandError(error)
    return index


_ONE_KEY = Keys(1, 1, 1, "RO")
_ALL_KEYS = Keys(1, -1, 1, "RO")
_DELETED = Keys(1, -1, 1, "RM DELETE")
_DANGEROUS = "@keyspace @write @slow @dangerous"

ROWS = [
    Command(
        name="dbsize",
        handler=dbsize,
        arity=1,
        flags=READONLY | FAST,
        categories="@keyspace @read @fast",
        since="1.0.0",
        summary="How many keys the database holds.",
        group="server",
    ),
    Command(
        name="exists",
        handler=exists,
        arity=-2,
        flags=READONLY | FAST,
        categories="@keyspace @read @fast",
        keys=_ALL_KEYS,
        since="1.0.0",
        summary="How many of the keys exist.",
        syntax="key [key ...]",
    ),
    Command(
        name="touch",
        handler=exists,
        arity=-2,
        flags=READONLY | FAST,
        categories="@keyspace @read @fast",
        keys=_ALL_KEYS,
        since="3.2.1",
        summary="How many of the keys exist; each counts as used.",
        syntax="key [key ...]",
    ),
    Command(
        name="type",
        handler=type_,
        arity=2,
        flags=READONLY | FAST,
        categories="@keyspace @read @fast",
        keys=_ONE_KEY,
        since="1.0.0",
        summary="The type of the value at a key.",
        syntax="key",
    ),
    Command(
        name="del",
        handler=delete,
        arity=-2,
        flags=WRITE,
        categories="@keyspace @write @slow",
        keys=_DELETED,
        since="1.0.0",
        summary="Deletes keys.",
        syntax="key [key ...]",
    ),
    Command(
        name="unlink",
        handler=unlink,
        arity=-2,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast",
        keys=_DELETED,
        since="4.0.0",
        summary="Deletes keys.",
        syntax="key [key ...]",
    ),
    Command(
        name="rename",
        handler=rename,
        arity=3,
        flags=WRITE,
        categories="@keyspace @write @slow",
        keys=Keys(1, 2, 1, "RW ACCESS DELETE; OW UPDATE"),
        since="1.0.0",
        summary="Gives a key another name; a key that has this name is overwritten.",
        syntax="key newkey",
    ),
    Command(
        name="renamenx",
        handler=renamenx,
        arity=3,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast",
        keys=Keys(1, 2, 1, "RW ACCESS DELETE; OW INSERT"),
        since="1.0.0",
        summary="Gives a key another name, if no key has this name.",
        syntax="key newkey",
    ),
    Command(
        name="copy",
        handler=copy,
        arity=-3,
        flags=WRITE | DENYOOM,
        categories="@keyspace @write @slow",
        keys=Keys(1, 2, 1, "RO ACCESS; OW UPDATE"),
        since="6.2.0",
        summary="Copies a value to another key.",
        syntax="source destination [DB destination-db] [REPLACE]",
    ),
    Command(
        name="move",
        handler=move,
        arity=3,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast",
        keys=Keys(1, 1, 1, "RW ACCESS UPDATE"),
        since="1.0.0",
        summary="Moves a key from this database to another.",
        syntax="key db",
    ),
    Command(
        name="swapdb",
        handler=swapdb,
        arity=3,
        flags=WRITE | FAST,
        categories="@keyspace @write @fast @dangerous",
        since="4.0.0",
        summary="Swaps the keys of two databases.",
        group="server",
        syntax="index1 index2",
    ),
    Command(
        name="flushall",
        handler=flushall,
        arity=-1,
        flags=WRITE,
        categories=_DANGEROUS,
        since="1.0.0",
        summary="Deletes the keys of all databases.",
        group="server",
        syntax="[ASYNC | SYNC]",
    ),
    Command(
        name="flushdb",
        handler=flushdb,
        arity=-1,
        flags=WRITE,
        categories=_DANGEROUS,
        since="1.0.0",
        summary="Deletes the keys of this database.",
        group="server",
        syntax="[ASYNC | SYNC]",
    ),
    Command(
        name="function",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="7.0.0",
        summary="Commands about functions, of which there are none.",
        group="scripting",
        subcommands=[
            Command(
                name="flush",
                handler=function_flush,
                arity=-2,
                flags=WRITE | NOSCRIPT,
                categories="@write @slow @scripting",
                since="7.0.0",
                summary="Answers OK: there is nothing to delete.",
                group="scripting",
                syntax="[ASYNC | SYNC]",
            ),
        ],
    ),
]
