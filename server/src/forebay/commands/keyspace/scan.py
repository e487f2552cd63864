"""Finding keys: KEYS, SCAN, RANDOMKEY.

scan_walk.py describes the walk of SCAN and its guarantees.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command
from forebay.commands.keyspace.scan_walk import ScanOptions, matcher, read_cursor, walk
from forebay.commands.keyspace.value_ops import read, type_name
from forebay.wire.argv import Argv

#: How many expired keys that a pause keeps RANDOMKEY skips before it answers with one.
RANDOM_TRIES = 100


def keys(ctx: Context, argv: Argv) -> None:
    """KEYS pattern: all keys that match; expired ones are left out but not removed."""
    fits = matcher(argv[1])
    found = [key for key in ctx.db.order if fits(key) and not ctx.expired(key)]
    _reply_keys(ctx, found)


def scan(ctx: Context, argv: Argv) -> None:
    """SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]."""
    cursor = read_cursor(argv[1])
    options = ScanOptions.read(Args(argv, 2), with_type=True)
    rest, some = walk(ctx.db.order, cursor, options.count)
    found = [key for key in some if options.fits(key) and _is_there(ctx, key, options.wanted)]
    ctx.reply.array(2)
    ctx.reply.bulk(b"%d" % rest)
    _reply_keys(ctx, found)


def _is_there(ctx: Context, key: bytes, wanted: bytes | None) -> bool:
    """Whether the key has not expired; asking for its type counts as reading it."""
    if wanted is None:
        return ctx.lookup(key) is not None
    value = read(ctx, key)
    return value is not None and type_name(value) == wanted


def randomkey(ctx: Context, argv: Argv) -> None:
    """RANDOMKEY: any key that has not expired; null if there is none."""
    order = ctx.db.order
    tries = RANDOM_TRIES
    while order:
        key = order[ctx.services.random_below(len(order))]
        found = ctx.lookup(key) is not None
        if not found and key in ctx.db.values:
            tries -= 1
        if found or tries == 0:
            ctx.reply.bulk(key)
            return
    ctx.reply.null()


def _reply_keys(ctx: Context, found: list[bytes]) -> None:
    ctx.reply.array(len(found))
    for key in found:
        ctx.reply.bulk(key)


ROWS = [
    Command(
        name="keys",
        handler=keys,
        arity=2,
        flags=READONLY,
        categories="@keyspace @read @slow @dangerous",
        since="1.0.0",
        summary="All keys that match a pattern.",
        syntax="pattern",
    ),
    Command(
        name="scan",
        handler=scan,
        arity=-2,
        flags=READONLY,
        categories="@keyspace @read @slow",
        since="2.8.0",
        summary="Walks over the keys, a few at a time.",
        syntax="cursor [MATCH pattern] [COUNT count] [TYPE type]",
    ),
    Command(
        name="randomkey",
        handler=randomkey,
        arity=1,
        flags=READONLY,
        categories="@keyspace @read @slow",
        since="1.0.0",
        summary="A random key.",
    ),
]
