"""Many connections, one thread, as little work for each reply as possible.

    batches (bytes, built before the clock starts)
       |  next()
    connection --send--> server --recv--> counted, never parsed --> next batch

A batch is one string of pipelined commands.  It is answered after a number of bytes
(``size``: the reply has a constant size) or after a number of marker bytes
(``marker``: for example the '$' of an XADD reply).  Counting bytes costs a few
nanoseconds per reply, so Python on one core can keep a C server on the other core
busy.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from forebay.errors import ForebayError

#: Counted bytes are received into one buffer; markers need an object per read.
BUFFER_BYTES = 1 << 19
READ_BYTES = 1 << 16


class CrowdError(ForebayError):
    """A server gave an unexpected answer."""


@dataclass(frozen=True)
class Expect:
    """When a batch is answered: after a number of bytes, or of marker bytes."""

    size: int = 0
    marker: bytes = b""
    count: int = 0

    def taker(self, sock: socket.socket) -> Callable[[], int]:
        """A function that receives once and returns the progress of the batch."""
        if self.size:
            return partial(sock.recv_into, bytearray(BUFFER_BYTES))
        receive, marker = sock.recv, self.marker
        return lambda: receive(READ_BYTES).count(marker)


class Crowd:
    """Connections that each send a batch, wait for its replies, and send the next.

    They must be non-blocking; the caller closes them.
    """

    def __init__(self, sockets: Sequence[socket.socket], batches: Iterator[bytes]) -> None:
        self.sockets = sockets
        self.batches = batches
        self.busy = 0

    def run(self, expect: Expect, seconds: float) -> tuple[int, float]:
        """Drive until the batches or the seconds are used up, then wait for the last replies.

        Returns how many batches were answered, and in how many seconds.
        """
        with select.epoll() as epoll:
            for sock in self.sockets:
                epoll.register(sock.fileno(), select.EPOLLIN | select.EPOLLRDHUP)
            start = time.perf_counter()
            self._send_first()
            done = self._turn_until(epoll, expect, start + seconds)
            return done, time.perf_counter() - start

    def _send_first(self) -> None:
        for sock in self.sockets:
            batch = next(self.batches, None)
            if batch is not None:
                sock.send(batch)
                self.busy += 1

    def _turn_until(self, epoll: select.epoll, expect: Expect, deadline: float) -> int:
        """The loop: receive, and send the next batch after an answered one; batches done."""
        got = dict.fromkeys((s.fileno() for s in self.sockets), 0)
        take = {s.fileno(): expect.taker(s) for s in self.sockets}
        send = {s.fileno(): s.send for s in self.sockets}
        whole, batches = expect.size or expect.count, self.batches
        poll, clock, done, busy = epoll.poll, time.perf_counter, 0, self.busy
        while busy:
            for fd, event in poll(-1, 128):
                if event != select.EPOLLIN:
                    raise CrowdError("the server closed a connection while it was measured")
                have = got[fd] + take[fd]()
                if have < whole:
                    got[fd] = have
                    continue
                if have != whole:
                    raise CrowdError(f"the server answered {have} where {whole} were expected")
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
