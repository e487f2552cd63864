"""The accidents: each is a method, and the seed decides which one happens when.

server    kill, lose_power, stop (an orderly end), halt by itself
links     cut inside a frame, silence (half open), kick (CLIENT KILL)
network   isolate some nodes; heal
machine   slow, full disk, a changed clock, a killed child
"""

from __future__ import annotations

from collections.abc import Callable

from reliability.simulation.cluster import Cluster
from testkit.sim_node import SimNode

HOUR_MS = 3_600_000


class Accidents:
    """Accidents of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.dice = cluster.dice
        self.kinds: list[Callable[[], None]] = [
            *[self.kill] * 5,
            *[self.cut] * 8,
            *[self.silence] * 2,
            *[self.isolate] * 2,
            *[self.heal] * 2,
            *[self.slow] * 2,
            *[self.fill_disk] * 2,
            *[self.empty_disk] * 2,
            *[self.set_clock] * 2,
            self.stop,
            self.kick,
            self.crash_child,
        ]
        if cluster.shape.has_power_loss:
            self.kinds += [self.lose_power] * 4

    def happen(self) -> None:
        """Let one of them happen."""
        self.dice.choice(self.kinds)()

    def victim(self) -> SimNode | None:
        """A running server; the primary less often than any other."""
        alive = self.cluster.alive()
        if self.cluster.primary in alive and self.dice.random() < 0.5:
            alive.remove(self.cluster.primary)
        return self.dice.choice(alive) if alive else None

    # Servers

    def kill(self) -> None:
        """kill -9."""
        node = self.victim()
        if node is not None:
            self.cluster.tell(f"kill {node.name}")
            self.end(node, lambda: node.kill(), is_lossy=False)

    def lose_power(self) -> None:
        """The machine loses power."""
        node = self.victim()
        if node is not None:
            self.cluster.tell(f"power_cut {node.name}")
            is_safe = node.settings["appendfsync"] == "always"
            self.end(node, node.lose_power, is_lossy=not is_safe)

    def end(self, node: SimNode, how: Callable[[], None], is_lossy: bool) -> None:
        """A server dies; its peers see the end of their links, or see nothing."""
        self.cluster.mourn(node, is_lossy)
        how()
        for wire in self.cluster.network.of(node.address):
            wire.is_silent = wire.is_silent or self.dice.random() < 0.3

    def stop(self) -> None:
        """SHUTDOWN."""
        node = self.victim()
        if node is not None:
            self.cluster.tell(f"shutdown {node.name}")
            node.stop()
            if not node.is_alive:
                self.cluster.mourn(node, is_lossy=False)

    # Links

    def cut(self) -> None:
        """A part of the bytes in transit arrives, then the link is gone."""
        network = self.cluster.network
        if network.wires:
            wire = self.dice.choice(network.wires)
            done = network.carry(wire, self.dice.randint(1, 400))
            self.cluster.tell(f"cut {wire.here[0]} -> {wire.there[0]} after {done} bytes")
            network.cut(wire)

    def silence(self) -> None:
        """Nothing arrives any more, and neither end is told."""
        network = self.cluster.network
        if network.wires:
            wire = self.dice.choice(network.wires)
            wire.is_silent = True
            self.cluster.tell(f"silence {wire.here[0]} -> {wire.there[0]}")

    def kick(self) -> None:
        """CLIENT KILL."""
        node = self.victim()
        if node is not None and node.is_ready:
            kind = self.dice.choice(("replica", "master", "normal"))
            self.cluster.tell(f"kick {kind} at {node.name}")
            node.client()("CLIENT", "KILL", "TYPE", kind)

    # The network

    def isolate(self) -> None:
        """Some nodes on one side, the others on the other side."""
        cluster = self.cluster
        count = self.dice.randint(1, len(cluster.nodes) - 1)
        nodes = self.dice.sample(cluster.nodes, count)
        cluster.network.isolated = {node.address for node in nodes}
        cluster.tell(f"partition {' '.join(node.name for node in nodes)}")

    def heal(self) -> None:
        """All can reach each other again."""
        if self.cluster.network.isolated:
            self.cluster.tell("heal")
            self.cluster.network.isolated = set()

    # Machines

    def slow(self) -> None:
        """A machine becomes very slow; or a slow one becomes quick again."""
        cluster = self.cluster
        node = self.dice.choice(cluster.nodes)
        cluster.slow ^= {node}
        if node in cluster.slow:
            cluster.tell(f"slow_node {node.name}")

    def fill_disk(self) -> None:
        """Leave little room on a disk."""
        node = self.dice.choice(self.cluster.nodes)
        node.disk.room = self.dice.choice((0, 300, 5000))
        self.cluster.tell(f"full_disk {node.name}: {node.disk.room} bytes left")

    def empty_disk(self) -> None:
        """Make room again on all disks."""
        for node in self.cluster.nodes:
            node.disk.room = None

    def set_clock(self) -> None:
        """Change the clock of a machine."""
        node = self.dice.choice(self.cluster.nodes)
        by_ms = self.dice.choice((-HOUR_MS, HOUR_MS, self.dice.randint(-3000, 3000)))
        node.clock.ahead_ms = node.clock.true_ahead_ms + by_ms
        self.cluster.tell(f"clock_step {node.name} to {by_ms} ms off")

    def crash_child(self) -> None:
        """Kill a child, as the kernel does when memory is short."""
        for node in self.cluster.alive():
            if node.children.is_alive:
                self.cluster.tell(f"child_kill {node.name}")
                node.children.crash()
