"""Strings, several keys at once: MGET, MSET, MSETNX, MSETEX.

All are as they came for the AOF and the replicas, but for the time of MSETEX, which
becomes absolute: ``NX EX 10`` is ``PXAT <time>``.
"""

from __future__ import annotations

from collections.abc import Sequence

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_STRING
from forebay.commands.api.spec import (
    DENYOOM,
    FAST,
    MOVABLEKEYS,
    READONLY,
    WRITE,
    Command,
    Keys,
)
from forebay.commands.keyspace.value_ops import INT_MAX, expire_key, read
from forebay.commands.strings.options import MSETEX_WORDS, absolute_ms, read_options
from forebay.commands.strings.string_ops import hold_string, set_string
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv

BAD_NUMKEYS = b"ERR invalid numkeys value"
BAD_PAIRS = b"ERR wrong number of key-value pairs"


def mget(ctx: Context, argv: Argv) -> None:
    """MGET key [key ...]: null for what is not there or not a string."""
    ctx.out.array(len(argv) - 1)
    for i in range(1, len(argv)):
        value = read(ctx, argv[i])
        if isinstance(value, (bytes, bytearray)):
            ctx.out.bulk(bytes(value))
        else:
            ctx.out.null()


def mset(ctx: Context, argv: Argv) -> None:
    """MSET key value [key value ...]."""
    _check_pairs(argv, b"mset")
    _set_pairs(ctx, argv)
    ctx.out.ok()


def msetnx(ctx: Context, argv: Argv) -> None:
    """MSETNX key value [key value ...]: all of them, or none if one key is taken."""
    _check_pairs(argv, b"msetnx")
    free = all(ctx.lookup(argv[i]) is None for i in range(1, len(argv), 2))
    if free:
        _set_pairs(ctx, argv)
    ctx.out.integer(free)


def _check_pairs(argv: Argv, name: bytes) -> None:
    if len(argv) % 2 == 0:
        raise wrong_arity(name)


def _set_pairs(ctx: Context, argv: Argv) -> None:
    for i in range(1, len(argv), 2):
        ctx.lookup(argv[i])
        set_string(ctx, argv[i], argv[i + 1])
    ctx.propagate(argv, len(argv) // 2)


def msetex(ctx: Context, argv: Argv) -> None:
    """MSETEX numkeys key value [key value ...] [NX|XX] [EX|PX|EXAT|PXAT time | KEEPTTL]."""
    end = _end_of_pairs(argv)
    options = read_options(Args(argv, end), MSETEX_WORDS)
    at_ms = absolute_ms(ctx, b"msetex", options)
    places = range(2, end, 2)
    found = [ctx.lookup(argv[i]) is not None for i in places]
    done = not any(found) if options.condition == b"NX" else all(found) or not options.condition
    if done:
        for i in places:
            _set_one(ctx, argv[i], argv[i + 1], at_ms, options.keeps_time())
        if at_ms is None:
            ctx.propagate(argv, len(places))
        else:
            ctx.effects.changes += len(places)
            ctx.effects.record(*argv.list()[:end], b"PXAT", b"%d" % at_ms)
    ctx.out.integer(done)


def _set_one(ctx: Context, key: bytes, value: bytes, at_ms: int | None, keep_time: bool) -> None:
    """As set_string(), but the time is told of first."""
    hold_string(ctx, key, value, keep_time)
    if at_ms is not None:
        expire_key(ctx, key, at_ms)
    ctx.notify(NOTIFY_STRING, b"set", key)


def _end_of_pairs(argv: Sequence[bytes] | Argv) -> int:
    """Where the options of MSETEX begin."""
    is_number, count = mem.parse_int(argv[1], 0, len(argv[1]))
    if not is_number or not 1 <= count <= INT_MAX:
        raise CommandError(BAD_NUMKEYS)
    end: int = 2 * count + 2
    if end > len(argv):
        raise CommandError(BAD_PAIRS)
    return end


def _msetex_keys(argv: Sequence[bytes]) -> list[int]:
    return list(range(2, _end_of_pairs(argv), 2))


_WRITE = "@write @string @slow"
_TIME = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | "

ROWS = [
    Command("mget", mget, -2, READONLY | FAST, "@read @string @fast",
            Keys(1, -1, 1, "RO ACCESS"), "1.0.0", "The strings at several keys.", "string",
            "key [key ...]"),
    Command("mset", mset, -3, WRITE | DENYOOM, _WRITE, Keys(1, -1, 2, "OW UPDATE"), "1.0.1",
            "Sets several strings at once.", "string", "key value [key value ...]"),
    Command("msetnx", msetnx, -3, WRITE | DENYOOM, _WRITE, Keys(1, -1, 2, "OW INSERT"),
            "1.0.1", "Sets several strings at once if all keys are free.", "string",
            "key value [key value ...]"),
    Command("msetex", msetex, -4, WRITE | DENYOOM | MOVABLEKEYS, _WRITE,
            Keys(flags="OW UPDATE", finder=_msetex_keys), "8.4.0",
            "Sets several strings at once, with one expiry time and if the keys allow it.",
            "string", "numkeys key value [key value ...] [NX | XX] " + _TIME + "KEEPTTL]"),
]  # fmt: skip
