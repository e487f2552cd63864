"""A simulated machine: servers of this process run on it, and a seed decides what happens.

    time = Time()                                     one for all machines
    machine = SimMachine(SimDisk(), Random(7), network, ("10.0.0.1", 6379))
    assemble(config, log, SimClock(time), machine)    see sim_node.py

    clock       moves only by ``time.pass_ms``, and a little with each reading: work takes
                time, so that long work is done in slices, as on a real machine
    disk        forgets unsynced data (forgetful_disk.py); may be full
    chance      from the seed
    thread      none: a sync is done when ``step()`` is called
    children    none: a child's work is done at once, while all data is as at the fork; its
                report and its output into pipes are delivered by ``step()``

Nothing here sleeps, and no thread decides anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from random import Random
from typing import Protocol

from forebay.errors import DiskError
from forebay.persistence.files import Disk, ReadFile, WriteFile
from forebay.server.durability.children import Children, Work
from forebay.server.durability.syncer import Syncer
from forebay.server.machine import Machine
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from testkit.forgetful_disk import ForgetfulDisk, Operation, Write

Address = tuple[str, int]

START_MS = 1_700_000_000_000
#: A file in memory that the server has opened itself.
IN_MEMORY = "/proc/self/fd/"


class Time:
    """The monotonic time of all machines."""

    def __init__(self) -> None:
        self.us = 5_000_000_000

    def pass_ms(self, ms: int) -> None:
        """Time passes everywhere."""
        self.us += 1000 * ms

    @property
    def ms(self) -> int:
        """In milliseconds."""
        return self.us // 1000


class SimClock(Clock):
    """The clock of one machine; its wall time may be set."""

    def __init__(self, time: Time, look_us: int = 1) -> None:
        self.time = time
        #: How much time passes between two readings: the speed of the machine.
        self.look_us = look_us
        #: How far wall time is ahead of monotonic time, by a correct clock, and by this one.
        self.true_ahead_ms = START_MS - time.ms
        self.ahead_ms = self.true_ahead_ms

    def us(self) -> int:
        self.time.us += self.look_us
        return self.time.us

    def monotonic_ms(self) -> int:
        return self.us() // 1000

    def now_ms(self) -> int:
        return self.us() // 1000 + self.ahead_ms

    def wall_us(self, now_ms: int) -> int:
        return self.us() + 1000 * self.ahead_ms


class SimDisk(ForgetfulDisk):
    """A disk with a limit: ``room`` bytes may still be written; None: no limit."""

    room: int | None = None

    def do(self, operation: Operation) -> None:
        if isinstance(operation, Write) and self.room is not None:
            if len(operation.data) > self.room:
                raise DiskError(f"file {operation.file_no}", "write", "No space left on device")
            self.room -= len(operation.data)
        super().do(operation)

    def open_read(self, path: str) -> ReadFile:
        return Disk.open_read(self, path) if path.startswith(IN_MEMORY) else super().open_read(path)

    def open_append(self, path: str) -> WriteFile:
        if path.startswith(IN_MEMORY):
            return Disk.open_append(self, path)
        return super().open_append(path)


class SimSyncer(Syncer):
    """Syncs on request."""

    def begin(self) -> None:
        """There is no thread."""

    def step(self) -> bool:
        """Do the waiting sync; False if there is none."""
        if self.jobs.empty():
            return False
        self.do(self.jobs.get())
        return True

    def finish(self) -> None:
        self.step()
        super().finish()


class Outflow:
    """A child's output into a pipe, written all at once; the reader gets it piece by piece."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.fd = os.dup(pipe)
        self.memory = os.memfd_create("child", os.MFD_CLOEXEC)
        self.data = b""
        # From here on the work writes into memory, any amount.
        os.dup2(self.memory, pipe)

    def end_work(self) -> None:
        """The work is done: the descriptor is the pipe again."""
        size = os.lseek(self.memory, 0, os.SEEK_CUR)
        self.data = os.pread(self.memory, size, 0)
        os.close(self.memory)
        os.dup2(self.fd, self.pipe)
        os.set_blocking(self.fd, False)

    def step(self, most: int) -> bool:
        """Let up to this many bytes through; False when nothing is left."""
        if self.data:
            try:
                done = os.write(self.fd, self.data[:most])
            except BlockingIOError:
                return True
            self.data = self.data[done:]
        return bool(self.data)

    def close(self) -> None:
        """The child is gone."""
        os.close(self.fd)


class SimChildren(Children):
    """Children that are not processes."""

    def __init__(self, loop: Loop, clock: Clock) -> None:
        super().__init__(loop, clock)
        self.pid = 0
        self.code = 0
        self.outbox = -1
        self.last_words = b""
        self.outflows: list[Outflow] = []

    @property
    def is_alive(self) -> bool:
        """Whether a child still has output or its report left."""
        return self.outbox >= 0

    def spawn(self, work: Work, outbox: int, keep: Collection[int]) -> int:
        self.pid += 1
        self.outflows = [Outflow(fd) for fd in keep]
        try:
            work(unheard)
        except DiskError as fault:
            self.last_words, self.code = f"error {fault}\n".encode(), 1
        else:
            self.last_words, self.code = b"ok\n", 0
        for outflow in self.outflows:
            outflow.end_work()
        self.outbox = os.dup(outbox)
        return self.pid

    def step(self, most: int) -> None:
        """Let the child go on: this many bytes go through its pipes; at the end it reports."""
        if self.is_alive and not any(outflow.step(most) for outflow in self.outflows):
            os.write(self.outbox, self.last_words)
            self.leave()

    def crash(self) -> None:
        """Kill the child."""
        if self.is_alive:
            self.end(self.pid)

    def end(self, pid: int) -> None:
        self.code = -9
        self.leave()

    def leave(self) -> None:
        """The process is gone, and so are its ends of pipes."""
        for outflow in self.outflows:
            outflow.close()
        self.outflows = []
        if self.outbox >= 0:
            os.close(self.outbox)
            self.outbox = -1

    def reap(self, pid: int) -> int:
        return self.code


def unheard(keys: int, size: int) -> None:
    """The progress of a child; not used: it is done before anyone can ask."""


class Connecting(Protocol):
    """The network, as a machine sees it."""

    def connect(self, here: Address, there: Address) -> socket.socket: ...


class SimMachine(Machine):
    """One machine in the network."""

    def __init__(self, disk: SimDisk, dice: Random, network: Connecting, address: Address) -> None:
        super().__init__(disk)
        self.dice = dice
        self.network = network
        self.address = address

    def random_bytes(self, n: int) -> bytes:
        return self.dice.randbytes(n)

    def open_socket(self, host: str, port: int, keepalive_s: int) -> socket.socket:
        return self.network.connect(self.address, (host, port))

    def make_syncer(self, loop: Loop) -> SimSyncer:
        return SimSyncer(loop)

    def make_children(self, loop: Loop, clock: Clock) -> SimChildren:
        return SimChildren(loop, clock)
