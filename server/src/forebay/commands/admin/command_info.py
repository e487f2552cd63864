"""COMMAND: the table of commands, for clients.

    COMMAND                                   every row
    COMMAND COUNT
    COMMAND LIST [FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]
    COMMAND INFO [name ...]                   the rows of these; nil for an unknown one
    COMMAND DOCS [name ...]                   summary and arguments (command_docs.py)
    COMMAND GETKEYS, GETKEYSANDFLAGS          the keys of a whole command (command_keys.py)

A row is an array of ten: name, arity, flags, first key, last key, step, ACL
categories, tips, key specifications, subcommands.  A subcommand is named
``container|name``.  LIST contains both containers and subcommands.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from forebay.commands.access.categories import Catalogue, categories_of
from forebay.commands.admin.command_docs import write_docs
from forebay.commands.admin.command_facts import tips_of
from forebay.commands.admin.command_keys import keys_of_call, specs_of
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.glob import Glob
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import (
    FLAG_NAMES,
    LOADING,
    MAY_REPLICATE,
    STALE,
    Command,
)
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

ROW_FIELDS = 10
#: Redis does not show this flag.
UNPRINTED = MAY_REPLICATE

INVALID_COMMAND = b"ERR Invalid command specified"


def find_row(ctx: Context, name: bytes) -> Command | None:
    """The row of ``name`` or of ``container|name``."""
    return Catalogue(ctx.services.executor.commands).find(name)


# -- Rows -----------------------------------------------------------------------------------


def command(ctx: Context, argv: Argv) -> None:
    """COMMAND without a subcommand."""
    rows = ctx.services.executor.commands.values()
    ctx.reply.array(len(rows))
    for row in rows:
        write_row(ctx.reply, row)


def command_count(ctx: Context, argv: Argv) -> None:
    """COMMAND COUNT."""
    ctx.reply.integer(len(ctx.services.executor.commands))


def command_info(ctx: Context, argv: Argv) -> None:
    """COMMAND INFO [name ...]."""
    names = argv.list()[2:]
    if not names:
        command(ctx, argv)
        return
    ctx.reply.array(len(names))
    for name in names:
        row = find_row(ctx, name)
        if row is None:
            ctx.reply.null()
        else:
            write_row(ctx.reply, row)


def command_docs(ctx: Context, argv: Argv) -> None:
    """COMMAND DOCS [name ...]."""
    names = argv.list()[2:]
    rows: Iterable[Command | None] = ctx.services.executor.commands.values()
    if names:
        rows = [find_row(ctx, name) for name in names]
    known = [row for row in rows if row is not None]
    ctx.reply.map(len(known))
    for row in known:
        write_docs(ctx.reply, row)


def write_row(out: RespWriter, row: Command) -> None:
    """The row as an array of ten."""
    out.array(ROW_FIELDS)
    out.bulk(row.full_name)
    out.integer(row.arity)
    _write_words(out, [name for flag, name in FLAG_NAMES if row.flags & ~UNPRINTED & flag])
    out.integer(row.keys.first)
    out.integer(row.keys.last)
    out.integer(row.keys.step)
    _write_words(out, ["@" + name for name in categories_of(row)])
    tips = tips_of(row.full_name.decode())
    out.set(len(tips))
    for tip in tips:
        out.bulk(tip.encode())
    _write_key_specs(out, row)
    out.set(len(row.subcommands))
    for subcommand in row.subcommands.values():
        write_row(out, subcommand)


def _write_words(out: RespWriter, words: list[str]) -> None:
    out.set(len(words))
    for word in words:
        out.status(word.encode())


def _write_key_specs(out: RespWriter, row: Command) -> None:
    specs = specs_of(row)
    out.set(len(specs))
    for flags, begin, find in specs:
        out.map(3)
        out.bulk(b"flags")
        _write_words(out, flags)
        out.bulk(b"begin_search")
        out.value(begin)
        out.bulk(b"find_keys")
        out.value(find)


# -- LIST -----------------------------------------------------------------------------------


def command_list(ctx: Context, argv: Argv) -> None:
    """COMMAND LIST [FILTERBY ...]."""
    ctx.reply.value(_listed(ctx, Args(argv, 2)))


def _listed(ctx: Context, args: Args) -> list[bytes]:
    rows = ctx.services.executor.commands.values()
    every = [found for row in rows for found in (row, *row.subcommands.values())]
    if not args.more():
        return [row.full_name for row in every]
    if args.left() != 3 or not args.word(b"FILTERBY"):
        raise CommandError(SYNTAX)
    if args.word(b"MODULE"):
        return []
    if args.word(b"ACLCAT"):
        category = args.next().decode("utf-8", "replace").lower()
        return [row.full_name for row in every if category in categories_of(row)]
    if args.word(b"PATTERN"):
        pattern = Glob(args.next(), nocase=True)
        return [row.full_name for row in every if pattern.matches(row.full_name)]
    raise CommandError(SYNTAX)


# -- Keys -----------------------------------------------------------------------------------


def command_getkeys(ctx: Context, argv: Argv) -> None:
    """COMMAND GETKEYS command ..."""
    ctx.reply.value([key for key, _ in _keys_of_call(ctx, argv)])


def command_getkeysandflags(ctx: Context, argv: Argv) -> None:
    """COMMAND GETKEYSANDFLAGS command ..."""
    keys = _keys_of_call(ctx, argv)
    ctx.reply.array(len(keys))
    for key, flags in keys:
        ctx.reply.array(2)
        ctx.reply.bulk(key)
        _write_words(ctx.reply, flags)


def _keys_of_call(ctx: Context, argv: Argv) -> list[tuple[bytes, list[str]]]:
    words = argv.list()[2:]
    row = ctx.services.executor.commands.get(words[0].lower())
    if row is not None and row.is_container and len(words) > 1:
        row = row.subcommands.get(words[1].lower())
    if row is None:
        raise CommandError(INVALID_COMMAND)
    return keys_of_call(row, words)


_HELP = """
(no subcommand)
    Return details about all Redis commands.
COUNT
    Return the total number of commands in this Redis server.
LIST
    Return a list of all commands in this Redis server.
INFO [<command-name> ...]
    Return details about multiple Redis commands.
    If no command names are given, documentation details for all
    commands are returned.
DOCS [<command-name> ...]
    Return documentation details about multiple Redis commands.
    If no command names are given, documentation details for all
    commands are returned.
GETKEYS <full-command>
    Return the keys from a full Redis command.
GETKEYSANDFLAGS <full-command>
    Return the keys and the access flags from a full Redis command.
"""


_row = partial(Command, flags=LOADING | STALE, categories="slow connection", group="server")


_FILTER = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]"
_NAMES = "[command-name [command-name ...]]"
_CALL = "command [arg [arg ...]]"
_SUBCOMMANDS = [
    _row(
        name="count",
        handler=command_count,
        arity=2,
        since="2.8.13",
        summary="The number of commands.",
    ),
    _row(
        name="docs",
        handler=command_docs,
        arity=-2,
        since="7.0.0",
        summary="Purpose and syntax of commands.",
        syntax=_NAMES,
    ),
    _row(
        name="getkeys",
        handler=command_getkeys,
        arity=-3,
        since="2.8.13",
        summary="The keys of a complete command.",
        syntax=_CALL,
    ),
    _row(
        name="getkeysandflags",
        handler=command_getkeysandflags,
        arity=-3,
        since="7.0.0",
        summary="The keys of a complete command and how it uses each.",
        syntax=_CALL,
    ),
    _row(
        name="info",
        handler=command_info,
        arity=-2,
        since="2.8.13",
        summary="Details of the given commands.",
        syntax=_NAMES,
    ),
    _row(
        name="list",
        handler=command_list,
        arity=-2,
        since="7.0.0",
        summary="The names of all commands, or of those that match a filter.",
        syntax=_FILTER,
    ),
    help_row(
        container="command", text=_HELP, since="5.0.0", group="server", categories="slow connection"
    ),
]

ROWS = [
    Command(
        name="command",
        handler=command,
        arity=-1,
        flags=LOADING | STALE,
        categories="slow connection",
        since="2.8.13",
        summary="Details of all commands.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
