"""Another worker handles the messages of a killed one after a lease, as their second attempt."""

from __future__ import annotations

from typing import Any

from workers.tests.support.stage import hang_at_first

LEASE_S = 2.0
OPTIONS = {"lease": LEASE_S}
build = hang_at_first


def play(stage: Any) -> Any:
    stage.start("worker-1")
    stage.publish("s", {"n": "1"}, {"n": "2"})
    stage.until("it hangs, and has the next one too", lambda: len(stage.pending("s")) == 2)
    stage.until("it has begun", stage.noted)
    stage.kill("worker-1")
    stage.start("worker-2")
    left = stage.pending("s")
    stage.until("all is done", lambda: not stage.pending("s"))
    first, *others = stage.noted()
    return left, first, sorted(others), stage.is_gone("worker-1")


# A prefetched message is charged too: the server does not know that it was not begun.
SEEN = ([("worker-1", 1), ("worker-1", 1)], "1/1", ["1/2", "2/2"], True)
