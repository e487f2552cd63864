"""The keys of one call and what is done to each: the one answer that everybody gets.

    COMMAND GETKEYS, GETKEYSANDFLAGS  --.
    ACL rules                         ---+--> uses_of(row, argv)    [(place, flags), ...]
                                                   |
    XREAD, XREADGROUP               ----- xread_options.ReadOptions, the handler's own reader

Where the keys of a command stand is in its row.  Where that is not enough the row has a finder,
which reads the call as the handler does: a call that the handler would refuse has no keys.  So
the keys that are checked are the keys that are used.

A few commands do to their key what their options say: SET with GET reads it, too.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.spec import Command, permissions_of
from forebay.errors import CommandError
from forebay.wire.argv import Argv

VARIABLE = "variable_flags"
NOT_A_KEY = "not_key"

#: Where a key stands, and what is done to it: RO, RW, OW or RM, then words in lower case.
Use = tuple[int, list[str]]


def has_keys(row: Command) -> bool:
    """Whether a call may name keys."""
    keys = row.keys
    return (keys.first > 0 or keys.finder is not None) and NOT_A_KEY not in keys.parts[0]


def places_of(row: Command, argv: Argv) -> list[int]:
    """Where the keys of a call stand; nowhere if its words cannot be read."""
    if not has_keys(row):
        return []
    try:
        return row.keys.positions(argv)
    except CommandError:
        return []


def uses_of(row: Command, argv: Argv) -> list[Use]:
    """The keys of a call and what is done to each."""
    parts = row.keys.parts
    if VARIABLE in parts[0]:
        parts = [_VARIED[row.name]([argv[i].upper() for i in range(2, len(argv))])]
    return [(at, parts[-1] if i else parts[0]) for i, at in enumerate(places_of(row, argv))]


def needs_of(row: Command, argv: Argv) -> list[tuple[int, int]]:
    """The same with the permissions that are needed: READ_KEY, WRITE_KEY, both or none."""
    keys = row.keys
    if VARIABLE in keys.parts[0]:
        return [(at, permissions_of(flags)) for at, flags in uses_of(row, argv)]
    needs = keys.first_needs
    found = []
    for at in places_of(row, argv):
        found.append((at, needs))
        needs = keys.other_needs
    return found


def _set_flags(options: list[bytes]) -> list[str]:
    """SET overwrites, unless it must know what was there."""
    if b"GET" in options[1:]:
        return ["RW", "access", "update"]
    compares = {b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE"} & set(options[1:])
    return ["RW" if compares else "OW", "update"]


def _delex_flags(options: list[bytes]) -> list[str]:
    return ["RW" if options else "RM", "delete"]


def _bitfield_flags(options: list[bytes]) -> list[str]:
    writes = {b"SET", b"INCRBY"} & set(options)
    return ["RW", "access", "update"] if writes else ["RO", "access"]


_VARIED: dict[bytes, Callable[[list[bytes]], list[str]]] = {
    b"set": _set_flags,
    b"delex": _delex_flags,
    b"bitfield": _bitfield_flags,
}
