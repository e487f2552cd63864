"""BACKUP: files that hold all data as of one moment, written while the server keeps running.

    BACKUP START      begin: a base is written, later changes are collected
    BACKUP SEAL       fix that moment; the files are complete and no longer change
    BACKUP LIST       the files, as absolute paths: copy them
    BACKUP STATUS     its state, its error and its times
    BACKUP ABORT      give up a backup that is not sealed
    BACKUP CLEANUP    remove the files

Start and seal are two commands so that many servers can write their bases one after the other and
seal all at once.  server/durability/backup.py describes the files and how they are made.
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import ADMIN, NOSCRIPT, STALE, Command
from forebay.wire.argv import Argv


def backup_start(ctx: Context, argv: Argv) -> None:
    """BACKUP START."""
    ctx.services.durability.backup.start()
    ctx.reply.ok()


def backup_seal(ctx: Context, argv: Argv) -> None:
    """BACKUP SEAL; never in the middle of a transaction."""
    ctx.services.durability.backup.seal(at_once=ctx.may_block)
    ctx.reply.ok()


def backup_abort(ctx: Context, argv: Argv) -> None:
    """BACKUP ABORT."""
    ctx.services.durability.backup.abort()
    ctx.reply.ok()


def backup_cleanup(ctx: Context, argv: Argv) -> None:
    """BACKUP CLEANUP."""
    ctx.services.durability.backup.cleanup()
    ctx.reply.ok()


def backup_list(ctx: Context, argv: Argv) -> None:
    """BACKUP LIST."""
    paths = ctx.services.durability.backup.pinned
    ctx.reply.array(len(paths))
    for path in paths:
        ctx.reply.bulk(path.encode("utf-8", "surrogateescape"))


def backup_status(ctx: Context, argv: Argv) -> None:
    """BACKUP STATUS."""
    backup, out = ctx.services.durability.backup, ctx.reply
    out.map(4)
    out.bulk(b"state")
    out.bulk(backup.state.encode())
    out.bulk(b"error")
    out.bulk(backup.error.encode("utf-8", "replace"))
    out.bulk(b"start_time")
    out.integer(backup.start_s)
    out.bulk(b"end_time")
    out.integer(backup.end_s)


_HELP = """
START
    Start a backup: a base of all data, then later changes, in 'backupdirname'.
SEAL
    End the backup with the data as of now; its files do not change any more.
LIST
    Return the absolute paths of the files that are finished so far.
STATUS
    Return the state of the backup, its error and its times.
ABORT
    Give up a backup that is not sealed.
CLEANUP
    Remove the files of a backup that is sealed or failed.
"""

_CATEGORIES = "admin slow dangerous"
_CHANGES = ADMIN | NOSCRIPT
_LOOKS = ADMIN | STALE
_WHAT = (
    ("abort", backup_abort, _CHANGES, "Gives up a backup that is not sealed."),
    ("cleanup", backup_cleanup, _CHANGES, "Removes the files of a backup."),
    ("list", backup_list, _LOOKS, "The files of the backup that are finished, as absolute paths."),
    ("seal", backup_seal, _CHANGES, "Ends a backup with the data as of now."),
    ("start", backup_start, _CHANGES, "Begins a backup in the directory backupdirname."),
    ("status", backup_status, _LOOKS, "The state of the backup."),
)

ROWS = [
    Command(
        name="backup",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="8.10.0",
        summary="Writes files with all data as of one moment.",
        group="server",
        subcommands=[
            *(
                Command(
                    name=name,
                    handler=handler,
                    arity=2,
                    flags=flags,
                    categories=_CATEGORIES,
                    since="8.10.0",
                    summary=summary,
                    group="server",
                )
                for name, handler, flags, summary in _WHAT
            ),
            help_row(container="backup", text=_HELP, since="8.10.0"),
        ],
    )
]
