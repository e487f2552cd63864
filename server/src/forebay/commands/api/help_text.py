"""The HELP subcommand that every container has, and the error that names it."""

from __future__ import annotations

from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.commands.api.spec import LOADING, STALE, Command
from forebay.errors import CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

HEADING = "{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
# Redis prints at most this much of a subcommand's name.
SHOWN_SUBCOMMAND = 128
FOOT = ("HELP", "    Print this help.")


def write_help(out: RespWriter, container: str, text: str) -> None:
    """The help of a container; ``text`` has one line for each line of the reply."""
    lines = [HEADING.format(container.upper()), *text.strip("\n").splitlines(), *FOOT]
    out.array(len(lines))
    for line in lines:
        out.status(line.encode())


def help_row(
    *, container: str, text: str, since: str, group: str = "server", categories: str = "slow"
) -> Command:
    """The row of ``container HELP``."""

    def show_help(ctx: Context, argv: Argv) -> None:
        write_help(ctx.reply, container, text)

    return Command(
        name="help",
        handler=show_help,
        arity=2,
        flags=LOADING | STALE,
        categories=categories,
        since=since,
        summary="Lists the subcommands.",
        group=group,
    )


def bad_subcommand(argv: Argv) -> CommandError:
    """The error for a known subcommand with unknown options."""
    return CommandError(
        b"ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP."
        % (shown(argv[1])[:SHOWN_SUBCOMMAND], argv[0].upper())
    )
