"""The categories of commands, as ACL rules and COMMAND name them: ``+@stream``, ``-@dangerous``.

A row names some of them; others follow from its flags.  A catalogue holds all rows of one
engine, subcommands included; the rules of users look commands up in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from forebay.commands.api.spec import (
    ADMIN,
    BLOCKING,
    FAST,
    PUBSUB,
    READONLY,
    WRITE,
    Command,
)

#: In the order in which they are printed.
CATEGORIES = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin"
    " fast slow blocking dangerous connection transaction scripting"
).split()
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


@cache
def categories_of(row: Command) -> list[str]:
    """All ACL categories of a command; do not change the list."""
    named = set(row.categories.replace("@", "").split())
    named |= {name for flag, name in IMPLIED if row.flags & flag}
    if "scripting" in named:
        named.discard("read")
    if "fast" not in named:
        named.add("slow")
    return [name for name in CATEGORIES if name in named]


class Catalogue:
    """The commands that rules may name."""

    def __init__(self, commands: Mapping[bytes, Command]) -> None:
        self.commands = commands
        self._size = 0

    @property
    def size(self) -> int:
        """A number above that of every row: the length of a table by number."""
        if self._size == 0:
            self._size = 1 + max(row.number for row in self)
        return self._size

    def __iter__(self) -> Iterator[Command]:
        """Every row, each container before its subcommands."""
        for row in self.commands.values():
            yield row
            yield from row.subcommands.values()

    def find(self, name: bytes) -> Command | None:
        """The row of ``name`` or of ``container|name``, in any letter case."""
        container, bar, sub = name.lower().partition(b"|")
        row = self.commands.get(container)
        return row.subcommands.get(sub) if row is not None and bar else row

    def of_call(self, name: bytes, first: bytes | None) -> Command | None:
        """The row that a call with this first argument runs."""
        row = self.commands.get(name.lower())
        if row is None or not row.is_container or first is None:
            return row
        return row.subcommands.get(first.lower())

    def in_category(self, name: str) -> list[Command]:
        """The rows of a category; none if the category does not exist."""
        return [row for row in self if name in categories_of(row)]
