"""One child at a time: which job it does, and when.

    BGSAVE, save points      -- SAVE -----.
    BGREWRITEAOF, growth,                  +--> wanted --end of turn--> child --> taken over
    disk faults, appendonly  -- REWRITE --+         (another child is at work: scheduled)
    a new replica            -- SYNC -----'

save.py, rewrite.py and replication/full_sync.py say when each is due, how it starts, and how
it ends.  A job starts at the end of a turn, never in the middle of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from forebay.commands.api.services import REWRITE, SAVE, SYNC
from forebay.server.durability.children import Children
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.logger import Log
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd


class SyncJob(Protocol):
    """A copy of all data for replicas."""

    def start(self) -> None: ...
    def stopped(self) -> None: ...


def nobody_minds() -> bool:
    """The default until a backup is connected."""
    return False


class Schedule:
    """Decides which child runs."""

    def __init__(
        self,
        save: Save,
        rewrite: Rewrite,
        children: Children,
        turn_end: TurnEnd,
        log: Log,
        clock: Clock,
    ) -> None:
        self.save = save
        self.rewrite = rewrite
        self.children = children
        self.turn_end = turn_end
        self.log = log
        self.clock = clock
        #: Copies for replicas; connected by server/startup.py.
        self.sync: SyncJob | None = None
        #: Whether a rewrite would spoil a backup; connected by backup.py.
        self.is_rewrite_held: Callable[[], bool] = nobody_minds
        self.wanted = ""
        self.scheduled: set[str] = set()

    @property
    def job(self) -> str:
        """The job of the child at work, or of the one that starts at the end of this turn."""
        child = self.children.current
        return child.kind if child is not None else self.wanted

    def ask_for(self, job: str) -> None:
        """Start it at the end of this turn, or when the child at work has ended."""
        if self.job or (job == REWRITE and self._must_wait()):
            self.scheduled.add(job)
        else:
            self.wanted = job
            self.rewrite.is_wanted()
            self.turn_end.ask()

    def _must_wait(self) -> bool:
        """Whether a rewrite must wait for a backup, which it would end; an urgent one does not."""
        return self.is_rewrite_held() and not self.rewrite.needs_new_aof

    def forget(self, job: str) -> None:
        """Cancel it, if it has not begun."""
        self.scheduled.discard(job)
        if self.wanted == job:
            self.wanted = ""

    def beat(self) -> None:
        """Start a waiting job, or one that is due by time or growth."""
        if self.wanted:
            self.turn_end.ask()
        self.rewrite.drop_history()
        if self.job:
            return
        now_ms = self.clock.monotonic_ms()
        if SYNC in self.scheduled:
            self._unschedule(SYNC)
        elif REWRITE in self.scheduled and not self._must_wait():
            self._unschedule(REWRITE)
        elif SAVE in self.scheduled and self.save.may_start(now_ms):
            self._unschedule(SAVE)
        elif self.rewrite.needs_new_aof:
            if self.rewrite.may_start():
                self.ask_for(REWRITE)
        elif self.save.is_due(now_ms):
            self.ask_for(SAVE)
        elif not self._must_wait() and self.rewrite.has_grown():
            self.ask_for(REWRITE)

    def _unschedule(self, job: str) -> None:
        self.scheduled.discard(job)
        self.ask_for(job)

    def settle(self) -> None:
        """The AOF holds all changes of this turn: now a child may start."""
        if self.wanted == SAVE:
            self.wanted = ""
            self.save.start()
        elif self.wanted == REWRITE and self.rewrite.is_close_to_disk():
            self.wanted = ""
            self.rewrite.start()
        elif self.wanted == SYNC:
            self.wanted = ""
            assert self.sync is not None, "a replica, and nobody who sends it anything"
            self.sync.start()

    def stop_child(self, kinds: Collection[str] = (SAVE, REWRITE, SYNC)) -> None:
        """Kill the child at work, if it is of these kinds; its file is of no use."""
        child = self.children.current
        self.scheduled.difference_update(kinds)
        if self.wanted in kinds:
            self.wanted = ""
        if child is None or child.kind not in kinds:
            return
        self.log.warning(f"There is a child at work ({child.kind}, pid {child.pid}). Killing it!")
        self.children.kill()
        if child.kind == SAVE:
            self.save.count(child, "stopped")
        elif child.kind == REWRITE:
            self.rewrite.stopped()
        elif self.sync is not None:
            self.sync.stopped()
