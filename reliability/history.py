"""The operations of the clients of a replicated set and their outcomes, as a list.

    Add      XADD of one entry with a token that is used once
    Read     XREADGROUP of new entries (`>`), or XAUTOCLAIM of pending ones
    Ack      XACK of some entries

An operation has the time when it was sent, the time when its outcome was known, and an outcome:

    unknown      no reply came: it may have been done, or be done later
    refused      an error reply: it was not done and never will be
    done         a reply came: the primary did it, and may lose it in a failover
    confirmed    WAIT said that a replica has it too: from now on it must not be lost

All times come from the one monotonic clock of the harness, so "A ended before B began" is a fact
about every two operations, whichever clients did them.  ``history_checker.py`` judges the list.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reliability.ledger import Id, read_id, token_of

UNKNOWN, REFUSED, DONE, CONFIRMED = "unknown", "refused", "done", "confirmed"
NEVER = float("inf")


@dataclass
class Operation:
    """The common part of all three."""

    client: str
    stream: str
    began_s: float
    ended_s: float = NEVER
    outcome: str = UNKNOWN

    def end(self, now_s: float, outcome: str) -> None:
        """The outcome is known; an unknown one never ends."""
        self.ended_s, self.outcome = now_s, outcome

    def told(self, reply: Any) -> None:
        """Enter the outcome that the reply gave."""
        raise NotImplementedError

    @property
    def was_answered(self) -> bool:
        """Whether a reply said that it was done."""
        return self.outcome in (DONE, CONFIRMED)


@dataclass
class Add(Operation):
    """One entry; the ID is (0, 0) until a reply has named it."""

    token: str = ""
    id: Id = (0, 0)

    def told(self, reply: Any) -> None:
        self.id = read_id(reply)


@dataclass
class Read(Operation):
    """A delivery to one consumer: entries in the order of the reply."""

    group: str = ""
    is_claim: bool = False
    entries: list[tuple[Id, str]] = field(default_factory=list)

    def told(self, reply: Any) -> None:
        if self.is_claim:
            entries = reply[1]
        else:
            entries = reply[0][1] if reply else []
        self.entries = [(read_id(entry), token_of(fields)) for entry, fields in entries]


@dataclass
class Ack(Operation):
    """An acknowledgement; ``count`` is the number in the reply."""

    group: str = ""
    ids: Sequence[Id] = ()
    count: int = 0

    def told(self, reply: Any) -> None:
        self.count = reply


@dataclass
class FinalGroup:
    """A group at the end."""

    last_id: Id
    pending: set[Id]


@dataclass
class FinalStream:
    """A stream at the end: entries in the order of the reply."""

    entries: list[tuple[Id, str]]
    groups: dict[str, FinalGroup]


@dataclass
class History:
    """All operations, in no particular order, and the state after all clients have stopped."""

    adds: list[Add] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    final: dict[str, FinalStream] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many operations: a read or an acknowledgement counts for each of its entries."""
        delivered = sum(max(1, len(read.entries)) for read in self.reads)
        return len(self.adds) + delivered + sum(len(ack.ids) for ack in self.acks)

    def confirmed(self) -> int:
        """How many entries must not be lost."""
        return sum(add.outcome == CONFIRMED for add in self.adds)

    def save(self, path: Path) -> None:
        """Write one JSON line for each operation, to analyse a fault."""
        with path.open("w") as out:
            for operation in (*self.adds, *self.reads, *self.acks):
                line = {"kind": type(operation).__name__} | asdict(operation)
                out.write(json.dumps(line) + "\n")
            for name, stream in self.final.items():
                out.write(json.dumps({"kind": "final", "stream": name, "is": repr(stream)}) + "\n")
