"""R12: the link between a primary and a replica is cut again and again, under load.

    writers --> primary <-- proxy <-- replica

    replica side     CLIENT KILL TYPE master
    primary side     CLIENT KILL TYPE replica
    now              the proxy resets the link
    inside           the proxy resets it after a number of bytes, inside a frame
    silence          the proxy passes nothing until the replica gives up (few: each takes seconds)

After each cut the replica must come back by a partial resync: `sync_full` does not change.  At
the end both states are equal.

A second part forces full syncs: the backlog is small, more than that is written while the link is
down, and the sync goes over a socket or through a file; some are cut in the middle.  Every pair of
kinds that REPLICATING in `testkit/nodes.py` allows is tried equally often.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from reliability.goals import Outcome
from reliability.link_traffic import prepare, traffic
from testkit.node_state import difference, read_state
from testkit.nodes import Node, info_of, nodes_in, pairs, wait_for_replicas
from testkit.proxy import Proxy
from testkit.resp import RawClient
from testkit.waiting import wait_until

#: A cut inside a frame happens after up to 2**n bytes: often in the handshake or a large entry.
INSIDE_BITS = 17.6
#: One silence for this many cuts.
SILENCE_SHARE = 100
#: One forced full sync for this many cuts.
FULL_SHARE = 20
SILENT_TIMEOUT_S = 2
#: Room for all that is written during a silence; or for nearly nothing.
LARGE_BACKLOG, SMALL_BACKLOG = "256mb", "16kb"
#: Written while the link is down: many times the backlog.
MISSED_ENTRIES, MISSED_BYTES = 60, 10_000
#: How a replica may load a copy.
LOADS = ("disabled", "on-empty-db", "swapdb")
PATIENCE_S = 60.0
#: Writers wait for a replica that is this far behind: its speed is not tested here.
BEHIND_BYTES = 50_000_000
#: How much of a log a message shows.
LOG_BYTES = 1500


class Pair:
    """A primary, a replica linked through a proxy, and connections that watch both."""

    def __init__(self, primary: Node, replica: Node, proxy: Proxy) -> None:
        self.primary, self.replica, self.proxy = primary, replica, proxy
        self.at_primary: RawClient = primary.control()
        self.at_replica: RawClient = replica.control()

    def close(self) -> None:
        """Close the connections to the nodes."""
        self.at_primary.close()
        self.at_replica.close()

    @property
    def name(self) -> str:
        """The kinds of the primary and the replica."""
        return f"{self.primary.kind}->{self.replica.kind}"

    def syncs(self) -> tuple[int, int]:
        """How many full and how many partial syncs the primary has begun."""
        stats = info_of(self.at_primary, "stats")
        return int(stats["sync_full"]), int(stats["sync_partial_ok"])

    def has_synced(self, begun: int) -> bool:
        """Whether another sync has begun."""
        return sum(self.syncs()) > begun

    def behind_bytes(self) -> int:
        """How much the replica has not applied yet."""
        replica = info_of(self.at_replica, "replication")["slave_repl_offset"]
        return int(info_of(self.at_primary, "replication")["master_repl_offset"]) - int(replica)

    def is_linked(self) -> bool:
        """Whether the replica says that its link is up."""
        return info_of(self.at_replica, "replication")["master_link_status"] == "up"

    def difference(self) -> str:
        """The difference of both states after everything has arrived."""
        wait_for_replicas(self.primary, [self.replica], PATIENCE_S)
        told_by_redis = "redis" in (self.primary.kind, self.replica.kind)
        return difference(
            read_state(self.at_primary), read_state(self.at_replica), told_by_redis=told_by_redis
        )


@contextmanager
def linked(kinds: tuple[str, str], folder: Path, seed: int, **directives: str) -> Iterator[Pair]:
    """A pair whose first sync has been done."""
    timeouts = {"repl_timeout": SILENT_TIMEOUT_S, "repl_ping_replica_period": 1}
    with nodes_in(folder) as start:
        primary = start(kinds[0], **timeouts, **directives)
        replica = start(kinds[1], **timeouts)
        prepare(primary)
        with Proxy(primary.address, seed) as proxy:
            replica.follow(proxy.address)
            pair = Pair(primary, replica, proxy)
            try:
                yield pair
            finally:
                pair.close()


# -- cuts -----------------------------------------------------------------------------


def cut_at_replica(pair: Pair, dice: Random) -> None:
    """The replica loses its primary."""
    pair.at_replica.insist("CLIENT", "KILL", "TYPE", "master")


def cut_at_primary(pair: Pair, dice: Random) -> None:
    """The primary loses its replica."""
    pair.at_primary.insist("CLIENT", "KILL", "TYPE", "replica")


def cut_now(pair: Pair, dice: Random) -> None:
    """The network resets the link."""
    pair.proxy.cut()


def cut_inside(pair: Pair, dice: Random) -> None:
    """The network resets it, most likely inside a command."""
    before = pair.proxy.cuts
    pair.proxy.cut_after(round(2 ** dice.uniform(0, INSIDE_BITS)))
    wait_until("the planned cut", lambda: pair.proxy.cuts > before, PATIENCE_S)


def silence(pair: Pair, dice: Random) -> None:
    """The network is gone until the replica has noticed."""
    pair.proxy.stall()
    wait_until("the replica gives up", lambda: not pair.is_linked(), PATIENCE_S)
    pair.proxy.resume()


CUTS: tuple[Callable[[Pair, Random], None], ...] = (
    cut_at_replica,
    cut_at_primary,
    cut_now,
    cut_inside,
)


def link_cuts(n: int, seed: int, scratch: Path) -> Outcome:
    """R12: ``n`` cuts for each pair of kinds, and full syncs."""
    outcome = Outcome()
    for number, kinds in enumerate(pairs()):
        folder = scratch / f"{kinds[0]}-{kinds[1]}"
        try:
            with linked(kinds, folder / "cuts", seed, repl_backlog_size=LARGE_BACKLOG) as pair:
                cut_again_and_again(pair, n, Random(seed + number), outcome)
            with linked(kinds, folder / "full", seed, repl_backlog_size=SMALL_BACKLOG) as pair:
                sync_again_and_again(pair, max(1, n // FULL_SHARE), Random(seed), outcome)
        except AssertionError as error:
            outcome.failures.append(f"{'->'.join(kinds)}, seed {seed}: {error}")
    return outcome


def cut_again_and_again(pair: Pair, n: int, dice: Random, outcome: Outcome) -> None:
    """Cuts of all kinds under load; the first full sync is a failure and the end."""
    full, resumed = pair.syncs()
    with traffic(pair.primary, dice) as gate:
        for number in range(n):
            wait_for_the_slow(pair, gate, outcome)
            is_silent = number % SILENCE_SHARE == SILENCE_SHARE // 2
            cut = silence if is_silent else dice.choice(CUTS)
            begun = sum(pair.syncs())
            cut(pair, dice)
            wait_until("another sync", partial(pair.has_synced, begun), PATIENCE_S)
            wait_until("the link is up again", pair.is_linked, PATIENCE_S)
            outcome.n += 1
            outcome.count(cut.__name__)
            if pair.syncs()[0] != full:
                where = f"{pair.name}, cut {number} ({cut.__name__})"
                log = pair.primary.log()[-LOG_BYTES:]
                outcome.failures.append(f"{where}: a full sync; the log:\n{log}")
                return
    outcome.count(f"{pair.name}_partial", pair.syncs()[1] - resumed)
    if found := pair.difference():
        outcome.failures.append(f"{pair.name}, after {n} cuts: {found}")


def wait_for_the_slow(pair: Pair, gate: threading.Event, outcome: Outcome) -> None:
    """Pause the writers before the backlog is too short for the replica."""
    if pair.behind_bytes() > BEHIND_BYTES:
        gate.clear()
        wait_for_replicas(pair.primary, [pair.replica], PATIENCE_S)
        gate.set()
        outcome.count(f"{pair.name}_waits")


# -- full syncs -----------------------------------------------------------------------


def sync_again_and_again(pair: Pair, n: int, dice: Random, outcome: Outcome) -> None:
    """Full syncs because the backlog does not reach back; over a socket and through a file."""
    for number in range(n):
        diskless, load = dice.choice(("yes", "no")), dice.choice(LOADS)
        pair.at_primary.insist("CONFIG", "SET", "repl-diskless-sync", diskless)
        pair.at_replica.insist("CONFIG", "SET", "repl-diskless-load", load)
        full = pair.syncs()[0]
        with traffic(pair.primary, dice):
            miss_much(pair)
            if dice.random() < 0.3:
                cut_in_the_middle(pair, dice, outcome)
            wait_until("the link is up again", pair.is_linked, PATIENCE_S)
        if pair.syncs()[0] == full:
            raise AssertionError("a sync without a backlog was not full")
        outcome.count(f"full_syncs_{'diskless' if diskless == 'yes' else 'from_file'}")
        if found := pair.difference():
            how = f"repl-diskless-sync {diskless}, repl-diskless-load {load}"
            where = f"{pair.name}, full sync {number}, {how}"
            outcome.failures.append(f"{where}: {found}")
            return


def miss_much(pair: Pair) -> None:
    """Write more than the backlog holds, while the replica is away."""
    pair.proxy.refuse()
    wait_until("the link is down", lambda: not pair.is_linked(), PATIENCE_S)
    for _ in range(MISSED_ENTRIES):
        pair.at_primary.insist("XADD", "missed", "MAXLEN", "100", "*", "f", "x" * MISSED_BYTES)
    pair.proxy.accept()


def cut_in_the_middle(pair: Pair, dice: Random, outcome: Outcome) -> None:
    """Cut the first connection that carries the snapshot, inside the snapshot; spare the next."""
    before = pair.proxy.cuts
    pair.proxy.cut_each(1000, MISSED_ENTRIES * MISSED_BYTES // 2)
    wait_until("a cut in the snapshot", lambda: pair.proxy.cuts > before, PATIENCE_S)
    pair.proxy.spare()
    outcome.count("snapshots_cut")
