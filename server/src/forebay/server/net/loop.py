"""The event loop: one thread, one epoll, one turn after another.

    turn:  1  wait       for sockets that are ready, at most until the nearest deadline
           2  run        every whole command of every ready socket         (connection.read)
           3  engine     wakes clients whose key is ready, ends waits that timed out (before_sleep)
           4  turn end   changes are written to the AOF before a reply leaves  (turn_end.py)
           5  settle     one send for each client that has output          (settle)

Redis works in the same order.  It is the reason why one write of the AOF and
one send per client serve a whole pipeline.

Rules
  1. Only step 1 blocks.
  2. A connection that has output, must close, or has commands left to run is in
     ``to_settle``, once; code that writes to another client's output announces it
     (engine.touched), and step 5 finds it there.
  3. epoll is level-triggered: an event that is not handled comes again, so a
     turn can stop early when it has produced TURN_BYTES of replies.  The next one is
     crowded: if there are clients that ask for little (Connection.is_light), or new
     clients, it serves only them, so that they wait for one large reply to another
     client, not for two or for all of them.
  4. A descriptor may be reused within a turn, so an event alone never closes a
     connection: only a receive or send that fails does.
  5. Deadlines are kept in wall time, like everything in the engine, but measured
     by the monotonic clock: when the wall clock is set, they move with it.
  6. A bug of ours is logged and ends the connection that met it, not the loop.
  7. After stop() no more commands are run: the turn ends with those that ran so far.
  8. Large memory is freed bit by bit, some in each turn: to free fifty clients that are closed
     at their limit at the same moment would delay all others.
"""

from __future__ import annotations

import os
import select
from array import array
from collections.abc import Callable

from forebay import mem
from forebay.commands.api.waits import BLOCK_TIME
from forebay.server.net import sysio
from forebay.server.net.connection import Connection, Shared
from forebay.server.net.lookout import MOMENT_US, Lookout
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd
from forebay.wire.resp_writer import RespWriter

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
# Events of one turn.
MAX_EVENTS = 256
# Replies that a turn may pile up before they are sent and others are served.
TURN_BYTES = 8 << 20

# Bytes of outputs of closed clients that one turn frees.  The kernel takes 8 MB back in a
# millisecond.
FREE_BYTES = 8 << 20
# Outputs of this size are used again, not freed (LARGEST_SPARE in wire/resp_writer.py).
SPARE_BYTES = 2 << 20

# A difference between the clocks that no drift explains: the wall clock was set.
STEP_MS = 1000

Watcher = Callable[[], None]


class Host:
    """What the loop asks of the server around it; rare events only."""

    def beat(self) -> None:
        """Periodic work is due."""

    def clock_stepped(self, by_ms: int) -> None:
        """The wall clock was set forward, or back if negative."""

    def may_owe(self, conn: Connection, bytes_owed: int) -> bool:
        """Whether a client may leave this much output unread."""
        raise NotImplementedError

    def count(self, conn: Connection) -> None:
        """A client may use more memory than before, or less."""

    def make_room(self) -> None:
        """Close clients if they use too much memory; asked at the end of a turn."""

    def closed(self, conn: Connection) -> None:
        """A connection is closed."""

    def broken(self, conn: Connection | None, fault: BaseException) -> None:
        """An unexpected exception, for this client if any."""


class Loop:
    """Runs turns until it is told to stop."""

    def __init__(self, shared: Shared, clock: Clock, host: Host, turn_end: TurnEnd) -> None:
        self.shared = shared
        self.clock = clock
        self.host = host
        self.turn_end = turn_end
        #: Looks for answers of replicas, and for the next request of a client that had one.
        self.for_answers = Lookout()
        self.for_requests = Lookout()
        self.epoll = select.epoll()
        self.epoll_fd = self.epoll.fileno()
        #: Two words for each ready descriptor: the descriptor and its events.
        self.events = array("Q", bytes(16 * MAX_EVENTS))
        self.by_fd: list[Connection | None] = []
        self.watchers: dict[int, Watcher] = {}
        self.count = 0
        self.to_settle: list[Connection] = []
        self.busy: list[Connection] = []
        #: Large outputs of closed clients, and their size.
        self.doomed: list[bytearray] = []
        self.doomed_bytes = 0
        self.is_stopping = False
        #: The last turn left work for this one.
        self.is_crowded = False
        #: The memory of clients is limited: the host must know what each of them uses.
        self.is_counting = False
        self.next_beat_ms = 0
        self.beat_ms = 100
        #: Monotonic time of this turn, and how far wall time is ahead of it.
        self.steady_ms = clock.monotonic_ms()
        self.offset_ms = clock.now_ms() - self.steady_ms
        #: When the last wait ended: the work of a turn is counted from there.
        self.woke_us = clock.us()
        self.running = False
        #: The next wait begins with this look, if any (lookout.py).
        self.looking: Lookout | None = None
        #: Connections whose replies wait for the end of that look.
        self.held: list[Connection] = []

    # Connections and other descriptors

    def add(self, conn: Connection) -> None:
        """Start to serve a connection."""
        while len(self.by_fd) <= conn.fd:
            self.by_fd.append(None)
        self.by_fd[conn.fd] = conn
        self.count += 1
        conn.watching = READ
        self.epoll.register(conn.fd, READ)

    def watch(self, fd: int, watcher: Watcher) -> None:
        """Call ``watcher`` whenever another descriptor (a door, a pipe) is readable."""
        self.watchers[fd] = watcher
        self.epoll.register(fd, READ)

    def unwatch(self, fd: int) -> None:
        """Stop watching that descriptor."""
        del self.watchers[fd]
        self.epoll.unregister(fd)

    def close(self, conn: Connection) -> None:
        """End a connection now; unsent output is lost."""
        if conn.fd < 0:
            return
        fd = conn.fd
        conn.fd = -1
        self.by_fd[fd] = None
        self.count -= 1
        conn.more = False
        self.shared.engine.close_session(conn.session)
        self.host.closed(conn)
        self.doom(conn.out)
        conn.out.clear()
        conn.held = None
        conn.parser = None
        conn.source = None
        conn.sink = None
        if conn.channel is not None:
            conn.channel.close()
        os.close(fd)

    def doom(self, out: RespWriter) -> None:
        """Rule 8: keep the large parts of an output, to free them later."""
        if out.aside is not None:
            self.doomed += out.aside
            self.doomed_bytes += sum(map(len, out.aside))
        if out.cap > SPARE_BYTES:
            self.doomed.append(out.buf)
            self.doomed_bytes += out.cap

    def connections(self, part: int = 0, parts: int = 1) -> list[Connection]:
        """All connections, or one of ``parts`` parts, in the order of their descriptors."""
        return [conn for conn in self.by_fd[part::parts] if conn is not None]

    # The turns

    def run(self) -> None:
        """Turn until stopped."""
        self.running = True
        self.woke_us = self.clock.us()
        self.next_beat_ms = self.woke_us // 1000 + self.beat_ms
        while self.running:
            self.turn()

    def stop(self) -> None:
        """End with this turn, and run no more commands in it."""
        self.running = False
        self.is_stopping = True

    def turn(self) -> None:
        """One turn; see the head of this file."""
        shared = self.shared
        w = mem.words(self.events)
        ready = self.wait(w)
        shared.now_ms = self.clock.now_ms()
        self.woke_us = self.clock.us()
        self.steady_ms = self.woke_us // 1000
        step_ms = shared.now_ms - self.steady_ms - self.offset_ms
        if step_ms > STEP_MS or step_ms < -STEP_MS:
            self.follow_clock()
        shared.produced = 0
        if self.is_crowded and self.serve_light(w, ready):
            self.is_crowded = False
        else:
            self.serve_all(w, ready)
        self.between()
        self.turn_end.before_replies()
        self.settle_all()
        if self.is_counting:
            self.host.make_room()
        if self.doomed:
            self.let_go()

    def let_go(self) -> None:
        """Rule 8: free some of the outputs of closed clients."""
        left = self.doomed_bytes - max(FREE_BYTES, self.doomed_bytes // 8)
        while self.doomed and self.doomed_bytes > left:
            self.doomed_bytes -= len(self.doomed.pop())

    def wait(self, w: mem.Words) -> int:
        """End the last turn, then sleep until something is ready; how many descriptors are."""
        timeout_ms = self.end_turn()
        if self.looking is not None and not self.busy:
            ready = self.look(w, self.looking)
            if ready > 0:
                return ready
            self.settle_held()
        return sysio.wait(self.epoll, self.epoll_fd, w, MAX_EVENTS, timeout_ms)

    def look(self, w: mem.Words, lookout: Lookout) -> int:
        """Wait for a moment without sleeping; how many descriptors are ready."""
        until_us = self.clock.us() + MOMENT_US
        ready = 0
        while ready <= 0 and self.clock.us() < until_us:
            ready = sysio.wait(self.epoll, self.epoll_fd, w, MAX_EVENTS, 0)
        lookout.learn(ready > 0)
        self.looking = None
        return ready

    def follow_clock(self) -> None:
        """The wall clock was set: tell the host, unless only this process was delayed."""
        offset_ms = self.clock.now_ms() - self.clock.monotonic_ms()
        step_ms = offset_ms - self.offset_ms
        if abs(step_ms) > STEP_MS:
            self.offset_ms = offset_ms
            self.host.clock_stepped(step_ms)

    def between(self) -> None:
        """What is due between the commands and their replies."""
        try:
            if self.steady_ms >= self.next_beat_ms:
                self.next_beat_ms = self.steady_ms + self.beat_ms
                self.turn_end.beat()
                self.host.beat()
            if self.turn_end.worker is not None:
                self.turn_end.worker.work()
            self.shared.engine.before_sleep(self.shared.now_ms)
        except Exception as fault:  # noqa: BLE001 - rule 6
            self.host.broken(None, fault)

    def end_turn(self) -> int:
        """Count the turn that is over; how long the next one may sleep."""
        now_us = self.clock.us()
        stats = self.shared.engine.stats
        stats.turns += 1
        stats.turns_us += now_us - self.woke_us
        if self.busy or self.doomed or self.turn_end.worker is not None:
            return 0
        wait_ms = self.next_beat_ms - now_us // 1000
        deadline_ms = self.shared.engine.next_deadline_ms()
        if deadline_ms >= 0:
            wait_ms = min(wait_ms, deadline_ms - self.clock.now_ms())
        return max(0, wait_ms)

    def serve_all(self, w: mem.Words, ready: int) -> None:
        """Continue left-over work, then serve all ready descriptors, as far as one turn goes."""
        self.is_crowded = False
        if self.busy:
            self.run_busy()
        for i in range(ready):
            if self.shared.produced > TURN_BYTES or self.is_stopping:
                self.is_crowded = True
                break
            self.serve(w[2 * i], w[2 * i + 1])

    def serve(self, fd: int, mask: int) -> None:
        """One ready descriptor."""
        conn = self.by_fd[fd] if fd < len(self.by_fd) else None
        if conn is not None and mask & WRITE:
            conn.is_full = False
        if conn is None:
            self.tell(fd)
        elif mask != WRITE:
            self.read(conn)
        elif not conn.queued:
            self.queue(conn)

    def serve_light(self, w: mem.Words, ready: int) -> bool:
        """Rule 3: clients that ask for little, new ones last; whether there was one."""
        found = False
        for i in range(2 * ready):
            if self.shared.produced > TURN_BYTES or self.is_stopping:
                break
            at = 2 * i if i < ready else 2 * (i - ready)
            conn = self.by_fd[w[at]] if w[at] < len(self.by_fd) else None
            is_new = conn is not None and conn.weight < 0
            if w[at + 1] == 0 or is_new != (i >= ready):
                continue
            if conn is None or conn.is_light(self.shared):
                self.serve(w[at], w[at + 1])
                w[at + 1] = 0
                found = True
        return found

    def tell(self, fd: int) -> None:
        """A watched descriptor that is no connection is ready: call its watcher, if any."""
        watcher = self.watchers.get(fd)
        if watcher is None:
            return
        try:
            watcher()
        except Exception as fault:  # noqa: BLE001 - rule 6
            self.host.broken(None, fault)

    def read(self, conn: Connection) -> None:
        """Take a connection's bytes; queue it if there is anything to settle."""
        try:
            alive = conn.read(self.shared)
        except Exception as fault:  # noqa: BLE001 - rule 6
            self.host.broken(conn, fault)
            alive = False
        if not alive:
            self.close(conn)
        elif not conn.queued and (
            conn.out.size > 0
            or conn.more
            or conn.leaving
            or conn.watching != READ
            or self.is_counting
        ):
            self.queue(conn)

    def run_busy(self) -> None:
        """Continue with clients that had more to run than fits one turn."""
        busy = self.busy
        self.busy = []
        for conn in busy:
            if self.shared.produced > TURN_BYTES:
                self.busy.append(conn)
                self.is_crowded = True
                continue
            conn.busy = False
            if conn.fd < 0 or self.is_stopping:
                continue
            try:
                conn.resume(self.shared)
            except Exception as fault:  # noqa: BLE001 - rule 6
                self.host.broken(conn, fault)
                self.close(conn)
                continue
            if not conn.queued:
                self.queue(conn)

    def queue(self, conn: Connection) -> None:
        """Settle this connection at the end of the turn."""
        conn.queued = True
        self.to_settle.append(conn)

    # The end of a turn

    def settle_all(self) -> None:
        """Send the output of this turn: first to clients that waited, then to the others.

        A reader that was woken has waited longer than the writer whose command woke it.  A client
        in WAIT gets its replies together, if its replicas may answer in the next moment.
        """
        if self.held:
            self.settle_held()
        asked = self.to_settle
        self.to_settle = []
        if self.turn_end.is_expecting or self.turn_end.has_confirmed:
            self.choose_look()
        for session in self.shared.engine.take_touched():
            conn = session.link
            if isinstance(conn, Connection) and not conn.queued and conn.fd >= 0:
                self.settle(conn)
        for conn in asked:
            if self.looking is self.for_answers and may_get_more(conn):
                self.held.append(conn)
            else:
                self.settle_asked(conn)

    def choose_look(self) -> None:
        """Decide whether the next wait begins with a look, and for what."""
        lookout = self.for_answers if self.turn_end.is_expecting else self.for_requests
        self.turn_end.is_expecting = False
        self.turn_end.has_confirmed = False
        self.looking = lookout if self.running and lookout.is_due() else None

    def settle_held(self) -> None:
        """Send held-back replies; nothing is held twice."""
        held = self.held
        self.held = []
        for conn in held:
            self.settle_asked(conn)

    def settle_asked(self, conn: Connection) -> None:
        """Settle a queued connection, unless it was closed since."""
        conn.queued = False
        if conn.fd >= 0:
            self.settle(conn)

    def close_recipients(self) -> None:
        """Close every client with a reply from this turn: the reply would not be true."""
        for session in self.shared.engine.take_touched():
            conn = session.link
            if isinstance(conn, Connection) and not conn.queued:
                self.queue(conn)
        for conn in self.to_settle:
            conn.queued = False
            if conn.fd >= 0 and conn.out.size > 0:
                self.close(conn)
        self.to_settle = [conn for conn in self.to_settle if conn.fd >= 0]
        for conn in self.to_settle:
            conn.queued = True

    def settle(self, conn: Connection) -> None:
        """Send, close or watch, as the state of this connection requires."""
        if self.send(conn):
            self.keep(conn)
            if self.is_counting:
                self.host.count(conn)
        else:
            self.close(conn)

    def send(self, conn: Connection) -> bool:
        """Send waiting output; False if the connection has ended."""
        if conn.source is not None and not conn.source.refill(conn, self.shared):
            return False
        if conn.out.pending() > 0 and not conn.is_full and not conn.flush(self.shared):
            return False
        if conn.session.closing and not conn.leaving:
            return False
        if conn.out.pending() > 0:
            return bool(self.host.may_owe(conn, conn.out.pending()))
        if conn.leaving or (conn.ended and conn.has_no_more_to_do()):
            return False
        if conn.source is not None and conn.source.owed() > 0:
            return bool(self.host.may_owe(conn, 0))
        conn.over_since_ms = 0
        return True

    def keep(self, conn: Connection) -> None:
        """Watch for the next event: more bytes, room to send, a turn to run held bytes."""
        mask = 0 if conn.leaving or conn.ended or conn.deaf else READ
        if conn.out.pending() > 0 or (conn.source is not None and conn.source.has_more()):
            mask |= WRITE
        if conn.is_full and conn.channel is None:
            conn.out.set_aside()
        if conn.more and not conn.busy and not conn.stalled():
            conn.busy = True
            self.busy.append(conn)
        if mask != conn.watching:
            conn.watching = mask
            self.epoll.modify(conn.fd, mask)


def may_get_more(conn: Connection) -> bool:
    """Whether its next reply depends on replicas that were asked just now."""
    blocked = conn.session.blocked
    return blocked is not None and blocked.kind == BLOCK_TIME
