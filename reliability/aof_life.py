"""The life of an AOF on a disk that may lose power: what was done, and when it was promised.

    life = Life(Random(seed))
    life.live(60)                  turns, syncs, rewrites, snapshots; all on a ForgetfulDisk
    life.bounds(at)                how many units must be there after an accident at
                                   operation ``at`` of the disk, and how many can be
    life.pictures[n]               the data after n units

A turn runs some commands and appends their units in one write, as the server does.
A unit is promised from the moment a sync that covers it has returned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from random import Random
from typing import Any

from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import temp_path
from forebay.persistence.rdb.snapshot import SaveOptions, save
from testkit.engine_client import EngineClient
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import FOLDER, NAME
from testkit.replaying import lasting, rewritten

SNAPSHOT_PATH = "/data/dump.rdb"
#: Pieces in which a child writes a base file while the server goes on.
BASE_PIECES = 3


def unheard(level: str, text: str) -> None:
    """The log of the AOF's writer; nothing is kept."""


class Life:
    """A server without a server: an engine, an AOF, and dice that say what happens.

    ``newest``: also with commands that Redis 7.0 does not have.
    """

    def __init__(self, dice: Random, *, newest: bool = False) -> None:
        self.dice = dice
        self.newest = newest
        self.client = EngineClient()
        self.engine = self.client.engine
        self.disk = ForgetfulDisk()
        self.aof = AofWriter(self.disk, FOLDER, NAME, unheard)
        self.pictures: list[dict[Any, Any]] = [lasting(self.engine.keyspace)]
        #: Parallel lists: a number of disk operations, and the number of units after them.
        self.begun: list[tuple[int, int]] = [(0, 0)]
        self.promised: list[tuple[int, int]] = [(0, 0)]
        #: Snapshots: operations before the first and after the last of each, and its units.
        self.snapshots: list[tuple[int, int, int]] = []
        self.next_ms = 1
        self.text_sizes = self.dice.choice(([30] * 30 + [9000], [30, 30, 5000]))
        self.aof.begin_empty()

    @property
    def units(self) -> int:
        """Units appended so far."""
        return self.begun[-1][1]

    def bounds(self, at: int) -> tuple[int, int]:
        """The least and the most units that are there after an accident at operation ``at``."""
        least = self.promised[bisect_right(self.promised, (at, 1 << 60)) - 1][1]
        # An append begins before its write; a write that is not in the trace did not happen.
        most = max(units for moment, units in self.begun if moment < max(at, 1))
        return least, most

    def snapshot_bounds(self, at: int) -> tuple[bool, set[int]]:
        """Whether there must be a snapshot after an accident, and the units it may hold."""
        done = [units for _, end, units in self.snapshots if end <= at]
        begun = [units for begin, end, units in self.snapshots if begin < at < end]
        return bool(done), set(done[-1:] + begun)

    # -- what happens

    def live(self, steps: int) -> None:
        """Let this many things happen."""
        happenings = [self.turn] * 12 + [self.sync] * 3 + [self.slow_sync] * 2
        happenings += [self.rewrite, self.rewrite_in_vain, self.snapshot]
        for _ in range(steps):
            self.dice.choice(happenings)()

    def turn(self) -> None:
        """Some commands, one append."""
        effects = self.engine.effects
        self.client.now_ms += self.dice.randint(0, 3)
        for _ in range(self.dice.randint(1, 6)):
            ready = len(effects.ends)
            for command in self.command():
                self.client.raw(*command)
            if len(effects.ends) > ready:
                self.pictures.append(lasting(self.engine.keyspace))
        self.append()

    def append(self) -> None:
        """Append the effects of this turn's commands to the AOF."""
        effects = self.engine.effects
        if effects.ends:
            self.begun.append((len(self.disk.trace), self.units + len(effects.ends)))
            self.aof.append(effects.out, effects.ends)
            effects.take()

    def run(self, *words: Any) -> Any:
        """A turn of one given command, for callers that do not use the history."""
        reply = self.client(*words)
        self.append()
        return reply

    def promise(self, units: int) -> None:
        self.promised.append((len(self.disk.trace), max(units, self.promised[-1][1])))

    def sync(self) -> None:
        """As with `appendfsync always`."""
        self.aof.sync()
        self.promise(self.units)

    def slow_sync(self) -> None:
        """As with `everysec`: the server goes on while a thread syncs."""
        ticket = self.aof.start_sync()
        if ticket is None:
            return
        units = self.units
        for _ in range(self.dice.randint(0, 1)):
            self.turn()
        ticket.run()
        for _ in range(self.dice.randint(0, 2)):
            self.turn()
        self.aof.end_sync(ticket, None)
        self.promise(units)

    def rewrite(self) -> None:
        """Write a new base while turns go on; it replaces the old files."""
        kind = self.dice.choice(("rdb", "aof"))
        path = self.write_base(kind)
        self.aof.adopt(path, kind)
        if self.dice.random() < 0.7:
            self.aof.drop_history()

    def rewrite_in_vain(self) -> None:
        """The child fails at the end."""
        path = self.write_base("aof")
        self.disk.remove(path)
        self.aof.abandon()

    def write_base(self, kind: str) -> str:
        """Rotate, and write the data of this moment piece by piece, as a child does."""
        self.aof.rotate()
        self.engine.effects.forget_database()
        self.promise(self.units)
        data = self.snapshot_bytes() if kind == "rdb" else rewritten(self.engine.keyspace)
        path = temp_path(self.disk, FOLDER, "rewrite", kind)
        file = self.disk.create(path)
        for piece in pieces(data, BASE_PIECES):
            file.write(piece)
            if self.dice.random() < 0.6:
                self.turn()
            if self.dice.random() < 0.2:
                self.sync()
        file.sync()
        file.close()
        return path

    def snapshot(self) -> None:
        """SAVE: temp file, sync, rename."""
        begin = len(self.disk.trace)
        path = temp_path(self.disk, "/data", "snapshot", "rdb")
        file = self.disk.create(path)
        for piece in pieces(self.snapshot_bytes(), 2):
            file.write(piece)
        file.sync()
        file.close()
        self.disk.rename(path, SNAPSHOT_PATH)
        self.snapshots.append((begin, len(self.disk.trace), self.units))

    def snapshot_bytes(self) -> bytes:
        found: list[bytes] = []
        for _ in save(self.engine.keyspace, found.append, SaveOptions()):
            pass
        return b"".join(found)

    # -- commands

    def command(self) -> list[list[Any]]:
        """One command, or the commands of one transaction."""
        makers = [self.xadd] * 6 + [self.read, self.ack, self.delete, self.claim, self.plain]
        makers += [self.message, self.nack, self.ackdel] if self.newest else []
        if self.dice.random() < 0.1:
            inner = [self.dice.choice(makers)() for _ in range(self.dice.randint(0, 3))]
            return [["MULTI"], *inner, ["EXEC"]]
        return [self.dice.choice(makers)()]

    def key(self) -> str:
        return self.dice.choice(("s", "s", "t"))

    def text(self) -> str:
        """Mostly short, now and then some pages long; in some lives often of some hundred bytes."""
        most = self.dice.choice(self.text_sizes)
        return "v" * self.dice.randint(0, most)

    def tick(self) -> None:
        """A new ID; in lives where IDs may come from the clock, the clock moves too."""
        self.next_ms += 1
        if self.newest:
            self.next_ms = self.client.now_ms = max(self.next_ms, self.client.now_ms + 1)

    def xadd(self) -> list[Any]:
        self.tick()
        trim = ["MAXLEN", "=", "30"] if self.dice.random() < 0.2 else []
        return ["XADD", self.key(), *trim, f"{self.next_ms}-0", "field", self.text()]

    def ids(self) -> list[str]:
        low = max(1, self.next_ms - 30)
        return [f"{self.dice.randint(low, self.next_ms)}-0" for _ in range(self.dice.randint(1, 4))]

    def read(self) -> list[Any]:
        key = self.key()
        if self.dice.random() < 0.3:
            return ["XGROUP", "CREATE", key, "g", "0", "MKSTREAM"]
        who = self.dice.choice(("alice", "bob"))
        return ["XREADGROUP", "GROUP", "g", who, "COUNT", "5", "STREAMS", key, ">"]

    def ack(self) -> list[Any]:
        return ["XACK", self.key(), "g", *self.ids()]

    def delete(self) -> list[Any]:
        return ["XDEL", self.key(), *self.ids()]

    def claim(self) -> list[Any]:
        return ["XCLAIM", self.key(), "g", "carol", "0", *self.ids(), "FORCE"]

    def message(self) -> list[Any]:
        """A message of a producer that may send it again."""
        self.tick()
        name = self.dice.randint(0, 20)
        return ["XADD", self.key(), "IDMP", f"producer {name % 3}", str(name), "*", "n", name]

    def nack(self) -> list[Any]:
        ids = self.ids()
        return ["XNACK", self.key(), "g", "FAIL", "IDS", len(ids), *ids, "FORCE"]

    def ackdel(self) -> list[Any]:
        ids = self.ids()
        return ["XACKDEL", self.key(), "g", "ACKED", "IDS", len(ids), *ids]

    def plain(self) -> list[Any]:
        """Other types, other databases."""
        lines: tuple[list[Any], ...] = (
            ["SET", "string", self.text()],
            ["INCR", "counter"],
            ["RPUSH", "list", self.text(), "b"],
            ["SADD", "set", self.dice.randint(0, 50)],
            ["SELECT", self.dice.choice((0, 0, 3))],
            ["DEL", self.dice.choice(("string", "list", "t"))],
            ["PEXPIREAT", "counter", 9_000_000_000_000 + self.dice.randint(0, 9)],
        )
        return self.dice.choice(lines)


def pieces(data: bytes, count: int) -> Iterator[bytes]:
    """The data in this many pieces."""
    size = len(data) // count + 1
    for at in range(0, len(data), size):
        yield data[at : at + size]
