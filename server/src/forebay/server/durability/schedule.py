"""One child at a time: which job it does, and when.

    BGSAVE, save points      -- SAVE -----.
    BGREWRITEAOF, growth,                  +--> wanted --end of turn--> child --> taken over
    disk faults, appendonly  -- REWRITE --'         (another child is at work: scheduled)

save.py and rewrite.py say when each is due, how it starts, and what comes of it.  A job
starts at the end of a turn, never in the middle of a command.
"""

from __future__ import annotations

from collections.abc import Collection

from forebay.commands.api.services import REWRITE, SAVE
from forebay.server.durability.children import Children
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.logger import Log
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd


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
        self.wanted = ""
        self.scheduled: set[str] = set()

    @property
    def job(self) -> str:
        """What a child does, or will do at the end of this turn."""
        child = self.children.current
        return child.kind if child is not None else self.wanted

    def ask_for(self, job: str) -> None:
        """Start it at the end of this turn, or when the child at work has ended."""
        if self.job:
            self.scheduled.add(job)
        else:
            self.wanted = job
            self.rewrite.is_wanted()
            self.turn_end.ask()

    def beat(self) -> None:
        """Start what waits, or what time and growth ask for."""
        if self.wanted:
            self.turn_end.ask()
        self.rewrite.drop_history()
        if self.job:
            return
        now_ms = self.clock.monotonic_ms()
        if REWRITE in self.scheduled:
            self._unschedule(REWRITE)
        elif SAVE in self.scheduled and self.save.may_start(now_ms):
            self._unschedule(SAVE)
        elif self.rewrite.needs_new_aof:
            if self.rewrite.may_start():
                self.ask_for(REWRITE)
        elif self.save.is_due(now_ms):
            self.ask_for(SAVE)
        elif self.rewrite.has_grown():
            self.ask_for(REWRITE)

    def _unschedule(self, job: str) -> None:
        self.scheduled.discard(job)
        self.ask_for(job)

    def settle(self) -> None:
        """The AOF holds all that this turn changed: now a child may start."""
        if self.wanted == SAVE:
            self.wanted = ""
            self.save.start()
        elif self.wanted == REWRITE and self.rewrite.is_close_to_disk():
            self.wanted = ""
            self.rewrite.start()

    def stop_child(self, kinds: Collection[str] = (SAVE, REWRITE)) -> None:
        """End the child at work, if it is of these kinds; what it has written is of no use."""
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
        else:
            self.rewrite.stopped()
