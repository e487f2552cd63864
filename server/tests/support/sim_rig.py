"""Some servers on simulated machines; the test decides what happens when.

rig = SimRig(2, repl_backlog_size=16384)
a, b = rig.nodes
a.start(); b.start(a.address)
rig.settle()                     until every replica has the data of its primary
rig.rounds(3)                    each node has a turn, everything arrives; three times
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from testkit.sim_machine import Time
from testkit.sim_network import ALL, Network
from testkit.sim_node import SimNode

#: The fixture make_rig: make_rig(2, repl_timeout_s=5).
MakeRig = Callable[..., "SimRig"]

BEAT_MS = 100
PATIENCE = 1000


class SimRig:
    """Nodes named a, b, c ... in one network."""

    def __init__(self, count: int, **settings: Any) -> None:
        self.time = Time()
        self.network = Network()
        settings = {"repl_diskless_sync_delay_s": 0} | settings
        self.nodes = [self._node(number, settings) for number in range(count)]

    def _node(self, number: int, settings: dict[str, Any]) -> SimNode:
        address = f"10.0.0.{number + 1}", 6379
        return SimNode("abcdef"[number], address, self.time, self.network, Random(number), settings)

    def round(self) -> None:
        """A tenth of a second: a turn for each node, and everything arrives."""
        self.time.pass_ms(BEAT_MS)
        for node in self.nodes:
            node.turn()
            if node.is_alive:
                node.syncer.step()
                node.children.step(ALL)
        for wire in list(self.network.wires):
            self.network.carry(wire)

    def rounds(self, count: int) -> None:
        """Run this many rounds."""
        for _ in range(count):
            self.round()

    def until(self, is_so: Callable[[], bool]) -> None:
        """Run rounds until it is true."""
        for _ in range(PATIENCE):
            if is_so():
                return
            self.round()
        raise AssertionError("it never came")

    def settle(self) -> None:
        """Wait until every running server has its data, and every replica that of its primary."""
        self.until(self._is_settled)

    def _is_settled(self) -> bool:
        nodes = [node for node in self.nodes if node.is_alive]
        return all(node.is_ready for node in nodes) and all(map(self._has_all, nodes))

    def _has_all(self, node: SimNode) -> bool:
        replica = node.replication.replica
        if replica.address is None:
            return True
        leader = next(each for each in self.nodes if each.address == replica.address)
        return leader.is_alive and replica.state == "connected" and node.place == leader.place

    def close(self) -> None:
        """Close everything."""
        for node in self.nodes:
            node.kill()
        self.network.close()


def chain(rig: SimRig) -> list[SimNode]:
    """The first is the primary, each other one follows the one before it."""
    for before, node in zip([None, *rig.nodes], rig.nodes, strict=False):
        node.start(before.address if before is not None else None)
    rig.settle()
    return rig.nodes
