"""The HELP subcommand that every container has: one builder for all of them."""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.spec import LOADING, STALE, Command
from forebay.wire.argv import Argv
from forebay.wire.reply import Reply

HEADING = "{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
FOOT = ("HELP", "    Print this help.")


def write_help(out: Reply, container: str, text: str) -> None:
    """The help of a container; ``text`` has one line for each line of the reply."""
    lines = [HEADING.format(container.upper()), *text.strip("\n").splitlines(), *FOOT]
    out.array(len(lines))
    for line in lines:
        out.status(line.encode())


def help_row(
    container: str, text: str, since: str, group: str = "server", categories: str = "slow"
) -> Command:
    """The row of ``container HELP``."""

    def show_help(ctx: Context, argv: Argv) -> None:
        write_help(ctx.out, container, text)

    return Command(
        "help",
        show_help,
        2,
        LOADING | STALE,
        categories,
        since=since,
        summary="What the subcommands are.",
        group=group,
    )
