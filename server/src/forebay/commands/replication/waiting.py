"""WAIT and WAITAOF: answer when replicas, or the disk, have the writes of this client.

    WAIT n ms             n replicas have applied the client's last write
    WAITAOF l n ms        the disk here (l is 1) and the disks of n replicas have it

The server asks the replicas and the disk at the end of the turn.  Both commands answer with
counts and never with an error, so that the client decides what to do if they are too low.  A
write of another client does not make this one wait longer.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import BLOCK_TIME, Context
from forebay.commands.api.services import Replication
from forebay.commands.api.spec import BLOCKING, Command
from forebay.commands.streams.parsing import integer
from forebay.errors import CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

NO_LOG = b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
BAD_LOCAL = b"ERR value is out of range, value must between 0 and 1"
BAD_REPLICAS = b"ERR value is out of range, must be positive"
BAD_TIMEOUT = b"ERR timeout is not an integer or out of range"
NEGATIVE_TIMEOUT = b"ERR timeout is negative"
LATE_TIMEOUT = b"ERR timeout is out of range"
ON_REPLICA = (
    b"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a "
    b"replica is configured to be writable (which is not the default) writes to replicas are just "
    b"local and are not propagated."
)
AOF_ON_REPLICA = (
    b"ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas "
    b"are just local and are not propagated."
)


class Confirmation:
    """How many replicas have applied the stream up to an offset, for one waiting client."""

    def __init__(self, replication: Replication, offset: int, wanted: int) -> None:
        self.replication = replication
        self.offset = offset
        self.wanted = wanted

    def is_enough(self) -> bool:
        """Whether as many replicas have it as the client asked for."""
        return self.replication.count_acked(self.offset) >= self.wanted

    def answer(self, out: RespWriter) -> None:
        """Their number, whether or not it is enough."""
        out.integer(self.replication.count_acked(self.offset))


def wait(ctx: Context, argv: Argv) -> None:
    """WAIT numreplicas timeout."""
    replication = ctx.services.replication
    if replication.is_replica:
        raise CommandError(ON_REPLICA)
    wanted = integer(argv, 1)
    timeout_ms = read_timeout(argv, 2, ctx.now_ms)
    wish = Confirmation(replication, replication.reachable(ctx.session.wrote_at), wanted)
    if wish.is_enough() or not ctx.may_block:
        wish.answer(ctx.reply)
        return
    ctx.block(BLOCK_TIME, [], timeout_ms, argv.kept(), False, None, wish.answer)
    replication.wake_when(ctx.session, wish.is_enough)


def waitaof(ctx: Context, argv: Argv) -> None:
    """WAITAOF numlocal numreplicas timeout."""
    local = integer(argv, 1)
    if not 0 <= local <= 1:
        raise CommandError(BAD_LOCAL)
    wanted = integer(argv, 2, BAD_REPLICAS)
    if wanted < 0:
        raise CommandError(BAD_REPLICAS)
    timeout_ms = read_timeout(argv, 3, ctx.now_ms)
    durability, replication = ctx.services.durability, ctx.services.replication
    if replication.is_replica:
        raise CommandError(AOF_ON_REPLICA)
    if local and not durability.aof_is_on:
        raise CommandError(NO_LOG)
    mark, offset = durability.mark(), replication.reachable(ctx.session.wrote_at)
    counts = [int(durability.is_synced(mark)), replication.count_synced(offset)]
    if (counts[0] >= local and counts[1] >= wanted) or not ctx.may_block:
        ctx.reply.value(counts)
        return

    def answer(out: RespWriter) -> None:
        out.value([int(durability.is_synced(mark)), replication.count_synced(offset)])

    def has_enough() -> bool:
        return (not local or durability.is_synced(mark)) and (
            replication.count_synced(offset) >= wanted
        )

    ctx.block(BLOCK_TIME, [], timeout_ms, argv.kept(), on_timeout=answer)
    if local:
        durability.wake_when_synced(mark, ctx.session, has_enough)
    if wanted:
        replication.wake_when(ctx.session, has_enough)


def read_timeout(argv: Argv, i: int, now_ms: int) -> int:
    """Argument i as a time to wait."""
    timeout_ms = integer(argv, i, BAD_TIMEOUT)
    if timeout_ms < 0:
        raise CommandError(NEGATIVE_TIMEOUT)
    if timeout_ms > mem.I64_MAX - now_ms:
        raise CommandError(LATE_TIMEOUT)
    return timeout_ms


ROWS = [
    Command(
        name="wait",
        handler=wait,
        arity=3,
        flags=BLOCKING,
        categories="slow connection",
        since="3.0.0",
        summary="Waits until a number of replicas have applied the writes of this client.",
        group="generic",
        syntax="numreplicas timeout",
    ),
    Command(
        name="waitaof",
        handler=waitaof,
        arity=4,
        flags=BLOCKING,
        categories="slow blocking connection",
        since="7.2.0",
        summary="Waits until the writes of this client are on disk, here and on replicas.",
        group="generic",
        syntax="numlocal numreplicas timeout",
    ),
]
