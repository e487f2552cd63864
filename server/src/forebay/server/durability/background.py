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
from forebay.server.durability.children import Child, Children
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.logger import Log
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock

#: A child that takes long is spoken of this often.
PROGRESS_MS = 5000


class Background:
    """Decides which child runs."""

    def __init__(
        self,
        save: Save,
        rewrite: Rewrite,
        children: Children,
        loop: Loop,
        log: Log,
        clock: Clock,
    ) -> None:
        self.save = save
        self.rewrite = rewrite
        self.children = children
        self.loop = loop
        self.log = log
        self.clock = clock
        self.wanted = ""
        self.scheduled: set[str] = set()
        self.progress_ms = 0

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
            self.rewrite.presyncs = 0
            self.loop.is_aof_due = True

    def beat(self) -> None:
        """Start what waits, or what time and growth ask for."""
        if self.wanted:
            self.loop.is_aof_due = True
        self._say_how_far()
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

    def end_of_turn(self) -> None:
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

    # How far it is

    def percent(self, child: Child) -> float:
        """How far a child is: by keys, or where a few keys hold nearly all data, by bytes."""
        by_keys = child.keys_done / max(1, child.keys_total)
        by_bytes = child.bytes_done / max(1, self._expected_bytes(child.kind))
        return 100 * min(1.0, max(by_keys, min(0.99, by_bytes)))

    def _expected_bytes(self, kind: str) -> int:
        """How large the file will be that a child writes, going by the one before."""
        aof = self.rewrite.live.aof
        known = aof.base_size if kind == REWRITE and aof is not None else 0
        job = self.rewrite if kind == REWRITE else self.save
        return known or job.size or self.save.size or self.rewrite.size

    def _say_how_far(self) -> None:
        child = self.children.current
        now_ms = self.clock.monotonic_ms()
        if child is None:
            self.progress_ms = now_ms + PROGRESS_MS
        elif now_ms >= self.progress_ms:
            self.progress_ms = now_ms + PROGRESS_MS
            self.log.notice(
                f"Background {child.kind}: about {self.percent(child):.0f}%, "
                f"{child.bytes_done >> 20} MB written"
            )
