"""R15, the other half: every single step of the disk fails once, in this process.

A server whose clock the test controls works on a disk whose Nth operation fails, whatever
it is: open, write (whole, or torn in the middle), sync, rename, truncate, sync of a folder.
One attempt is one N, so no step between the first byte of the AOF and the last rename of a
rewrite is left out.  All acknowledged data must be there when a healthy server starts on the
files.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

from forebay.errors import DiskError, ForebayError
from forebay.persistence.files import Data, Disk, WriteFile
from reliability.goals import Outcome
from testkit.durable_server import CLOSED, DurableServer, TalkingClient
from testkit.resp import ReplyError

REASON = "Input/output error"
ADDS = 24
#: When in the life of the server something larger happens.
REWRITE_AT, SAVE_AT, REWRITE_AGAIN_AT = 6, 12, 18
POLICIES = ("always", "everysec", "no")


class StepDisk(Disk):
    """The real disk, but the operations with the numbers in ``bad`` fail."""

    def __init__(self, bad: range, tear: random.Random) -> None:
        super().__init__()
        self.bad, self.tear = bad, tear
        self.steps = 0
        self.failed: Counter[str] = Counter()

    def step(self, path: str, action: str) -> None:
        """Count one more operation; it may be the one that fails."""
        self.steps += 1
        if self.steps in self.bad:
            self.failed[action] += 1
            raise DiskError(path, action, REASON)

    def create(self, path: str) -> WriteFile:
        self.step(path, "open")
        return StepFile(path, os.O_TRUNC, self)

    def open_append(self, path: str) -> WriteFile:
        self.step(path, "open")
        return StepFile(path, 0, self)

    def rename(self, old: str, new: str) -> None:
        self.step(old, "rename")
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self.step(path, "remove")
        super().remove(path)

    def make_folder(self, path: str) -> None:
        self.step(path, "make the folder")
        super().make_folder(path)

    def sync_folder(self, path: str) -> None:
        self.step(path, "sync")
        super().sync_folder(path)


class StepFile(WriteFile):
    """A file of that disk; a failed write may leave a part of its bytes."""

    def __init__(self, path: str, flags: int, disk: StepDisk) -> None:
        super().__init__(path, flags)
        self.disk = disk

    def write(self, data: Data) -> None:
        try:
            self.disk.step(self.path, "write")
        except DiskError:
            part = bytes(data)[: self.disk.tear.choice((0, 1, len(data) // 2))]
            if part:
                os.write(self.fd, part)
                self.is_torn = True
            raise
        super().write(data)

    def sync(self) -> None:
        self.disk.step(self.path, "sync")
        super().sync()

    def truncate(self, size: int) -> None:
        self.disk.step(self.path, "truncate")
        super().truncate(size)

    def fileno(self) -> int:
        return -1  # so that all output goes through write()


class Life:
    """One life on such a disk: what was acknowledged, and how it ended."""

    def __init__(self, folder: Path, disk: StepDisk, policy: str) -> None:
        self.disk, self.policy = disk, policy
        self.acknowledged: dict[bytes, int] = {}
        self.refused = 0
        self.ending = "killed"
        self.server: DurableServer | None = None
        try:
            self.server = DurableServer(folder, disk=disk, appendfsync=policy)
            self.live(self.server)
        except ForebayError:
            self.ending = "did not start"
        except SystemExit as end:
            self.ending = "did not start" if self.server is None else f"exit code {end.code}"
        finally:
            if self.server is not None:
                self.server.kill()

    def live(self, server: DurableServer) -> None:
        """Some entries, a snapshot, two rewrites, time."""
        client = server.client()
        for number in range(ADDS):
            client = self.add(server, client, number)
            if number in (REWRITE_AT, REWRITE_AGAIN_AT, SAVE_AT):
                client("BGSAVE" if number == SAVE_AT else "BGREWRITEAOF")
                wait_for_child(server)
            if number % 4 == 3:
                server.pass_s(1.1)

    def add(self, server: DurableServer, client: TalkingClient, number: int) -> TalkingClient:
        """One entry; a new connection if the old one was closed instead of an answer."""
        reply = client("XADD", "s", "*", "n", number)
        if reply is CLOSED or reply is None:
            self.refused += 1
            return server.client()
        if isinstance(reply, ReplyError):
            self.refused += 1
        else:
            self.acknowledged[reply] = number
        return client


def wait_for_child(server: DurableServer) -> None:
    """Wait until a requested child has started and ended and its result is taken; it may fail."""
    for _ in range(3):
        server.turn()
        server.durability.syncer.finish()
        server.durability.children.wait()
    server.turn()


def judge(life: Life, folder: Path) -> list[str]:
    """Start a healthy server on the files: every acknowledged entry is there, once."""
    faults = []
    if life.ending.startswith("exit") and (
        life.policy != "always" or life.ending in ("exit code 0", "exit code None")
    ):
        faults.append(f"it ended with {life.ending}")
    with DurableServer(folder, appendfsync=life.policy) as server:
        entries: list[Any] = server.client()("XRANGE", "s", "-", "+")
    found = {entry: int(fields[1]) for entry, fields in entries}
    for entry, number in life.acknowledged.items():
        if found.get(entry) != number:
            faults.append(f"{entry.decode()} (number {number}) was acknowledged and is lost")
    if len(set(found.values())) != len(found):
        faults.append("an entry is there twice")
    return faults


#: A life has about a hundred operations; with three policies that makes this many attempts.
ALL = range(3 * 107)


def every_step(numbers: range, seed: int, scratch: Path, outcome: Outcome) -> None:
    """One life for each number, which gives the policy and the operation that fails."""
    dice = random.Random(seed)
    for number in numbers:
        policy = POLICIES[number % len(POLICIES)]
        folder = scratch / f"step-{number}"
        folder.mkdir(parents=True)
        first, length = 1 + number // len(POLICIES), dice.choice((1, 1, 2, 5))
        disk = StepDisk(range(first, first + length), random.Random(seed))
        life = Life(folder, disk, policy)
        where = f"{policy}, operations {first} to {first + length - 1}, seed {seed}"
        try:
            faults = judge(life, folder)
        except (ForebayError, SystemExit, AssertionError) as error:
            faults = [f"it does not start again: {error}"]
        outcome.failures += [f"{where}: {fault}" for fault in faults]
        outcome.n += 1
        outcome.count("steps_that_failed", sum(disk.failed.values()))
        outcome.count("acknowledged", len(life.acknowledged))
