"""PSYNC, SYNC, REPLCONF: the commands that a replica sends to its primary.

    REPLCONF listening-port 6380      its address and its abilities: kept with its session
    REPLCONF capa eof capa psync2
    PSYNC replid offset               its place in the stream: the session becomes a link
    REPLCONF ACK offset               its offset; not answered

redis-cli is such a replica too: --rdb asks for a copy of the data and no stream, --replica
shows the stream.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api import gates
from forebay.commands.api.context import Context
from forebay.commands.api.services import Link
from forebay.commands.api.spec import (
    ADMIN,
    ALLOW_BUSY,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    Command,
)
from forebay.commands.keyspace.value_ops import integer_of, integer_within
from forebay.commands.streams.parsing import integer
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

PENDING_OUTPUT = b"ERR SYNC and PSYNC are invalid with pending output"
LONGEST_HOST = 255
NO_FILTER = b"ERR Unsupported rdb-filter-only option: %b"
UNKNOWN = b"ERR Unrecognized REPLCONF option: %b"
#: A replica without an AOF does not report the offset of its disk.
NOT_SAID = -1
IS_LINK = gates.REPLICA
SHOWN_BYTES = 128


def psync(ctx: Context, argv: Argv) -> None:
    """PSYNC replid offset [FAILOVER [FORCE]]."""
    if _is_linked(ctx):
        return
    replid = argv[1].decode("ascii", "replace")
    offset = integer_of(argv[2]) - 1
    if len(argv) > 3 and argv.word(3, b"FAILOVER"):
        is_forced = len(argv) > 4 and argv.word(4, b"FORCE")
        ctx.services.replication.take_the_lead(replid, offset, is_forced)
    _check(ctx)
    ctx.services.replication.psync(ctx.session, replid, offset)


def sync(ctx: Context, argv: Argv) -> None:
    """SYNC: a copy of all data, then the stream; as before Redis 2.8, and for redis-cli."""
    if _is_linked(ctx):
        return
    _check(ctx)
    ctx.services.replication.sync(ctx.session)


def _is_linked(ctx: Context) -> bool:
    """Whether this session has already asked for the stream."""
    return bool(ctx.session.gate & IS_LINK)


def _check(ctx: Context) -> None:
    """Check that this server has a stream to send, and that this session has no output pending."""
    ctx.services.replication.check_sync()
    if ctx.reply.pending() > 0:
        raise CommandError(PENDING_OUTPUT)


# REPLCONF


def replconf(ctx: Context, argv: Argv) -> None:
    """REPLCONF name value [name value ...]."""
    if argv.n % 2 == 0:
        raise CommandError(SYNTAX)
    if argv.n > 1 and argv.word(1, b"ACK"):
        read_ack(ctx, argv)
        return
    if argv.n > 1 and argv.word(1, b"GETACK"):
        # Only a primary sends that, on its own link.
        return
    link = ctx.services.replication.link_of(ctx.session)
    for i in range(1, len(argv), 2):
        option = OPTIONS.get(argv[i].lower())
        if option is None:
            raise CommandError(UNKNOWN % argv[i][:SHOWN_BYTES])
        option(link, argv[i + 1])
    ctx.reply.ok()


def read_ack(ctx: Context, argv: Argv) -> None:
    """REPLCONF ACK offset [FACK offset]."""
    if not ctx.session.gate & IS_LINK:
        return
    synced = NOT_SAID
    if argv.n > 4 and argv.word(3, b"FACK"):
        synced = integer(argv, 4)
    ctx.services.replication.acked(ctx.session, integer(argv, 2), synced)


def _port(link: Link, value: bytes) -> None:
    link.port = integer_of(value)


def _host(link: Link, value: bytes) -> None:
    if len(value) > LONGEST_HOST:
        raise CommandError(
            b"ERR REPLCONF ip-address provided by replica instance is too long: "
            b"%d bytes" % len(value)
        )
    link.announced_host = value.decode("utf-8", "surrogateescape")


def _capability(link: Link, value: bytes) -> None:
    """A primary ignores unknown abilities: a newer replica may offer anything."""
    link.capabilities.add(value.decode("ascii", "replace").lower())


def _version(link: Link, value: bytes) -> None:
    link.version = value.decode("ascii", "replace")


def _rdb_only(link: Link, value: bytes) -> None:
    link.rdb_only = integer_within(value, 0, 1) == 1


def _rdb_filter(link: Link, value: bytes) -> None:
    """Which data a copy must hold; there are no functions here, so without data it is empty."""
    for word in value.split():
        if word.lower() != b"functions":
            raise CommandError(NO_FILTER % word)
        link.rdb_without_data = True


Option = Callable[[Link, bytes], None]

OPTIONS: dict[bytes, Option] = {
    b"listening-port": _port,
    b"ip-address": _host,
    b"capa": _capability,
    b"version": _version,
    b"rdb-only": _rdb_only,
    b"rdb-filter-only": _rdb_filter,
}

_LINK = ADMIN | NOSCRIPT | NO_MULTI | NO_ASYNC_LOADING

ROWS = [
    Command(
        name="psync",
        handler=psync,
        arity=-3,
        flags=_LINK,
        categories="admin slow dangerous",
        since="2.8.0",
        summary="Begins the stream of changes for a replica, at its offset.",
        group="server",
        syntax="replicationid offset",
    ),
    Command(
        name="sync",
        handler=sync,
        arity=1,
        flags=_LINK,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Begins the stream of changes for a replica, with a copy of all data.",
        group="server",
    ),
    Command(
        name="replconf",
        handler=replconf,
        arity=-1,
        flags=ADMIN | NOSCRIPT | LOADING | STALE | ALLOW_BUSY,
        categories="admin slow dangerous",
        since="3.0.0",
        summary="Facts that a replica reports to its primary.",
        group="server",
    ),
]
