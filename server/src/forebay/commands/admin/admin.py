"""The server as a whole: INFO, TIME, SHUTDOWN, LOLWUT and MODULE.

There are no modules: their list is empty.
"""

from __future__ import annotations

from functools import partial

from forebay.commands.admin.local_only import not_allowed
from forebay.commands.api.context import BLOCK_TIME, Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import (
    ADMIN,
    ALLOW_BUSY,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    READONLY,
    STALE,
    Command,
)
from forebay.commands.api.version import REDIS_VERSION
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

SHUTDOWN_WORDS = (b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT")

_WEIR = rb"""
        ~  ~~ ~   ~~  ~ ~~  ~~~ ~   ~ ~~  ~
     ~~~~ ~~~~~~ ~~~~~~ ~~~~~ ~~~~~~ ~~~~~~|
     ~~~~~~~ ~~~~~~~~~~~ ~~~~~~~~~~~ ~~~~~~|\
     ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| \  ~~ ~
     ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|  \~~~~~~~ ~~  ~
"""


def info(ctx: Context, argv: Argv) -> None:
    """INFO [section ...]."""
    ctx.reply.verbatim(b"txt", ctx.services.info(ctx, argv.list()[1:]))


def time(ctx: Context, argv: Argv) -> None:
    """TIME: seconds and microseconds."""
    seconds, us = divmod(ctx.services.executor.wall_us(), 1_000_000)
    ctx.reply.value([b"%d" % seconds, b"%d" % us])


def shutdown(ctx: Context, argv: Argv) -> None:
    """SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]."""
    words = [argv[i].upper() for i in range(1, len(argv))]
    if any(word not in SHUTDOWN_WORDS for word in words):
        raise CommandError(SYNTAX)
    if {b"SAVE", b"NOSAVE"} <= set(words) or (b"ABORT" in words and len(words) > 1):
        raise CommandError(SYNTAX)
    ending = ctx.services.ending
    if words == [b"ABORT"]:
        if not ending.abort():
            raise CommandError(b"ERR No shutdown in progress.")
        ctx.reply.ok()
    elif ending.by_command(ctx, words):
        ctx.block(BLOCK_TIME, [], 0, argv.kept())


def lolwut(ctx: Context, argv: Argv) -> None:
    """LOLWUT [VERSION version]: a picture and the version."""
    text = _WEIR.lstrip(b"\n") + b"\nWater waits in the forebay. Redis ver. %s\n"
    ctx.reply.verbatim(b"txt", text % REDIS_VERSION.encode())


def module_list(ctx: Context, argv: Argv) -> None:
    """MODULE LIST."""
    ctx.reply.array(0)


def module_refused(ctx: Context, argv: Argv) -> None:
    """MODULE LOAD, LOADEX and UNLOAD."""
    raise not_allowed(b"MODULE")


_MODULE_HELP = """
LIST
    Return a list of loaded modules.
LOAD <path> [<arg> ...]
    Load a module library from <path>, passing to it any optional arguments.
LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]
    Load a module library from <path>, while passing it module configurations and optional \
arguments.
UNLOAD <name>
    Unload a module.
"""

_LOADER = ADMIN | NOSCRIPT | NO_ASYNC_LOADING
_module_row = partial(Command, categories="admin slow dangerous", group="server")

_MODULE_ROWS = [
    _module_row(
        name="list",
        handler=module_list,
        arity=2,
        flags=ADMIN | NOSCRIPT,
        since="4.0.0",
        summary="Returns an empty list: there are no modules.",
    ),
    _module_row(
        name="load",
        handler=module_refused,
        arity=-3,
        flags=_LOADER,
        since="4.0.0",
        summary="Always an error: modules are not supported.",
        syntax="path [arg [arg ...]]",
    ),
    _module_row(
        name="loadex",
        handler=module_refused,
        arity=-3,
        flags=_LOADER,
        since="7.0.0",
        summary="Always an error: modules are not supported.",
        syntax="path [arg [arg ...]]",
    ),
    _module_row(
        name="unload",
        handler=module_refused,
        arity=3,
        flags=_LOADER,
        since="4.0.0",
        summary="Always an error: modules are not supported.",
        syntax="name",
    ),
    help_row(container="module", text=_MODULE_HELP, since="5.0.0"),
]

ROWS = [
    Command(
        name="info",
        handler=info,
        arity=-1,
        flags=LOADING | STALE,
        categories="slow dangerous",
        since="1.0.0",
        summary="Facts and counters of the server, in sections.",
        group="server",
        syntax="[section [section ...]]",
    ),
    Command(
        name="time",
        handler=time,
        arity=1,
        flags=LOADING | STALE | FAST,
        categories="fast",
        since="2.6.0",
        summary="The time in seconds and microseconds.",
        group="server",
    ),
    Command(
        name="shutdown",
        handler=shutdown,
        arity=-1,
        flags=ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Stops the server.",
        group="server",
        syntax="[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
    ),
    Command(
        name="lolwut",
        handler=lolwut,
        arity=-1,
        flags=READONLY | FAST,
        categories="read fast",
        since="5.0.0",
        summary="Shows a picture and the version.",
        group="server",
        syntax="[VERSION version]",
    ),
    Command(
        name="module",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="4.0.0",
        summary="Commands about modules, which are not supported.",
        group="server",
        subcommands=_MODULE_ROWS,
    ),
]
