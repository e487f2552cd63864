"""Finding keys: KEYS, SCAN, RANDOMKEY.

SCAN walks the database's list of keys from its top down to 0; the cursor is how
many keys are still to come.

    order   [ a  b  c  d  e  f  g ]        SCAN 0 COUNT 3 -> cursor 4: g f e
                         ^ cursor 4        SCAN 4 COUNT 3 -> cursor 1: d c b

A removed key's place is taken by the last one, so a key's index only ever goes
down: whatever has not been visited stays below the cursor, whatever has been
may come again.  New keys are added on top, behind the walk.  Hence each key that
is there from the first call to the last is returned at least once, a full walk
costs as much as there are keys, and nothing is remembered between two calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from forebay.commands.args import Args
from forebay.commands.context import Context
from forebay.commands.glob import Glob
from forebay.commands.spec import READONLY, Command
from forebay.commands.values import read, type_name
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

INVALID_CURSOR = b"ERR invalid cursor"
CURSOR_MAX = (1 << 64) - 1
I64_SIZE = 1 << 63
_CURSOR = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)(?:\0|\Z)")
DEFAULT_COUNT = 10
#: How often RANDOMKEY meets a key past its time that a pause keeps before it answers with it.
RANDOM_TRIES = 100


def keys(ctx: Context, argv: Argv) -> None:
    """KEYS pattern: all that match; expired ones are left out but not removed."""
    fits = _matcher(argv[1])
    found = [key for key in ctx.db.order if fits(key) and not ctx.expired(key)]
    _reply_keys(ctx, found)


def scan(ctx: Context, argv: Argv) -> None:
    """SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]."""
    cursor = _read_cursor(argv[1])
    fits, wanted, count = _read_scan_options(Args(argv, 2))
    order = ctx.db.order
    top = min(cursor, len(order)) if cursor else len(order)
    rest = max(top - count, 0)
    found = [key for key in order[rest:top] if fits(key) and _is_there(ctx, key, wanted)]
    found.reverse()
    ctx.out.array(2)
    ctx.out.bulk(b"%d" % rest)
    _reply_keys(ctx, found)


def _is_there(ctx: Context, key: bytes, wanted: bytes | None) -> bool:
    """Whether the key is not expired; asking for its type counts as reading it."""
    if wanted is None:
        return ctx.lookup(key) is not None
    value = read(ctx, key)
    return value is not None and type_name(value) == wanted


def randomkey(ctx: Context, argv: Argv) -> None:
    """RANDOMKEY: any key that is not expired; null if there is none."""
    order = ctx.db.order
    tries = RANDOM_TRIES
    while order:
        key = order[ctx.services.random_below(len(order))]
        found = ctx.lookup(key) is not None
        if not found and key in ctx.db.values:
            tries -= 1
        if found or tries == 0:
            ctx.out.bulk(key)
            return
    ctx.out.null()


def _matcher(pattern: bytes) -> Callable[[bytes], bool]:
    return _any_key if pattern == b"*" else Glob(pattern).matches


def _any_key(key: bytes) -> bool:
    return True


def _read_cursor(text: bytes) -> int:
    """An unsigned number as C's strtoull() takes it, but not what is a plain negative number."""
    found = _CURSOR.match(text)
    if found is None:
        raise CommandError(INVALID_CURSOR)
    is_negative, value = found[1] == b"-", int(found[2])
    is_plain = is_negative and value <= I64_SIZE and text == b"-%d" % value
    if value > CURSOR_MAX or (is_plain and value > 0):
        raise CommandError(INVALID_CURSOR)
    return -value & CURSOR_MAX if is_negative else value


def _read_scan_options(args: Args) -> tuple[Callable[[bytes], bool], bytes | None, int]:
    fits: Callable[[bytes], bool] = _any_key
    wanted, count = None, DEFAULT_COUNT
    while args.more():
        if args.word(b"COUNT"):
            count = args.integer()
            if count < 1:
                raise CommandError(SYNTAX)
        elif args.word(b"MATCH"):
            fits = _matcher(args.next())
        elif args.word(b"TYPE"):
            wanted = args.next().lower()
        else:
            raise CommandError(SYNTAX)
    return fits, wanted, count


def _reply_keys(ctx: Context, found: list[bytes]) -> None:
    ctx.out.array(len(found))
    for key in found:
        ctx.out.bulk(key)


ROWS = [
    Command(
        "keys", keys, 2, READONLY, "@keyspace @read @slow @dangerous",
        since="1.0.0", summary="All keys that match a pattern.", syntax="pattern",
    ),
    Command(
        "scan", scan, -2, READONLY, "@keyspace @read @slow",
        since="2.8.0", summary="Walks over the keys, a few at a time.",
        syntax="cursor [MATCH pattern] [COUNT count] [TYPE type]",
    ),
    Command(
        "randomkey", randomkey, 1, READONLY, "@keyspace @read @slow",
        since="1.0.0", summary="Any one key.",
    ),
]  # fmt: skip
