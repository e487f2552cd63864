"""Strings: SET and GET with all their options, counters, APPEND, MGET, MSET.

A string is a ``bytes`` object.  A number is kept as its digits and read anew each
time, as the sums here are few.

What is propagated holds no relative time and nothing that only made the reply:

    SET k v EX 10, SETEX, PSETEX     SET k v PXAT <time>
    SET k v GET                      SET k v
    GETEX k EX 10                    PEXPIREAT k <time>, or DEL k if that is past
    GETEX k PERSIST                  PERSIST k
    GETDEL k                         DEL k
    INCR, APPEND, MSET, SETNX        as they came
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from forebay import mem
from forebay.commands.args import Args
from forebay.commands.context import Context
from forebay.commands.notify_flags import NOTIFY_STRING
from forebay.commands.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.values import (
    bad_expire_time,
    expire_key,
    integer_of,
    overwritten,
    persist_key,
    read,
    remove,
    store,
    typed,
)
from forebay.errors import SYNTAX, CommandError, wrong_arity
from forebay.wire.argv import Argv

OVERFLOW = b"ERR increment or decrement would overflow"
DECREMENT_OVERFLOW = b"ERR decrement would overflow"
TOO_LONG = b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"

#: Option -> (milliseconds of its unit, whether it counts from now).
TIMES = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
SET_WORDS = frozenset((b"NX", b"XX", b"GET", b"KEEPTTL", *TIMES))
#: Words of a SET without options.
PLAIN_SET = 3
GETEX_WORDS = frozenset((b"PERSIST", *TIMES))


# Options of SET and GETEX


@dataclass(slots=True)
class Options:
    """What was asked for; a word may be repeated, but not joined with a rival."""

    condition: bytes = b""  # NX or XX
    expiry: bytes = b""  # one of TIMES, KEEPTTL or PERSIST
    amount: bytes = b""  # what stood behind a word of TIMES
    get: bool = False


def _read_options(args: Args, words: Collection[bytes]) -> Options:
    options = Options()
    while args.more():
        word = args.next().upper()
        if word not in words:
            raise CommandError(SYNTAX)
        if word == b"GET":
            options.get = True
        elif word in (b"NX", b"XX"):
            options.condition = _unrivalled(options.condition, word)
        else:
            options.expiry = _unrivalled(options.expiry, word)
            if word in TIMES:
                options.amount = args.next()
    return options


def _unrivalled(before: bytes, word: bytes) -> bytes:
    if before not in (b"", word):
        raise CommandError(SYNTAX)
    return word


def _when_ms(ctx: Context, name: bytes, word: bytes, amount: bytes) -> int:
    """The absolute time that an option such as EX 10 means."""
    unit_ms, from_now = TIMES[word]
    value = integer_of(amount)
    when_ms = value * unit_ms + (ctx.now_ms if from_now else 0)
    if value <= 0 or when_ms > mem.I64_MAX:
        raise bad_expire_time(name)
    return when_ms


# SET


def set_(ctx: Context, argv: Argv) -> None:
    """SET key value [NX|XX] [GET] [EX|PX|EXAT|PXAT time | KEEPTTL]."""
    if argv.n == PLAIN_SET:
        _set_plain(ctx, argv)
        return
    key, value = argv[1], argv[2]
    options = _read_options(Args(argv, 3), SET_WORDS)
    when_ms = None
    if options.expiry in TIMES:
        when_ms = _when_ms(ctx, b"set", options.expiry, options.amount)
    before = typed(read(ctx, key), bytes) if options.get else None
    found = ctx.lookup(key) is not None
    done = options.condition != (b"NX" if found else b"XX")
    if done:
        _assign(ctx, key, value, when_ms, keep_time=options.expiry == b"KEEPTTL")
        _propagate_set(ctx, argv, options, when_ms)
    if not options.get:
        ctx.out.ok() if done else ctx.out.null()
    else:
        _reply_string(ctx, before)


def _set_plain(ctx: Context, argv: Argv) -> None:
    """SET without options, which is most of them."""
    key = argv[1]
    ctx.lookup(key)  # one that is past its time goes first, and says so
    _assign(ctx, key, argv[2], None)
    ctx.propagate(argv)
    ctx.out.ok()


def _assign(
    ctx: Context, key: bytes, value: bytes, when_ms: int | None, keep_time: bool = False
) -> None:
    """Let the key hold the string, with this expiry time, the old one, or none."""
    if not keep_time:
        ctx.db.persist(key)
    before = ctx.db.get(key)
    store(ctx, key, value)
    if ctx.notify_flags:
        overwritten(ctx, key, before, value)
        ctx.notify(NOTIFY_STRING, b"set", key)
    if when_ms is not None:
        expire_key(ctx, key, when_ms)


def _propagate_set(ctx: Context, argv: Argv, options: Options, when_ms: int | None) -> None:
    if when_ms is not None:
        ctx.effects.command(b"SET", argv[1], argv[2], b"PXAT", b"%d" % when_ms)
    elif options.get:
        args = argv.list()
        ctx.effects.command(*args[:3], *(word for word in args[3:] if word.upper() != b"GET"))
    else:
        ctx.propagate(argv)


def setnx(ctx: Context, argv: Argv) -> None:
    """SETNX key value."""
    key = argv[1]
    if ctx.lookup(key) is not None:
        ctx.out.integer(0)
        return
    _assign(ctx, key, argv[2], None)
    ctx.propagate(argv)
    ctx.out.integer(1)


def _setex(name: bytes, word: bytes) -> Callable[[Context, Argv], None]:
    """SETEX key seconds value, PSETEX key milliseconds value."""

    def handler(ctx: Context, argv: Argv) -> None:
        key, value = argv[1], argv[3]
        when_ms = _when_ms(ctx, name, word, argv[2])
        ctx.lookup(key)
        _assign(ctx, key, value, when_ms)
        ctx.effects.command(b"SET", key, value, b"PXAT", b"%d" % when_ms)
        ctx.out.ok()

    return handler


def mset(ctx: Context, argv: Argv) -> None:
    """MSET key value [key value ...]."""
    if len(argv) % 2 == 0:
        raise wrong_arity(b"mset")
    for i in range(1, len(argv), 2):
        ctx.lookup(argv[i])
        _assign(ctx, argv[i], argv[i + 1], None)
    ctx.propagate(argv, len(argv) // 2)
    ctx.out.ok()


# GET


def get(ctx: Context, argv: Argv) -> None:
    """GET key."""
    _reply_string(ctx, typed(read(ctx, argv[1]), bytes))


def _reply_string(ctx: Context, value: bytes | None) -> None:
    if value is None:
        ctx.out.null()
    else:
        ctx.out.bulk(value)


def mget(ctx: Context, argv: Argv) -> None:
    """MGET key [key ...]: null for what is not there or not a string."""
    ctx.out.array(len(argv) - 1)
    for i in range(1, len(argv)):
        value = read(ctx, argv[i])
        _reply_string(ctx, value if isinstance(value, bytes) else None)


def getdel(ctx: Context, argv: Argv) -> None:
    """GETDEL key."""
    key = argv[1]
    value = typed(read(ctx, key), bytes)
    if value is not None:
        remove(ctx, key)
        ctx.effects.command(b"DEL", key)
    _reply_string(ctx, value)


def getex(ctx: Context, argv: Argv) -> None:
    """GETEX key [EX|PX|EXAT|PXAT time | PERSIST]."""
    key = argv[1]
    options = _read_options(Args(argv, 2), GETEX_WORDS)
    value = typed(read(ctx, key), bytes)
    if value is not None:
        _change_expiry(ctx, key, options)
    _reply_string(ctx, value)


def _change_expiry(ctx: Context, key: bytes, options: Options) -> None:
    if options.expiry in TIMES:
        when_ms = _when_ms(ctx, b"getex", options.expiry, options.amount)
        if when_ms <= ctx.now_ms:
            remove(ctx, key)
            ctx.effects.command(b"DEL", key)
        else:
            expire_key(ctx, key, when_ms)
            ctx.effects.command(b"PEXPIREAT", key, b"%d" % when_ms)
    elif options.expiry == b"PERSIST" and persist_key(ctx, key):
        ctx.effects.command(b"PERSIST", key)


def strlen(ctx: Context, argv: Argv) -> None:
    """STRLEN key."""
    ctx.out.integer(len(typed(read(ctx, argv[1]), bytes) or b""))


# Changing in place


def append(ctx: Context, argv: Argv) -> None:
    """APPEND key value: the new length."""
    key = argv[1]
    value = (typed(ctx.lookup(key), bytes) or b"") + argv[2]
    if len(value) > ctx.settings.proto_max_bulk_len:
        raise CommandError(TOO_LONG)
    store(ctx, key, value)
    ctx.notify(NOTIFY_STRING, b"append", key)
    ctx.propagate(argv)
    ctx.out.integer(len(value))


def incr(ctx: Context, argv: Argv) -> None:
    """INCR key."""
    _add(ctx, argv, 1)


def decr(ctx: Context, argv: Argv) -> None:
    """DECR key."""
    _add(ctx, argv, -1)


def incrby(ctx: Context, argv: Argv) -> None:
    """INCRBY key increment."""
    _add(ctx, argv, integer_of(argv[2]))


def decrby(ctx: Context, argv: Argv) -> None:
    """DECRBY key decrement."""
    decrement = integer_of(argv[2])
    if decrement == mem.I64_MIN:
        raise CommandError(DECREMENT_OVERFLOW)
    _add(ctx, argv, -decrement)


def _add(ctx: Context, argv: Argv, change: int) -> None:
    key = argv[1]
    before = typed(ctx.lookup(key), bytes)
    value = change + (0 if before is None else integer_of(before))
    if not mem.I64_MIN <= value <= mem.I64_MAX:
        raise CommandError(OVERFLOW)
    store(ctx, key, b"%d" % value)
    ctx.notify(NOTIFY_STRING, b"incrby", key)
    ctx.propagate(argv)
    ctx.out.integer(value)


_READ_KEY = Keys(1, 1, 1, "RO ACCESS")
_CHANGED_KEY = Keys(1, 1, 1, "RW ACCESS UPDATE")
_VARIED_KEY = Keys(1, 1, 1, "RW ACCESS UPDATE VARIABLE_FLAGS")
_SET_KEY = Keys(1, 1, 1, "OW UPDATE")
_WRITE_FAST = "@write @string @fast"
_WRITE_SLOW = "@write @string @slow"
_READ = "@read @string @fast"


def _row(
    name: str,
    handler: Callable[[Context, Argv], None],
    arity: int,
    flags: int,
    categories: str,
    keys: Keys,
    since: str,
    syntax: str,
    summary: str,
) -> Command:
    return Command(name, handler, arity, flags, categories, keys, since, summary, "string", syntax)


_TIME = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | "

ROWS = [
    _row("set", set_, -3, WRITE | DENYOOM, _WRITE_SLOW, _VARIED_KEY, "1.0.0",
         "key value [NX | XX] [GET] " + _TIME + "KEEPTTL]", "Sets a string."),
    _row("setnx", setnx, 3, WRITE | DENYOOM | FAST, _WRITE_FAST, Keys(1, 1, 1, "OW INSERT"),
         "1.0.0", "key value", "Sets a string if the key is free."),
    _row("setex", _setex(b"setex", b"EX"), 4, WRITE | DENYOOM, _WRITE_SLOW, _SET_KEY, "2.0.0",
         "key seconds value", "Sets a string that expires after so many seconds."),
    _row("psetex", _setex(b"psetex", b"PX"), 4, WRITE | DENYOOM, _WRITE_SLOW, _SET_KEY, "2.6.0",
         "key milliseconds value", "Sets a string that expires after so many milliseconds."),
    _row("mset", mset, -3, WRITE | DENYOOM, _WRITE_SLOW, Keys(1, -1, 2, "OW UPDATE"), "1.0.1",
         "key value [key value ...]", "Sets several strings at once."),
    _row("get", get, 2, READONLY | FAST, _READ, _READ_KEY, "1.0.0", "key", "The string at a key."),
    _row("mget", mget, -2, READONLY | FAST, _READ, Keys(1, -1, 1, "RO ACCESS"), "1.0.0",
         "key [key ...]", "The strings at several keys."),
    _row("getdel", getdel, 2, WRITE | FAST, _WRITE_FAST, Keys(1, 1, 1, "RW ACCESS DELETE"),
         "6.2.0", "key", "Deletes a key and answers the string it held."),
    _row("getex", getex, -2, WRITE | FAST, _WRITE_FAST, _CHANGED_KEY, "6.2.0",
         "key " + _TIME + "PERSIST]", "The string at a key, whose expiry time it changes."),
    _row("strlen", strlen, 2, READONLY | FAST, _READ, Keys(1, 1, 1, "RO"), "2.2.0",
         "key", "The length of a string."),
    _row("append", append, 3, WRITE | DENYOOM | FAST, _WRITE_FAST, Keys(1, 1, 1, "RW INSERT"),
         "2.0.0", "key value", "Adds to the end of a string."),
    _row("incr", incr, 2, WRITE | DENYOOM | FAST, _WRITE_FAST, _CHANGED_KEY, "1.0.0",
         "key", "Adds one to a number."),
    _row("decr", decr, 2, WRITE | DENYOOM | FAST, _WRITE_FAST, _CHANGED_KEY, "1.0.0",
         "key", "Takes one from a number."),
    _row("incrby", incrby, 3, WRITE | DENYOOM | FAST, _WRITE_FAST, _CHANGED_KEY, "1.0.0",
         "key increment", "Adds to a number."),
    _row("decrby", decrby, 3, WRITE | DENYOOM | FAST, _WRITE_FAST, _CHANGED_KEY, "1.0.0",
         "key decrement", "Takes from a number."),
]  # fmt: skip
