"""Clients that wait for a key, first come first served.

    db.waiting   key -> Queue   FIFO of sessions, for all blocking commands
    deadlines    heap of (time, session)      BLOCK ran out -> null array
    alarms       heap of (time, db, key)      XREADGROUP CLAIM: look again then
    ready        queues that were signalled since the last look, kept by the keyspace

A command that finds nothing calls block() and writes no reply.  After each
command (after the whole of EXEC) the engine calls serve(): for every signalled
key, every session in its queue at that moment runs its command again from the
start, through the whole dispatcher.  If the command finds nothing again, the
session moves to the tail of its queues and keeps its first deadline.

Rules
  1. A key wakes a session if it holds the type that the session waits for; some
     commands (XREADGROUP) are woken by any change of the key.
  2. Keys that are signalled while serving are served later in the same serve().
  3. A session that is closed or unblocked while others are served is simply no
     longer in the queue.
  4. A round costs O(1) for each session it wakes.  A session that waits again
     keeps its record, its deadline and its places, and only moves to the tail:
     with a thousand readers of one group nearly all do that.
  5. A session that was served keeps its record, because it usually waits with the
     same command again (``session.waited``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forebay.commands.api.context import Context
from forebay.commands.api.session import Session
from forebay.commands.api.spec import Command
from forebay.commands.api.waits import BLOCK_LIST, BLOCK_PAUSE, BLOCK_STREAM, Waits
from forebay.core.elements import Elements
from forebay.core.keyspace import Database, Keyspace, Value, Waiting
from forebay.core.stream import Stream
from forebay.engine.deadlines import Deadline, Deadlines
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter


class Machine:
    """The methods of the engine that waiting needs."""

    ctx: Context

    def catch_up(self) -> None:
        """Update the time from the clock; it was set when the turn began."""

    def redo(self, session: Session, argv: Argv) -> None:
        """Run a command again, or for the first time if a pause held it back."""

    def finish(self, session: Session, state: Blocked, error: bytes | None, mark: int) -> None:
        """Count a command that ends without another run; its reply is at ``mark``."""


class Queue(Waiting):
    """The sessions that wait for one key, first come first served."""

    def __init__(self, db: Database, key: bytes) -> None:
        super().__init__(db, key)
        self.sessions: dict[Session, Blocked] = {}
        #: How many of them must be notified when the key is deleted.
        self.on_missing = 0


class Blocked:
    """The wait of one session."""

    def __init__(self, kind: int, db: Database, keys: list[bytes], argv: Argv) -> None:
        self.kind = kind
        self.db = db
        self.keys = keys
        #: The command to run again; it owns its bytes.
        self.argv = argv
        self.row: Command | None = None
        self.on_missing_key = False
        self.on_timeout: Callable[[RespWriter], object] | None = None
        self.deadline: Deadline | None = None
        #: Time spent in runs that found nothing.
        self.spent_us = 0
        #: Whether it is in the queues of its keys.
        self.queued = False
        #: A queue that it was the last to leave, for reuse.
        self.spare: Queue | None = None


class Blocking(Waits):
    """All waiting clients."""

    def __init__(self, keyspace: Keyspace, machine: Machine) -> None:
        self.keyspace = keyspace
        self.machine = machine
        self.ctx = machine.ctx
        self.deadlines = Deadlines()
        self.alarms = Deadlines()
        self.alarm_of: dict[tuple[int, bytes], Deadline] = {}
        self.postponed: dict[Session, Blocked] = {}
        self.blocked_clients = 0
        self.blocking_keys = 0
        self.blocking_keys_on_missing = 0
        #: The wait of the session that is being served, until it ended just now.
        self.before: Blocked | None = None

    # Beginning to wait

    def block(
        self,
        session: Session,
        kind: int,
        keys: list[bytes],
        timeout_ms: int,
        argv: Argv,
        on_missing_key: bool = False,
        wake_at_ms: Mapping[bytes, int] | None = None,
        on_timeout: Callable[[RespWriter], object] | None = None,
    ) -> None:
        """Put the session at the tail of the queues of its keys."""
        before = self.before
        if before is not None and before.kind == kind and before.argv.is_same(argv):
            state = before
            self.wait_again(session, state)
        else:
            state = Blocked(kind, session.db, distinct(keys), argv.kept())
            state.on_missing_key = on_missing_key
            state.on_timeout = on_timeout
            self.set_deadline(session, state, timeout_ms)
            self.wait(session, state)
        if wake_at_ms is not None:
            self.set_alarms(state, wake_at_ms)

    def block_as_before(self, session: Session, kind: int, timeout_ms: int, argv: Argv) -> bool:
        """Wait in the same way as last time if the command is the same; else false."""
        state = session.waited
        if self.before is not None or not isinstance(state, Blocked):
            return False
        if state.kind != kind or state.db is not session.db or not state.argv.is_same(argv):
            return False
        state.spent_us = 0
        self.set_deadline(session, state, timeout_ms)
        self.wait(session, state)
        return True

    def wait(self, session: Session, state: Blocked) -> None:
        """Begin to wait."""
        if self.before is not None and self.before.queued:
            self.leave_queues(session, self.before)
        for key in state.keys:
            self.enqueue(session, state, key)
        state.queued = True
        session.blocked = state
        self.blocked_clients += 1

    def wait_again(self, session: Session, state: Blocked) -> None:
        """Wait for the same again, after all others."""
        for key in state.keys:
            queue = self.queue_of(state.db, key)
            del queue.sessions[session]
            queue.sessions[session] = state
        session.blocked = state

    def set_deadline(self, session: Session, state: Blocked, timeout_ms: int) -> None:
        """The deadline; the command has checked that it can be represented."""
        if timeout_ms > 0:
            state.deadline = self.deadlines.add(self.ctx.now_ms + timeout_ms, session)

    def enqueue(self, session: Session, state: Blocked, key: bytes) -> None:
        """Wait for this key."""
        if key in state.db.waiting:
            queue = self.queue_of(state.db, key)
        else:
            queue = self.new_queue(state, key)
        queue.sessions[session] = state
        if state.on_missing_key:
            queue.on_missing += 1
            if queue.on_missing == 1:
                self.blocking_keys_on_missing += 1

    def new_queue(self, state: Blocked, key: bytes) -> Queue:
        """A queue for a key that no client waits for yet."""
        queue = state.spare
        state.spare = None
        if queue is None or queue.key != key:
            queue = Queue(state.db, key)
        state.db.waiting[key] = queue
        self.blocking_keys += 1
        return queue

    def queue_of(self, db: Database, key: bytes) -> Queue:
        """The queue of a key; at least one client waits."""
        queue = db.waiting[key]
        assert isinstance(queue, Queue)
        return queue

    def set_alarms(self, state: Blocked, wake_at_ms: Mapping[bytes, int]) -> None:
        """Signal the keys at the given times; for each key the earliest time counts."""
        for key, wanted_ms in wake_at_ms.items():
            # A time in the past would make the loop spin: look again a moment later.
            at_ms = max(wanted_ms, self.ctx.now_ms + 1)
            place = (state.db.index, key)
            present = self.alarm_of.get(place)
            if present is None or at_ms < present.at_ms:
                if present is not None:
                    self.alarms.cancel(present)
                self.alarm_of[place] = self.alarms.add(at_ms, place)

    def postpone(self, session: Session, argv: Argv) -> None:
        """Run the command after the pause."""
        state = Blocked(BLOCK_PAUSE, session.db, [], argv)
        self.wait(session, state)
        self.postponed[session] = state

    def is_rerun(self) -> bool:
        """Whether the current command ran, and was shown to MONITOR, before it waited."""
        return self.before is not None and self.before.kind != BLOCK_PAUSE

    # No longer waiting

    def leave(self, session: Session) -> Blocked:
        """Stop waiting; the deadline stays."""
        state = session.blocked
        assert isinstance(state, Blocked)
        session.blocked = None
        self.leave_queues(session, state)
        return state

    def leave_queues(self, session: Session, state: Blocked) -> None:
        """Remove the session from the queues of its keys."""
        state.queued = False
        self.blocked_clients -= 1
        if state.kind == BLOCK_PAUSE:
            del self.postponed[session]
        for key in state.keys:
            self.dequeue(session, state, key)

    def dequeue(self, session: Session, state: Blocked, key: bytes) -> None:
        """Stop waiting for this key."""
        queue = self.queue_of(state.db, key)
        del queue.sessions[session]
        if state.on_missing_key:
            queue.on_missing -= 1
            if queue.on_missing == 0:
                self.blocking_keys_on_missing -= 1
        if not queue.sessions:
            del state.db.waiting[key]
            state.spare = queue
            self.blocking_keys -= 1
            alarm = self.alarm_of.pop((state.db.index, key), None) if self.alarm_of else None
            if alarm is not None:
                self.alarms.cancel(alarm)

    def drop(self, session: Session) -> None:
        """The client is closed."""
        if session.blocked is not None:
            self.cancel_deadline(self.leave(session))

    def cancel_deadline(self, state: Blocked) -> None:
        """End the wait before its time."""
        if state.deadline is not None:
            self.deadlines.cancel(state.deadline)
            state.deadline = None

    def unblock(self, session: Session, error: bytes | None) -> bool:
        """Answer as if the time were up, or with an error; false if it was not waiting."""
        if session.blocked is None or session.blocked.kind == BLOCK_PAUSE:
            return False
        state = self.leave(session)
        self.cancel_deadline(state)
        mark = session.out.size
        if error is not None:
            session.out.error(error)
        elif state.on_timeout is not None:
            state.on_timeout(session.out)
        else:
            session.out.null_array()
        self.machine.finish(session, state, error, mark)
        return True

    # Serving

    def serve(self) -> None:
        """Wake clients that wait for signalled keys, until no key is signalled."""
        ready = self.keyspace.ready
        at = 0
        while at < len(ready):
            queue = ready[at]
            queue.is_signalled = False
            at += 1
            assert isinstance(queue, Queue)
            self.serve_queue(queue)
        del ready[:]

    def serve_queue(self, queue: Queue) -> None:
        """Give every session that waits for the key one chance."""
        db, key = queue.db, queue.key
        if key in db.expires:
            # The key may have been deleted again in the EXEC that made it.
            self.machine.catch_up()
        # Cython compiles a comprehension to a plain loop, unlike list().
        for session in [session for session in queue.sessions]:  # noqa: C416
            # Other sessions may have left while the first ones were served.
            state = queue.sessions.get(session)
            if state is not None and wakes(db.values.get(key), state):
                self.wake(session)

    def wake(self, session: Session) -> None:
        """Run the command again; afterwards the session has its answer, or waits again."""
        state = session.blocked
        assert isinstance(state, Blocked)
        session.blocked = None
        self.before = state
        try:
            self.machine.redo(session, state.argv)
        finally:
            self.before = None
        if waits_for(session, state):
            return
        if state.queued:
            self.leave_queues(session, state)
        self.cancel_deadline(state)
        # Not if it may be large: many keys, or any command that a pause held back.
        session.waited = state if len(state.keys) == 1 else None

    def resume(self) -> None:
        """The pause is over: run the commands that it held back, in order."""
        for session in list(self.postponed):
            if session in self.postponed:
                self.wake(session)

    def tick(self) -> None:
        """Answer sessions whose time is up, and signal keys whose alarm is due."""
        now_ms = self.ctx.now_ms
        if self.deadlines.is_due(now_ms):
            for session in self.deadlines.pop_due(now_ms):
                self.unblock(session, None)
        if self.alarms.is_due(now_ms):
            for place in self.alarms.pop_due(now_ms):
                del self.alarm_of[place]
                index, key = place
                self.keyspace.databases[index].signal(key)

    def shift_times(self, by_ms: int) -> None:
        """The clock was set: no wait becomes longer or shorter."""
        self.deadlines.shift(by_ms)

    def next_ms(self) -> int:
        """When tick() has work to do; -1 if never."""
        soonest_ms = self.deadlines.next_ms()
        alarm_ms = self.alarms.next_ms()
        if soonest_ms < 0 or 0 <= alarm_ms < soonest_ms:
            return alarm_ms
        return soonest_ms


def distinct(keys: list[bytes]) -> list[bytes]:
    """Each key once, in the original order."""
    return keys if len(keys) <= 1 else list(dict.fromkeys(keys))


def waits_for(session: Session, state: Blocked) -> bool:
    """Whether a session waits in this way."""
    return session.blocked is state


def wakes(value: Value | None, state: Blocked) -> bool:
    """Whether a key with this value wakes such a waiter."""
    if state.on_missing_key:
        return True
    if isinstance(value, Stream):
        return state.kind == BLOCK_STREAM
    return isinstance(value, Elements) and state.kind == BLOCK_LIST
