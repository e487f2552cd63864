"""R14: a primary that has lost its replicas refuses writes, and accepts them again later.

    min-replicas-to-write 1, min-replicas-max-lag 2

    a client on the primary's own machine writes all the time
      -> the primary is isolated: within LIMIT_S a write is refused with -NOREPLICAS, and so is
         every later write
      -> the partition heals: writes are accepted again; the replica has all accepted writes and
         no refused ones

Redis 7.0 counts its good replicas once a second and compares whole seconds, so it may take up to
a second longer than its own rule says.  Its time is shown, not judged.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reliability.goals import Outcome
from testkit.network import Network, any_network
from testkit.nodes import REPLICATING, Node, nodes_in, wait_for_replicas
from testkit.resp import RawClient, ReplyError
from testkit.waiting import wait_until

MAX_LAG_S = 2
LIMIT_S = 3.0
#: How long the refusals are watched before the partition heals.
WATCHED_S = 0.5
WRITE_PAUSE_S = 0.01
REFUSAL = "NOREPLICAS Not enough good replicas to write."


class Keyboard:
    """Writes on the primary's own machine, one entry after another; remembers accepted ones."""

    def __init__(self, client: RawClient, key: str) -> None:
        self.client, self.key = client, key
        self.sent = 0
        self.taken: set[int] = set()
        self.odd: list[str] = []

    def write(self) -> bool:
        """Write one entry; returns whether it was accepted."""
        self.sent += 1
        reply = self.client("XADD", self.key, "*", "n", self.sent)
        if isinstance(reply, ReplyError):
            if str(reply) != REFUSAL:
                self.odd.append(f"a write was answered -{reply}")
            return False
        self.taken.add(self.sent)
        return True

    def write_until(self, is_taken: bool, patience_s: float = 30.0) -> float:
        """Write until writes are accepted, or refused; returns the time."""
        begun_s = time.monotonic()
        wait_until(
            f"writes are {'taken' if is_taken else 'refused'}",
            lambda: self.write() is is_taken,
            patience_s,
            pause_s=WRITE_PAUSE_S,
        )
        return time.monotonic() - begun_s

    def refused_throughout(self) -> bool:
        """Whether nothing is accepted for a while."""
        until_s = time.monotonic() + WATCHED_S
        while time.monotonic() < until_s:
            if self.write():
                return False
            time.sleep(WRITE_PAUSE_S)
        return True


@contextmanager
def guarded_pair(
    kinds: tuple[str, str], folder: Path, seed: int
) -> Iterator[tuple[Network, Node, Node]]:
    """A primary that requires a replica, and that replica."""
    settings: dict[str, str | int] = {"repl_timeout": 10, "repl_ping_replica_period": 1}
    rule: dict[str, str | int] = {"min_replicas_to_write": 1, "min_replicas_max_lag": MAX_LAG_S}
    with any_network(seed) as network, nodes_in(folder) as start:
        primary = start(kinds[0], network.place(), **settings, **rule)
        replica = start(kinds[1], network.place(), **settings)
        replica.follow(primary)
        yield network, primary, replica


def partitions(n: int, seed: int, scratch: Path) -> Outcome:
    """R14: ``n`` partitions of a primary of each kind; the replicas take turns."""
    outcome = Outcome()
    for number, kind in enumerate(REPLICATING):
        other = REPLICATING[(number + 1) % len(REPLICATING)]
        with guarded_pair((kind, other), scratch / kind, seed) as (network, primary, replica):
            times = [
                one_partition(network, primary, replica, random.Random(f"{seed} {i}"), outcome)
                for i in range(n)
            ]
        outcome.figures[f"{kind}_refused_after_max_s"] = round(max(times), 2)
        if kind == "forebay" and max(times) > LIMIT_S:
            outcome.failures.append(f"{kind} took writes for {max(times):.2f} s without a replica")
    return outcome


def one_partition(
    network: Network, primary: Node, replica: Node, dice: random.Random, outcome: Outcome
) -> float:
    """Isolate, watch, heal, compare; returns how long writes were still accepted."""
    outcome.n += 1
    with primary.control() as client:
        keyboard = Keyboard(client, f"partition{outcome.n}")
        keyboard.write_until(is_taken=True)
        time.sleep(dice.random())  # any moment between two acknowledgements of the replica
        network.isolate(primary.place)
        refused_s = keyboard.write_until(is_taken=False)
        if not keyboard.refused_throughout():
            outcome.failures.append(f"{primary!r} took a write after it had refused one")
        network.heal(primary.place)
        keyboard.write_until(is_taken=True)
    wait_for_replicas(primary, [replica])
    outcome.failures += keyboard.odd + faults_at(replica, keyboard)
    outcome.count("writes_refused", keyboard.sent - len(keyboard.taken))
    return refused_s


def faults_at(replica: Node, keyboard: Keyboard) -> list[str]:
    """Entries that the replica lacks, and refused entries that it has."""
    found = {int(fields[1]) for _, fields in replica("XRANGE", keyboard.key, "-", "+")}
    taken = keyboard.taken
    faults = []
    if lost := sorted(taken - found):
        faults.append(f"{replica!r} lacks {len(lost)} writes that were taken, first {lost[0]}")
    if phantom := sorted(found - taken):
        faults.append(f"{replica!r} has {len(phantom)} refused writes, first {phantom[0]}")
    return faults
