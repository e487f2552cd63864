"""The latest commands that took long, as SLOWLOG shows them.

Arguments are cut down before they are kept: 32 of them, 128 bytes each, with a
note about what is missing, so that one huge command cannot hold memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

KEPT_ARGUMENTS = 32
KEPT_BYTES = 128


class SlowCall:
    """One slow command."""

    def __init__(
        self, number: int, at_s: int, usec: int, argv: list[bytes], addr: bytes, name: bytes
    ) -> None:
        self.number = number
        self.at_s = at_s
        self.usec = usec
        self.argv = argv
        self.addr = addr
        self.name = name


class Slowlog:
    """Slow commands, newest first; numbers go on through a reset."""

    def __init__(self) -> None:
        self.calls: deque[SlowCall] = deque()
        self.number = 0

    def __len__(self) -> int:
        return len(self.calls)

    def add(
        self, at_s: int, usec: int, argv: Sequence[bytes], addr: bytes, name: bytes, max_len: int
    ) -> None:
        """Keep a call, and no more than ``max_len`` of them."""
        call = SlowCall(self.number, at_s, usec, cut_arguments(argv), addr, name)
        self.number += 1
        self.calls.appendleft(call)
        while len(self.calls) > max_len:
            self.calls.pop()

    def entries(self, count: int) -> list[SlowCall]:
        """The newest ``count`` of them; all if it is negative."""
        return list(self.calls) if count < 0 else list(islice(self.calls, count))

    def reset(self) -> None:
        """Forget all."""
        self.calls.clear()


def cut_arguments(argv: Sequence[bytes]) -> list[bytes]:
    """The arguments as far as they are worth keeping."""
    many = len(argv) > KEPT_ARGUMENTS
    kept = [cut(argv[i]) for i in range(KEPT_ARGUMENTS - 1 if many else len(argv))]
    if many:
        kept.append(b"... (%d more arguments)" % (len(argv) - len(kept)))
    return kept


def cut(arg: bytes) -> bytes:
    """One argument as far as it is worth keeping."""
    if len(arg) <= KEPT_BYTES:
        return arg
    return arg[:KEPT_BYTES] + b"... (%d more bytes)" % (len(arg) - KEPT_BYTES)
