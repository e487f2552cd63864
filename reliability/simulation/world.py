"""One seed: a cluster lives through accidents, and comes to rest now and then.

report = run(seed, operations)       raises BrokenError with the story of the seed

rounds with accidents  ->  quiet: all heals, all nodes run, no client writes
                           -> all invariants are checked (invariants.py)
                           -> a replica is killed while all is quiet: it must come back without a
                              full sync
"""

from __future__ import annotations

from random import Random

from reliability.goals import Outcome
from reliability.simulation.accidents import Accidents
from reliability.simulation.cluster import Cluster
from reliability.simulation.invariants import BrokenError, check_quiet
from reliability.simulation.operator import Operator
from testkit.sim_node import SimNode

#: Operations between two quiet points.
STRETCH = 400
#: At most this many rounds of a tenth of a second until all is quiet.
REST_ROUNDS = 900
BEAT_MS = 100


class World:
    """A cluster, its accidents and its operator."""

    def __init__(self, seed: int, outcome: Outcome) -> None:
        self.dice = Random(seed)
        self.outcome = outcome
        self.cluster = Cluster(self.dice, outcome)
        self.accidents = Accidents(self.cluster)
        self.operator = Operator(self.cluster)

    def run(self, operations: int) -> None:
        """A whole life."""
        self.found()
        cluster = self.cluster
        quiet_at = STRETCH
        while cluster.operations < operations:
            self.live()
            if cluster.operations >= quiet_at:
                quiet_at = cluster.operations + STRETCH
                self.quiet()
        self.quiet()

    def found(self) -> None:
        """The first start."""
        cluster = self.cluster
        first = cluster.nodes[0]
        for i, node in enumerate(cluster.nodes[1:], 1):
            chain = self.dice.random() < 0.3
            cluster.leaders[node] = self.dice.choice(cluster.nodes[:i]) if chain else first
        for node in cluster.nodes:
            cluster.start(node)

    def live(self) -> None:
        """One round, and the accidents during it."""
        cluster, dice = self.cluster, self.dice
        cluster.round()
        chance = dice.random()
        if chance < cluster.shape.accidents:
            self.accidents.happen()
        elif chance > 0.93:
            self.operator.mind()
        elif chance > 0.927:
            self.operator.hand_over()
        elif chance > 0.924:
            self.operator.rearrange()

    # Quiet points

    def quiet(self) -> None:
        """Come to rest, and check everything."""
        self.rest()
        cluster = self.cluster
        self.outcome.count("quiet_points")
        present = check_quiet(cluster.nodes, cluster.primary, cluster.ledger)
        cluster.ledger.settle(present)
        for client in cluster.clients:
            client.written = [token for token in client.written if token in present]
        if self.dice.random() < 0.5:
            self.restart_in_peace()

    def rest(self) -> None:
        """Heal everything, stop writing, and let time pass until nothing is in transit."""
        cluster = self.cluster
        self.accidents.empty_disk()
        cluster.network.isolated = set()
        cluster.slow.clear()
        cluster.is_calm = True
        why = ""
        for _ in range(REST_ROUNDS):
            for client in cluster.clients:
                client.listen()
            why = self.unrest()
            if not why:
                cluster.is_calm = False
                return
            self.operator.mind()
            cluster.round(BEAT_MS, has_clients=False)
        raise BrokenError(f"no rest after {REST_ROUNDS} rounds: {why}")

    def unrest(self) -> str:
        """What is still going on; empty if nothing is."""
        cluster = self.cluster
        primary = cluster.primary
        if any(not client.is_idle for client in cluster.clients):
            return "a client waits"
        for node in cluster.nodes:
            why = self.unrest_of(node, primary)
            if why:
                return f"{node.name} {why}"
        wires = [wire for wire in cluster.network.wires if not wire.is_silent]
        if len(wires) != len(cluster.nodes) - 1:
            return f"there are {len(wires)} links"
        if any(not wire.is_empty for wire in wires):
            return "bytes are on their way"
        return ""

    def unrest_of(self, node: SimNode, primary: SimNode) -> str:
        """Why a node is not at rest."""
        if not node.is_alive or not node.is_ready:
            return "has no data yet"
        leader = self.cluster.leaders[node]
        replica = node.replication.replica
        if replica.address != (None if leader is None else leader.address):
            return f"follows {replica.address}"
        if leader is not None and replica.state != "connected":
            return f"is in state {replica.state}: {replica.story}"
        followers = [n for n, leader in self.cluster.leaders.items() if leader is node]
        if len(node.replication.side.feeds) != len(followers):
            return f"feeds {len(node.replication.side.feeds)} replicas instead of {len(followers)}"
        if node.place != primary.place:
            return f"is at {node.place}, the primary at {primary.place}"
        if node.durability.job or node.durability.schedule.scheduled:
            return f"has a child: {node.durability.job}"
        if node.durability.live.trouble:
            return f"cannot write: {node.durability.live.trouble}"
        return ""

    def restart_in_peace(self) -> None:
        """Kill a replica with an AOF: it must continue where it was."""
        cluster = self.cluster
        replicas = [
            node
            for node in cluster.nodes
            if cluster.leaders[node] is not None and node.settings.get("appendonly", True)
        ]
        if not replicas:
            return
        node = self.dice.choice(replicas)
        before = sum(each.engine.stats.full_syncs for each in cluster.nodes if each is not node)
        cluster.tell(f"peaceful_restart {node.name}")
        node.kill()
        for _ in range(self.dice.randint(0, 3)):
            cluster.round()
        cluster.start(node)
        self.rest()
        after = sum(each.engine.stats.full_syncs for each in cluster.nodes if each is not node)
        if after != before:
            raise BrokenError(
                f"{node.name} was killed in peace and got {after - before} full syncs: "
                + " / ".join(list(node.lines)[-8:])
            )
        check_quiet(cluster.nodes, cluster.primary, cluster.ledger)


def run(seed: int, operations: int, outcome: Outcome) -> World:
    """Live through one seed; raises BrokenError."""
    world = World(seed, outcome)
    try:
        world.run(operations)
    finally:
        world.cluster.close()
    return world
