"""A TCP proxy between two servers that fails on request.

          client  <-->  Proxy  <-->  target          down: from the target to the client
                          |
    cut()                 both ends get a reset, now
    cut_after(n)          n more bytes go down, then a reset: inside a frame
    cut_each(low, high)   each connection after a number of bytes that the seed gives
    stall(), resume()     nothing passes, and no end is told: the network is gone
    refuse(), accept()    new connections get a reset at once
    delay_s               bytes leave this much later
    bytes_per_s           at most this many bytes a second, each way

One thread serves all connections with a selector.  The caller's thread only sets the wanted fault
and wakes it.  A seed gives the same numbers of bytes in every run; their content, and how the
kernel cuts them into packets, may vary.
"""

from __future__ import annotations

import contextlib
import fcntl
import random
import selectors
import socket
import struct
import termios
import threading
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType

Address = tuple[str, int]
#: With a linger of zero seconds, close() sends a reset and drops unsent bytes.
RESET = struct.pack("ii", 1, 0)
CHUNK = 1 << 16
#: The buffer of one direction; when it is full, the sender must wait.
HELD_BYTES = 1 << 20
CONNECT_TIMEOUT_S = 5.0
FLUSH_TIMEOUT_S, FLUSH_PAUSE_S = 0.5, 0.0005
#: A throttled direction sends small pieces, so that they arrive steadily.
PIECES_PER_S = 20
NEVER = float("inf")


def reset(end: socket.socket) -> None:
    """Close with a reset instead of an orderly end."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    end.close()


def flush(end: socket.socket) -> None:
    """Wait until the other side has all that was sent: a reset would discard the rest.  There is
    no wait for a side that does not read."""
    deadline_s = time.monotonic() + FLUSH_TIMEOUT_S
    with contextlib.suppress(OSError):
        while time.monotonic() < deadline_s:
            (unsent,) = struct.unpack("i", fcntl.ioctl(end, termios.TIOCOUTQ, bytes(4)))
            if unsent == 0:
                return
            time.sleep(FLUSH_PAUSE_S)


class Way:
    """One direction of a connection: bytes, each with the time when it may leave."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held: deque[tuple[float, bytes]] = deque()
        self.held_bytes = 0
        self.source_ended = False
        self.credit_at_s = 0.0

    def take(self, now_s: float, delay_s: float) -> None:
        """Read from the source, and keep the bytes for a while."""
        data = self.source.recv(CHUNK)
        if not data:
            self.source_ended = True
            return
        self.held.append((now_s + delay_s, data))
        self.held_bytes += len(data)

    def ready_s(self) -> float:
        """When the next bytes may leave."""
        return max(self.held[0][0], self.credit_at_s) if self.held else NEVER

    def give(self, now_s: float, at_most: int, bytes_per_s: int) -> int:
        """Send one piece that is due; returns how many bytes."""
        due_s, data = self.held.popleft()
        if bytes_per_s:
            at_most = min(at_most, max(1, bytes_per_s // PIECES_PER_S))
        try:
            sent = self.sink.send(data[:at_most])
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self.held.appendleft((due_s, data[sent:]))
        self.held_bytes -= sent
        if bytes_per_s:
            self.credit_at_s = now_s + sent / bytes_per_s
        return sent


class Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, target: socket.socket, allowance: float) -> None:
        self.client, self.target = client, target
        self.up, self.down = Way(client, target), Way(target, client)
        #: How many more bytes may go down before the cut.
        self.allowance = allowance

    def ways(self) -> Iterator[Way]:
        yield self.up
        yield self.down

    def close(self, *, with_reset: bool) -> None:
        """The end of both halves."""
        for end in (self.client, self.target):
            if with_reset:
                reset(end)
            else:
                end.close()


class Proxy:
    """Listens on a port of its own; ``with`` ends it."""

    def __init__(self, target: Address, seed: int = 0) -> None:
        self.target = target
        self.dice = random.Random(seed)
        self.delay_s = 0.0
        self.bytes_per_s = 0
        self.connections = 0
        self.cuts = 0
        self.bytes_down = 0
        self.links: set[Link] = set()
        self._each: tuple[int, int] | None = None
        self._stalled = False
        self._refusing = False
        self._ended = False
        self._lock = threading.RLock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self.address: Address = self._listener.getsockname()
        self._bell, self._rope = socket.socketpair()
        self._bell.setblocking(False)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return self.address[1]

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- what a test asks for -------------------------------------------------------

    def cut(self) -> int:
        """Reset every connection now; how many there were."""
        with self._lock:
            links = list(self.links)
            for link in links:
                self._cut(link)
        self._ring()
        return len(links)

    def cut_after(self, byte_count: int) -> None:
        """Reset each open connection after this many more bytes down."""
        with self._lock:
            for link in self.links:
                link.allowance = byte_count
        self._ring()

    def cut_each(self, low: int, high: int) -> None:
        """From now on every connection, open or new, ends after ``low`` to ``high`` bytes."""
        with self._lock:
            self._each = (low, high)
            for link in self.links:
                link.allowance = self._allowance()
        self._ring()

    def spare(self) -> None:
        """No more planned cuts."""
        with self._lock:
            self._each = None
            for link in self.links:
                link.allowance = NEVER

    def stall(self) -> None:
        """Nothing passes any more; connections stay open, new ones are not answered."""
        with self._lock:
            self._stalled = True
        self._ring()

    def resume(self) -> None:
        """Let the held bytes pass."""
        with self._lock:
            self._stalled = False
        self._ring()

    def refuse(self) -> None:
        """Cut all, and answer new connections with a reset."""
        with self._lock:
            self._refusing = True
        self.cut()

    def accept(self) -> None:
        """Let new connections through again."""
        with self._lock:
            self._refusing = False

    def close(self) -> None:
        """End the thread and every connection."""
        self._ended = True
        self._ring()
        self._thread.join()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._rope.send(b"!")

    def _allowance(self) -> float:
        return self.dice.randint(*self._each) if self._each else NEVER

    # -- the thread -----------------------------------------------------------------

    def _run(self) -> None:
        with self._listener, self._bell, self._rope:
            while not self._ended:
                self._turn()
            for link in list(self.links):
                link.close(with_reset=True)

    def _turn(self) -> None:
        """Wait for the next events, and handle them."""
        with selectors.DefaultSelector() as selector:
            with self._lock:
                timeout_s = self._watch(selector)
            ready = selector.select(timeout_s)
        with self._lock:
            for key, events in ready:
                self._serve(key.fileobj, key.data, events)
            self._give_all()

    def _watch(self, selector: selectors.BaseSelector) -> float | None:
        """Choose which ends to watch; returns how long there is nothing else to do."""
        selector.register(self._bell, selectors.EVENT_READ)
        if self._stalled:
            return None
        selector.register(self._listener, selectors.EVENT_READ)
        next_s = NEVER
        now_s = time.monotonic()
        for link in self.links:
            wanted = {link.client: 0, link.target: 0}
            for way in link.ways():
                if way.held_bytes < HELD_BYTES and not way.source_ended:
                    wanted[way.source] |= selectors.EVENT_READ
                if way.ready_s() <= now_s:
                    wanted[way.sink] |= selectors.EVENT_WRITE
                next_s = min(next_s, way.ready_s())
            for end, events in wanted.items():
                if events:
                    selector.register(end, events, link)
        is_waiting = now_s < next_s < NEVER
        return next_s - now_s if is_waiting else None

    def _serve(self, end: object, link: Link | None, events: int) -> None:
        if end is self._bell:
            self._bell.recv(CHUNK)
        elif end is self._listener:
            self._admit()
        elif link in self.links and events & selectors.EVENT_READ:
            assert link is not None
            way = link.up if end is link.client else link.down
            try:
                way.take(time.monotonic(), self.delay_s)
            except BlockingIOError:
                return
            except OSError:
                self._end(link, with_reset=True)

    def _admit(self) -> None:
        client, _ = self._listener.accept()
        target = None
        if not self._refusing:
            with contextlib.suppress(OSError):
                target = socket.create_connection(self.target, timeout=CONNECT_TIMEOUT_S)
        if target is None:
            reset(client)
            return
        for end in (client, target):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections += 1
        self.links.add(Link(client, target, self._allowance()))

    def _give_all(self) -> None:
        if self._stalled:
            return
        for link in list(self.links):
            try:
                for way in link.ways():
                    self._give(link, way)
            except OSError:
                self._end(link, with_reset=True)
                continue
            if any(way.source_ended and not way.held for way in link.ways()):
                self._end(link, with_reset=False)

    def _give(self, link: Link, way: Way) -> None:
        """Pass on due bytes, up to the cut."""
        while link in self.links and way.ready_s() <= time.monotonic():
            is_down = way is link.down
            limit = int(min(link.allowance, CHUNK)) if is_down else CHUNK
            sent = way.give(time.monotonic(), limit, self.bytes_per_s) if limit else 0
            if is_down:
                self.bytes_down += sent
                link.allowance -= sent
                if link.allowance <= 0:
                    flush(way.sink)
                    self._cut(link)
            if sent == 0:
                return

    def _cut(self, link: Link) -> None:
        self.cuts += 1
        self._end(link, with_reset=True)

    def _end(self, link: Link, *, with_reset: bool) -> None:
        self.links.discard(link)
        link.close(with_reset=with_reset)
