"""Whether the loop polls for a moment before it sleeps: a look.

A sleeping core needs tens of microseconds to wake up.  A replica on a fast network confirms a
write in about the same time, and a client that writes and waits, again and again, sends its next
write as quickly.  So while clients are in WAIT the loop polls for that long:

    replicas were asked   --> look, look ... --> their answer is ready: a turn
    a client was answered --> look, look ... --> its next request is ready: a turn
                                           '--> nothing: sleep, and try less often

During a look for replicas the client in WAIT gets nothing: the reply to its write leaves
together with the reply to WAIT, or at the end of the look.

Rules
  1. A look takes MOMENT_US at most, and follows a question to replicas or the end of a WAIT.
  2. Each look in vain doubles how many of the next ones are left out, up to MOST_LEFT_OUT.  So
     looking costs almost nothing where replicas are far away, or have no core of their own.
  3. After a look that found something, no look is left out.
  4. The two kinds of looks are judged separately: a slow client says nothing about
     replicas.
"""

from __future__ import annotations

MOMENT_US = 150
MOST_LEFT_OUT = 1023


class Lookout:
    """Decides whether a look is worth it."""

    def __init__(self) -> None:
        #: How many looks are left out now, and how many after the last one in vain.
        self.left_out = 0
        self.penalty = 0

    def is_due(self) -> bool:
        """Whether to take the next look; counts one that is left out."""
        if self.left_out == 0:
            return True
        self.left_out -= 1
        return False

    def learn(self, was_worth_it: bool) -> None:
        """Note whether a look found something."""
        self.penalty = 0 if was_worth_it else min(2 * self.penalty + 1, MOST_LEFT_OUT)
        self.left_out = self.penalty
