"""A simulated network: it carries bytes between servers of this process on request.

    server --socket pair--> Flow: queue --socket pair--> server        and a Flow back
                                   |
              a piece of it arrives, or all, or nothing, or the link is cut in the middle

    network.connect(here, there)    a server opens a link (sim_machine.py)
    network.carry(wire, most)       up to ``most`` bytes of each direction arrive
    network.cut(wire)               both ends see it; bytes in transit are lost
    network.isolate({address})      between these and all others nothing arrives any more
    wire.is_silent = True           neither end hears anything, ever: a pulled cable

A server's sockets are real ones (pairs of this process), so that its loop is the real loop.  The
simulation at once reads what a server sends into its own queues.  It decides how fast bytes
travel, and how much a server may send before it must wait.
"""

from __future__ import annotations

import contextlib
import select
import socket
from typing import Protocol

from testkit.sim_machine import Address

#: More than anything that is sent in a simulation.
ALL = 1 << 40
PIECE = 1 << 16


class NamedSocket(socket.socket):
    """One end of a pair, with a made-up address."""

    def __init__(self, fd: int, address: Address) -> None:
        super().__init__(fileno=fd)
        self.address = address

    def getsockname(self) -> Address:
        return self.address


def pair(address: Address, send_bytes: int = 0) -> tuple[NamedSocket, socket.socket]:
    """A server's end, and the simulation's; the server may have this much in transit."""
    theirs, ours = socket.socketpair()
    if send_bytes:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
    theirs.setblocking(False)
    ours.setblocking(False)
    return NamedSocket(theirs.detach(), address), ours


class Flow:
    """One direction of a link."""

    def __init__(self, source: socket.socket) -> None:
        self.source = source
        self.sink: socket.socket | None = None
        self.queue = bytearray()
        #: The sender has closed its end.
        self.is_ended = False

    def take(self, most: int) -> None:
        """Take the sender's bytes, until this much is in transit."""
        while not self.is_ended and len(self.queue) < most:
            try:
                data = self.source.recv(PIECE)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b""
            self.is_ended = not data
            self.queue += data

    def give(self, most: int) -> int:
        """Let up to this many bytes arrive; returns how many did."""
        if self.sink is None or not self.queue:
            return 0
        try:
            done = self.sink.send(self.queue[:most])
        except BlockingIOError:
            return 0
        except OSError:  # the receiver is gone
            done = len(self.queue)
        del self.queue[:done]
        return done

    def is_left(self) -> bool:
        """Whether the sender has closed its end before all its bytes were taken."""
        poller = select.poll()
        poller.register(self.source, 0)
        return self.is_ended or bool(poller.poll(0))

    @property
    def is_over(self) -> bool:
        """Whether all bytes and the end have arrived."""
        return self.is_ended and not self.queue


class Wire:
    """A link between two servers, from the one that opened it."""

    def __init__(self, here: Address, there: Address, ours: socket.socket) -> None:
        self.here = here
        self.there = there
        self.out = Flow(ours)
        self.back: Flow | None = None
        #: Nothing arrives any more, and neither end is told.
        self.is_silent = False
        #: How many bytes may be in transit; then the sender must wait.
        self.width = ALL

    def accepted(self, ours: socket.socket) -> None:
        """The other server has accepted it."""
        self.back = Flow(ours)
        self.back.sink, self.out.sink = self.out.source, ours

    @property
    def flows(self) -> list[Flow]:
        """Both directions."""
        return [self.out] if self.back is None else [self.out, self.back]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in transit."""
        return not any(flow.queue for flow in self.flows)

    def close(self) -> None:
        """Both servers see the end."""
        for flow in self.flows:
            flow.source.close()


class Door(Protocol):
    """Accepts connections at an address; returns False if it does not."""

    def admit(self, sock: socket.socket, here: Address) -> bool: ...


class Network:
    """All links, and the partitions between them."""

    def __init__(self) -> None:
        self.doors: dict[Address, Door] = {}
        self.wires: list[Wire] = []
        self.isolated: set[Address] = set()
        #: The room of a server's own send buffer, 0 for the system's.
        self.send_bytes = 0

    # For servers

    def connect(self, here: Address, there: Address) -> socket.socket:
        """A new link; the other side sees it with the next carry()."""
        if there not in self.doors:
            raise ConnectionRefusedError(111, "Connection refused")
        theirs, ours = pair(here, self.send_bytes)
        self.wires.append(Wire(here, there, ours))
        return theirs

    # For the simulation

    def carry(self, wire: Wire, most: int = ALL) -> int:
        """Let up to this many bytes of each direction arrive; returns how many did."""
        done = 0
        if wire.is_silent and all(flow.is_left() for flow in wire.flows):
            self.cut(wire)
        if self.is_blocked(wire) or (wire.back is None and not self.open(wire)):
            return 0
        for flow in wire.flows:
            flow.take(wire.width)
            done += flow.give(most)
        if any(flow.is_over for flow in wire.flows):
            self.cut(wire)
        return done

    def open(self, wire: Wire) -> bool:
        """Offer a new link to the other side; False if it does not accept it."""
        theirs, ours = pair(wire.there, self.send_bytes)
        if self.doors[wire.there].admit(theirs, wire.here):
            wire.accepted(ours)
            return True
        theirs.close()
        ours.close()
        self.cut(wire)
        return False

    def is_blocked(self, wire: Wire) -> bool:
        """Whether nothing can arrive on it now."""
        return wire.is_silent or (wire.here in self.isolated) != (wire.there in self.isolated)

    def cut(self, wire: Wire) -> None:
        """End a link: bytes in transit are lost."""
        wire.close()
        with contextlib.suppress(ValueError):
            self.wires.remove(wire)

    def of(self, address: Address) -> list[Wire]:
        """The links of a server."""
        return [wire for wire in self.wires if address in (wire.here, wire.there)]

    def close(self) -> None:
        """The end of the simulation."""
        for wire in list(self.wires):
            self.cut(wire)
