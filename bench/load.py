"""The load of the benches: a crowd of connections (forebay/cli/watching/crowd.py), and the CPU time
that a server spends on it.

Where Python cannot keep a server busy (unpipelined requests), ``Sample.utilisation`` shows it, and
the server's CPU time per operation is the figure to read.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.peers import Peer
from forebay.cli.watching.crowd import Crowd, Expect
from testkit.resp import encode

SEND_BUFFER_BYTES = 1 << 22


@dataclass(frozen=True)
class Sample:
    """The result of one run of one row on one server."""

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


def connect(peer: Peer) -> socket.socket:
    """A connection that does not block and does not wait to fill packets."""
    sock = socket.create_connection(("127.0.0.1", peer.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SEND_BUFFER_BYTES)
    if peer.tls is not None:
        sock = shaken(sock, peer.tls)
    sock.setblocking(False)
    return sock


class TlsSocket(ssl.SSLSocket):
    """Returns all bytes that have arrived, over any number of records; none if there are none."""

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        data = b""
        try:
            data = super().recv(size, flags)
            while self.pending():
                data += super().recv(size, flags)
        except ssl.SSLWantReadError:
            pass
        return data


def shaken(sock: socket.socket, context: ssl.SSLContext) -> socket.socket:
    """A connection after its handshake; TLS's own messages arrive before the answer to a PING."""
    context.sslsocket_class = TlsSocket
    secure = context.wrap_socket(sock, server_hostname="localhost")
    secure.sendall(encode("PING"))
    assert secure.recv(100) == b"+PONG\r\n", "a server that does not answer a PING"
    return secure


def crowd(
    peer: Peer,
    connections: int,
    batches: Iterator[bytes],
    expect: Expect,
    per_batch: int,
    seconds: float,
) -> Sample:
    """One measured run; ``per_batch`` is the number of operations in a batch."""
    sockets = [connect(peer) for _ in range(connections)]
    cpu_s = peer.cpu_s()
    done, elapsed = Crowd(sockets, batches).run(expect, seconds)
    cpu_s = peer.cpu_s() - cpu_s
    for sock in sockets:
        sock.close()
    return Sample(done * per_batch, elapsed, cpu_s)


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
        """Read what has arrived; true when the reply is whole."""
        want = self.ack_bytes if self.acknowledging else self.reply_bytes
        self.have += self.sock.recv_into(self.view[self.have :])
        if self.have < want:
            return False
        assert self.have == want, f"{self.have} bytes came where {want} were expected"
        self.have = 0
        return True

    def head(self) -> bytes:
        """The first bytes of the reply, which hold the first ID."""
        return bytes(self.buffer[:120])
