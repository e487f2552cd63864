"""Whether to look out for an answer that is on its way, for a moment, before the loop sleeps.

A core that has gone to sleep needs tens of microseconds to wake up.  A replica on a quick network
confirms a write in about the same time.  So if a client is in WAIT and its replicas have just been
asked, the loop keeps its eyes open for that long: the answer is seen at once, and the client gets
the reply to its write and the reply to WAIT in one piece.

    asked --> look, look, look ... --> something is ready: a turn
                                 '--> nothing: send what was held, sleep, and try less often

Rules
  1. A look takes MOMENT_US at most, and follows a question to replicas, nothing else.
  2. Each look in vain doubles how many of the next ones are left out, up to MOST_LEFT_OUT.  Where
     replicas are far away, or have no core of their own, looking therefore costs next to nothing.
  3. A look that found something ends that.
"""

from __future__ import annotations

MOMENT_US = 150
MOST_LEFT_OUT = 1023


class Lookout:
    """Knows whether looking has been worth it."""

    def __init__(self) -> None:
        #: How many looks are left out now, and how many after the last one in vain.
        self.left_out = 0
        self.penalty = 0

    def is_due(self) -> bool:
        """Whether the next look is to be taken; counts one that is left out."""
        if self.left_out == 0:
            return True
        self.left_out -= 1
        return False

    def learn(self, was_worth_it: bool) -> None:
        """A look is over."""
        self.penalty = 0 if was_worth_it else min(2 * self.penalty + 1, MOST_LEFT_OUT)
        self.left_out = self.penalty
