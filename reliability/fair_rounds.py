"""Rounds that count only if the machine was awake.

When the machine stalls for a second, Sentinels take a healthy primary for dead and promote another
one.  The old primary goes on until it is told.  During that time a replica that still follows it
lets WAIT confirm writes that the new primary will never have.  WAIT 1 and Sentinel behave like this
with any server; it is not a broken promise.

    a switch without a strike, and the machine stalled       the round is played again
    a switch without a strike, and it did not stall          a fault: a node was not heard
    no such switch                                           the round counts as it is

A metronome decides: a thread that wants to run every few milliseconds and remembers its longest
delay.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from reliability.replicated_set import ReplicatedSet
from reliability.set_round import Result, Round
from testkit.nodes import Node
from testkit.resp import ReplyError

BEAT_S = 0.02
#: Half of the time after which Sentinels take a node for dead.
STALL_S = 0.4
#: If the machine stalls this often, the goal cannot be tried on it.
ATTEMPTS = 3

Strikes = Sequence[tuple[str, Node | None]]


class Metronome(threading.Thread):
    """Remembers the longest stall of this process; ``with`` starts and ends it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        """Beat until the end."""
        while not self.ended.is_set():
            begun_s = time.monotonic()
            self.ended.wait(BEAT_S)
            self.longest_s = max(self.longest_s, time.monotonic() - begun_s - BEAT_S)

    def __enter__(self) -> Metronome:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self.join()


def fair_round(
    nodes: ReplicatedSet, number: int, seed: int, strikes: Strikes, operations: int = 0
) -> Result:
    """Play rounds until one counts."""
    for attempt in range(ATTEMPTS):
        round_ = Round(nodes, f"{number}.{attempt}", seed)
        with Metronome() as metronome:
            result = played(round_, strikes, operations)
        uninvited = round_.uninvited_switches()
        if uninvited > 0 and metronome.longest_s > STALL_S:
            round_.recover()
            continue
        if uninvited > 0:
            result.faults.append(f"{uninvited} switches that nobody asked for; {said(nodes)}")
        if result.faults:
            round_.save(nodes.nodes[0].folder.parent)
        result.repeated = attempt
        return result
    raise RuntimeError(f"this machine stood still in each of {ATTEMPTS} attempts at a round")


def played(round_: Round, strikes: Strikes, operations: int) -> Result:
    """The result of a round; one that could not be played to its end has a fault."""
    try:
        return round_.play(strikes, operations)
    except (AssertionError, OSError, EOFError, ReplyError) as error:
        result = round_.result
        result.faults.append(f"{error!r}; {said(round_.nodes)}")
        result.faults += round_.nodes.accidents()
        return result


def said(nodes: ReplicatedSet) -> str:
    """What the Sentinels have said lately."""
    return f"Sentinels said:\n{nodes.sentinels.tail()}"
