"""Strings, one key at a time: SET with all its options, GET and its relatives, DELEX.

A string is a ``bytes`` object, or a ``bytearray`` after it was changed in place
(string_ops.py).

Propagated commands have no relative time, no condition, and no option that only
affects the reply:

    SET k v EX 10, SETEX, PSETEX     SET k v PXAT <time>
    SET k v GET                      SET k v
    SET k v IFEQ x                   SET k v
    GETSET k v                       SET k v
    GETEX k EX 10                    PEXPIREAT k <time>, or DEL k if that time is past
    GETEX k PERSIST                  PERSIST k
    GETDEL k, DELEX k IFEQ x         DEL k
    SETNX                            as received
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import expire_key, persist_key, read, remove, typed
from forebay.commands.strings.options import (
    GETEX_WORDS,
    MATCHES,
    SET_WORDS,
    Options,
    absolute_ms,
    digest_of,
    does_match,
    read_options,
    when_ms,
)
from forebay.commands.strings.string_ops import (
    read_string,
    reply_string,
    set_string,
    string_of,
)
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv

BAD_CONDITION = b"ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"
NOT_COMPARABLE = b"ERR Key should be of string type if conditions are specified"

#: Words of a SET without options, of a DELEX without a condition and with one.
PLAIN_SET = 3
PLAIN_DELEX = 2
FULL_DELEX = 4


# SET


def set_(ctx: Context, argv: Argv) -> None:
    """SET key value [NX|XX] [IFEQ|IFNE|IFDEQ|IFDNE x] [GET] [EX|PX|EXAT|PXAT time | KEEPTTL]."""
    if argv.n == PLAIN_SET:
        set_plain(ctx, argv)
        return
    key, value = argv[1], argv[2]
    options = read_options(Args(argv, 3), SET_WORDS)
    at_ms = absolute_ms(ctx, b"set", options)
    before = typed(read(ctx, key), bytes) if options.get else None
    done = _may_set(ctx, key, options)
    if done:
        set_string(ctx, key, value, at_ms, options.keeps_time())
        _propagate_set(ctx, argv, options, at_ms)
    if not options.get:
        ctx.reply.ok() if done else ctx.reply.null()
    else:
        reply_string(ctx, before)


def set_plain(ctx: Context, argv: Argv) -> None:
    """SET without options, the most frequent form."""
    key = argv.at(1)
    ctx.lookup(key)  # an expired key is removed first, with its event
    set_string(ctx, key, argv.at(2))
    ctx.effects.record_call(argv)
    ctx.reply.ok()


def _may_set(ctx: Context, key: bytes, options: Options) -> bool:
    """Whether the key meets the conditions of the options."""
    value = ctx.lookup(key)
    if options.condition == (b"XX" if value is None else b"NX"):
        return False
    if not options.match:
        return True
    text = string_of(value)
    if text is None:
        return options.match in (b"IFNE", b"IFDNE")
    return does_match(options.match, options.wanted, text)


def _propagate_set(ctx: Context, argv: Argv, options: Options, at_ms: int | None) -> None:
    if at_ms is not None:
        ctx.effects.record_command((b"SET", argv[1], argv[2], b"PXAT", b"%d" % at_ms))
    elif options.match:
        keep = (b"KEEPTTL",) if options.keeps_time() else ()
        ctx.effects.record_command((b"SET", argv[1], argv[2], *keep))
    elif options.get:
        args = argv.list()
        ctx.effects.record_command(
            (*args[:3], *(word for word in args[3:] if word.upper() != b"GET"))
        )
    else:
        ctx.effects.record_call(argv)


def setnx(ctx: Context, argv: Argv) -> None:
    """SETNX key value."""
    key = argv[1]
    if ctx.lookup(key) is not None:
        ctx.reply.integer(0)
        return
    set_string(ctx, key, argv[2])
    ctx.effects.record_call(argv)
    ctx.reply.integer(1)


def _setex(name: bytes, word: bytes) -> Callable[[Context, Argv], None]:
    """SETEX key seconds value, PSETEX key milliseconds value."""

    def handler(ctx: Context, argv: Argv) -> None:
        key, value = argv[1], argv[3]
        at_ms = when_ms(ctx, name, word, argv[2])
        ctx.lookup(key)
        set_string(ctx, key, value, at_ms)
        ctx.effects.record_command((b"SET", key, value, b"PXAT", b"%d" % at_ms))
        ctx.reply.ok()

    return handler


# GET


def get(ctx: Context, argv: Argv) -> None:
    """GET key."""
    value = ctx.lookup(argv.at(1))
    if type(value) is bytes:  # the most frequent case
        ctx.keyspace.hits += 1
        ctx.reply.bulk(value)
    else:
        reply_string(ctx, typed(read(ctx, argv.at(1)), bytes))


def getdel(ctx: Context, argv: Argv) -> None:
    """GETDEL key."""
    key = argv[1]
    value = typed(read(ctx, key), bytes)
    if value is not None:
        _delete(ctx, key)
    reply_string(ctx, value)


def _delete(ctx: Context, key: bytes) -> None:
    remove(ctx, key)
    ctx.effects.record_command((b"DEL", key))


def getset(ctx: Context, argv: Argv) -> None:
    """GETSET key value."""
    key, value = argv[1], argv[2]
    before = typed(read(ctx, key), bytes)
    set_string(ctx, key, value)
    ctx.effects.record_command((b"SET", key, value))
    reply_string(ctx, before)


def getex(ctx: Context, argv: Argv) -> None:
    """GETEX key [EX|PX|EXAT|PXAT time | PERSIST]."""
    key = argv[1]
    options = read_options(Args(argv, 2), GETEX_WORDS)
    value = typed(read(ctx, key), bytes)
    if value is not None:
        _change_expiry(ctx, key, options)
    reply_string(ctx, value)


def _change_expiry(ctx: Context, key: bytes, options: Options) -> None:
    at_ms = absolute_ms(ctx, b"getex", options)
    if at_ms is None:
        if options.expiry == b"PERSIST" and persist_key(ctx, key):
            ctx.effects.record_command((b"PERSIST", key))
    elif at_ms <= ctx.now_ms:
        _delete(ctx, key)
    else:
        expire_key(ctx, key, at_ms)
        ctx.effects.record_command((b"PEXPIREAT", key, b"%d" % at_ms))


def strlen(ctx: Context, argv: Argv) -> None:
    """STRLEN key."""
    ctx.reply.integer(len(read_string(ctx, argv[1]) or b""))


# Comparing


def digest(ctx: Context, argv: Argv) -> None:
    """DIGEST key."""
    text = read_string(ctx, argv[1])
    reply_string(ctx, None if text is None else digest_of(text))


def delex(ctx: Context, argv: Argv) -> None:
    """DELEX key [IFEQ|IFNE value | IFDEQ|IFDNE digest]: whether it was deleted."""
    if argv.n not in (PLAIN_DELEX, FULL_DELEX):
        raise wrong_arity(b"delex")
    key = argv[1]
    may = ctx.lookup(key) is not None if argv.n == PLAIN_DELEX else _may_delete(ctx, argv)
    if may:
        _delete(ctx, key)
    ctx.reply.integer(may)


def _may_delete(ctx: Context, argv: Argv) -> bool:
    value = read(ctx, argv[1])
    if value is None:
        return False
    if not isinstance(value, (bytes, bytearray)):
        raise CommandError(NOT_COMPARABLE)
    match = argv[2].upper()
    if match not in MATCHES:
        raise CommandError(BAD_CONDITION)
    return does_match(match, argv[3], value)


_READ_KEY = Keys(1, 1, 1, "RO ACCESS")
_CHANGED_KEY = Keys(1, 1, 1, "RW ACCESS UPDATE")
_VARIED_KEY = Keys(1, 1, 1, "RW ACCESS UPDATE VARIABLE_FLAGS")
_SET_KEY = Keys(1, 1, 1, "OW UPDATE")
_WRITE_FAST = "@write @string @fast"
_WRITE_SLOW = "@write @string @slow"
_READ = "@read @string @fast"
_TIME = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | "
_MATCH = "IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]"

ROWS = [
    Command(
        name="set",
        handler=set_,
        arity=-3,
        flags=WRITE | DENYOOM,
        categories=_WRITE_SLOW,
        keys=_VARIED_KEY,
        since="1.0.0",
        summary="Sets a string.",
        group="string",
        syntax="key value [NX | XX | " + _MATCH + " [GET] " + _TIME + "KEEPTTL]",
    ),
    Command(
        name="setnx",
        handler=setnx,
        arity=3,
        flags=WRITE | DENYOOM | FAST,
        categories=_WRITE_FAST,
        keys=Keys(1, 1, 1, "OW INSERT"),
        since="1.0.0",
        summary="Sets a string if its key is not in use.",
        group="string",
        syntax="key value",
    ),
    Command(
        name="setex",
        handler=_setex(b"setex", b"EX"),
        arity=4,
        flags=WRITE | DENYOOM,
        categories=_WRITE_SLOW,
        keys=_SET_KEY,
        since="2.0.0",
        summary="Sets a string that expires after a time in seconds.",
        group="string",
        syntax="key seconds value",
    ),
    Command(
        name="psetex",
        handler=_setex(b"psetex", b"PX"),
        arity=4,
        flags=WRITE | DENYOOM,
        categories=_WRITE_SLOW,
        keys=_SET_KEY,
        since="2.6.0",
        summary="Sets a string that expires after a time in milliseconds.",
        group="string",
        syntax="key milliseconds value",
    ),
    Command(
        name="get",
        handler=get,
        arity=2,
        flags=READONLY | FAST,
        categories=_READ,
        keys=_READ_KEY,
        since="1.0.0",
        summary="The string at a key.",
        group="string",
        syntax="key",
    ),
    Command(
        name="getdel",
        handler=getdel,
        arity=2,
        flags=WRITE | FAST,
        categories=_WRITE_FAST,
        keys=Keys(1, 1, 1, "RW ACCESS DELETE"),
        since="6.2.0",
        summary="Deletes a key and returns its string.",
        group="string",
        syntax="key",
    ),
    Command(
        name="getset",
        handler=getset,
        arity=3,
        flags=WRITE | DENYOOM | FAST,
        categories=_WRITE_FAST,
        keys=_CHANGED_KEY,
        since="1.0.0",
        summary="Sets a string and returns the old one.",
        group="string",
        syntax="key value",
    ),
    Command(
        name="getex",
        handler=getex,
        arity=-2,
        flags=WRITE | FAST,
        categories=_WRITE_FAST,
        keys=_CHANGED_KEY,
        since="6.2.0",
        summary="Returns the string at a key and changes its expiry time.",
        group="string",
        syntax="key " + _TIME + "PERSIST]",
    ),
    Command(
        name="strlen",
        handler=strlen,
        arity=2,
        flags=READONLY | FAST,
        categories=_READ,
        keys=Keys(1, 1, 1, "RO"),
        since="2.2.0",
        summary="The length of a string.",
        group="string",
        syntax="key",
    ),
    Command(
        name="digest",
        handler=digest,
        arity=2,
        flags=READONLY | FAST,
        categories=_READ,
        keys=_READ_KEY,
        since="8.4.0",
        summary="The XXH3 of a string, in hexadecimal.",
        group="string",
        syntax="key",
    ),
    Command(
        name="delex",
        handler=delex,
        arity=-2,
        flags=WRITE | FAST,
        categories=_WRITE_FAST,
        keys=Keys(1, 1, 1, "RW DELETE VARIABLE_FLAGS"),
        since="8.4.0",
        summary="Deletes a key if its string, or its digest, is or is not the given one.",
        group="string",
        syntax="key [" + _MATCH,
    ),
]
