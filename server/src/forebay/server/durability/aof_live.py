"""The AOF while the server runs: written before replies go out, synced as the policy says.

    commands -> effects --read()--> AOF                every turn that changed something
                                       |
                    always    sync in the same turn      replies wait for the disk
                    everysec  sync on the thread         at most once a second
                    no        whenever the system likes

Progress is counted in recorded commands (``effects.total``), so that a
client can learn when its own are safe:

    effects.total  >=  written  >=  synced

When the disk refuses
  1. ``always``: there is no true reply left to send.  The process ends (Halt).
  2. A failed write changes nothing on disk.  The units stay in memory and the write
     is tried again every second; clients with a reply from that turn are closed
     instead of answered, and writes are refused (MISCONF) until it succeeds.
  3. After a failed sync it is unknown what the disk has.  Writes are refused
     until the whole AOF has been rewritten into other files (schedule.py starts that).
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import DiskError, ForebayError
from forebay.persistence.aof.writer import AofWriter, SyncTicket
from forebay.server.durability.aof_turn import TurnAof
from forebay.server.durability.children import Children
from forebay.server.durability.syncer import Syncer
from forebay.server.durability.write_gate import WriteGate
from forebay.server.logger import Log
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd
from forebay.server.process import Halt

#: everysec begins a sync when the last one began this long ago.  Beats come every 100 ms, so
#: it is a second at most; with a sync that takes another second, two seconds can be lost.
SYNC_AGAIN_MS = 900
#: How long before a failed write is tried again.
WRITE_AGAIN_MS = 1000
#: A sync that takes longer than this is counted as delayed.
LATE_MS = 2000


class LiveAof:
    """Owns the AOF once all data is loaded."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        loop: Loop,
        turn_end: TurnEnd,
        syncer: Syncer,
        children: Children,
        gate: WriteGate,
        log: Log,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.loop = loop
        self.turn_end = turn_end
        self.syncer = syncer
        self.children = children
        self.gate = gate
        self.log = log
        self.clock = clock
        #: The settings ask for no AOF, but a backup does (backup.py).
        self.for_backup = False
        self.turn = TurnAof(engine.effects, self._needs_effects, self._refused)
        self.synced = 0
        self.sync_began_ms = 0
        self.synced_ms = 0
        self.delayed_syncs = 0
        #: The last error of the disk; kept for the operator after recovery.
        self.last_error = ""
        #: Why writes are refused; empty if all is well.
        self.write_trouble = ""
        self.sync_trouble = ""
        self.retry_ms = 0
        self.waiting: list[tuple[int, Session, object, Callable[[], bool]]] = []

    @property
    def is_wanted(self) -> bool:
        """Whether there must be an AOF, for the settings or for a backup."""
        return self.settings.appendonly or self.for_backup

    def _needs_effects(self) -> bool:
        return self.settings.needs_disk() or self.for_backup

    @property
    def aof(self) -> AofWriter | None:
        """The AOF on disk, None while it is off."""
        return self.turn.aof

    def use(self, aof: AofWriter | None) -> None:
        """From now on write to this AOF."""
        self.turn.aof = aof
        if aof is not None:
            self.syncer.open()
        self.turn.written = self.synced = self.engine.effects.total
        self.write_trouble = self.sync_trouble = ""
        self.turn.is_held = False
        self.synced_ms = self.clock.monotonic_ms()
        self.follow_policy()
        self.engine.effects.forget_database()
        self.gate.tell_aof(self.trouble)

    def follow_policy(self) -> None:
        """Apply appendfsync; ``always`` first syncs what is already written."""
        self.turn.sync_each = self.settings.appendfsync == "always" and not self.for_backup
        if self.turn.sync_each and self.aof is not None:
            self.sync_now()

    # When the disk refuses

    def _refused(self, error: DiskError) -> None:
        """A write, or with ``always`` a sync, has failed in this turn."""
        if not self._goes_on(error):
            return
        self.write_trouble = error.reason
        self.turn.is_held = True
        self.retry_ms = self.clock.monotonic_ms() + WRITE_AGAIN_MS
        self.log.warning(f"Error writing to the AOF file: {error}; writes are refused")
        self.loop.close_recipients()
        self.gate.tell_aof(self.trouble)

    def _goes_on(self, error: DiskError) -> bool:
        """Note the error; False if only a backup is affected.  Raises Halt with ``always``."""
        self.last_error = str(error)
        if self.for_backup:
            self._spoil_backup(error)
            return False
        if self.turn.sync_each:
            self.halt(error)
        return True

    def _spoil_backup(self, error: DiskError) -> None:
        """The AOF is only for a backup: only the backup fails (backup.py)."""
        self.write_trouble = error.reason
        self.turn.is_held = True
        self.turn_end.ask()

    def halt(self, error: DiskError) -> None:
        """The promise of ``always`` cannot be kept."""
        self.log.warning(
            f"Error writing to the AOF file: {error}. "
            "Can't recover from it when the AOF fsync policy is 'always'. Exiting..."
        )
        raise Halt(1)

    def retry(self) -> None:
        """Try the failed write again."""
        self.retry_ms = self.clock.monotonic_ms() + WRITE_AGAIN_MS
        # Other readers have not had the units of this turn yet.
        self.turn_end.read_now()
        try:
            self.turn.write()
        except DiskError as error:
            self.write_trouble, self.last_error = error.reason, str(error)
            self.log.debug(f"Error writing to the AOF file, still: {error}")
        else:
            self.write_trouble = ""
            self.turn.is_held = False
            self.log.warning("AOF write error looks solved, can write again.")
        self.gate.tell_aof(self.trouble)

    # Syncing

    def beat(self) -> None:
        """Do what is due: another attempt to write, the sync of every second."""
        self.syncer.look()
        if self.aof is None:
            return
        now_ms = self.clock.monotonic_ms()
        if self.write_trouble:
            if now_ms >= self.retry_ms:
                self.retry()
        elif (
            self.settings.appendfsync == "everysec"
            and now_ms - self.sync_began_ms >= SYNC_AGAIN_MS
            and not (self.settings.no_appendfsync_on_rewrite and self.children.current)
        ):
            self.start_sync()

    def start_sync(self) -> None:
        """Let the thread sync what is written, if anything is and the thread is free."""
        aof = self.aof
        if aof is None or self.syncer.is_busy or self.sync_trouble:
            return
        ticket = aof.start_sync()
        mark = self.turn.written
        if ticket is None:
            self._is_synced(mark)
            return
        self.sync_began_ms = self.clock.monotonic_ms()
        self.syncer.start(ticket.run, lambda error: self._end_sync(ticket, mark, error))

    def _end_sync(self, ticket: SyncTicket, mark: int, error: ForebayError | None) -> None:
        assert error is None or isinstance(error, DiskError)
        aof = self.aof
        if aof is None:
            return
        aof.end_sync(ticket, error)
        if self.clock.monotonic_ms() - self.sync_began_ms > LATE_MS:
            self.delayed_syncs += 1
        if error is not None:
            self.sync_failed(error)
            return
        self._is_synced(mark)
        self.sync_for_waiters()
        self.beat()

    def sync_now(self) -> None:
        """Sync now, in this thread; raises Halt with ``always``, else notes the trouble."""
        aof = self.aof
        if aof is None:
            return
        mark = self.turn.written
        try:
            aof.sync()
        except DiskError as error:
            self.sync_failed(error)
        else:
            self._is_synced(mark)

    def _is_synced(self, mark: int) -> None:
        self.synced = max(self.synced, mark)
        self.synced_ms = self.clock.monotonic_ms()
        self._wake()

    def sync_failed(self, error: DiskError) -> None:
        """A sync failed: the bytes that it covered may be lost, and nothing can tell."""
        if not self._goes_on(error):
            return
        if not self.sync_trouble:
            self.log.warning(
                f"Error syncing the AOF file: {error}; writes are refused until the AOF "
                "has been rewritten"
            )
        self.sync_trouble = error.reason
        self.gate.tell_aof(self.trouble)

    def start_over(self) -> None:
        """A rewrite of all data begins: it will hold what could not be written so far."""
        effects = self.engine.effects
        effects.clear()
        self.turn.written = effects.total
        if self.write_trouble:
            self.sync_trouble, self.write_trouble = self.write_trouble, ""
            self.turn.is_held = False

    def healed(self) -> None:
        """All data has been rewritten into other files."""
        self.sync_trouble = ""
        self.start_sync()
        self.gate.tell_aof(self.trouble)

    @property
    def trouble(self) -> str:
        """Why writes must be refused; empty if they need not be."""
        return self.write_trouble or self.sync_trouble

    # Clients that wait for the disk

    def mark(self) -> int:
        """A mark after everything recorded so far."""
        return self.engine.effects.total

    def is_synced(self, mark: int) -> bool:
        """Whether everything before the mark is on disk."""
        aof = self.aof
        return (
            aof is not None
            and not aof.is_pending
            and not self.trouble
            and mark <= (self.turn.written if self.turn.sync_each else self.synced)
        )

    def wake_when_synced(self, mark: int, session: Session, is_enough: Callable[[], bool]) -> None:
        """End the wait of a client when everything before the mark is on disk; sync soon."""
        self.waiting.append((mark, session, session.blocked, is_enough))
        self.turn_end.ask()

    def sync_for_waiters(self) -> None:
        """A client waits for the disk: begin to sync now, unless that would not be enough."""
        aof = self.aof
        if self.waiting and aof is not None and not aof.is_pending:
            self.start_sync()

    def _wake(self) -> None:
        if not self.waiting:
            return
        still = []
        for item in self.waiting:
            mark, session, state, is_enough = item
            if session.blocked is not state:
                continue
            if self.is_synced(mark) and is_enough():
                self.engine.blocking.unblock(session, None)
            else:
                still.append(item)
        self.waiting = still

    # The end

    def flush(self) -> None:
        """Write and sync everything; raises DiskError."""
        self.syncer.finish()
        self.turn.write()
        if self.aof is not None:
            self.aof.sync()

    def close(self) -> None:
        """Write and sync everything, then close the files."""
        self.flush()
        self.let_go()

    def let_go(self) -> None:
        """Close the files as they are."""
        if self.aof is not None:
            self.aof.close()
            self.turn.aof = None
