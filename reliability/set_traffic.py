"""Clients of a replicated set that record all their operations, for the checker of histories.

    Producer   pipelines of XADD, then WAIT 1: confirmed if a replica has them
               some use WAITAOF 1 1, if all nodes know it: confirmed if both disks have them
    Consumer   XREADGROUP or XAUTOCLAIM, XACK of its last entries, then WAIT 1

A client asks the Sentinels where the primary is, and asks again after every failure.  It never
sends the same token twice: an operation without a reply is recorded as unknown.  A producer with a
fixed address stays with one node, whatever Sentinel says: like a client that is cut off together
with its primary.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from reliability.history import (
    CONFIRMED,
    DONE,
    REFUSED,
    Ack,
    Add,
    FinalGroup,
    FinalStream,
    History,
    Operation,
    Read,
)
from reliability.ledger import Id, filler, read_id, token_of, write_id
from testkit.node_state import Reader, stream_facts
from testkit.nodes import Address
from testkit.resp import RawClient, ReplyError, encode, parse

GROUPS = ("billing", "audit")
CONSUMERS = ("ann", "bob")
PRODUCERS = 4
PIPELINE_MAX = 16
COUNT_MAX = 64
SIZES = (0, 20, 20, 200, 3000)
CLAIM_IDLE_MS = 300
#: A client leaves a node that does not answer for this long.
TIMEOUT_S = 1.5
WAIT = encode("WAIT", 1, 1000)
#: The disks of both may be a second behind, one after the other.
SYNCED_TIMEOUT_S = 4.0
WAITAOF = encode("WAITAOF", 1, 1, 3000)
#: Between two attempts to find a primary.
PAUSE_S = 0.02
#: Refusals that a failover explains; any other error is a fault.
TEMPORARY = ("READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED", "ERR WAIT")

#: Where the primary is: an address, or the path of a unix socket.
Finder = Callable[[random.Random], Address | str]


class Client(threading.Thread):
    """One connection that is made again and again, until the client must stop."""

    wait, timeout_s = WAIT, TIMEOUT_S

    def __init__(self, name: str, find: Finder, history: History, dice: random.Random) -> None:
        super().__init__(daemon=True, name=name)
        self.find, self.history, self.dice = find, history, dice
        self.stopped = threading.Event()
        self.client: RawClient | None = None
        self.faults: list[str] = []
        #: When it last saw something confirmed.
        self.confirmed_s = 0.0

    def run(self) -> None:
        """Work; after a failure look for the primary again."""
        while not self.stopped.is_set():
            try:
                if self.client is None:
                    self.client = RawClient(self.find(self.dice), self.timeout_s)
                self.round(self.client)
            except (OSError, EOFError):
                self.disconnect()
            except BaseException as error:  # noqa: BLE001 - the thread has nobody to tell
                self.faults.append(f"{self.name}: {error!r}")
                break
        self.disconnect()

    def disconnect(self) -> None:
        """Leave this node; the next round begins with a search."""
        if self.client is not None:
            self.client.close()
        self.client = None
        self.stopped.wait(PAUSE_S)

    def round(self, client: RawClient) -> None:
        """A pipeline there and back."""
        raise NotImplementedError

    def exchange(self, client: RawClient, operations: Sequence[tuple[Operation, bytes]]) -> None:
        """Send the operations and a WAIT; enter the outcomes, as far as replies come."""
        begun_s = time.monotonic()
        for operation, _ in operations:
            operation.began_s = begun_s
        client.send(b"".join([*(line for _, line in operations), self.wait]))
        for operation, _ in operations:
            self.answered(operation, parse(client.read()))
        if self.is_confirmed(parse(client.read())):
            for operation, _ in operations:
                if operation.outcome == DONE:
                    operation.end(time.monotonic(), CONFIRMED)
        if any(operation.outcome == REFUSED for operation, _ in operations):
            self.disconnect()

    def answered(self, operation: Operation, reply: Any) -> None:
        """One reply."""
        if not isinstance(reply, ReplyError):
            operation.told(reply)
            operation.end(time.monotonic(), DONE)
            return
        operation.end(time.monotonic(), REFUSED)
        if not str(reply).startswith(TEMPORARY):
            self.faults.append(f"{self.name}: {operation!r:.300} was answered -{reply}")

    def is_confirmed(self, reply: Any) -> bool:
        """Whether WAIT or WAITAOF confirmed the writes."""
        if isinstance(reply, ReplyError):
            if not str(reply).startswith(TEMPORARY):
                self.faults.append(f"{self.name}: {self.wait!r} was answered -{reply}")
            return False
        reached = min(reply) if isinstance(reply, list) else reply
        if reached >= 1:
            self.confirmed_s = time.monotonic()
        return bool(reached >= 1)


class Producer(Client):
    """Adds entries to one of the streams."""

    def __init__(
        self,
        number: int,
        streams: Sequence[str],
        find: Finder,
        history: History,
        dice: random.Random,
    ) -> None:
        super().__init__(f"p{number}", find, history, dice)
        self.streams, self.count = streams, 0

    def wait_for_disks(self) -> None:
        """Ask WAITAOF: entries are confirmed if they are on the disks of two nodes."""
        self.wait, self.timeout_s = WAITAOF, SYNCED_TIMEOUT_S

    def round(self, client: RawClient) -> None:
        stream = self.dice.choice(self.streams)
        adds = [self.add(stream) for _ in range(self.dice.randint(1, PIPELINE_MAX))]
        self.history.adds.extend(adds)
        lines = [
            encode("XADD", stream, "*", "t", add.token, "d", filler(add.token)) for add in adds
        ]
        self.exchange(client, list(zip(adds, lines, strict=True)))

    def add(self, stream: str) -> Add:
        """An entry that has not been sent before."""
        self.count += 1
        token = f"{self.name}.{self.count}.{self.dice.choice(SIZES)}"
        return Add(self.name, stream, 0.0, token=token)


class Consumer(Client):
    """Reads for one group, and acknowledges what it has read in the round before."""

    def __init__(
        self,
        name: str,
        group: str,
        streams: Sequence[str],
        find: Finder,
        *,
        history: History,
        dice: random.Random,
    ) -> None:
        super().__init__(name, find, history, dice)
        self.group, self.streams = group, streams
        self.unacknowledged: dict[str, list[Id]] = {stream: [] for stream in streams}

    def round(self, client: RawClient) -> None:
        self.work(client, self.dice.choice(self.streams), self.dice.random() < 0.1)

    def work(self, client: RawClient, stream: str, is_claim: bool) -> int:
        """One read and one acknowledgement; returns how many entries were read or acknowledged."""
        read = Read(self.name, stream, 0.0, group=self.group, is_claim=is_claim)
        operations: list[tuple[Operation, bytes]] = [(read, self.read_line(stream, is_claim))]
        ids, self.unacknowledged[stream] = self.unacknowledged[stream], []
        ack = Ack(self.name, stream, 0.0, group=self.group, ids=ids)
        if ids:
            operations.append((ack, encode("XACK", stream, self.group, *map(write_id, ids))))
            self.history.acks.append(ack)
        self.history.reads.append(read)
        try:
            self.exchange(client, operations)
        finally:
            self.unacknowledged[stream] = [entry for entry, _ in read.entries]
        return len(read.entries) + len(ids)

    def read_line(self, stream: str, is_claim: bool) -> bytes:
        """XREADGROUP of new entries, or XAUTOCLAIM of entries that another consumer left."""
        if is_claim:
            idle_ms = CLAIM_IDLE_MS if not self.stopped.is_set() else 0
            return encode("XAUTOCLAIM", stream, self.group, self.name, idle_ms, "0-0")
        count = self.dice.randint(1, COUNT_MAX)
        head = ("XREADGROUP", "GROUP", self.group, self.name, "COUNT", count)
        return encode(*head, "STREAMS", stream, ">")

    def drain(self, client: RawClient) -> None:
        """Handle the remaining entries, after all other clients have stopped."""
        for stream in self.streams:
            for is_claim in (False, True):
                while self.work(client, stream, is_claim):
                    pass


def read_final(client: RawClient, streams: Sequence[str]) -> dict[str, FinalStream]:
    """The final state, after all clients have stopped."""
    ask = Reader(client)
    found = {}
    for name in streams:
        facts = stream_facts(ask("XINFO", "STREAM", name, "FULL", "COUNT", 0))
        entries = [(read_id(entry), token_of(fields)) for entry, fields in facts["entries"]]
        groups = {
            group.decode(): FinalGroup(
                read_id(of_group["last-delivered-id"]),
                {read_id(line[0]) for line in of_group["pending"]},
            )
            for group, of_group in facts["groups"].items()
        }
        found[name] = FinalStream(entries, groups)
    return found
