"""The list of goals: what is promised in words, how often it is tried, which function tries it.

A goal is a function ``(n, seed, scratch) -> Outcome``: ``n`` attempts, all random numbers
from ``seed``, files only below the directory ``scratch``.  An attempt that breaks
the promise becomes one sentence in ``failures`` with all that is needed to try
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
    """What came of ``n`` attempts; ``figures`` are numbers worth showing beside."""

    n: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def count(self, name: str, by: int = 1) -> None:
        """Add to a figure."""
        self.figures[name] = self.figures.get(name, 0) + by


@dataclass(frozen=True)
class Goal:
    """One row: ``quick`` attempts for a pull request, ``full`` for a night."""

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
        "R11",
        "RDB and AOF files go to a real redis-server and come back the same",
        "keyspaces",
        100,
        1000,
        "reliability.aof_exchange:both_kinds",
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
        "R22",
        "a wall clock that steps back, leaps ahead or stops: IDs keep rising, waits keep their "
        "length (within two seconds of drift)",
        "clock steps",
        2000,
        20_000,
        "reliability.clock_goals:clock_steps",
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
        "tables of streams and their lake, read while writers, new streams, an archive that trims "
        "and a compactor go on: every entry that was acknowledged before, once, and never less",
        "reads",
        40,
        1000,
        "reliability.table_goals:tables_that_move",
    ),
)
