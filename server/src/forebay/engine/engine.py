"""One command: look up, check, run, count, wake.

    call(session, argv, now_ms)
      |- names.find        bytes -> row                     no object is made
      |- arity, gates      if unusual: guarded()            admission.py
      |- ctx               set up for the session
      |- row.handler       inside a unit of effects
      |- statistics        call_counts, session, errors, slow log
      `- blocking.serve    if the command signalled a key that clients wait for

The engine is a function of (state, argv, now_ms): it has no clock, no socket, no
randomness.  An injected Ticker measures how long a command took, and gives the
exact time where a client sees it (MONITOR, TIME) or a slow command used it up.

Rules
  1. Whatever a handler does, the client gets exactly one reply: on any error the
     output of the call is removed and replaced by the error line.
  2. An unexpected exception is reported to ``faults`` and answered with an
     internal error; the engine continues.
  3. Effects of a call form one unit; those of a woken client form their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from forebay import mem
from forebay.commands.api import gates
from forebay.commands.api.context import Context
from forebay.commands.api.effects import Effects
from forebay.commands.api.services import Services
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import ADMIN, DENYOOM, MAY_REPLICATE, WRITE, Command
from forebay.commands.table import TABLE
from forebay.core.idmp_cycle import IdmpCycle
from forebay.core.keyspace import Keyspace
from forebay.engine import admission, expiring, muting, rejection, roles, slow_calls
from forebay.engine.access import Access, NoFile
from forebay.engine.alone import Alone
from forebay.engine.blocking import Blocked, Blocking, Machine
from forebay.engine.call_counts import CallCounts
from forebay.engine.faults import Faults
from forebay.engine.latency import Latency
from forebay.engine.monitors import Monitors
from forebay.engine.names import Names
from forebay.engine.pause import Pause
from forebay.engine.payloads import Payloads
from forebay.engine.pubsub import Pubsub
from forebay.engine.sessions import Sessions
from forebay.engine.slowlog import Slowlog
from forebay.engine.stats import Stats
from forebay.engine.ticker import Ticker
from forebay.engine.tracking import Tracking
from forebay.errors import CommandError, OverrunError
from forebay.wire.argv import Argv
from forebay.wire.chars import DASH

# Constants of other modules, as C numbers for the hot path.
ADMIN_FLAG = ADMIN
IS_MONITORED = gates.MONITORED
IS_PAUSED = gates.PAUSED
ONLY_IN_MULTI = gates.IN_MULTI
IS_RESTRICTED = gates.RESTRICTED
#: Flags that EXEC collects from its queued commands.
QUEUE_FLAGS = WRITE | DENYOOM | MAY_REPLICATE
QUEUED = b"+QUEUED\r\n"
MUTES = gates.REPLIES
IS_TRACKING = gates.TRACKING
IS_LINK = gates.REPLICA
INTERNAL_ERROR = b"ERR internal error"
EXPIRY_PERIOD_MS = expiring.PERIOD_MS
# A threshold that no command reaches.
NEVER_US = 1 << 62


class Engine(Machine):
    """The deterministic machine that serves all connections."""

    def __init__(
        self,
        settings: Settings,
        ticker: Ticker | None = None,
        commands: Mapping[bytes, Command] = TABLE,
        faults: Faults | None = None,
    ) -> None:
        self.settings = settings
        self.faults = Faults() if faults is None else faults
        self.ticker = Ticker() if ticker is None else ticker
        self.commands = commands
        self.names = Names(commands.values())
        self.keyspace = Keyspace(settings.databases)
        self.ready = self.keyspace.ready
        self.idmp_cycle = IdmpCycle(self.keyspace)
        self.stats = Stats(self.keyspace)
        self.call_counts = CallCounts(commands.values())
        self.sessions = Sessions()
        self.services = Services()
        self.ctx = Context(self.keyspace, settings, self.services)
        self.effects: Effects = self.ctx.effects
        self.blocking = Blocking(self.keyspace, self)
        self.ctx.waits = self.blocking
        self.pubsub = Pubsub(self.sessions, self)
        self.tracking = Tracking(self.keyspace, self.sessions, self.pubsub, settings, self)
        #: Whether caching clients must be notified of changes at the end of the turn.
        self.has_news = False
        self.slowlog = Slowlog()
        self.latency = Latency()
        self.monitors = Monitors(self.sessions)
        self.pausing = Pause()
        self.access = Access(self)
        self.expiry_ms, self.next_expiry_ms = 0, -1
        #: DEBUG SET-ACTIVE-EXPIRE
        self.active_expire = True
        #: Why writes are refused while gates.MISCONF is set.
        self.misconf_text = b""
        self.gate = 0
        #: This server is a replica: expired keys wait for the primary's DEL.
        self.is_replica = False
        #: The number of replicas that reported recently.
        self.good_replicas = 0
        self.slow_us = NEVER_US
        #: When the call began; 0: ask the clock.  A call stores the time of its end here, where the
        #: next call of the same client in the same turn begins: one look at the clock for each.
        self.started_us = 0
        self.is_running = False
        self.offer_services()
        self.refresh_settings()

    def offer_services(self) -> None:
        """Fill in the services of the engine; the server adds its own."""
        services = self.services
        services.sessions = self.sessions
        services.pubsub = self.pubsub
        services.tracking = self.tracking
        services.blocking = self.blocking
        services.executor = self
        services.stats = self.stats
        services.call_counts = self.call_counts
        services.slowlog = self.slowlog
        services.latency = self.latency
        services.payloads = Payloads(self.settings)
        services.loaded_scripts = set()
        services.replication = Alone()
        services.access, services.access_file = self.access, NoFile()

    def refresh_settings(self) -> None:
        """Copy the settings that every call needs."""
        settings = self.settings
        self.ctx.notify_flags = settings.notify_flags
        self.ctx.node_bytes = settings.stream_node_max_bytes
        self.ctx.node_entries = settings.stream_node_max_entries
        self.set_gate(gates.MEMORY_LIMIT, settings.maxmemory > 0)
        roles.refresh(self)
        self.access.refresh_settings()
        self.slow_us = NEVER_US
        if settings.slowlog_slower_than_us >= 0:
            self.slow_us = settings.slowlog_slower_than_us
        if settings.latency_threshold_ms > 0:
            self.slow_us = min(self.slow_us, settings.latency_threshold_ms * 1000)

    def set_gate(self, bit: int, on: bool) -> None:
        """Set or clear one bit of ``gate``."""
        self.gate = self.gate | bit if on else self.gate & ~bit

    # Clients

    def new_session(
        self, addr: bytes = b"", laddr: bytes = b"", fd: int = -1, now_ms: int = 0
    ) -> Session:
        """Register a new client."""
        db, pool = self.keyspace.databases[0], self.ctx.writer_pool
        session = Session(self.sessions.new_number(), db, pool, now_ms)
        session.addr, session.laddr, session.fd = addr, laddr, fd
        self.access.arrive(session)
        self.sessions.add(session)
        return session

    def close_session(self, session: Session) -> None:
        """A client was closed: it waits for nothing, watches nothing, listens to nothing."""
        self.blocking.drop(session)
        session.unwatch()
        session.forget_queue()
        self.pubsub.drop(session)
        self.tracking.drop(session)
        self.monitor(session, on=False)
        self.sessions.remove(session)
        session.set_gate(gates.CLOSING, on=True)

    def row_of(self, argv: Argv) -> Command | None:
        """The row that a call would run or refuse, without its subcommand."""
        return self.names.find(argv)

    def running(self) -> Session | None:
        """The session whose command is running."""
        return self.ctx.session if self.is_running else None

    # One command

    def call(self, session: Session, argv: Argv, now_ms: int) -> None:
        """Run one command; the reply is in ``session.out``, unless the client now waits."""
        if argv.n > 0:
            self.ctx.now_ms = now_ms
            session.active_ms = now_ms
            self.dispatch(session, argv)
            if len(self.ready) != 0:
                self.blocking.serve()

    def dispatch(self, session: Session, argv: Argv) -> None:
        """Find the row; take the short path if possible."""
        row = self.names.find(argv)
        gate = session.gate | self.gate
        if row is None or row.is_container or not row.takes(argv.n):
            self.guarded(session, argv, row)
        elif gate == 0 or (gate == IS_RESTRICTED and self.is_allowed(session, row, argv)):
            self.execute(session, row, argv)
        elif gate == ONLY_IN_MULTI and admission.is_queued(row):
            self.enqueue(session, row, argv)
        else:
            self.guarded(session, argv, row)
        if session.pushes is not None:
            self.append_pushes(session)

    def is_allowed(self, session: Session, row: Command, argv: Argv) -> bool:
        """Whether the user of the session may run this; hot."""
        user = session.user
        return user.allows(row, argv)

    def enqueue(self, session: Session, row: Command, argv: Argv) -> None:
        """Queue a command for EXEC."""
        kept = argv.copy()
        queue = session.queue
        assert queue is not None
        queue.append((row, kept))
        session.queue_bytes += len(kept.buf)
        session.queue_flags |= row.flags & QUEUE_FLAGS
        session.out.raw(QUEUED)

    def execute(self, session: Session, row: Command, argv: Argv) -> None:
        """Run an admitted command: one unit of effects."""
        ctx = self.ctx
        if ctx.session is not session:
            ctx.use(session)
            # Time has passed since the last command: the server has read this one from a socket.
            self.started_us = 0
        session.last = row
        self.effects.begin()
        self.is_running = True
        self.run(session, row, argv)
        self.is_running = False
        if self.effects.end():
            session.wrote_at = self.effects.place()

    def run(self, session: Session, row: Command, argv: Argv) -> None:
        """The handler, its errors and its statistics."""
        out = session.out
        mark = out.size
        started = self.started_us
        if started == 0:
            started = self.ticker.us()
        try:
            row.handler(self.ctx, argv)  # type: ignore[misc]
        except CommandError as error:
            out.rewind(mark)
            out.error(error.text)
        except OverrunError:
            # Only commands that change nothing are stopped in the middle.
            out.rewind(mark)
            self.sessions.close(session)
        except Exception as fault:  # noqa: BLE001 - rule 2
            self.fault(session, argv, fault)
            out.rewind(mark)
            out.error(INTERNAL_ERROR)
        ended = self.ticker.us()
        self.started_us = ended
        blocked = session.blocked
        if blocked is not None:
            blocked.row = row
            blocked.spent_us += ended - started
        else:
            self.stats.commands += 1
            session.calls += 1
            self.call_counts.ran(row, ended - started)
            if out.size > mark and out.p[mark] == DASH:
                self.call_counts.failed(row)
                self.count_error(mem.to_bytes(out.p, mark + 1, out.size - mark - 1))
            if ended - started >= self.slow_us:
                slow_calls.note(self, session, row, argv, ended - started)
            if row.flags & ADMIN_FLAG and not session.gate & IS_LINK:
                self.refresh_settings()

    def guarded(self, session: Session, argv: Argv, row: Command | None) -> None:
        """The long path: errors, subcommands, and the gates."""
        mark = session.out.size
        is_link = session.gate & IS_LINK
        row = self.resolve(session, argv, row)
        if row is not None and self.admit(session, row, argv):
            self.execute(session, row, argv)
            if self.gate & IS_MONITORED and not self.blocking.is_rerun():
                self.monitors.feed(self.wall_us(), session, row, argv)
        else:
            row = None
        if session.gate & IS_TRACKING:
            self.tracking.ran(session, row, argv)
        if session.gate & MUTES and session.blocked is None:
            muting.mute(session, mark)
        if is_link and session.out.size > mark:
            self.end_link(session, argv, mark)

    def resolve(self, session: Session, argv: Argv, row: Command | None) -> Command | None:
        """The row to run, of a subcommand if there is one; None if an error was answered."""
        if row is not None and row.is_container and len(argv) > 1:
            sub = row.subcommands.get(argv[1].lower())
            if sub is None:
                self.reject(session, None, rejection.unknown_subcommand(row, argv))
                return None
            row = sub
        if row is None:
            self.reject(session, None, rejection.unknown_command(argv))
        elif not row.takes(len(argv)):
            self.reject(session, row, rejection.wrong_arity(row))
            return None
        return row

    def admit(self, session: Session, row: Command, argv: Argv) -> bool:
        """Whether the gates admit it."""
        if session.gate | self.gate:
            return admission.admit(self, session, row, argv)
        return True

    def reject(self, session: Session, row: Command | None, text: bytes) -> None:
        """Answer with an error instead of running; it makes a queued transaction fail."""
        if row is not None:
            self.call_counts.rejected(row)
        if session.queue is not None:
            session.queue_broken = True
        if row is not None and row.name == b"exec":
            session.forget_queue()
            session.unwatch()
            text = rejection.aborted_by(text)
        session.out.error(text)
        self.count_error(text)

    def end_link(self, session: Session, argv: Argv, mark: int) -> None:
        """A replica asked for an answer, which would be in the middle of its stream."""
        session.out.rewind(mark)
        if session.peer is not None:
            session.peer.fault = rejection.out_of_place(argv)
        self.kill(session)

    # What follows a command

    def count_error(self, text: bytes) -> None:
        """Count an error reply by its first word."""
        self.stats.count_error(text.split(None, 1)[0] if text else b"ERR")

    def fault(self, session: Session, argv: Argv, fault: BaseException) -> None:
        """Report a defect of ours to the log, with the command."""
        self.stats.faults += 1
        self.faults.tell(session, argv.list(), fault)

    def append_pushes(self, session: Session) -> None:
        """Append the messages that arrived for a client while its own command ran."""
        pushes = session.pushes
        if pushes is not None:
            session.pushes = None
            if self.tracking.own:
                self.tracking.send_own(session)
            session.out.raw(pushes.take())

    # For EXEC, CLIENT PAUSE and MONITOR

    def invoke(self, row: Command, argv: Argv) -> None:
        """Run one command of a transaction."""
        ctx = self.ctx
        session = ctx.session
        refusal = None
        if session.gate & IS_RESTRICTED:
            refusal = self.access.refusal_at_exec(session, row, argv)
        if refusal is not None:
            session.out.error(refusal)
            self.count_error(refusal)
            return
        ctx.queued = row
        self.run(session, row, argv)
        ctx.queued = None
        if session.gate & IS_TRACKING:
            self.tracking.remember(session, row, argv)
        if self.gate & IS_MONITORED:
            self.monitors.feed(self.wall_us(), session, row, argv)

    def kill(self, session: Session) -> None:
        """Close another client, or the caller after its reply."""
        self.blocking.drop(session)
        self.sessions.close(session)

    def pause(self, until_ms: int, writes_only: bool) -> None:
        """Hold commands back until that time."""
        self.pausing.extend(until_ms, writes_only)
        self.set_gate(gates.PAUSED, on=True)
        self.ctx.keeps_expired = True

    def unpause(self) -> None:
        """Admit commands again; those held back run before the next sleep."""
        self.pausing.until_ms = 0

    def is_paused(self, flags: int) -> bool:
        """Whether a command with these flags must wait."""
        return self.pausing.holds(flags, self.ctx.now_ms)

    def monitor(self, session: Session, on: bool) -> None:
        """Show every command to this client, or stop that."""
        self.monitors.set(session, on)
        self.set_gate(gates.MONITORED, len(self.monitors) > 0)

    def refusal(self, row: Command, argv: Argv) -> bytes | None:
        """Why a script may not run this command now, although the script itself was admitted."""
        gate = self.gate & admission.FOR_SCRIPTS
        return admission.why_not(self, self.ctx.session, row, argv, gate)

    def memory_is_full(self) -> bool:
        """Whether commands that need memory must be refused."""
        return self.services.memory_used() > self.settings.maxmemory

    # The exact time

    def wall_us(self) -> int:
        """Microseconds since 1970; ``ctx.now_ms`` is the time at which the turn began."""
        return self.ticker.wall_us(self.ctx.now_ms)

    def catch_up(self) -> None:
        """A command may have taken so long that ``ctx.now_ms`` is old: look at the clock."""
        self.ctx.now_ms = max(self.ctx.now_ms, self.wall_us() // 1000)

    # Waiting clients

    def redo(self, session: Session, argv: Argv) -> None:
        """Run the command of a client whose wait is over."""
        self.started_us = 0
        self.dispatch(session, argv)
        if session.blocked is None:
            self.stats.unblocked += 1
            self.sessions.touched(session)

    def finish(self, session: Session, state: Blocked, error: bytes | None, mark: int) -> None:
        """A wait ended with a timeout or an error: the command counts as called."""
        self.stats.commands += 1
        session.calls += 1
        self.stats.unblocked += 1
        if state.row is not None:
            self.call_counts.ran(state.row, state.spent_us)
            if error is not None:
                self.call_counts.failed(state.row)
        if error is not None:
            self.count_error(error)
        if session.gate & MUTES:
            muting.mute(session, mark)
        self.sessions.touched(session)

    # Between turns

    def before_sleep(self, now_ms: int) -> None:
        """Do the work that is due: ended waits, alarms, the end of a pause, expired keys."""
        ctx = self.ctx
        ctx.now_ms = now_ms
        self.started_us = 0
        if self.blocking.blocked_clients > 0:
            self.blocking.tick()
        if self.gate & IS_PAUSED and self.pausing.is_over(now_ms):
            self.set_gate(gates.PAUSED, on=False)
            ctx.keeps_expired = self.is_replica
            self.blocking.resume()
        if not 0 <= now_ms - self.expiry_ms < EXPIRY_PERIOD_MS:
            expiring.expire(self, now_ms)
        if self.ready:
            self.blocking.serve()
        if self.has_news:
            self.tracking.tick()

    def next_deadline_ms(self) -> int:
        """When before_sleep() has work to do next; -1 if there is none."""
        soonest = self.next_expiry_ms
        if self.gate & IS_PAUSED:
            soonest = self.pausing.until_ms
        if self.blocking.blocked_clients > 0:
            wait_ms = self.blocking.next_ms()
            if soonest < 0 or 0 <= wait_ms < soonest:
                soonest = wait_ms
        return soonest

    def shift_times(self, by_ms: int) -> None:
        """The wall clock was set: keep the distance of all times from now."""
        self.blocking.shift_times(by_ms)
        self.pausing.shift(by_ms)
        self.sessions.shift_times(by_ms)

    def take_touched(self) -> list[Session]:
        """The clients to look at although they did not send a command just now."""
        return self.sessions.take_touched()
