"""Whether to look out for what is on its way, for a moment, before the loop sleeps.

A core that has gone to sleep needs tens of microseconds to wake up.  A replica on a quick network
confirms a write in about the same time, and a client that writes and waits, again and again, sends
its next write as soon.  So while clients are in WAIT the loop keeps its eyes open for that long:

    replicas were asked   --> look, look ... --> their answer is ready: a turn
    a client was answered --> look, look ... --> its next request is ready: a turn
                                           '--> nothing: sleep, and try less often

While replicas are looked for, the client in WAIT gets nothing: the reply to its write leaves
together with the reply to WAIT, or at the end of the look.

Rules
  1. A look takes MOMENT_US at most, and follows a question to replicas or the end of a WAIT.
  2. Each look in vain doubles how many of the next ones are left out, up to MOST_LEFT_OUT.  Where
     replicas are far away, or have no core of their own, looking therefore costs next to nothing.
  3. A look that found something ends that.
  4. The two kinds of looks are judged apart: a client that takes its time says nothing about
     replicas.
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
