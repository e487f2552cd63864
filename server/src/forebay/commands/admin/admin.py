"""The server as a whole: INFO, TIME, ROLE, WAIT, SHUTDOWN, LOLWUT and MODULE.

There are no replicas or modules yet.  Where a client only wants to know, it
hears so in the usual form: ROLE is a master without replicas, WAIT counts none,
the list of modules is empty.
"""

from __future__ import annotations

from forebay.commands.admin.local_only import not_allowed
from forebay.commands.api.args import Args
from forebay.commands.api.context import BLOCK_TIME, Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import (
    ADMIN,
    ALLOW_BUSY,
    BLOCKING,
    FAST,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    READONLY,
    STALE,
    Command,
    Handler,
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


def role(ctx: Context, argv: Argv) -> None:
    """ROLE."""
    ctx.reply.value([b"master", 0, []])


def wait(ctx: Context, argv: Argv) -> None:
    """WAIT numreplicas timeout."""
    args = Args(argv)
    replicas = args.integer()
    timeout_ms = args.integer(b"ERR timeout is not an integer or out of range")
    if timeout_ms < 0:
        raise CommandError(b"ERR timeout is negative")
    if replicas <= 0 or not ctx.may_block:
        ctx.reply.integer(0)
        return
    ctx.block(BLOCK_TIME, [], timeout_ms, argv.kept(), on_timeout=lambda out: out.integer(0))


def shutdown(ctx: Context, argv: Argv) -> None:
    """SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]."""
    words = [argv[i].upper() for i in range(1, len(argv))]
    if any(word not in SHUTDOWN_WORDS for word in words):
        raise CommandError(SYNTAX)
    if {b"SAVE", b"NOSAVE"} <= set(words) or (b"ABORT" in words and len(words) > 1):
        raise CommandError(SYNTAX)
    if words == [b"ABORT"]:
        raise CommandError(b"ERR No shutdown in progress.")
    ctx.services.shutdown(ctx, words)


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


def _module_row(
    *, name: str, handler: Handler, arity: int, flags: int, since: str, doc: str
) -> Command:
    summary, _, syntax = doc.partition("; ")
    return Command(
        name=name,
        handler=handler,
        arity=arity,
        flags=flags,
        categories="admin slow dangerous",
        since=since,
        summary=summary,
        group="server",
        syntax=syntax,
    )


_MODULE_ROWS = [
    _module_row(
        name="list",
        handler=module_list,
        arity=2,
        flags=ADMIN | NOSCRIPT,
        since="4.0.0",
        doc="An empty list.; ",
    ),
    _module_row(
        name="load",
        handler=module_refused,
        arity=-3,
        flags=_LOADER,
        since="4.0.0",
        doc="Answered with an error.; path [arg [arg ...]]",
    ),
    _module_row(
        name="loadex",
        handler=module_refused,
        arity=-3,
        flags=_LOADER,
        since="7.0.0",
        doc="Answered with an error.; path [arg [arg ...]]",
    ),
    _module_row(
        name="unload",
        handler=module_refused,
        arity=3,
        flags=_LOADER,
        since="4.0.0",
        doc="Answered with an error.; name",
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
        summary="What is to know of the server, in sections.",
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
        name="role",
        handler=role,
        arity=1,
        flags=NOSCRIPT | LOADING | STALE | FAST,
        categories="admin fast dangerous",
        since="2.8.12",
        summary="Says that this server is a master.",
        group="server",
    ),
    Command(
        name="wait",
        handler=wait,
        arity=3,
        flags=BLOCKING,
        categories="slow connection",
        since="3.0.0",
        summary="Waits for replicas, of which there are none yet.",
        group="generic",
        syntax="numreplicas timeout",
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
        summary="A picture and the version.",
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
        summary="Questions about modules, of which there are none.",
        group="server",
        subcommands=_MODULE_ROWS,
    ),
]
