"""R2, the other half: the power fails with ``everysec``; how much is lost?

A server in this process, whose clock the test controls, works on a disk that forgets
unsynced data (testkit/forgetful_disk.py).  Its syncs take time, as on a slow disk.
Then the power fails after any operation, and a server starts on the files that are left.
Everything that was acknowledged more than two seconds before must be there, and the
data must be a prefix of the acknowledged entries.
"""

from __future__ import annotations

import random
import threading
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path

from forebay.core.stream import Stream
from reliability.goals import Outcome
from testkit.durable_server import DurableServer
from testkit.forgetful_disk import ForgetfulDisk, Operation, Sync

WINDOW_MS = 2000
SLOWEST_SYNC_MS = 900
GATE_S = 30.0
LIFE_MS = 8000
LIVES_PER = 50


class SlowDisk(ForgetfulDisk):
    """A background sync ends when the gate opens, not before."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(files)
        self.gate = threading.Event()

    def do(self, operation: Operation) -> None:
        if isinstance(operation, Sync) and threading.current_thread() != threading.main_thread():
            assert self.gate.wait(GATE_S), "nobody opened the gate"
        super().do(operation)


class Past:
    """One life: the time of each acknowledgement, and the disk operations up to then."""

    def __init__(self, folder: Path, policy: str, dice: random.Random) -> None:
        self.folder, self.policy = folder, policy
        # A folder of this disk is there as long as something is in it.
        self.disk = SlowDisk({str(folder / "note"): b""})
        #: Operations of the disk so far, by time; entries with the time of their reply.
        self.operations: list[int] = []
        self.times_ms: list[int] = []
        self.entries: list[tuple[int, bytes]] = []
        with DurableServer(folder, disk=self.disk, appendfsync=policy) as server:
            self.first = len(self.disk.trace)
            self.live(server, dice)
            self.disk.gate.set()

    def live(self, server: DurableServer, dice: random.Random) -> None:
        """Entries every few milliseconds; a sync that is under way may take a second."""
        client, clock = server.client(), server.clock
        end_ms, sync_done_ms = clock.steady_ms + LIFE_MS, 0
        while clock.steady_ms < end_ms:
            reply = client("XADD", "s", "*", "f", "x" * dice.choice((1, 100, 700)))
            self.entries.append((clock.steady_ms, reply))
            if server.durability.syncer.is_busy and not sync_done_ms:
                sync_done_ms = clock.steady_ms + dice.choice((1, 100, SLOWEST_SYNC_MS))
            if sync_done_ms and clock.steady_ms >= sync_done_ms:
                self.disk.gate.set()
                server.durability.syncer.finish()
                self.disk.gate.clear()
                sync_done_ms = 0
            self.operations.append(len(self.disk.trace))
            self.times_ms.append(clock.steady_ms)
            clock.pass_ms(dice.choice((1, 20, 100)))

    def lose_power(self, at: int, dice: random.Random) -> tuple[int, list[str]]:
        """The power fails after ``at`` operations; returns the lost milliseconds, and faults."""
        now_ms = self.times_ms[min(bisect_left(self.operations, at), len(self.times_ms) - 1)]
        disk = ForgetfulDisk(self.disk.survivors(at, dice))
        with DurableServer(self.folder, disk=disk, appendfsync=self.policy) as server:
            stream = server.server.engine.keyspace.databases[0].values.get(b"s")
            assert stream is None or isinstance(stream, Stream)
            found = [] if stream is None else [b"%d-%d" % (a, b) for a, b, _ in stream.range()]
        given = [entry for _, entry in self.entries]
        if found != given[: len(found)]:
            return 0, ["what is there is not the beginning of what was acknowledged"]
        lost = [time_ms for time_ms, _ in self.entries[len(found) :] if time_ms < now_ms]
        lost_ms = now_ms - lost[0] if lost else 0
        window_ms = 0 if self.policy == "always" else WINDOW_MS
        if lost_ms > window_ms:
            return lost_ms, [f"{lost_ms} ms of the past are gone"]
        return lost_ms, []


def power_losses(n: int, seed: int, scratch: Path, outcome: Outcome) -> None:
    """``n`` failures, of several lives."""
    dice = random.Random(seed)
    worst_ms = 0
    for life in range(0, n, LIVES_PER):
        folder = scratch / f"life-{life}"
        folder.mkdir(parents=True)
        policy = "always" if life // LIVES_PER % 4 == 3 else "everysec"
        past = Past(folder, policy, dice)
        for _ in range(min(LIVES_PER, n - life)):
            at = dice.randint(past.first, len(past.disk.trace))
            lost_ms, faults = past.lose_power(at, dice)
            worst_ms = max(worst_ms, lost_ms)
            where = f"{policy}, power lost after operation {at} of life {life}, seed {seed}"
            outcome.failures += [f"{where}: {fault}" for fault in faults]
            outcome.count("power_losses")
    outcome.figures["longest_loss_ms"] = worst_ms
