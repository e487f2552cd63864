"""Load for a primary whose replicas are cut off: everything that travels over the link.

    streams   XADD with MAXLEN in pipelines, small and large entries, some in MULTI
    groups    XREADGROUP, XACK, XCLAIM, XAUTOCLAIM, XDEL, XTRIM
    keys      all types in several databases, by `testkit/random_keyspace.py`

Each writer is a thread with its own connection and random numbers.  The replies are not judged
here: the primary's state is the reference, and the replicas must agree with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

from testkit.nodes import Node
from testkit.random_keyspace import fill
from testkit.resp import RawClient, encode

STREAMS = ("orders", "clicks")
GROUP, CONSUMERS = "g", ("ann", "bob")
#: A stream keeps this many entries, so that its state is read quickly.
LENGTH = 2000
#: Mostly small; now and then larger than what one turn of a server sends.
SIZES, WEIGHTS = (1, 20, 300, 5000, 100_000), (100, 500, 300, 20, 1)


class Writer(threading.Thread):
    """Works while the gate is open, until it must stop."""

    def __init__(self, client: RawClient, dice: Random, gate: threading.Event) -> None:
        super().__init__(daemon=True)
        self.client, self.dice, self.gate = client, dice, gate
        self.stopped = threading.Event()
        self.rounds = 0
        self.broken: BaseException | None = None

    def run(self) -> None:
        """Run rounds; an error is kept and raised when the writer is stopped."""
        try:
            with self.client:
                while not self.stopped.is_set():
                    self.gate.wait()
                    self.round()
                    self.rounds += 1
        except BaseException as error:  # noqa: BLE001 - the thread has nobody to tell
            self.broken = error

    def round(self) -> None:
        """A little work."""
        raise NotImplementedError

    def pipeline(self, commands: Sequence[bytes]) -> None:
        """Send all, read all."""
        self.client.send(b"".join(commands))
        self.client.read_many(len(commands))


class Adder(Writer):
    """Adds entries; every tenth pipeline is a transaction."""

    def round(self) -> None:
        key, dice = self.dice.choice(STREAMS), self.dice
        commands = [self.add(key) for _ in range(dice.choice((1, 5, 40)))]
        if dice.random() < 0.1:
            commands = [encode("MULTI"), *commands, encode("EXEC")]
        self.pipeline(commands)

    def add(self, key: str) -> bytes:
        value = self.dice.choice("abc") * self.dice.choices(SIZES, WEIGHTS)[0]
        return encode("XADD", key, "MAXLEN", "~", LENGTH, "*", "f", value, "n", self.rounds)


class GroupWorker(Writer):
    """A consumer that also deletes and trims."""

    def round(self) -> None:
        key, dice = self.dice.choice(STREAMS), self.dice
        me, other = dice.sample(CONSUMERS, 2)
        read = ("XREADGROUP", "GROUP", GROUP, me, "COUNT", dice.randint(1, 30))
        reply = self.client(*read, "STREAMS", key, ">")
        ids = [entry for entry, _ in reply[0][1]] if reply else []
        some = [entry for entry in ids if dice.random() < 0.7] or ["1-1"]
        commands = [encode("XACK", key, GROUP, *some)]
        if dice.random() < 0.3 and ids:
            commands.append(encode("XCLAIM", key, GROUP, other, 0, *ids))
        if dice.random() < 0.2:
            commands.append(encode("XAUTOCLAIM", key, GROUP, me, 0, "0", "COUNT", 20))
        if dice.random() < 0.2 and ids:
            commands.append(encode("XDEL", key, dice.choice(ids)))
        if dice.random() < 0.05:
            commands.append(encode("XTRIM", key, "MAXLEN", dice.randint(0, LENGTH)))
        self.pipeline(commands)


class KeyWorker(Writer):
    """Keys of all types, again and again, and now and then an empty database."""

    def round(self) -> None:
        fill(self.client, self.dice, keys=4)
        if self.dice.random() < 0.2:
            self.client("SELECT", 15)
            self.client("FLUSHDB")


def prepare(primary: Node) -> None:
    """Streams with a group."""
    with primary.control() as client:
        for key in STREAMS:
            client.insist("XGROUP", "CREATE", key, GROUP, "$", "MKSTREAM")


@contextmanager
def traffic(primary: Node, dice: Random) -> Iterator[threading.Event]:
    """All writers at work, and the gate that pauses them; at the end they have stopped, and none
    of them failed."""
    gate = threading.Event()
    writers: list[Writer] = [
        kind(primary.control(), Random(dice.getrandbits(64)), gate)
        for kind in (Adder, GroupWorker, KeyWorker)
    ]
    gate.set()
    for writer in writers:
        writer.start()
    try:
        yield gate
    finally:
        for writer in writers:
            writer.stopped.set()
        gate.set()
        for writer in writers:
            writer.join()
    for writer in writers:
        if writer.broken is not None:
            raise writer.broken
