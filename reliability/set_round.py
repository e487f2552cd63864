"""One round with a replicated set: clients at work, a strike, a recovery, a verdict.

    groups and streams for this round, on every node
      -> producers and consumers work ... strike ... a replica is promoted ... they work on
      -> the struck node comes back, all are in place again, clients stop, consumers drain
      -> the checker reads the history, the states of all nodes are compared, streams are deleted

While a primary is isolated, one more producer writes to it over its unix socket: a client on the
wrong side of the partition.  WAIT must not confirm any of its writes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reliability.history import History
from reliability.history_checker import check
from reliability.replicated_set import ISOLATE, ReplicatedSet, Strike
from reliability.set_traffic import (
    CONSUMERS,
    GROUPS,
    PRODUCERS,
    Client,
    Consumer,
    Producer,
    read_final,
)
from testkit.nodes import Node
from testkit.waiting import wait_until

#: Operations before a strike, and after a recovery.
SOME_OPERATIONS = 500
PATIENCE_S = 60.0
#: The number of the producer on the wrong side of a partition: it comes after the others.
NEAR = PRODUCERS


@dataclass
class Result:
    """The result of one round."""

    faults: list[str] = field(default_factory=list)
    operations: int = 0
    confirmed: int = 0
    forgotten: int = 0
    #: From the strike to the promotion, and to the next confirmed write of a client.
    switch_s: list[float] = field(default_factory=list)
    outage_s: list[float] = field(default_factory=list)
    #: How often it was played before it counted.
    repeated: int = 0


class Round:
    """A number, streams of its own, and the clients that work on them."""

    def __init__(self, nodes: ReplicatedSet, number: int | str, seed: int) -> None:
        self.nodes, self.number = nodes, number
        self.dice = random.Random(f"{seed} {number}")
        self.mark = nodes.sentinels.mark()
        #: Strikes at a primary, and the one that has not been undone.
        self.primaries_struck = 0
        self.open_strike: Strike | None = None
        self.streams = [f"round{number}:orders", f"round{number}:clicks"]
        self.history = History()
        self.clients: list[Client] = []
        self.result = Result()

    def play(self, strikes: Sequence[tuple[str, Node | None]], operations: int = 0) -> Result:
        """Play the whole round; None stands for the primary of that moment."""
        self.prepare()
        with self.at_work():
            for way, node in strikes:
                self.wait_for_operations(len(self.history) + SOME_OPERATIONS)
                self.strike_and_recover(way, node or self.nodes.primary())
            self.wait_for_operations(max(operations, len(self.history) + SOME_OPERATIONS))
        self.finish()
        return self.result

    # -- before and after -----------------------------------------------------------

    def prepare(self) -> None:
        """Streams and groups, on all nodes."""
        with self.nodes.primary().control() as client:
            for stream in self.streams:
                for group in GROUPS:
                    client.insist("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")
            others = len(self.nodes.nodes) - 1
            reached = client.insist("WAIT", others, round(PATIENCE_S * 1000))
            assert reached == others, f"{reached} of {others} replicas have the groups"

    def finish(self) -> None:
        """Drain, judge, compare, delete."""
        primary = self.nodes.primary()
        with primary.control() as client:
            for consumer in self.consumers():
                consumer.drain(client)
            self.history.final = read_final(client, self.streams)
        verdict = check(self.history)
        result = self.result
        result.faults += verdict.faults
        result.forgotten = verdict.forgotten
        result.operations, result.confirmed = len(self.history), self.history.confirmed()
        for client_of_round in self.clients:
            result.faults += client_of_round.faults
        if found := self.nodes.difference():
            result.faults.append(found)
        result.faults += self.nodes.accidents()
        primary("DEL", *self.streams)

    def save(self, folder: Path) -> None:
        """Keep the history, to look at a fault."""
        folder.mkdir(parents=True, exist_ok=True)
        self.history.save(folder / f"round{self.number}.jsonl")

    # -- clients --------------------------------------------------------------------

    def consumers(self) -> list[Consumer]:
        """The consumers of all groups."""
        return [client for client in self.clients if isinstance(client, Consumer)]

    def own_dice(self) -> random.Random:
        """Random numbers for one client."""
        return random.Random(self.dice.getrandbits(64))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """All clients work; at the end they have stopped."""
        find, history = self.nodes.find_primary, self.history
        for number in range(PRODUCERS):
            producer = Producer(number, self.streams, find, history, self.own_dice())
            if number == PRODUCERS - 1 and not self.nodes.told_by_redis:
                producer.wait_for_disks()
            self.clients.append(producer)
        for group in GROUPS:
            for name in CONSUMERS:
                dice = self.own_dice()
                self.clients.append(
                    Consumer(name, group, self.streams, find, history=history, dice=dice)
                )
        for client in self.clients:
            client.start()
        try:
            yield
        finally:
            for client in self.clients:
                client.stopped.set()
            for client in self.clients:
                client.join()

    def wait_for_operations(self, count: int) -> None:
        """Wait until the history has this many operations, some of them confirmed."""
        wait_until(
            f"{count} operations in round {self.number}",
            lambda: len(self.history) >= count and self.history.confirmed() > 0,
            PATIENCE_S,
            pause_s=0.02,
        )

    def confirmed_after(self, moment_s: float) -> float:
        """When a producer first saw a confirmation after this moment; the near one never does."""
        producers = [c for c in self.clients if isinstance(c, Producer) and c.name != f"p{NEAR}"]
        wait_until(
            f"a confirmed write in round {self.number}",
            lambda: any(c.confirmed_s > moment_s for c in producers),
            PATIENCE_S,
        )
        return min(c.confirmed_s for c in producers if c.confirmed_s > moment_s)

    # -- the strike -----------------------------------------------------------------

    def strike_and_recover(self, way: str, node: Node) -> None:
        """One row of the kill list."""
        self.open_strike = strike = self.nodes.strike(way, node)
        self.primaries_struck += strike.was_primary
        if strike.was_primary and way == ISOLATE:
            self.add_near_producer(strike)
        seen = self.nodes.wait_until_seen(strike)
        if strike.was_primary:
            self.result.switch_s.append(seen.at_s - strike.at_s)
            self.result.outage_s.append(self.confirmed_after(seen.at_s) - strike.at_s)
        else:
            self.confirmed_after(seen.at_s)
        self.recover()

    def recover(self) -> None:
        """Undo the last strike if needed, and wait until all nodes are in place."""
        if self.open_strike is not None:
            self.nodes.undo(self.open_strike)
            self.open_strike = None
        self.nodes.settle()

    def uninvited_switches(self) -> int:
        """How often the Sentinels promoted a node though no primary was struck."""
        return self.nodes.sentinels.switches_since(self.mark) - self.primaries_struck

    def add_near_producer(self, strike: Strike) -> None:
        """A client that reaches the isolated primary, and no other node."""
        path = strike.node.server.unix_path
        near = Producer(NEAR, self.streams, lambda _: path, self.history, self.own_dice())
        self.clients.append(near)
        near.start()
