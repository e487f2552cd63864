"""What a row of the command table holds.

A row is the only description of a command: the dispatcher reads arity, flags
and handler from it, COMMAND and the documentation pages the rest.  Rows are shared
by all engines and never change; an engine counts calls by ``number``.

A handler has one shape: ``handler(ctx, argv)``.  It parses its arguments to the
end, applies them, writes exactly one reply to ``ctx.reply``, and records what changed
(``ctx.effects``, touch, signal, notify); or it raises CommandError before it has
changed or written anything; or it calls ``ctx.block(...)`` and writes nothing.
Hot commands do each of the three in a function of its own: parse_, apply_, record_.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

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

#: Every row gets the next number, when it is made.
NUMBERS = count()

Handler = Callable[["Context", "Argv"], None]
#: Finds the keys of one call where first/last/step cannot: argv to key positions.
KeyFinder = Callable[[Sequence[bytes]], list[int]]


class Keys:
    """Where the keys of a command stand: first, last (negative: from the end) and step.

    ``flags`` say what is done to them; see admin/command_keys.py.
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
        self.flags = flags
        self.finder = finder

    def positions(self, argv: Sequence[bytes]) -> list[int]:
        """The indexes of the keys in this call."""
        if self.finder is not None:
            return self.finder(argv)
        if self.first == 0:
            return []
        last = self.last if self.last >= 0 else len(argv) + self.last
        return list(range(self.first, min(last, len(argv) - 1) + 1, self.step))


NO_KEYS = Keys()


class Command:
    """One row: what the command is called, what it needs, what runs it."""

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
        #: Where an engine keeps its counters of this row; no other row has it.
        self.number = next(NUMBERS)

    def takes(self, n: int) -> bool:
        """Whether a call of n words, name included, has the right length."""
        return n == self.arity if self.arity >= 0 else n + self.arity >= 0
