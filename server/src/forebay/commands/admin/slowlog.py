"""SLOWLOG: the latest slow commands.

    SLOWLOG GET [count]     newest first; 10 by default, -1 for all
    SLOWLOG LEN | RESET

An entry is an array of seven: number, unix time in seconds, microseconds, the arguments
(shortened by engine/slowlog.py), the client's address and its name, and, since Redis 8.10,
the original number of arguments, command name included.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.spec import ADMIN, LOADING, STALE, Command
from forebay.errors import CommandError
from forebay.wire.argv import Argv

DEFAULT_COUNT = 10
BAD_COUNT = b"ERR count should be greater than or equal to -1"
ENTRY_FIELDS = 7

_FLAGS = ADMIN | LOADING | STALE
_CATEGORIES = "admin slow dangerous"


def slowlog_get(ctx: Context, argv: Argv) -> None:
    """SLOWLOG GET."""
    count = DEFAULT_COUNT
    if len(argv) > 3:
        raise bad_subcommand(argv)
    if len(argv) > 2:
        is_number, count = argv.integer(2)
        if not is_number or count < -1:
            raise CommandError(BAD_COUNT)
    entries = ctx.services.slowlog.entries(count)
    out = ctx.reply
    out.array(len(entries))
    for entry in entries:
        out.array(ENTRY_FIELDS)
        out.integer(entry.number)
        out.integer(entry.at_s)
        out.integer(entry.usec)
        out.array(len(entry.argv))
        for arg in entry.argv:
            out.bulk(arg)
        out.bulk(entry.addr)
        out.bulk(entry.name)
        out.integer(entry.argc)


def slowlog_len(ctx: Context, argv: Argv) -> None:
    """SLOWLOG LEN."""
    ctx.reply.integer(len(ctx.services.slowlog))


def slowlog_reset(ctx: Context, argv: Argv) -> None:
    """SLOWLOG RESET."""
    ctx.services.slowlog.reset()
    ctx.reply.ok()


_HELP = """
GET [<count>]
    Return top <count> entries from the slowlog (default: 10, -1 mean all).
    Entries are made of:
    id, timestamp, time in microseconds, arguments array, client IP and port,
    client name, total number of arguments
LEN
    Return the length of the slowlog.
RESET
    Reset the slowlog.
"""

_SUBCOMMANDS = [
    Command(
        name="get",
        handler=slowlog_get,
        arity=-2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.2.12",
        summary="The latest slow commands, newest first.",
        group="server",
        syntax="[count]",
    ),
    Command(
        name="len",
        handler=slowlog_len,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.2.12",
        summary="The number of stored slow commands.",
        group="server",
    ),
    Command(
        name="reset",
        handler=slowlog_reset,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.2.12",
        summary="Forgets all slow commands.",
        group="server",
    ),
    help_row(container="slowlog", text=_HELP, since="6.2.0"),
]

ROWS = [
    Command(
        name="slowlog",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="2.2.12",
        summary="Shows which commands were slow.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
