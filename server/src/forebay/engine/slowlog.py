"""The latest slow commands, as SLOWLOG shows them.

Arguments are shortened before they are stored (``slowlog-entry-max-argc`` of them,
``slowlog-entry-max-string-len`` bytes each), with a note about the missing part, so that
one huge command cannot hold memory.  The original number of arguments is stored, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings


class SlowCall:
    """One slow command."""

    def __init__(
        self, number: int, at_s: int, usec: int, argv: list[bytes], argc: int, session: Session
    ) -> None:
        self.number = number
        self.at_s = at_s
        self.usec = usec
        self.argv = argv
        #: The number of arguments before they were shortened, command name included.
        self.argc = argc
        self.addr = session.addr
        self.name = session.name


class Slowlog:
    """Slow commands, newest first; a reset does not restart their numbers."""

    def __init__(self) -> None:
        self.calls: deque[SlowCall] = deque()
        self.number = 0

    def __len__(self) -> int:
        return len(self.calls)

    def add(
        self, at_s: int, usec: int, argv: Sequence[bytes], session: Session, settings: Settings
    ) -> None:
        """Store a call, within the limits of the settings."""
        kept = cut_arguments(
            argv, settings.slowlog_entry_max_argc, settings.slowlog_entry_max_bytes
        )
        self.calls.appendleft(SlowCall(self.number, at_s, usec, kept, len(argv), session))
        self.number += 1
        while len(self.calls) > settings.slowlog_max_len:
            self.calls.pop()

    def entries(self, count: int) -> list[SlowCall]:
        """The newest ``count`` of them; all if it is negative."""
        return list(self.calls) if count < 0 else list(islice(self.calls, count))

    def reset(self) -> None:
        """Forget all."""
        self.calls.clear()


def cut_arguments(argv: Sequence[bytes], most: int, most_bytes: int) -> list[bytes]:
    """The arguments, shortened for storage."""
    many = len(argv) > most
    kept = [cut(argv[i], most_bytes) for i in range(most - 1 if many else len(argv))]
    if many:
        kept.append(b"... (%d more arguments)" % (len(argv) - len(kept)))
    return kept


def cut(arg: bytes, most_bytes: int) -> bytes:
    """One argument, shortened for storage."""
    if len(arg) <= most_bytes:
        return arg
    return arg[:most_bytes] + b"... (%d more bytes)" % (len(arg) - most_bytes)
