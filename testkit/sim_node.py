"""A whole server on a simulated machine; it may die at any moment and start again.

    node = SimNode("a", ("10.0.0.1", 6379), time, network, Random(7), {"appendfsync": "always"})
    node.start()                          or start(("10.0.0.2", 6379)): it follows that node
    node.turn()                           one turn of its loop
    node.client()                         a connection from outside the network
    node.kill()                           kill -9: its writes to the disk stay
    node.lose_power()                     the same, and the disk forgets unsynced data
    node.stop()                           SHUTDOWN

Everything in it is the server's own code: server/startup.py assembles it on the machine of
sim_machine.py.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any

from forebay.engine.engine import Engine
from forebay.server.config.config import Config
from forebay.server.durability.durability import Durability
from forebay.server.logger import Log
from forebay.server.net.timers import Clock
from forebay.server.process import Halt
from forebay.server.replication.replication import Replication
from forebay.server.server import Server
from forebay.server.startup import assemble
from testkit.resp import encode, parse, split_replies
from testkit.sim_machine import Address, SimChildren, SimClock, SimDisk, SimMachine, SimSyncer, Time
from testkit.sim_network import Network, pair

KEPT_LINES = 400


class Lines(Log):
    """Keeps the last lines of a log, also of earlier lives, and our defects."""

    def __init__(self, clock: Clock, name: str, lines: deque[str]) -> None:
        super().__init__(clock)
        self.name = name
        self.lines = lines
        self.faults: list[str] = []

    def _write(self, level: int, message: str) -> None:
        if message.startswith("Internal error") or self.faults:
            self.faults.append(message)
        self.lines.append(f"{self.clock.monotonic_ms()} {self.name} {message}")


class SimClient:
    """A client outside the network: its bytes arrive at once."""

    def __init__(self, node: SimNode, address: Address = ("10.0.9.9", 1)) -> None:
        self.node = node
        theirs, self.socket = pair(node.address)
        node.server.admit(theirs, f"{address[0]}:{address[1]}", f"{node.address[0]}:6379")
        self.buffer = bytearray()
        self.is_closed = False

    def send(self, *words: str | bytes | int) -> None:
        """One command, to be run in the node's next turn."""
        self.send_raw(encode(*words))

    def send_raw(self, data: bytes) -> None:
        """Any bytes."""
        try:
            self.socket.send(data)
        except OSError:
            self.is_closed = True

    def received(self) -> bytes:
        """The bytes that have arrived since."""
        out = bytearray()
        while not self.is_closed:
            try:
                data = self.socket.recv(1 << 18)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self.is_closed = not data
            out += data
        return bytes(out)

    def replies(self) -> list[bytes]:
        """Whole replies that have arrived."""
        self.buffer += self.received()
        if not self.buffer:
            return []
        found = split_replies(self.buffer)
        del self.buffer[: sum(map(len, found))]
        return found

    def __call__(self, *words: str | bytes | int) -> Any:
        """A command, one turn of its node, and the parsed reply; None if there is none."""
        self.send(*words)
        self.node.turn()
        replies = self.replies()
        return parse(replies[0]) if replies else None

    def close(self) -> None:
        """Disconnect the client."""
        self.is_closed = True
        self.socket.close()


class SimNode:
    """A machine, and the lives of the server on it."""

    server: Server
    durability: Durability
    log: Lines

    def __init__(
        self,
        name: str,
        address: Address,
        time: Time,
        network: Network,
        dice: Random,
        settings: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.address = address
        self.clock = SimClock(time)
        self.network = network
        self.dice = dice
        self.settings = dict(settings)
        self.disk = SimDisk()
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.is_alive = False
        self.is_ready = False
        #: Why the last life ended by itself; empty if it did not.
        self.end = ""
        self.clients: list[SimClient] = []
        network.doors[address] = self

    # Life and death

    def start(self, replicaof: Address | None = None) -> None:
        """A new process; it loads its data in the turns that follow."""
        assert not self.is_alive, "it lives"
        config = Config()
        for name, value in self.settings.items():
            setattr(config.settings, name, value)
        config.settings.data_dir = f"/{self.name}"
        config.settings.port = self.address[1]
        if replicaof is not None:
            config.settings.replicaof = (replicaof[0], str(replicaof[1]))
        machine = SimMachine(self.disk, self.dice, self.network, self.address)
        self.log = Lines(self.clock, self.name, self.lines)
        self.server, self.durability = assemble(config, self.log, self.clock, machine)
        services = self.engine.services
        services.memory_used = services.memory_peak = lambda: 1 << 20
        # A descriptor that is always ready: the loop never sleeps.
        self.server.loop.watch(os.eventfd(1, os.EFD_CLOEXEC), lambda: None)
        self.is_alive, self.is_ready, self.end = True, False, ""
        self.durability.prepare()
        self.durability.start(self._on_ready)

    def _on_ready(self) -> None:
        self.is_ready = True

    def turn(self) -> None:
        """One turn of the loop; the process may end in it."""
        if not self.is_alive:
            return
        try:
            self.server.loop.turn()
        except Halt as halt:
            self.end = f"exit: {halt.code}"
            self.kill()
            return
        if not self.server.loop.running and self.server.loop.is_stopping:
            self.durability.close()
            self.kill()

    def kill(self) -> None:
        """kill -9: none of its code runs any more, and the system closes its open files."""
        if not self.is_alive:
            return
        self.is_alive = self.is_ready = False
        loop = self.server.loop
        self.children.leave()
        held = self.replication.full_sync.pipe, self.replication.replica.incoming.memory_fd
        open_fds = {conn.fd for conn in loop.connections()} | loop.watchers.keys() | {*held}
        for fd in open_fds - {-1}:
            os.close(fd)
        loop.epoll.close()
        for client in self.clients:
            client.close()
        self.clients.clear()

    def lose_power(self) -> None:
        """The machine is off; the disk has the synced data, and perhaps more."""
        self.kill()
        self.disk = self._surviving()

    def _surviving(self) -> SimDisk:
        disk = SimDisk(self.disk.survivors(len(self.disk.trace), self.dice))
        disk.room = self.disk.room
        return disk

    def stop(self) -> None:
        """SHUTDOWN; an end with all data on disk, if the disk allows it."""
        if self.is_alive:
            client = self.client()
            client.send("SHUTDOWN")
            self.turn()

    # Its parts

    @property
    def engine(self) -> Engine:
        return self.server.engine

    @property
    def replication(self) -> Replication:
        replication = self.engine.services.replication
        assert isinstance(replication, Replication)
        return replication

    @property
    def children(self) -> SimChildren:
        assert isinstance(self.durability.children, SimChildren)
        return self.durability.children

    @property
    def syncer(self) -> SimSyncer:
        assert isinstance(self.durability.syncer, SimSyncer)
        return self.durability.syncer

    @property
    def place(self) -> tuple[str, int]:
        """The name of its stream, and how far it is."""
        history = self.replication.side.history
        return history.replid, history.offset

    # Connections

    def admit(self, sock: socket.socket, here: Address) -> bool:
        """Accept a link from another server; False if no server runs."""
        if self.is_alive:
            self.server.admit(sock, f"{here[0]}:{here[1]}", f"{self.address[0]}:6379")
        return self.is_alive

    def client(self) -> SimClient:
        """A new connection."""
        client = SimClient(self)
        self.clients.append(client)
        return client
