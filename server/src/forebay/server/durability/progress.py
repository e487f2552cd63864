"""The progress of a child, for INFO and for the log."""

from __future__ import annotations

from forebay.commands.api.services import REWRITE
from forebay.server.durability.children import Child, Children
from forebay.server.durability.rewrite import Rewrite
from forebay.server.durability.save import Save
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: The progress of a long-running child is logged this often.
PROGRESS_MS = 5000


class Progress:
    """Compares the output of a child with the data, or with the last file."""

    def __init__(
        self, save: Save, rewrite: Rewrite, children: Children, log: Log, clock: Clock
    ) -> None:
        self.save = save
        self.rewrite = rewrite
        self.children = children
        self.log = log
        self.clock = clock
        self.due_ms = 0

    def percent(self, child: Child) -> float:
        """How far a child is: by keys, or by bytes where a few keys hold nearly all data."""
        by_keys = child.keys_done / max(1, child.keys_total)
        by_bytes = child.bytes_done / max(1, self._expected_bytes(child.kind))
        return 100 * min(1.0, max(by_keys, min(0.99, by_bytes)))

    def _expected_bytes(self, kind: str) -> int:
        """The expected size of the file that a child writes: that of the last one."""
        aof = self.rewrite.live.aof
        known = aof.base_size if kind == REWRITE and aof is not None else 0
        job = self.rewrite if kind == REWRITE else self.save
        return known or job.size or self.save.size or self.rewrite.size

    def beat(self) -> None:
        """Log from time to time how far the child is."""
        child = self.children.current
        now_ms = self.clock.monotonic_ms()
        if child is None:
            self.due_ms = now_ms + PROGRESS_MS
        elif now_ms >= self.due_ms:
            self.due_ms = now_ms + PROGRESS_MS
            self.log.notice(
                f"Background {child.kind}: about {self.percent(child):.0f}%, "
                f"{child.bytes_done >> 20} MB written"
            )
