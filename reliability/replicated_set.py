"""Three nodes under three real Sentinels, on a network that can be cut; and strikes at them.

    with replicated_set(("forebay", "redis", "forebay"), folder, seed) as nodes:
        strike = nodes.strike(KILL, nodes.primary())
        nodes.wait_until_seen(strike)             Sentinel promotes another node
        nodes.undo(strike)                        the struck node is back,
        nodes.settle()                            and is a replica
        nodes.difference()                        empty: all of them hold the same

The kill list (WAYS): kill -9, SIGSTOP, and isolation, for a primary as well as for a replica.
The Sentinels themselves are never cut off.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testkit.network import Network, any_network
from testkit.node_state import difference, read_state
from testkit.nodes import Address, Node, nodes_in, wait_for_replicas
from testkit.resp import RawClient, ReplyError
from testkit.sentinels import COUNT, Event, Sentinels

NAME = "orders"
KILL, PAUSE, ISOLATE = WAYS = ("kill", "pause", "isolate")
SETTINGS = {
    "appendonly": "yes",
    "appendfsync": "everysec",
    "repl-timeout": "5",
    "repl-ping-replica-period": "1",
    "min-replicas-max-lag": "2",
}
#: A client waits this long for a Sentinel before it asks the next one.
ASK_TIMEOUT_S = 0.5
PATIENCE_S = 60.0


@dataclass
class Strike:
    """A strike, its node, and the time from which Sentinels could know."""

    way: str
    node: Node
    at_s: float
    mark: int
    was_primary: bool

    def __str__(self) -> str:
        return f"{self.way} of {self.node!r}, {'primary' if self.was_primary else 'replica'}"


class ReplicatedSet:
    """The nodes of one set; ``replicated_set`` makes and ends it."""

    def __init__(
        self, nodes: Sequence[Node], network: Network, sentinels: Sentinels, seed: int
    ) -> None:
        self.nodes, self.network, self.sentinels = nodes, network, sentinels
        self.dice = random.Random(seed)
        self.told_by_redis = any(node.kind == "redis" for node in nodes)

    def form(self) -> None:
        """The first node becomes the primary of the others, under watch."""
        for replica in self.nodes[1:]:
            replica.follow(self.nodes[0])
        self.sentinels.monitor(NAME, self.nodes[0].address)
        self.settle()

    def settle(self) -> None:
        """Wait until all Sentinels agree and see every other node as a healthy replica."""
        self.sentinels.wait_until_known(NAME, len(self.nodes) - 1, PATIENCE_S)

    def node_at(self, address: Address) -> Node:
        """The node that has this address."""
        return next(node for node in self.nodes if node.address == address)

    def primary(self) -> Node:
        """The node that the Sentinels name, when they agree."""
        return self.node_at(self.sentinels.primary_of(NAME))

    def replicas(self) -> list[Node]:
        """The others."""
        primary = self.primary()
        return [node for node in self.nodes if node is not primary]

    def find_primary(self, dice: random.Random) -> Address:
        """As a client does it: ask one Sentinel after another, over the network."""
        addresses = list(self.sentinels.addresses)
        dice.shuffle(addresses)
        for address in addresses:
            try:
                with RawClient(address, ASK_TIMEOUT_S) as client:
                    reply = client("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
            except (OSError, EOFError):
                continue
            if reply and not isinstance(reply, ReplyError):
                return reply[0].decode(), int(reply[1])
        raise ConnectionError("no Sentinel answers")

    # -- the kill list --------------------------------------------------------------

    def strike(self, way: str, node: Node) -> Strike:
        """Strike a node."""
        was_primary = node is self.primary()
        strike = Strike(way, node, time.monotonic(), self.sentinels.mark(), was_primary)
        if way == KILL:
            node.kill()
        elif way == PAUSE:
            node.pause()
        else:
            self.network.isolate(node.place)
        return strike

    def wait_until_seen(self, strike: Strike) -> Event:
        """Wait for the promotion of another node or, for a replica, until it is seen as down."""
        if strike.was_primary:
            return self.sentinels.wait_for("+switch-master", strike.mark, patience_s=PATIENCE_S)
        host, port = strike.node.address
        text = f"{host}:{port}"
        return self.sentinels.wait_for("+sdown", strike.mark, text=text, patience_s=PATIENCE_S)

    def undo(self, strike: Strike) -> None:
        """Bring the struck node back."""
        if strike.way == KILL:
            strike.node.restart()
        elif strike.way == PAUSE:
            strike.node.resume()
        else:
            self.network.heal(strike.node.place)

    def accidents(self) -> list[str]:
        """Nodes that ended by themselves, or have a traceback in their log."""
        gone = [node for node in self.nodes if not node.alive()]
        upset = [node for node in self.nodes if "Traceback" in node.log()]
        return [f"{node!r} is not well; its log:\n{node.log()}" for node in (*gone, *upset)]

    def difference(self) -> str:
        """The differences between the nodes after everything has arrived."""
        primary, replicas = self.primary(), self.replicas()
        wait_for_replicas(primary, replicas, PATIENCE_S)
        ours = primary.ask(read_state)
        for replica in replicas:
            theirs = replica.ask(read_state)
            if found := difference(ours, theirs, told_by_redis=self.told_by_redis):
                return f"{primary!r} and {replica!r}: {found}"
        return ""


@contextmanager
def replicated_set(
    kinds: Sequence[str], folder: Path, seed: int, **directives: str | int
) -> Iterator[ReplicatedSet]:
    """A set that has formed; everything is removed afterwards."""
    settings: dict[str, str | int] = {**SETTINGS, **directives}
    with any_network(seed) as network, nodes_in(folder) as start:
        nodes = [start(kind, network.place(), **settings) for kind in kinds]
        places = [network.safe_place() for _ in range(COUNT)]
        with Sentinels(folder, places) as sentinels:
            nodes_of_set = ReplicatedSet(nodes, network, sentinels, seed)
            nodes_of_set.form()
            yield nodes_of_set
