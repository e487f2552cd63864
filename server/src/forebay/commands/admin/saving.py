"""SAVE, BGSAVE, BGREWRITEAOF, LASTSAVE: write data to disk, and the time of the last snapshot.

    SAVE            write the snapshot now; no client is served meanwhile
    BGSAVE          the same in a child; SCHEDULE waits for a child that is running
    BGREWRITEAOF    start a new AOF with all data as it is now, in a child
    LASTSAVE        when the last snapshot was finished, unix time in seconds

A child starts at the end of the turn of the loop, when the AOF holds all
changes of the turn; in a transaction the reply says "scheduled", as in Redis.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.services import REWRITE, SAVE
from forebay.commands.api.spec import (
    ADMIN,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    Command,
)
from forebay.errors import CommandError
from forebay.wire.argv import Argv

SAVE_UNDER_WAY = b"ERR Background save already in progress"
REWRITE_UNDER_WAY = b"ERR Background append only file rewriting already in progress"
OTHER_CHILD = (
    b"ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE "
    b"in order to schedule a BGSAVE whenever possible."
)


def save(ctx: Context, argv: Argv) -> None:
    """SAVE."""
    if ctx.services.durability.job == SAVE:
        raise CommandError(SAVE_UNDER_WAY)
    ctx.services.durability.save()
    ctx.reply.ok()


def bgsave(ctx: Context, argv: Argv) -> None:
    """BGSAVE [SCHEDULE]."""
    args = Args(argv)
    may_wait = args.word(b"SCHEDULE")
    args.done()
    durability = ctx.services.durability
    if durability.job == SAVE:
        raise CommandError(SAVE_UNDER_WAY)
    if durability.job and not may_wait and ctx.may_block:
        raise CommandError(OTHER_CHILD)
    durability.ask_for(SAVE)
    ctx.reply.status(b"Background saving " + when(ctx, SAVE))


def bgrewriteaof(ctx: Context, argv: Argv) -> None:
    """BGREWRITEAOF."""
    durability = ctx.services.durability
    if durability.job == REWRITE:
        raise CommandError(REWRITE_UNDER_WAY)
    durability.ask_for(REWRITE)
    ctx.reply.status(b"Background append only file rewriting " + when(ctx, REWRITE))


def when(ctx: Context, job: str) -> bytes:
    """Whether a requested job starts now, or later."""
    is_next = ctx.services.durability.job == job
    return b"started" if is_next and ctx.may_block else b"scheduled"


def lastsave(ctx: Context, argv: Argv) -> None:
    """LASTSAVE."""
    ctx.reply.integer(ctx.services.durability.last_save_s)


_SAVER = ADMIN | NOSCRIPT | NO_ASYNC_LOADING

ROWS = [
    Command(
        name="save",
        handler=save,
        arity=1,
        flags=_SAVER | NO_MULTI,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Saves the data to a snapshot on disk and answers when that is done.",
        group="server",
    ),
    Command(
        name="bgsave",
        handler=bgsave,
        arity=-1,
        flags=_SAVER,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Saves the data to a snapshot on disk in the background.",
        group="server",
        syntax="[SCHEDULE]",
    ),
    Command(
        name="bgrewriteaof",
        handler=bgrewriteaof,
        arity=1,
        flags=_SAVER,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Rewrites the AOF from the present data, in the background.",
        group="server",
    ),
    Command(
        name="lastsave",
        handler=lastsave,
        arity=1,
        flags=LOADING | STALE | FAST,
        categories="admin fast dangerous",
        since="1.0.0",
        summary="Returns the unix time of the last snapshot.",
        group="server",
    ),
]
