"""The list of goals: the promise in words, how often it is tried, and the function that tries it.

A goal is a function ``(n, seed, scratch) -> Outcome``: ``n`` attempts, all random numbers
from ``seed``, files only below the directory ``scratch``.  An attempt that breaks
the promise becomes one sentence in ``failures``, with everything needed to try
it again; an attempt that cannot be made at all raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

GoalFunction = Callable[[int, int, Path], "Outcome"]


@dataclass
class Outcome:
    """The result of ``n`` attempts; ``figures`` are other numbers worth showing."""

    n: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def count(self, name: str, by: int = 1) -> None:
        """Add to a figure."""
        self.figures[name] = self.figures.get(name, 0) + by


@dataclass(frozen=True)
class Goal:
    """One row: ``quick`` attempts for a pull request, ``full`` for a night run."""

    id: str
    promise: str
    unit: str
    quick: int
    full: int
    where: str

    def function(self) -> GoalFunction:
        """The function that ``module:name`` names; imported late: one goal loads one file."""
        module, _, name = self.where.partition(":")
        function: GoalFunction = getattr(import_module(module), name)
        return function


GOALS = (
    Goal(
        "R1",
        "kill -9 with `appendfsync always`: nothing acknowledged is lost, nothing is there twice, "
        "pending lists and last IDs are exact",
        "kills",
        200,
        1000,
        "reliability.kill_goals:always",
    ),
    Goal(
        "R2",
        "kill -9 with `everysec` and `no`: nothing acknowledged is lost either; power loss with "
        "`everysec`: two seconds at most",
        "kills",
        50,
        200,
        "reliability.kill_goals:everysec_and_no",
    ),
    Goal(
        "R3",
        "power loss at any moment: recovery reaches at least the last fsynced reply",
        "crash states",
        2000,
        20_000,
        "reliability.aof_goals:power_failures",
    ),
    Goal(
        "R4",
        "an AOF torn at any byte, or with a tail of zeros or garbage, is recovered to the last "
        "whole unit",
        "tails",
        4096,
        65_536,
        "reliability.torn_restarts:tails_and_restarts",
    ),
    Goal(
        "R5",
        "a flipped bit in the AOF is never loaded silently",
        "flips",
        2000,
        20_000,
        "reliability.aof_goals:bit_flips",
    ),
    Goal(
        "R6",
        "a flipped or truncated RDB file is always refused, with the offset",
        "files",
        10_000,
        200_000,
        "reliability.rdb_goals:damaged_snapshots",
    ),
    Goal(
        "R7",
        "a hostile RESTORE payload is refused or becomes a sound value",
        "payloads",
        50_000,
        1_000_000,
        "reliability.rdb_goals:hostile_payloads",
    ),
    Goal(
        "R8",
        "any request, valid or not, for any command, and requests with broken bytes, to a "
        "build with AddressSanitizer and UBSan: a reply or an error, no crash, no traceback, "
        "no memory kept",
        "requests",
        1_000_000,
        20_000_000,
        "reliability.fuzz_goals:protocol",
    ),
    Goal(
        "R9",
        "redis-server 7.0.15 and Forebay get the same commands, in RESP2 and RESP3: every "
        "reply is the same byte for byte, except for times and listed differences of later "
        "versions",
        "commands",
        100_000,
        2_000_000,
        "reliability.differential_goals:replies",
    ),
    Goal(
        "R11",
        "RDB and AOF files go to a real redis-server and come back the same",
        "keyspaces",
        100,
        1000,
        "reliability.aof_exchange:both_kinds",
    ),
    Goal(
        "R12",
        "the link of a replica is cut under load, by either side or inside a frame: the "
        "replica returns by a partial resync, and a full one is never wrong; Forebay and "
        "Redis in every pair",
        "cuts",
        300,
        3000,
        "reliability.link_goals:link_cuts",
    ),
    Goal(
        "R13",
        "a primary killed, stopped or isolated under three real Sentinels: nothing that WAIT 1 "
        "confirmed is lost, a replica is promoted within 5 s, the old primary comes back",
        "failovers",
        5,
        50,
        "reliability.failover_goals:failovers",
    ),
    Goal(
        "R13-MIXED",
        "the same for each node of a set of Forebay and Redis, primary or replica, and each "
        "kind of failure",
        "rounds",
        9,
        50,
        "reliability.failover_goals:mixed_kill_list",
    ),
    Goal(
        "R14",
        "a primary cut off from its replicas refuses writes within 3 s (`min-replicas-to-write` 1, "
        "`min-replicas-max-lag` 2), and takes them again afterwards",
        "partitions",
        3,
        20,
        "reliability.partition_goals:partitions",
    ),
    Goal(
        "R15",
        "after a failed write, a short write, a full disk or a failed fsync nothing is "
        "acknowledged that is not on disk",
        "faults",
        40,
        400,
        "reliability.disk_goals:disk_faults",
    ),
    Goal(
        "R16",
        "idle connections up to `maxclients`, 4 KiB each at most, PING answered within 5 ms (p99) "
        "meanwhile; the next one gets Redis's error",
        "connections",
        10_000,
        15_000,
        "reliability.crowd_goals:idle_connections",
    ),
    Goal(
        "R17",
        "clients wait for one group; half of them are killed, unblocked, time out or leave "
        "while entries wake the others in the order in which they came: no client and no "
        "counter is left over",
        "clients",
        5000,
        10_000,
        "reliability.crowd_goals:blocked_clients",
    ),
    Goal(
        "R18",
        "subscribers, MONITORs, replicas and readers of a large stream never read, with a "
        "limit of 8 MB: each is closed at its limit, memory is bounded, PING is answered "
        "within 75 ms (p99), and a client that sends a PING every millisecond waits no longer"
        " (p99) than with redis-server under the same attack",
        "clients",
        50,
        500,
        "reliability.glutton_goals:slow_consumers",
    ),
    Goal(
        "R18-READERS",
        "twenty readers ask for a whole stream and never read, with a limit of a sixth of it "
        "and with the default limit: each is closed at its limit, and the longest PING of "
        "another client is no longer than with redis-server",
        "MB for each reader",
        40,
        400,
        "reliability.reader_goals:whole_streams",
    ),
    Goal(
        "R19",
        "connections without the password announce huge requests, send a byte at a time, or "
        "flood and read nothing: 64 KiB each at most",
        "connections",
        2000,
        5000,
        "reliability.glutton_goals:strangers_cost",
    ),
    Goal(
        "R20",
        "no CR or LF of a user gets into a line of a reply, whatever an error repeats; a "
        "stranger on the network gets only an error line from a server without a password",
        "requests",
        1_000_000,
        10_000_000,
        "reliability.stranger_goals:lines_and_strangers",
    ),
    Goal(
        "R21",
        "above `maxmemory` a server refuses writes with Redis's words, except an XADD that "
        "removes an old entry for the new one; resident memory stays within 1.25 times the "
        "limit plus 64 MB",
        "writes",
        20_000,
        400_000,
        "reliability.memory_goals:full_memory",
    ),
    Goal(
        "R22",
        "a wall clock that steps back, leaps ahead or stops: IDs keep rising, waits keep their "
        "length (within two seconds of drift)",
        "clock steps",
        2000,
        20_000,
        "reliability.clock_goals:clock_steps",
    ),
    Goal(
        "R23",
        "a server whose clock runs 360 times as fast, with trims, groups and clients that come and "
        "go, expiry, rewrites and snapshots: memory grows by 1 % an hour at most, files not at all",
        "hours",
        8,
        90,
        "reliability.soak_goals:soak",
    ),
    Goal(
        "R24",
        "primary, replicas, disks and network are simulated from a seed, 2,000 operations "
        "each, with kills, power losses, cuts, partitions, full disks, set clocks and "
        "failovers: all nodes end with the same data, nothing confirmed by WAIT is lost, "
        "restarts continue where they were",
        "seeds",
        200,
        5000,
        "reliability.simulation_goals:simulations",
    ),
    Goal(
        "R25",
        "histories of producers and consumers with nodes killed, stopped and isolated: nothing "
        "confirmed is lost, doubled or out of order, no entry or acknowledgement is a phantom",
        "histories",
        10,
        100,
        "reliability.history_goals:histories",
    ),
    Goal(
        "R26",
        "workers are killed -9 at random points, on Forebay and Redis, with the server killed"
        " in between: every message is handled, effects happen exactly once, poison becomes a"
        " dead letter after its attempts, a long job stays with its living worker, SIGTERM "
        "hands messages back; on partitions, also of a cluster, the order of each key holds",
        "kills",
        50,
        500,
        "reliability.worker_goals:killed_workers",
    ),
    Goal(
        "R28",
        "SIGTERM under load: exit code 0, and everything acknowledged is there after the restart",
        "stops",
        50,
        200,
        "reliability.kill_goals:graceful_stops",
    ),
    Goal(
        "R29",
        "a million entries are back soon after the start, and -LOADING is answered meanwhile",
        "entries",
        1_000_000,
        1_000_000,
        "reliability.recovery_goals:recovery",
    ),
    Goal(
        "R30",
        "tables of streams and their lake are read while writers, new streams, an archive "
        "that trims and a compactor work: each entry that was acknowledged before is there "
        "exactly once",
        "reads",
        40,
        1000,
        "reliability.table_goals:tables_that_move",
    ),
)
