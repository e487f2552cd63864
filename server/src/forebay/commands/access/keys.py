"""The keys of one call and the kind of access to each: every caller gets the same answer.

    COMMAND GETKEYS, GETKEYSANDFLAGS  --.
    ACL rules                         ---+--> uses_of(row, argv)    [(place, flags), ...]
                                                   |
    XREAD, XREADGROUP               ----- xread_options.ReadOptions, the handler's own reader

The row of a command says where its keys are.  Where that is not enough, the row has a finder,
which reads the call as the handler does: a call that the handler would refuse has no keys.  So
the server checks exactly the keys that the handler uses.

For a few commands the options decide: SET with GET also reads its key.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.spec import Command, permissions_of
from forebay.errors import CommandError
from forebay.wire.argv import Argv

VARIABLE = "variable_flags"
NOT_A_KEY = "not_key"

#: The position of a key, and its flags: RO, RW, OW or RM, then words in lower case.
Use = tuple[int, list[str]]


def has_keys(row: Command) -> bool:
    """Whether a call may name keys."""
    keys = row.keys
    return (keys.first > 0 or keys.finder is not None) and NOT_A_KEY not in keys.parts[0]


def places_of(row: Command, argv: Argv) -> list[int]:
    """The positions of the keys of a call; none if its words cannot be read."""
    if not has_keys(row):
        return []
    try:
        return row.keys.positions(argv)
    except CommandError:
        return []


def uses_of(row: Command, argv: Argv) -> list[Use]:
    """The keys of a call and the flags of each."""
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
    """SET overwrites, unless an option needs the old value."""
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
