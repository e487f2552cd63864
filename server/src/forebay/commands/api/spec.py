"""A row of the command table.

A row is the only description of a command: the dispatcher reads arity, flags and
handler from it, COMMAND and the documentation pages read the rest.  All engines share
the rows, which never change; an engine counts calls by ``number``.

A handler has one shape: ``handler(ctx, argv)``.  It parses its arguments to the end,
applies them, writes exactly one reply to ``ctx.reply``, and records what changed
(``ctx.effects``, touch, signal, notify); or it raises CommandError before it has
changed or written anything; or it calls ``ctx.block(...)`` and writes nothing.  Hot
commands have a function for each of the three steps: parse_, apply_, record_.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from forebay.commands.api.context import Context
    from forebay.wire.argv import Argv

WRITE = 1 << 0
READONLY = 1 << 1
DENYOOM = 1 << 2
ADMIN = 1 << 3
PUBSUB = 1 << 4
NOSCRIPT = 1 << 5
BLOCKING = 1 << 6
LOADING = 1 << 7
STALE = 1 << 8
SKIP_MONITOR = 1 << 9
SKIP_SLOWLOG = 1 << 10
FAST = 1 << 11
NO_AUTH = 1 << 12
MAY_REPLICATE = 1 << 13
NO_MULTI = 1 << 14
MOVABLEKEYS = 1 << 15
ALLOW_BUSY = 1 << 16
NO_ASYNC_LOADING = 1 << 17
NO_MANDATORY_KEYS = 1 << 18

#: In the order in which COMMAND prints them.
FLAG_NAMES = (
    (WRITE, "write"),
    (READONLY, "readonly"),
    (DENYOOM, "denyoom"),
    (ADMIN, "admin"),
    (PUBSUB, "pubsub"),
    (NOSCRIPT, "noscript"),
    (BLOCKING, "blocking"),
    (LOADING, "loading"),
    (STALE, "stale"),
    (SKIP_MONITOR, "skip_monitor"),
    (SKIP_SLOWLOG, "skip_slowlog"),
    (FAST, "fast"),
    (NO_AUTH, "no_auth"),
    (MAY_REPLICATE, "may_replicate"),
    (NO_MULTI, "no_multi"),
    (MOVABLEKEYS, "movablekeys"),
    (ALLOW_BUSY, "allow_busy"),
    (NO_ASYNC_LOADING, "no_async_loading"),
    (NO_MANDATORY_KEYS, "no_mandatory_keys"),
)

#: Commands whose arguments channel rules check; leaving a channel needs no permission.
WITH_CHANNELS = (b"subscribe", b"psubscribe", b"ssubscribe", b"publish", b"spublish")

#: Every row gets the next number when it is created.
NUMBERS = count()

Handler = Callable[["Context", "Argv"], None]
#: Finds the keys of one call where first/last/step cannot: argv to key positions.
KeyFinder = Callable[["Words"], list[int]]


class Words(Protocol):
    """The arguments of a call: an Argv, or a list of bytes."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> bytes: ...


#: Permissions of a user for a key: see commands/access.
READ_KEY = 1
WRITE_KEY = 2
WRITES = ("insert", "update", "delete")


def permissions_of(flags: Sequence[str]) -> int:
    """READ_KEY and WRITE_KEY, as the flags of a key require."""
    read = READ_KEY if "access" in flags else 0
    return read | (WRITE_KEY if any(word in flags for word in WRITES) else 0)


class Keys:
    """The positions of the keys of a command: first, last (negative: from the end) and step.

    ``flags`` describe the access, once for all keys, or, separated by semicolons, for the
    first key and all others; see admin/command_keys.py.
    """

    def __init__(
        self,
        first: int = 0,
        last: int = 0,
        step: int = 0,
        flags: str = "",
        finder: KeyFinder | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self.step = step
        self.finder = finder
        #: RO, RW, OW or RM, then the kind of access, in lower case; for each part of the keys.
        self.parts = [
            [word.upper() if len(word) == 2 else word.lower() for word in part.split()]
            for part in flags.split(";")
        ]
        self.first_needs = permissions_of(self.parts[0])
        self.other_needs = permissions_of(self.parts[-1])
        #: Whether first, last, step and flags describe every call, whatever its arguments.
        self.is_plain = finder is None and "variable_flags" not in flags and "not_key" not in flags

    def positions(self, argv: Words) -> list[int]:
        """The indexes of the keys in this call."""
        if self.finder is not None:
            return self.finder(argv)
        if self.first == 0:
            return []
        return list(range(self.first, self.end(len(argv)), self.step))

    def end(self, n: int) -> int:
        """The index after the last key of a call of n words."""
        last = self.last if self.last >= 0 else n + self.last
        return min(last, n - 1) + 1


NO_KEYS = Keys()


class Command:
    """One row: the command's name, its requirements, its handler."""

    def __init__(
        self,
        *,
        name: str,
        handler: Handler | None,
        arity: int,
        flags: int,
        categories: str = "",
        keys: Keys = NO_KEYS,
        since: str = "1.0.0",
        summary: str = "",
        group: str = "generic",
        syntax: str = "",
        subcommands: Sequence[Command] = (),
    ) -> None:
        self.name = name.lower().encode()
        self.upper = self.name.upper()
        self.handler = handler
        self.arity = arity
        self.flags = flags
        #: As COMMAND prints them: "@write @stream @fast".
        self.categories = " ".join("@" + name.lstrip("@") for name in categories.split())
        self.keys = keys
        self.since = since
        self.summary = summary
        self.group = group
        self.syntax = syntax
        self.full_name = self.name
        self.subcommands: dict[bytes, Command] = {}
        for row in subcommands:
            self.subcommands[row.name] = row
            row.full_name = self.name + b"|" + row.name
        self.is_container = bool(self.subcommands)
        self.is_fast = bool(flags & FAST)
        #: Whether it publishes or subscribes: its arguments are channels.
        self.has_channels = self.name in WITH_CHANNELS
        #: The index of an engine's counters for this row; unique.
        self.number = next(NUMBERS)

    def takes(self, n: int) -> bool:
        """Whether a call of n words, name included, has the right length."""
        return n == self.arity if self.arity >= 0 else n + self.arity >= 0
