"""REPLICAOF, SLAVEOF, ROLE, FAILOVER: which server is the primary.

    REPLICAOF host port     follow that server; its data replaces the data here
    REPLICAOF NO ONE        become a primary; the data stays, and writes are accepted again
    ROLE                    primary or replica, and the offset
    FAILOVER                hand the role of primary over to a replica that has all data

The server does the work (server/replication).  The role changes at once, so that the next
INFO shows it; the link is made afterwards.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.services import FailoverPlan
from forebay.commands.api.spec import (
    ADMIN,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NOSCRIPT,
    STALE,
    Command,
    Handler,
)
from forebay.commands.keyspace.value_ops import integer_of
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

BAD_PORT = b"ERR Invalid master port"
FROM_REPLICA = b"ERR Command is not valid when client is a replica."
BAD_TARGET = b"ERR value is not an integer or out of range"
BAD_TIMEOUT = b"ERR FAILOVER timeout must be greater than 0"
LARGEST_PORT = 65535


def replicaof(ctx: Context, argv: Argv) -> None:
    """REPLICAOF host port | NO ONE."""
    replication = ctx.services.replication
    if argv.word(1, b"NO") and argv.word(2, b"ONE"):
        replication.lead()
        ctx.reply.ok()
        return
    if ctx.session.peer is not None and ctx.session.peer.is_attached:
        raise CommandError(FROM_REPLICA)
    port = integer_of(argv[2], BAD_PORT)
    if not 0 <= port <= LARGEST_PORT:
        raise CommandError(BAD_PORT)
    host = argv[1].decode("utf-8", "surrogateescape")
    if replication.follow(host, port):
        ctx.reply.ok()
    else:
        ctx.reply.status(b"OK Already connected to specified master")


def role(ctx: Context, argv: Argv) -> None:
    """ROLE."""
    ctx.reply.value(ctx.services.replication.role())


def failover(ctx: Context, argv: Argv) -> None:
    """FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]."""
    args = Args(argv)
    if args.left() == 1 and args.word(b"ABORT"):
        ctx.services.replication.abort_failover()
        ctx.reply.ok()
        return
    ctx.services.replication.failover(_plan(args))
    ctx.reply.ok()


def _plan(args: Args) -> FailoverPlan:
    """The options of FAILOVER."""
    host, port, timeout_ms, force = "", 0, 0, False
    while args.more():
        if args.left() >= 2 and not timeout_ms and args.word(b"TIMEOUT"):
            timeout_ms = args.integer()
            if timeout_ms <= 0:
                raise CommandError(BAD_TIMEOUT)
        elif args.left() >= 3 and not host and args.word(b"TO"):
            host = args.next().decode("utf-8", "surrogateescape")
            port = args.integer(BAD_TARGET)
        elif not force and args.word(b"FORCE"):
            force = True
        else:
            raise CommandError(SYNTAX)
    return FailoverPlan(host, port, timeout_ms, force)


def _follow_row(*, name: str, handler: Handler, since: str) -> Command:
    return Command(
        name=name,
        handler=handler,
        arity=3,
        flags=ADMIN | NOSCRIPT | STALE | NO_ASYNC_LOADING,
        categories="admin slow dangerous",
        since=since,
        summary="Makes this server a replica of another one, or a primary.",
        group="server",
        syntax="<host port | NO ONE>",
    )


ROWS = [
    _follow_row(name="replicaof", handler=replicaof, since="5.0.0"),
    _follow_row(name="slaveof", handler=replicaof, since="1.0.0"),
    Command(
        name="role",
        handler=role,
        arity=1,
        flags=NOSCRIPT | LOADING | STALE | FAST,
        categories="admin fast dangerous",
        since="2.8.12",
        summary="The role of this server, primary or replica, and its offset.",
        group="server",
    ),
    Command(
        name="failover",
        handler=failover,
        arity=-1,
        flags=ADMIN | NOSCRIPT | STALE,
        categories="admin slow dangerous",
        since="6.2.0",
        summary="Hands the role of the primary over to one of its replicas.",
        group="server",
        syntax="[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
    ),
]
