"""How the server uses its memory, as far as known; INFO and MEMORY STATS share these figures.

    used       = startup + clients + replicas + backlog + AOF buffer + tables + dataset
    overhead   = all of that except the dataset
    resident   what the kernel has given to the process: more than it uses

Only two numbers of the allocator are known: what it handed out and what is resident.  So the
resident pages are reported as its "active" pages, and all fragmentation as one number.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from forebay.commands.api import gates
from forebay.commands.api.context import Context


@dataclass(slots=True, frozen=True)
class Tables:
    """The size of one database's dictionaries, without keys and values."""

    db_index: int
    main: int
    expires: int


@dataclass(slots=True, frozen=True)
class Figures:
    """A snapshot of the memory figures, in bytes."""

    used: int
    peak: int
    startup: int
    resident: int
    clients: int
    replicas: int
    backlog: int
    aof_buffer: int
    tables: list[Tables]

    @property
    def overhead(self) -> int:
        """Everything except the data."""
        tables = sum(table.main + table.expires for table in self.tables)
        links = self.replicas + self.backlog
        return self.startup + self.clients + links + self.aof_buffer + tables

    @property
    def dataset(self) -> int:
        """The size of the data."""
        return max(0, self.used - self.overhead)

    @property
    def since_start(self) -> int:
        """The growth since the start; at least 1, because it is a divisor."""
        return max(1, self.used - self.startup)

    @property
    def dataset_percent(self) -> float:
        """The share of the data in the growth since the start."""
        return min(100.0, 100.0 * self.dataset / self.since_start)

    @property
    def peak_percent(self) -> float:
        """The present use in percent of the peak."""
        return 100.0 * self.used / max(1, self.peak)

    @property
    def fragmentation(self) -> float:
        """Resident memory for each byte in use."""
        return self.resident / max(1, self.used)

    @property
    def fragmentation_bytes(self) -> int:
        """Resident memory that is not in use."""
        return self.resident - self.used


def figures(ctx: Context) -> Figures:
    """The present memory figures."""
    services = ctx.services
    used = services.memory_used()
    buffers = {True: 0, False: 0}
    for session in services.sessions:
        is_replica = bool(session.gate & gates.REPLICA)
        buffers[is_replica] += session.out.room_bytes() + session.query_room
    return Figures(
        used=used,
        peak=max(used, services.memory_peak()),
        startup=services.memory_startup,
        resident=services.memory_resident(),
        clients=buffers[False],
        replicas=buffers[True],
        backlog=services.replication.backlog_bytes,
        aof_buffer=ctx.effects.out.cap,
        tables=[
            Tables(db.index, sys.getsizeof(db.values), sys.getsizeof(db.expires))
            for db in ctx.keyspace.databases
            if db.values
        ],
    )
