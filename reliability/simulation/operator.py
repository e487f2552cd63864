"""The operator: looks after the nodes, as a person or Sentinel would.

    mind()        now and then: start dead nodes, correct the roles
    fail_over()   the primary is dead or cannot be reached: the replica that is furthest in its
                  stream leads from now on
    hand_over()   FAILOVER: the primary hands its role to a replica
    rearrange()   a replica follows another node, which may be a replica itself

The rule that makes WAIT a promise: a failover asks every replica.  All of them are
started first, and the replaced primary is dead or isolated; the replica that is furthest has
everything that any of them has confirmed.  A primary may come back with less data, and with a
stream that no other node knows: then it is compared by the stream before that one.
"""

from __future__ import annotations

from reliability.simulation.cluster import Cluster
from reliability.simulation.invariants import BrokenError, audit_of
from testkit.sim_node import SimNode

#: Rounds to wait for something before giving up.
PATIENCE = 300


class Operator:
    """Looks after a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.dice = cluster.dice
        #: The primary that was told to hand its role over.
        self.handing: SimNode | None = None

    # Now and then

    def mind(self) -> None:
        """Look at all nodes, and do one thing."""
        cluster, primary = self.cluster, self.cluster.primary
        if not primary.is_alive:
            if primary in cluster.lossy or self.dice.random() < 0.5:
                self.fail_over()
            else:
                self.revive(primary)
        elif cluster.network.isolated == {primary.address} and self.dice.random() < 0.5:
            self.fail_over()
        else:
            for node in cluster.nodes:
                if not node.is_alive and self.dice.random() < 0.5:
                    self.revive(node)
        self.follow_handover()
        self.apply()

    def revive(self, node: SimNode) -> None:
        """Start a dead node."""
        self.cluster.tell(f"restart {node.name}")
        if self.dice.random() < 0.7:
            node.disk.room = None
        self.cluster.start(node)

    def apply(self) -> None:
        """Correct the roles of the nodes that can be reached."""
        if self.handing is not None:
            return
        for node, leader in self.cluster.leaders.items():
            is_reached = node.address not in self.cluster.network.isolated
            if not node.is_alive or not node.is_ready or not is_reached:
                continue
            wanted = None if leader is None else leader.address
            if node.replication.replica.address != wanted:
                self.order(node, leader)

    def order(self, node: SimNode, leader: SimNode | None) -> None:
        """Send REPLICAOF; if it is refused, it is sent again later."""
        words = ("NO", "ONE") if leader is None else (leader.address[0], str(leader.address[1]))
        self.cluster.tell(f"replicaof {node.name}: {' '.join(words)}")
        node.client()("REPLICAOF", *words)

    # Who leads

    def fail_over(self) -> None:
        """Another node becomes the primary, if one has all that was confirmed."""
        cluster, old = self.cluster, self.cluster.primary
        name = cluster.watch.places.get(old, ("", 0))[0]
        if old.is_alive:
            name = old.place[0]
        else:
            cluster.network.isolated = set()
        others = [node for node in cluster.nodes if node is not old]
        self.handing = None
        if not self.wake_all(others):
            return
        chosen = self.furthest(others, name)
        if chosen is None and old in cluster.lossy:
            chosen = self.choose_after_loss(old, name)
            if chosen is old:
                return
        if chosen is None:
            if not old.is_alive:
                self.revive(old)
            return
        cluster.tell(f"failover from {old.name} to {chosen.name}")
        cluster.ledger.may_lose_acked = True
        self.crown(chosen)

    def choose_after_loss(self, old: SimNode, name: str) -> SimNode | None:
        """No other node knows this stream, and its primary has lost a part of it.  The primary is
        started without replicas, to see how much it still has: perhaps it lost all of the stream
        before too, and others have more of that.
        """
        nodes, network = self.cluster.nodes, self.cluster.network
        network.isolated = {old.address}
        chosen = None
        if self.wake_all(nodes):
            names = [name, *self.cluster.watch.former_names(name)]
            chosen = next(filter(None, (self.furthest(nodes, each) for each in names)), None)
        network.isolated = set()
        return chosen

    def wake_all(self, nodes: list[SimNode]) -> bool:
        """Start all of these and wait until they have their data; False if that fails."""
        cluster = self.cluster
        for _ in range(PATIENCE):
            for node in nodes:
                if not node.is_alive:
                    node.disk.room = None
                    self.revive(node)
            if all(node.is_ready for node in nodes):
                return True
            cluster.round()
        return False

    def furthest(self, nodes: list[SimNode], name: str) -> SimNode | None:
        """The node that has most of the stream with that name."""
        known = []
        for node in nodes:
            history = node.replication.side.history
            if name in (history.replid, history.replid2):
                known.append(node)
        if not known:
            return None
        chosen = max(known, key=lambda node: node.place[1])
        self.check_choice(chosen, known)
        return chosen

    def check_choice(self, chosen: SimNode, known: list[SimNode]) -> None:
        """Check that the node that is furthest has every confirmed number that any of them has."""
        ledger = self.cluster.ledger
        if ledger.is_flushed:
            return
        mine = audit_of(chosen)
        for node in known:
            lost = (audit_of(node).keys() & ledger.confirmed) - mine.keys()
            if lost:
                raise BrokenError(
                    f"{chosen.name} at {chosen.place} lacks {len(lost)} confirmed numbers that "
                    f"{node.name} at {node.place} has: {min(lost)}"
                )

    def crown(self, chosen: SimNode) -> None:
        """Make this node the primary; the others follow it, or one another."""
        cluster = self.cluster
        placed = [chosen]
        cluster.leaders[chosen] = None
        for node in cluster.nodes:
            if node is not chosen:
                chain = self.dice.random() < 0.25
                cluster.leaders[node] = self.dice.choice(placed) if chain else chosen
                if self.is_replica(node):
                    placed.append(node)
        for _ in range(PATIENCE):
            if not chosen.is_alive or chosen.replication.replica.address is None:
                break
            self.order(chosen, None)
            cluster.round()
        self.apply()

    def hand_over(self) -> None:
        """FAILOVER."""
        cluster, primary = self.cluster, self.cluster.primary
        if self.handing is not None or not primary.is_alive or not primary.is_ready:
            return
        words: list[str] = []
        if self.dice.random() < 0.5:
            target = self.dice.choice([n for n in cluster.nodes if n is not primary])
            words = ["TO", target.address[0], str(target.address[1])]
        words += ["TIMEOUT", str(self.dice.choice((100, 2000)))]
        reply = primary.client()("FAILOVER", *words)
        if reply == "OK":
            cluster.tell(f"handover by {primary.name} {' '.join(words)}")
            self.handing = primary

    def follow_handover(self) -> None:
        """Find the primary after FAILOVER.  If the heir has died since, the old primary, which has
        written nothing meanwhile, is the better choice.
        """
        old = self.handing
        if old is None:
            return
        if old.is_alive and old.replication.handover.is_under_way:
            return
        self.handing = None
        address = old.replication.replica.address if old.is_alive else None
        heirs = [node for node in self.cluster.nodes if node.address == address]
        if heirs and old is self.cluster.primary and self.leads(heirs[0]):
            self.cluster.tell(f"heir {heirs[0].name} of {old.name}")
            self.crown(heirs[0])

    def rearrange(self) -> None:
        """A replica follows another one."""
        cluster = self.cluster
        primary = cluster.primary
        node = self.dice.choice([node for node in cluster.nodes if node is not primary])
        below = self.below(node)
        choices = [
            other for other in cluster.nodes if self.is_replica(other) and other not in below
        ]
        cluster.leaders[node] = self.dice.choice([primary, *choices])
        self.apply()

    def is_replica(self, node: SimNode) -> bool:
        """Whether a node may be followed.  A former primary that was not told yet may not: a
        follower would confirm its writes.
        """
        return node.is_alive and node.is_ready and node.replication.is_replica

    def leads(self, node: SimNode) -> bool:
        """Whether a node follows no other node."""
        return node.is_alive and node.is_ready and not node.replication.is_replica

    def below(self, node: SimNode) -> set[SimNode]:
        """A node and all that follow it, over any number of steps."""
        found = {node}
        for _ in self.cluster.nodes:
            found |= {n for n, leader in self.cluster.leaders.items() if leader in found}
        return found
