"""CONFIG: read and change the configuration of a running server.

    CONFIG GET pattern [pattern ...]
    CONFIG SET name value [name value ...]      all or nothing
    CONFIG RESETSTAT
    CONFIG REWRITE

The directives and their rules are in the server (``services.config``); these
handlers only pass arguments and answers on.
"""

from __future__ import annotations

from forebay.commands.admin.local_only import is_local
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import ADMIN, LOADING, NOSCRIPT, STALE, Command
from forebay.errors import wrong_arity
from forebay.wire.argv import Argv

_FLAGS = ADMIN | NOSCRIPT | LOADING | STALE
_CATEGORIES = "admin slow dangerous"


def config_get(ctx: Context, argv: Argv) -> None:
    """CONFIG GET."""
    found = ctx.services.config.get(argv.list()[2:])
    ctx.reply.map(len(found))
    for name, value in found.items():
        ctx.reply.bulk(name)
        ctx.reply.bulk(value)


def config_set(ctx: Context, argv: Argv) -> None:
    """CONFIG SET."""
    words = argv.list()[2:]
    if len(words) % 2:
        raise wrong_arity(b"config|set")
    pairs = list(zip(words[::2], words[1::2], strict=True))
    ctx.services.config.set(pairs, is_local(ctx.session))
    ctx.reply.ok()


def config_resetstat(ctx: Context, argv: Argv) -> None:
    """CONFIG RESETSTAT."""
    ctx.services.stats.reset()
    ctx.services.call_counts.reset()
    ctx.reply.ok()


def config_rewrite(ctx: Context, argv: Argv) -> None:
    """CONFIG REWRITE."""
    ctx.services.config.rewrite()
    ctx.reply.ok()


_HELP = """
GET <pattern>
    Return parameters matching the glob-like <pattern> and their values.
SET <directive> <value>
    Set the configuration <directive> to <value>.
RESETSTAT
    Reset statistics reported by the INFO command.
REWRITE
    Rewrite the configuration file.
"""

_SUBCOMMANDS = [
    Command(
        name="get",
        handler=config_get,
        arity=-3,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.0.0",
        summary="The present values of the directives that match.",
        group="server",
        syntax="parameter [parameter ...]",
    ),
    Command(
        name="set",
        handler=config_set,
        arity=-4,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.0.0",
        summary="Changes directives of the running server, all or none.",
        group="server",
        syntax="parameter value [parameter value ...]",
    ),
    Command(
        name="resetstat",
        handler=config_resetstat,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.0.0",
        summary="Sets the counters of INFO to zero.",
        group="server",
    ),
    Command(
        name="rewrite",
        handler=config_rewrite,
        arity=2,
        flags=_FLAGS,
        categories=_CATEGORIES,
        since="2.8.0",
        summary="Writes the present configuration to its file and keeps the comments.",
        group="server",
    ),
    help_row(container="config", text=_HELP, since="5.0.0"),
]

ROWS = [
    Command(
        name="config",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="2.0.0",
        summary="Reads and changes the configuration.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
