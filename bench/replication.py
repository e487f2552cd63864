"""The cost of a replica, and how quickly it has everything: each server with one of its own kind.

    a replica more   CPU of an XADD on the primary, with a replica attached against without one
    full sync        from REPLICAOF to the first moment when the replica has all data
    applying         how fast a replica that was paused applies the stream that waits for it
    WAIT             one client: XADD, then WAIT 1; the time until the replica has confirmed

The primary has core 0; the load generator and the replica share core 1.  The figure for the
primary is its CPU time, which does not depend on that.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.latency import percentile
from bench.peers import IN_MEMORY, Peer, pin_client, unpin_client
from bench.rows import F4, STREAM, fill, xadd
from testkit.oracle import start_redis
from testkit.resp import encode
from testkit.servers import start_forebay

#: A full sync does not wait for further replicas, and the backlog holds all that a replica misses.
LINKED = (
    *IN_MEMORY,
    *("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "1gb"),
    *("--client-output-buffer-limit", "replica 0 0 0"),
)
DEPTH = 16
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Pair:
    """A primary, and a server that may follow it."""

    primary: Peer
    replica: Peer

    def link(self) -> float:
        """Let the replica follow; returns the seconds until it has all data."""
        begun = time.perf_counter()
        self.replica.command("REPLICAOF", "127.0.0.1", self.primary.port)
        self.wait_until_equal()
        return time.perf_counter() - begun

    def unlink(self) -> None:
        """Detach the replica, and let the primary forget it."""
        self.replica.command("REPLICAOF", "NO", "ONE")

    def wait_until_equal(self) -> None:
        """Wait until the replica has applied all that the primary wrote."""
        with self.primary.client() as ours, self.replica.client() as theirs:
            deadline = time.perf_counter() + PATIENCE_S
            while time.perf_counter() < deadline:
                fields = info(theirs("INFO", "replication"))
                if fields.get("master_link_status") == "up":
                    wanted = info(ours("INFO", "replication"))["master_repl_offset"]
                    if fields["slave_repl_offset"] == wanted:
                        return
                time.sleep(0.0005)
        raise TimeoutError(f"{self.replica.name} did not catch up")


def info(text: bytes) -> dict[str, str]:
    """INFO as a dictionary."""
    lines = text.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


@contextmanager
def linked(name: str, *, pinned: bool) -> Iterator[Pair]:
    """Two servers of one kind, not linked yet."""
    root = Path(tempfile.mkdtemp(prefix="fb-bench-"))
    unpin_client()
    core = pin_client() if pinned else None
    start = start_redis if name == "redis" else start_forebay
    servers = []
    try:
        servers.append(start(root / "primary", *LINKED, pin=core))
        servers.append(start(root / "replica", *LINKED, pin=None if core is None else 1 - core))
        yield Pair(*(Peer(name, server) for server in servers))
    finally:
        for server in servers:
            server.stop()
        unpin_client()
        shutil.rmtree(root, ignore_errors=True)


def extra_cpu_percent(pair: Pair, seconds: float, rounds: int) -> float:
    """How much more CPU an XADD takes on the primary when a replica follows it."""
    run = xadd(DEPTH)
    alone_us: list[float] = []
    followed_us: list[float] = []
    for _ in range(rounds):
        pair.unlink()
        alone_us.append(run(pair.primary, seconds).cpu_us)
        pair.link()
        followed_us.append(run(pair.primary, seconds).cpu_us)
        pair.wait_until_equal()
    return 100 * (median(followed_us) / median(alone_us) - 1)


def full_sync_s(pair: Pair, entries: int, rounds: int) -> float:
    """Seconds until a new replica has a stream of this many entries."""
    fill(pair.primary, STREAM, entries)
    times = []
    for _ in range(rounds):
        pair.unlink()
        pair.replica.command("FLUSHALL")
        times.append(pair.link())
    return median(times)


def apply_rate(pair: Pair, entries: int, rounds: int) -> float:
    """Commands a second of a replica that applies what it has missed."""
    pair.link()
    rates = []
    for _ in range(rounds):
        pair.primary.command("DEL", STREAM)
        pair.wait_until_equal()
        pair.replica.server.process.send_signal(signal.SIGSTOP)
        fill(pair.primary, STREAM, entries)
        pair.replica.server.process.send_signal(signal.SIGCONT)
        begun = time.perf_counter()
        pair.wait_until_equal()
        rates.append(entries / (time.perf_counter() - begun))
    return median(rates)


def confirmed_us(pair: Pair, seconds: float) -> float:
    """The median time of an XADD and its confirmation by a replica, one after another."""
    pair.link()
    batch = encode(b"XADD", b"race:waited", b"MAXLEN", b"~", b"1000", b"*", *F4)
    batch += encode("WAIT", 1, 0)
    times: list[float] = []
    with pair.primary.client() as client:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            begun = time.perf_counter()
            client.send(batch)
            client.read()
            client.read()
            times.append((time.perf_counter() - begun) * 1e6)
    return percentile(times, 0.5)
