"""The command table of an older Redis, for programs that must run on one.

    commands_of("6.2")      no XNACK, no XCFGSET; XREADGROUP without CLAIM, XADD without IDMP

A row says which version added its command, the history (commands/admin/command_facts.py) which
version added its options.  Anything newer is refused with the error of a server that does not know
it.  All else is as in the present version: a real older server may also answer with fewer fields,
or word an error differently.
"""

from __future__ import annotations

from forebay.commands.admin.command_facts import history_of
from forebay.commands.api.context import Context
from forebay.commands.api.spec import Command, Handler
from forebay.commands.table import TABLE
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

#: Commands that only Forebay has.
OURS = b"fb."
#: Where the options of a call begin, by the full name of its command.  Keys and values before that
#: may be any word.
OPTIONS_AT = {
    b"set": 3,
    b"xadd": 2,
    b"xgroup|create": 5,
    b"xgroup|setid": 5,
    b"xread": 1,
    b"xreadgroup": 4,
    b"xsetid": 3,
    b"xtrim": 2,
}
#: Options of XADD whose value may look like an ID.
BEFORE_NUMBERS = {b"MAXLEN", b"MINID", b"LIMIT", b"=", b"~"}

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """``6.2`` as numbers; ValueError if it is not a version."""
    return tuple(int(part) for part in text.split("."))


def commands_of(version: str) -> dict[bytes, Command]:
    """The rows that a Redis of this version knows."""
    limit = version_of(version)
    return {name: _aged(row, limit) for name, row in TABLE.items() if _is_known(row, limit)}


def _is_known(row: Command, limit: Version) -> bool:
    return not row.name.startswith(OURS) and version_of(row.since)[: len(limit)] <= limit


def _aged(row: Command, limit: Version) -> Command:
    """The row without newer parts; the row itself if there are none."""
    later = _later_words(row, limit)
    subcommands = [_aged(one, limit) for one in row.subcommands.values() if _is_known(one, limit)]
    if not later and subcommands == list(row.subcommands.values()):
        return row
    aged = Command(
        name=row.name.decode(),
        handler=None if row.handler is None else _without(row.handler, row.full_name, later),
        arity=row.arity,
        flags=row.flags,
        categories=row.categories,
        keys=row.keys,
        since=row.since,
        summary=row.summary,
        group=row.group,
        syntax=row.syntax,
    )
    # The shared rows belong to the present table: their full names stay as they are.
    aged.subcommands = {one.name: one for one in subcommands}
    aged.is_container = row.is_container
    aged.full_name = row.full_name
    return aged


def _later_words(row: Command, limit: Version) -> frozenset[bytes]:
    if row.full_name not in OPTIONS_AT:
        return frozenset()
    return frozenset(
        word.encode()
        for version, words in history_of(row.full_name.decode())
        for word in words
        if word.isupper() and version_of(version)[: len(limit)] > limit
    )


def _without(handler: Handler, name: bytes, later: frozenset[bytes]) -> Handler:
    def run(ctx: Context, argv: Argv) -> None:
        if later & set(options_of(name, argv)):
            raise CommandError(SYNTAX)
        handler(ctx, argv)

    return run if later else handler


def options_of(name: bytes, argv: Argv) -> list[bytes]:
    """The words of a call that may be options, in capitals."""
    words: list[bytes] = []
    for i in range(OPTIONS_AT[name], argv.n):
        word = argv[i].upper()
        if word == b"STREAMS" or (name == b"xadd" and _is_id(word, words)):
            break
        words.append(word)
    return words


def _is_id(word: bytes, before: list[bytes]) -> bool:
    """Whether the fields of XADD begin after this word."""
    if before and before[-1] in BEFORE_NUMBERS:
        return False
    return word == b"*" or word.replace(b"-", b"", 1).removesuffix(b"*").isdigit()
