"""CLUSTER, READONLY, READWRITE, ASKING: answered as by a Redis without cluster mode.

Clients send CLUSTER INFO or CLUSTER SLOTS to find out whether the server is a
cluster; they look for this error text.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.spec import (
    ADMIN,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NOSCRIPT,
    STALE,
    Command,
)
from forebay.errors import CommandError
from forebay.wire.argv import Argv

DISABLED = b"ERR This instance has cluster support disabled"


def cluster(ctx: Context, argv: Argv) -> None:
    """CLUSTER subcommand ..., and the commands that clients of a cluster send to a node."""
    raise CommandError(DISABLED)


_CHANGES = ADMIN | NO_ASYNC_LOADING | STALE
_READS = STALE

#: Name, arity, flags, since.
_KNOWN = [
    ("addslots", -3, _CHANGES, "3.0.0"),
    ("addslotsrange", -4, _CHANGES, "7.0.0"),
    ("bumpepoch", 2, _CHANGES, "3.0.0"),
    ("count-failure-reports", 3, ADMIN | STALE, "3.0.0"),
    ("countkeysinslot", 3, _READS, "3.0.0"),
    ("delslots", -3, _CHANGES, "3.0.0"),
    ("delslotsrange", -4, _CHANGES, "7.0.0"),
    ("failover", -2, _CHANGES, "3.0.0"),
    ("flushslots", 2, _CHANGES, "3.0.0"),
    ("forget", 3, _CHANGES, "3.0.0"),
    ("getkeysinslot", 4, _READS, "3.0.0"),
    ("help", 2, LOADING | STALE, "5.0.0"),
    ("info", 2, _READS, "3.0.0"),
    ("keyslot", 3, _READS, "3.0.0"),
    ("links", 2, _READS, "7.0.0"),
    ("meet", -4, _CHANGES, "3.0.0"),
    ("migration", -4, _CHANGES, "8.4.0"),
    ("myid", 2, _READS, "3.0.0"),
    ("myshardid", 2, _READS, "7.2.0"),
    ("nodes", 2, _READS, "3.0.0"),
    ("replicas", 3, ADMIN | STALE, "5.0.0"),
    ("replicate", 3, _CHANGES, "3.0.0"),
    ("reset", -2, ADMIN | NOSCRIPT | STALE, "3.0.0"),
    ("saveconfig", 2, _CHANGES, "3.0.0"),
    ("set-config-epoch", 3, _CHANGES, "3.0.0"),
    ("setslot", -4, _CHANGES, "3.0.0"),
    ("shards", 2, LOADING | STALE, "7.0.0"),
    ("slot-stats", -4, LOADING | STALE, "8.2.0"),
    ("slaves", 3, ADMIN | STALE, "3.0.0"),
    ("slots", 2, LOADING | STALE, "3.0.0"),
    ("syncslots", -3, _CHANGES, "8.4.0"),
]


def _row(*, name: str, arity: int, flags: int, since: str) -> Command:
    categories = "admin slow dangerous" if flags & ADMIN else "slow"
    return Command(
        name=name,
        handler=cluster,
        arity=arity,
        flags=flags,
        categories=categories,
        since=since,
        summary="Always an error: there is no cluster mode.",
        group="cluster",
        syntax="argument [argument ...]" if abs(arity) > 2 else "",
    )


ROWS = [
    Command(
        name="cluster",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="3.0.0",
        summary="Always an error: there is no cluster mode.",
        group="cluster",
        subcommands=[
            _row(name=name, arity=arity, flags=flags, since=since)
            for name, arity, flags, since in _KNOWN
        ],
    ),
    *(
        Command(
            name=name,
            handler=cluster,
            arity=1,
            flags=flags | FAST,
            categories="@fast @connection",
            since="3.0.0",
            summary="Always an error: there is no cluster mode.",
            group="cluster",
        )
        for name, flags in (
            ("readonly", LOADING | STALE),
            ("readwrite", LOADING | STALE),
            ("asking", 0),
        )
    ),
]
