"""Strings, several keys at once: MGET, MSET, MSETNX, MSETEX.

AOF and replicas get all of them as received, except that the time of MSETEX becomes
absolute: ``NX EX 10`` is ``PXAT <time>``.
"""

from __future__ import annotations

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
    Words,
)
from forebay.commands.keyspace.value_ops import INT_MAX, expire_key, read
from forebay.commands.strings.options import MSETEX_WORDS, absolute_ms, read_options
from forebay.commands.strings.string_ops import hold_string, set_string
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv

BAD_NUMKEYS = b"ERR invalid numkeys value"
BAD_PAIRS = b"ERR wrong number of key-value pairs"


def mget(ctx: Context, argv: Argv) -> None:
    """MGET key [key ...]: null for a missing key and for one that is not a string."""
    ctx.reply.array(len(argv) - 1)
    for i in range(1, len(argv)):
        value = read(ctx, argv[i])
        if isinstance(value, (bytes, bytearray)):
            ctx.reply.bulk(bytes(value))
        else:
            ctx.reply.null()


def mset(ctx: Context, argv: Argv) -> None:
    """MSET key value [key value ...]."""
    _check_pairs(argv, b"mset")
    _set_pairs(ctx, argv)
    ctx.reply.ok()


def msetnx(ctx: Context, argv: Argv) -> None:
    """MSETNX key value [key value ...]: all of them, or none if one key exists."""
    _check_pairs(argv, b"msetnx")
    free = all(ctx.lookup(argv[i]) is None for i in range(1, len(argv), 2))
    if free:
        _set_pairs(ctx, argv)
    ctx.reply.integer(free)


def _check_pairs(argv: Argv, name: bytes) -> None:
    if len(argv) % 2 == 0:
        raise wrong_arity(name)


def _set_pairs(ctx: Context, argv: Argv) -> None:
    for i in range(1, len(argv), 2):
        ctx.lookup(argv[i])
        set_string(ctx, argv[i], argv[i + 1])
    ctx.effects.record_call(argv, len(argv) // 2)


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
            ctx.effects.record_call(argv, len(places))
        else:
            words = argv.list()[:end]
            ctx.effects.record_command((*words, b"PXAT", b"%d" % at_ms), changes=len(places))
    ctx.reply.integer(done)


def _set_one(ctx: Context, key: bytes, value: bytes, at_ms: int | None, keep_time: bool) -> None:
    """Like set_string(), but the event of the time is published first."""
    hold_string(ctx, key, value, keep_time)
    if at_ms is not None:
        expire_key(ctx, key, at_ms)
    ctx.notify(NOTIFY_STRING, b"set", key)


def _end_of_pairs(argv: Words) -> int:
    """Where the options of MSETEX begin."""
    is_number, count = mem.parse_int(argv[1], 0, len(argv[1]))
    if not is_number or not 1 <= count <= INT_MAX:
        raise CommandError(BAD_NUMKEYS)
    end: int = 2 * count + 2
    if end > len(argv):
        raise CommandError(BAD_PAIRS)
    return end


def _msetex_keys(argv: Words) -> list[int]:
    return list(range(2, _end_of_pairs(argv), 2))


_WRITE = "@write @string @slow"
_TIME = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | "

ROWS = [
    Command(
        name="mget",
        handler=mget,
        arity=-2,
        flags=READONLY | FAST,
        categories="@read @string @fast",
        keys=Keys(1, -1, 1, "RO ACCESS"),
        since="1.0.0",
        summary="The strings at several keys.",
        group="string",
        syntax="key [key ...]",
    ),
    Command(
        name="mset",
        handler=mset,
        arity=-3,
        flags=WRITE | DENYOOM,
        categories=_WRITE,
        keys=Keys(1, -1, 2, "OW UPDATE"),
        since="1.0.1",
        summary="Sets several strings at once.",
        group="string",
        syntax="key value [key value ...]",
    ),
    Command(
        name="msetnx",
        handler=msetnx,
        arity=-3,
        flags=WRITE | DENYOOM,
        categories=_WRITE,
        keys=Keys(1, -1, 2, "OW INSERT"),
        since="1.0.1",
        summary="Sets several strings at once if none of the keys exists.",
        group="string",
        syntax="key value [key value ...]",
    ),
    Command(
        name="msetex",
        handler=msetex,
        arity=-4,
        flags=WRITE | DENYOOM | MOVABLEKEYS,
        categories=_WRITE,
        keys=Keys(flags="OW UPDATE", finder=_msetex_keys),
        since="8.4.0",
        summary="Sets several strings at once, with an expiry time and a condition.",
        group="string",
        syntax="numkeys key value [key value ...] [NX | XX] " + _TIME + "KEEPTTL]",
    ),
]
