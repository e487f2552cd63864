"""The machine under a server: everything it takes from there, besides the time (net/timers.py).

    disk          files by name                              persistence/files.py
    chance        random bytes: names of streams, SPOP
    connections   to a primary, by its name or address
    background    a thread that syncs, children that write   durability/syncer.py, children.py

A simulation puts another machine in its place (testkit/sim_machine.py): then many servers live
in one process, and their behaviour is a function of a seed.
"""

from __future__ import annotations

import contextlib
import os
import socket

from forebay.persistence.files import Disk
from forebay.server.durability.children import Children
from forebay.server.durability.syncer import Syncer
from forebay.server.net.listen import set_keepalive
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock


class Machine:
    """The real one."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = Disk() if disk is None else disk

    # Chance

    def random_bytes(self, n: int) -> bytes:
        """Bytes that cannot be guessed."""
        return os.urandom(n)

    def random_below(self, n: int) -> int:
        """A number in 0..n-1; n is far below 2**64, so all are equally likely."""
        return int.from_bytes(self.random_bytes(8)) % n

    def new_id(self) -> str:
        """Forty hex digits that no other server has."""
        return self.random_bytes(20).hex()

    # Connections

    def open_socket(self, host: str, port: int, keepalive_s: int) -> socket.socket:
        """A connection that is being made; OSError if that fails at once."""
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            set_keepalive(sock, keepalive_s)
            with contextlib.suppress(BlockingIOError):
                sock.connect(where)
        except OSError:
            sock.close()
            raise
        return sock

    # Background

    def make_syncer(self, loop: Loop) -> Syncer:
        """The thread that waits for the disk."""
        return Syncer(loop)

    def make_children(self, loop: Loop, clock: Clock) -> Children:
        """The children that write files of all data."""
        return Children(loop, clock)
