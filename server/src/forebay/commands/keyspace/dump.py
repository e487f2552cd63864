"""DUMP and RESTORE: a value as bytes, to be moved elsewhere.

``services.payloads`` makes and reads the bytes (docs/formats/rdb.md); this
module handles the key, its expiry time and the notifications.  RESTORE is
propagated with an absolute time, so that the key expires at the same moment in
an AOF that is read later and on a replica that lags.
"""

from __future__ import annotations

from dataclasses import dataclass

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_GENERIC
from forebay.commands.api.spec import DENYOOM, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import add, integer_of, overwritten, read
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

BUSY_KEY = b"BUSYKEY Target key name already exists."
BAD_TTL = b"ERR Invalid TTL value, must be >= 0"
BAD_IDLE_TIME = b"ERR Invalid IDLETIME value, must be >= 0"
BAD_FREQUENCY = b"ERR Invalid FREQ value, must be >= 0 and <= 255"
FREQUENCY_MAX = 255


def dump(ctx: Context, argv: Argv) -> None:
    """DUMP key: the payload, null if there is no such key."""
    value = read(ctx, argv[1])
    if value is None:
        ctx.reply.null()
    else:
        ctx.reply.bulk(ctx.services.payloads.dump(value))


@dataclass(slots=True)
class Options:
    """The options after the payload.  Idle time and frequency are checked, then ignored."""

    replace: bool = False
    absolute: bool = False
    idle_s: int = -1
    frequency: int = -1


def _read_options(args: Args) -> Options:
    options = Options()
    while args.more():
        if args.word(b"REPLACE"):
            options.replace = True
        elif args.word(b"ABSTTL"):
            options.absolute = True
        elif args.left() > 1 and options.frequency < 0 and args.word(b"IDLETIME"):
            options.idle_s = args.integer()
            if options.idle_s < 0:
                raise CommandError(BAD_IDLE_TIME)
        elif args.left() > 1 and options.idle_s < 0 and args.word(b"FREQ"):
            options.frequency = args.integer()
            if not 0 <= options.frequency <= FREQUENCY_MAX:
                raise CommandError(BAD_FREQUENCY)
        else:
            raise CommandError(SYNTAX)
    return options


def restore(ctx: Context, argv: Argv) -> None:
    """RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]."""
    options = _read_options(Args(argv, 4))
    key = argv[1]
    before = ctx.lookup(key)
    if before is not None and not options.replace:
        raise CommandError(BUSY_KEY)
    ttl_ms = integer_of(argv[2])
    if ttl_ms < 0:
        raise CommandError(BAD_TTL)
    value = ctx.services.payloads.restore(argv[3])
    when_ms = ttl_ms
    if ttl_ms > 0 and not options.absolute:
        when_ms = min(ctx.now_ms + ttl_ms, mem.I64_MAX)
    if before is not None:
        ctx.delete(key)
    if 0 < when_ms <= ctx.now_ms and not ctx.session.is_replaying:
        _born_expired(ctx, key, before is not None)
    else:
        add(ctx, key, value)
        if when_ms:
            ctx.db.expire_at(key, when_ms)
        ctx.notify(NOTIFY_GENERIC, b"restore", key)
        overwritten(ctx, key, before, value)
        _propagate(ctx, argv, options, when_ms)
    ctx.reply.ok()


def _born_expired(ctx: Context, key: bytes, replaced: bool) -> None:
    """The value has already expired: it counts as expired, and an old value may be removed."""
    ctx.services.stats.expired_keys += 1
    if replaced:
        ctx.notify(NOTIFY_GENERIC, b"del", key)
        ctx.effects.record_command((b"DEL", key))


def _propagate(ctx: Context, argv: Argv, options: Options, when_ms: int) -> None:
    if when_ms == 0 or options.absolute:
        ctx.effects.record_call(argv)
    else:
        args = argv.list()
        ctx.effects.record_command((b"RESTORE", args[1], b"%d" % when_ms, *args[3:], b"ABSTTL"))


ROWS = [
    Command(
        name="dump",
        handler=dump,
        arity=2,
        flags=READONLY,
        categories="@keyspace @read @slow",
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="2.6.0",
        summary="The value at a key as bytes for RESTORE, here or on a Redis.",
        syntax="key",
    ),
    Command(
        name="restore",
        handler=restore,
        arity=-4,
        flags=WRITE | DENYOOM,
        categories="@keyspace @write @slow @dangerous",
        keys=Keys(1, 1, 1, "OW UPDATE"),
        since="2.6.0",
        summary="Creates a key from the bytes of DUMP.",
        syntax="key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
    ),
]
