"""The nodes of one simulation, their network, their clients, and one round of it all.

    shape      the seed's choices for this cluster: how many nodes, which settings, how slow
    leaders    the node that each node must follow, by the operator; None: it is the primary
    round()    time passes, and every part acts once, in an order from the seed:
               a turn of each node, a carry of each link, a step of each child and each sync

After each turn of a node the cheap invariants are checked (invariants.py).
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from reliability.goals import Outcome
from reliability.simulation.clients import Client, Ledger
from reliability.simulation.invariants import Watch, check_holders
from testkit.sim_machine import Time
from testkit.sim_network import ALL, Network, Wire
from testkit.sim_node import SimNode

KEPT_EVENTS = 400
#: A client's command counts as one operation.
TIMES_MS = (0, 0, 1, 1, 5, 20, 100)


class Shape:
    """The choices that stay the same for a whole run."""

    def __init__(self, dice: Random) -> None:
        self.nodes = dice.choice((3, 3, 3, 4, 5))
        self.clients = dice.randint(2, 4)
        #: Whether machines lose power, or servers are only killed.
        self.has_power_loss = dice.random() < 0.5
        #: Whether some node keeps no AOF, only snapshots.
        self.has_snapshots_only = dice.random() < 0.15
        self.send_bytes = dice.choice((0, 0, 4608, 20_000))
        self.backlog = dice.choice((16 << 10, 16 << 10, 16 << 10, 256 << 10))
        #: How many bytes arrive when not all do.
        self.piece = dice.choice((7, 100, 1000, 20_000))
        self.lag = dice.choice((0.02, 0.2, 0.5))
        self.accidents = dice.choice((0.02, 0.05, 0.1))
        self.child_piece = dice.choice((300, 4000, ALL))
        self.child_pace = dice.choice((0.05, 0.3, 1.0))

    def settings(self, dice: Random, is_first: bool) -> dict[str, Any]:
        """The settings of one node."""
        chosen: dict[str, Any] = {
            "appendfsync": dice.choice(("always", "everysec", "everysec", "no")),
            "aof_use_rdb_preamble": dice.random() < 0.8,
            "auto_aof_rewrite_min_size": dice.choice((20_000, 1 << 26)),
            "repl_backlog_size": self.backlog,
            "repl_diskless_sync": dice.random() < 0.7,
            "repl_diskless_sync_delay_s": dice.choice((0, 0, 1)),
            "repl_diskless_load": dice.choice(("disabled", "swapdb")),
            "repl_timeout_s": dice.choice((3, 8)),
            "repl_ping_period_s": dice.choice((1, 10)),
            "stream_idmp_maxsize": 10_000,
            "stream_idmp_duration_s": 86_400,
            "stream_node_max_entries": dice.choice((3, 100)),
        }
        if self.has_snapshots_only and not is_first and dice.random() < 0.5:
            chosen |= {"appendonly": False, "save_points": ((1, 1),)}
        return chosen


class Cluster:
    """See the head of this file."""

    def __init__(self, dice: Random, outcome: Outcome) -> None:
        self.dice = dice
        self.outcome = outcome
        self.shape = shape = Shape(dice)
        self.time = Time()
        self.network = Network()
        self.network.send_bytes = shape.send_bytes
        self.nodes = [self.make_node(number) for number in range(shape.nodes)]
        self.leaders: dict[SimNode, SimNode | None] = dict.fromkeys(self.nodes)
        self.slow: set[SimNode] = set()
        #: Dead nodes that will come back with less than they had.
        self.lossy: set[SimNode] = set()
        self.ledger = Ledger()
        self.ledger.on_confirm = lambda *facts: check_holders(self.nodes, *facts)
        ids: deque[str] = deque(maxlen=40)
        self.clients = [Client(number, dice, self.ledger, ids) for number in range(shape.clients)]
        self.watch = Watch()
        self.rounds = 0
        #: Nothing is late.
        self.is_calm = False
        self.digest = 0
        self.events: deque[str] = deque(maxlen=KEPT_EVENTS)

    def make_node(self, number: int) -> SimNode:
        settings = self.shape.settings(self.dice, number == 0)
        name, address = "abcdefgh"[number], (f"10.0.0.{number + 1}", 6379)
        chance = Random(self.dice.getrandbits(64))
        node = SimNode(name, address, self.time, self.network, chance, settings)
        node.clock.look_us = self.dice.choice((1, 1, 40, 700))
        return node

    def tell(self, event: str) -> None:
        """Remember what happened, for the story of a failure."""
        self.events.append(f"{self.time.ms} round {self.rounds}: {event}")
        self.outcome.count(event.partition(" ")[0] + "s")

    # Who is who

    @property
    def primary(self) -> SimNode:
        """The primary, by the operator's decision."""
        return next(node for node, leader in self.leaders.items() if leader is None)

    def alive(self) -> list[SimNode]:
        """The nodes whose server runs."""
        return [node for node in self.nodes if node.is_alive]

    def start(self, node: SimNode) -> None:
        """Start a server with the configuration that the operator has written."""
        leader = self.leaders[node]
        node.start(None if leader is None else leader.address)
        self.watch.born(node)
        self.lossy.discard(node)

    def mourn(self, node: SimNode, is_lossy: bool) -> None:
        """A server is gone; ``is_lossy``: it has lost data that it had reported to others."""
        live = node.durability.live
        ledger = self.ledger
        if is_lossy or live.aof is None or live.aof.is_pending or live.trouble:
            ledger.is_lossy = True
            ledger.may_lose_acked = ledger.may_lose_acked or node is self.primary
            self.lossy.add(node)

    @property
    def operations(self) -> int:
        """Commands that clients have sent."""
        return sum(client.sent for client in self.clients)

    # A round

    def round(self, pass_ms: int | None = None, has_clients: bool = True) -> None:
        """Let every part act once."""
        dice = self.dice
        self.rounds += 1
        self.time.pass_ms(dice.choice(TIMES_MS) if pass_ms is None else pass_ms)
        steps: list[tuple[Callable[[Any], None], Any]] = []
        steps += [(self.turn, node) for node in self.alive()]
        steps += [(self.carry, wire) for wire in self.network.wires]
        if has_clients:
            steps += [(self.serve, client) for client in self.clients]
        dice.shuffle(steps)
        for step, who in steps:
            step(who)

    def turn(self, node: SimNode) -> None:
        """One turn of a node, its children and its syncs."""
        if node in self.slow and self.dice.random() < 0.9:
            return
        node.turn()
        if not node.is_alive:
            self.tell(f"halt of {node.name}: {node.end}")
            self.mourn(node, is_lossy=False)
            return
        self.watch.look(node)
        self.digest = zlib.crc32(repr((node.name, node.place)).encode(), self.digest)
        if self.dice.random() < 0.5:
            node.syncer.step()
        if node.children.is_alive and (self.is_calm or self.dice.random() < self.shape.child_pace):
            node.children.step(ALL if self.is_calm else self.shape.child_piece)

    def carry(self, wire: Wire) -> None:
        """Let some bytes of a link arrive, or none."""
        if wire not in self.network.wires:
            return
        chance = self.dice.random()
        if self.is_calm:
            self.network.carry(wire)
            return
        if chance < self.shape.lag:
            return
        most = ALL if chance < 0.8 else self.dice.randint(1, self.shape.piece)
        self.network.carry(wire, most)

    def serve(self, client: Client) -> None:
        """A client reads, and sends something if it has all answers."""
        client.listen()
        if client.link is None:
            primary = self.primary
            if primary.is_alive and primary.is_ready and self.dice.random() < 0.5:
                client.connect(primary)
        elif client.is_idle:
            client.act()
        elif self.dice.random() < 0.002:
            client.leave()

    def close(self) -> None:
        """Close everything."""
        for client in self.clients:
            client.leave()
        for node in self.nodes:
            node.kill()
        self.network.close()
