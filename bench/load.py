"""The load generator: many connections, one thread, as little work per reply as possible.

    batches (bytes, built before the clock starts)
       |  next()
    connection --send--> server --recv--> counted, never parsed --> next batch

A batch is one string of pipelined commands.  It is answered when either so many
bytes have come (``size``: the reply is known to be constant) or so many times a
marker byte (``marker``: say, the '$' of an XADD reply).  Counting bytes costs a
few nanoseconds a reply, so that Python on one core keeps a C server on the other
one busy.  Where it cannot (unpipelined requests), ``Sample.utilisation`` shows
it, and the server's CPU time per operation is the figure to read.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench.peers import Peer

SEND_BUFFER_BYTES = 1 << 22
#: Where bytes are counted they are dropped into a buffer; markers need an object per read.
BUFFER_BYTES = 1 << 19
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Sample:
    """What one run of one row on one server gave."""

    operations: int
    seconds: float
    cpu_s: float

    def __add__(self, other: Sample) -> Sample:
        return Sample(
            self.operations + other.operations,
            self.seconds + other.seconds,
            self.cpu_s + other.cpu_s,
        )

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds

    @property
    def cpu_us(self) -> float:
        """Server CPU time per operation, in microseconds."""
        return self.cpu_s / self.operations * 1e6

    @property
    def utilisation(self) -> float:
        """Share of the time that the server was busy; below 0.95 the client was the limit."""
        return self.cpu_s / self.seconds


@dataclass(frozen=True)
class Expect:
    """When a batch is answered: so many bytes, or so many times a marker byte."""

    size: int = 0
    marker: bytes = b""
    count: int = 0

    def taker(self, sock: socket.socket) -> Callable[[], int]:
        """A function that receives once and says how far that brings the batch."""
        if self.size:
            return partial(sock.recv_into, bytearray(BUFFER_BYTES))
        receive, marker = sock.recv, self.marker
        return lambda: receive(READ_BYTES).count(marker)


def connect(peer: Peer) -> socket.socket:
    """A connection that will not block and does not wait to fill packets."""
    sock = socket.create_connection(("127.0.0.1", peer.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SEND_BUFFER_BYTES)
    sock.setblocking(False)
    return sock


class Crowd:
    """Connections that each send a batch, wait for its replies, and send the next."""

    def __init__(self, peer: Peer, connections: int, batches: Iterator[bytes]) -> None:
        self.peer = peer
        self.sockets = [connect(peer) for _ in range(connections)]
        self.batches = batches
        self.epoll = select.epoll()
        self.busy = 0

    def run(self, expect: Expect, per_batch: int, seconds: float) -> Sample:
        """Drive until the batches or the seconds are used up, and drain what is under way."""
        for sock in self.sockets:
            self.epoll.register(sock.fileno(), select.EPOLLIN)
        cpu_s, start = self.peer.cpu_s(), time.perf_counter()
        self._send_first()
        done = self._turn_until(expect, start + seconds)
        elapsed = time.perf_counter() - start
        cpu_s = self.peer.cpu_s() - cpu_s
        self.close()
        return Sample(done * per_batch, elapsed, cpu_s)

    def _send_first(self) -> None:
        for sock in self.sockets:
            batch = next(self.batches, None)
            if batch is not None:
                sock.send(batch)
                self.busy += 1

    def _turn_until(self, expect: Expect, deadline: float) -> int:
        """The loop: take what came, and where a batch is answered send the next; batches done."""
        got = dict.fromkeys((s.fileno() for s in self.sockets), 0)
        take = {s.fileno(): expect.taker(s) for s in self.sockets}
        send = {s.fileno(): s.send for s in self.sockets}
        whole, batches = expect.size or expect.count, self.batches
        poll, clock, done, busy = self.epoll.poll, time.perf_counter, 0, self.busy
        while busy:
            for fd, _ in poll(-1, 128):
                have = got[fd] + take[fd]()
                if have < whole:
                    got[fd] = have
                    continue
                assert have == whole, f"{have} came where {whole} were expected"
                got[fd] = 0
                done += 1
                batch = next(batches, None)
                if batch is None:
                    busy -= 1
                else:
                    send[fd](batch)
            if clock() > deadline:
                batches = iter(())
        return done

    def close(self) -> None:
        """Let go of all connections."""
        self.epoll.close()
        for sock in self.sockets:
            sock.close()


def crowd(
    peer: Peer,
    connections: int,
    batches: Iterator[bytes],
    expect: Expect,
    per_batch: int,
    seconds: float,
) -> Sample:
    """One measured run; ``per_batch`` is how many operations a batch stands for."""
    return Crowd(peer, connections, batches).run(expect, per_batch, seconds)


def reply_size(peer: Peer, batch: bytes, replies: int) -> int:
    """How many bytes the replies to this batch take on this server."""
    with peer.client() as client:
        client.send(batch)
        return sum(len(reply) for reply in client.read_many(replies))


def readers(
    peer: Peer,
    blocks: int,
    consumers: list[bytes],
    reply_bytes: int,
    ack_for: Callable[[bytes], bytes],
    ack_reply: bytes,
) -> None:
    """Each consumer reads a block, acknowledges it, and reads the next, until all are gone.

    ``consumers`` holds the XREADGROUP command of each; ``ack_for`` finds the ready-made
    XACK by the head of a reply, since blocks are consecutive and all of one size.
    """
    epoll = select.epoll()
    state = {}
    for command in consumers:
        sock = connect(peer)
        epoll.register(sock.fileno(), select.EPOLLIN)
        state[sock.fileno()] = Reader(sock, command, reply_bytes, len(ack_reply))
    left = blocks
    for reader in state.values():
        left -= reader.read_next(left)
    busy = len(state)
    while busy:
        for fd, _ in epoll.poll(-1, 64):
            reader = state[fd]
            if not reader.receive():
                continue
            if reader.acknowledging:
                taken = reader.read_next(left)
                left -= taken
                busy -= not taken
            else:
                reader.acknowledge(ack_for(reader.head()))
    epoll.close()
    for reader in state.values():
        reader.sock.close()


class Reader:
    """One consumer of the loop above: it is either reading or acknowledging."""

    def __init__(self, sock: socket.socket, command: bytes, reply: int, ack_reply: int) -> None:
        self.sock = sock
        self.command = command
        self.reply_bytes = reply
        self.ack_bytes = ack_reply
        self.buffer = bytearray(max(reply, 64))
        self.view = memoryview(self.buffer)
        self.have = 0
        self.acknowledging = False

    def read_next(self, left: int) -> bool:
        """Ask for the next block if one is left."""
        self.acknowledging = False
        if left > 0:
            self.sock.send(self.command)
        return left > 0

    def acknowledge(self, command: bytes) -> None:
        """Acknowledge the block that was just read."""
        self.acknowledging = True
        sent = self.sock.send(command)
        assert sent == len(command), "the send buffer is too small for one XACK"

    def receive(self) -> bool:
        """Take what came; true when the reply is whole."""
        want = self.ack_bytes if self.acknowledging else self.reply_bytes
        self.have += self.sock.recv_into(self.view[self.have :])
        if self.have < want:
            return False
        assert self.have == want, f"{self.have} bytes came where {want} were expected"
        self.have = 0
        return True

    def head(self) -> bytes:
        """The first bytes of the reply, where the first ID stands."""
        return bytes(self.buffer[:120])
