"""COMMAND: the table of commands, told to clients.

    COMMAND                                   every row
    COMMAND COUNT
    COMMAND LIST [FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]
    COMMAND INFO [name ...]                   the rows of these; nil for an unknown one
    COMMAND DOCS [name ...]                   summary and arguments (command_docs.py)
    COMMAND GETKEYS, GETKEYSANDFLAGS          where the keys stand in a whole command

A row is an array of ten: name, arity, flags, first key, last key, step, ACL
categories, tips (none here), key specifications, subcommands.  A subcommand is
named ``container|name``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from forebay.commands.args import Args
from forebay.commands.command_docs import write_docs
from forebay.commands.context import Context
from forebay.commands.glob import Glob
from forebay.commands.help_text import help_row
from forebay.commands.spec import (
    ADMIN,
    BLOCKING,
    FAST,
    FLAG_NAMES,
    LOADING,
    MAY_REPLICATE,
    NO_MANDATORY_KEYS,
    PUBSUB,
    READONLY,
    STALE,
    WRITE,
    Command,
    Handler,
)
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv
from forebay.wire.reply import Reply

ROW_FIELDS = 10
#: In the order in which they are printed.
CATEGORIES = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin"
    " fast slow blocking dangerous connection transaction scripting"
)
#: Categories that follow from a flag, whether the row names them or not.
IMPLIED = (
    (WRITE, "write"),
    (READONLY, "read"),
    (ADMIN, "admin"),
    (ADMIN, "dangerous"),
    (PUBSUB, "pubsub"),
    (FAST, "fast"),
    (BLOCKING, "blocking"),
)
#: Redis keeps this flag to itself.
UNPRINTED = MAY_REPLICATE
#: Commands whose keys stand behind a word: the word, and where the search for it begins.
KEYWORDS = {b"xread": (b"STREAMS", 1), b"xreadgroup": (b"STREAMS", 4)}

#: Commands whose keys stand behind their number: where that is.
COUNTED = dict.fromkeys([b"eval", b"evalsha", b"eval_ro", b"evalsha_ro"], 2)

INVALID_COMMAND = b"ERR Invalid command specified"
INVALID_COUNT = b"ERR Invalid number of arguments specified for command"
INVALID_ARGUMENTS = b"ERR Invalid arguments specified for command"
NO_KEY_ARGUMENTS = b"ERR The command has no key arguments"


@cache
def categories_of(row: Command) -> list[str]:
    """All ACL categories of a command; the list is not to be changed."""
    named = set(row.categories.replace("@", "").split())
    named |= {name for flag, name in IMPLIED if row.flags & flag}
    if "scripting" in named:
        named.discard("read")
    if "fast" not in named:
        named.add("slow")
    return [name for name in CATEGORIES.split() if name in named]


def find_row(ctx: Context, name: bytes) -> Command | None:
    """The row of ``name`` or of ``container|name``."""
    container, bar, sub = name.lower().partition(b"|")
    row = ctx.services.executor.commands.get(container)
    return row.subcommands.get(sub) if row is not None and bar else row


# -- Rows -----------------------------------------------------------------------------------


def command(ctx: Context, argv: Argv) -> None:
    """COMMAND without a subcommand."""
    rows = ctx.services.executor.commands.values()
    ctx.out.array(len(rows))
    for row in rows:
        write_row(ctx.out, row)


def command_count(ctx: Context, argv: Argv) -> None:
    """COMMAND COUNT."""
    ctx.out.integer(len(ctx.services.executor.commands))


def command_info(ctx: Context, argv: Argv) -> None:
    """COMMAND INFO [name ...]."""
    names = argv.list()[2:]
    if not names:
        command(ctx, argv)
        return
    ctx.out.array(len(names))
    for name in names:
        row = find_row(ctx, name)
        if row is None:
            ctx.out.null()
        else:
            write_row(ctx.out, row)


def command_docs(ctx: Context, argv: Argv) -> None:
    """COMMAND DOCS [name ...]."""
    names = argv.list()[2:]
    rows: Iterable[Command | None] = ctx.services.executor.commands.values()
    if names:
        rows = [find_row(ctx, name) for name in names]
    known = [row for row in rows if row is not None]
    ctx.out.map(len(known))
    for row in known:
        write_docs(ctx.out, row)


def write_row(out: Reply, row: Command) -> None:
    """The array of ten."""
    out.array(ROW_FIELDS)
    out.bulk(row.full_name)
    out.integer(row.arity)
    _write_words(out, [name for flag, name in FLAG_NAMES if row.flags & ~UNPRINTED & flag])
    out.integer(row.keys.first)
    out.integer(row.keys.last)
    out.integer(row.keys.step)
    _write_words(out, ["@" + name for name in categories_of(row)])
    out.set(0)
    _write_key_specs(out, row)
    out.set(len(row.subcommands))
    for subcommand in row.subcommands.values():
        write_row(out, subcommand)


def _write_words(out: Reply, words: list[str]) -> None:
    out.set(len(words))
    for word in words:
        out.status(word.encode())


def _write_key_specs(out: Reply, row: Command) -> None:
    if not has_keys(row):
        out.set(0)
        return
    out.set(1)
    out.map(3)
    out.bulk(b"flags")
    _write_words(out, key_flags(row))
    last, step, limit = row.keys.last, row.keys.step, 0
    out.bulk(b"begin_search")
    if row.name in COUNTED:
        _write_counted(out, COUNTED[row.name])
        return
    if row.keys.finder is None:
        out.value({b"type": b"index", b"spec": {b"index": row.keys.first}})
        last -= row.keys.first if last > 0 else 0
    elif row.name in KEYWORDS:
        keyword, start = KEYWORDS[row.name]
        out.value({b"type": b"keyword", b"spec": {b"keyword": keyword, b"startfrom": start}})
        last, step, limit = -1, 1, 2
    else:
        out.value({b"type": b"unknown", b"spec": {}})
    out.bulk(b"find_keys")
    if row.keys.finder is not None and row.name not in KEYWORDS:
        out.value({b"type": b"unknown", b"spec": {}})
    else:
        spec = {b"lastkey": last, b"keystep": step, b"limit": limit}
        out.value({b"type": b"range", b"spec": spec})


def _write_counted(out: Reply, place: int) -> None:
    """Keys that stand behind their number."""
    out.value({b"type": b"index", b"spec": {b"index": place}})
    out.bulk(b"find_keys")
    spec = {b"keynumidx": 0, b"firstkey": 1, b"keystep": 1}
    out.value({b"type": b"keynum", b"spec": spec})


def has_keys(row: Command) -> bool:
    """Whether a call of the command names keys."""
    return row.keys.first != 0 or row.keys.finder is not None


def key_flags(row: Command) -> list[str]:
    """RO, RW, OW or RM, then what is done, in lower case."""
    words = row.keys.flags.split()
    return [word.upper() if len(word) == 2 else word.lower() for word in words]


# -- LIST -----------------------------------------------------------------------------------


def command_list(ctx: Context, argv: Argv) -> None:
    """COMMAND LIST [FILTERBY ...]."""
    names = _listed(ctx, Args(argv, 2))
    ctx.out.set(len(names))
    for name in names:
        ctx.out.bulk(name)


def _listed(ctx: Context, args: Args) -> list[bytes]:
    rows = list(ctx.services.executor.commands.values())
    if not args.more():
        return [row.full_name for row in rows]
    if args.left() != 3 or not args.word(b"FILTERBY"):
        raise CommandError(SYNTAX)
    every = [found for row in rows for found in (row, *row.subcommands.values())]
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
    _, keys = _keys_of_call(ctx, argv.list()[2:])
    ctx.out.array(len(keys))
    for key in keys:
        ctx.out.bulk(key)


def command_getkeysandflags(ctx: Context, argv: Argv) -> None:
    """COMMAND GETKEYSANDFLAGS command ..."""
    row, keys = _keys_of_call(ctx, argv.list()[2:])
    ctx.out.array(len(keys))
    for key in keys:
        ctx.out.array(2)
        ctx.out.bulk(key)
        _write_words(ctx.out, key_flags(row))


def _keys_of_call(ctx: Context, words: list[bytes]) -> tuple[Command, list[bytes]]:
    row = ctx.services.executor.commands.get(words[0].lower())
    if row is not None and row.is_container and len(words) > 1:
        row = row.subcommands.get(words[1].lower())
    if row is None:
        raise CommandError(INVALID_COMMAND)
    if not has_keys(row):
        raise CommandError(NO_KEY_ARGUMENTS)
    if not row.takes(len(words)):
        raise CommandError(INVALID_COUNT)
    try:
        places = row.keys.positions(words)
    except CommandError:
        places = []
    if not places and not row.flags & NO_MANDATORY_KEYS:
        raise CommandError(INVALID_ARGUMENTS)
    return row, [words[place] for place in places]


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


def _row(
    name: str, handler: Handler, arity: int, since: str, summary: str, syntax: str = ""
) -> Command:
    return Command(
        name,
        handler,
        arity,
        LOADING | STALE,
        "slow connection",
        since=since,
        summary=summary,
        group="server",
        syntax=syntax,
    )


_FILTER = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]"
_NAMES = "[command-name [command-name ...]]"
_CALL = "command [arg [arg ...]]"
_SUBCOMMANDS = [
    _row("count", command_count, 2, "2.8.13", "Returns a count of commands."),
    _row("docs", command_docs, -2, "7.0.0", "Returns documentary information.", _NAMES),
    _row("getkeys", command_getkeys, -4, "2.8.13", "Extracts the key names of a call.", _CALL),
    _row(
        "getkeysandflags",
        command_getkeysandflags,
        -4,
        "7.0.0",
        "Extracts the key names and access flags of a call.",
        _CALL,
    ),
    _row("info", command_info, -2, "2.8.13", "Returns information about commands.", _NAMES),
    _row("list", command_list, -2, "7.0.0", "Returns a list of command names.", _FILTER),
    help_row("command", _HELP, "5.0.0", "server", "slow connection"),
]

ROWS = [
    Command(
        "command",
        command,
        -1,
        LOADING | STALE,
        "slow connection",
        since="2.8.13",
        summary="Returns detailed information about all commands.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
