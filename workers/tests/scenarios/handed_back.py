"""SIGTERM: handlers have the grace time; the rest is handed back at once and not charged."""

from __future__ import annotations

from typing import Any

from workers.tests.support.stage import hang_at_first

OPTIONS = {"lease": 60.0, "grace": 1.0}
build = hang_at_first


def play(stage: Any) -> Any:
    stage.publish("s", {"n": "1"}, {"n": "2"})
    stage.start("worker-1")
    stage.until("one hangs, one waits", lambda: stage.noted() and len(stage.pending("s")) == 2)
    stage.publish("s", {"n": "3"})
    stage.stop("worker-1")
    stage.until("it ends", lambda: stage.is_gone("worker-1"))
    counts = sorted(count for _, count in stage.pending("s"))
    is_there = "worker-1" in stage.names("s")
    stage.start("worker-2")
    stage.until("all is done, long before the lease", lambda: len(stage.noted()) == 4)
    stage.until("nothing is pending", lambda: not stage.pending("s"))
    return counts, is_there, sorted(stage.noted())


SEEN = ([0, 1], False, ["1/1", "1/2", "2/1", "3/1"])
