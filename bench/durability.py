"""The cost and the benefit of durability: the AOF, restarts, and saving while serving.

    LOGGED     rows of the table again, with every change written to the AOF first
    restarts   from start to the first answer that is not LOADING, minus an empty start
    saving     XADD times seen by one client: at rest, during BGSAVE, during BGREWRITEAOF

A restart is measured from outside, so that both servers are measured in the same way: the
process is started on a directory with a million entries in its AOF or snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.latency import percentile
from bench.peers import Peer, logging
from bench.rows import F4, STREAM, Row, fill, group_reads, xadd
from testkit.oracle import start_redis
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess, start_forebay

LOGGED = {
    "everysec": [
        Row("XADD f4 P1, everysec", "ops", 1.0, 1.3, xadd(1)),
        Row("XADD f4 P16, everysec", "ops", 2.0, 3.0, xadd(16)),
        Row("XADD f4 P100, everysec", "ops", 3.0, 6.0, xadd(100)),
        Row("XREADGROUP + XACK 100, everysec", "entries", 3.0, 9.0, group_reads(100)),
        Row("XREADGROUP + XACK 1000, everysec", "entries", 3.0, 9.0, group_reads(1000)),
    ],
    "always": [
        Row("XADD f4 P1, always", "ops", 1.0, 1.3, xadd(1)),
        Row("XADD f4 P16, always", "ops", 1.5, 3.0, xadd(16)),
        Row("XADD f4 P100, always", "ops", 1.5, 3.0, xadd(100)),
    ],
}

SNAPSHOT = ("--appendonly", "no", "--save", "")
START_TIMEOUT_S = 120.0


def start(name: str, directory: Path, directives: tuple[str, ...]) -> ServerProcess:
    """One of the two servers, on the files in the directory."""
    return (start_redis if name == "redis" else start_forebay)(directory, *directives)


def seconds_to_serve(name: str, directory: Path, directives: tuple[str, ...]) -> float:
    """From the start of the process to the first answer from loaded data."""
    begun = time.perf_counter()
    server = start(name, directory, directives)
    try:
        while time.perf_counter() - begun < START_TIMEOUT_S:
            with server.client(unix=True) as client:
                if not client.raw("PING").startswith(b"-LOADING"):
                    return time.perf_counter() - begun
            time.sleep(0.001)
        raise TimeoutError(f"{name} did not load {directory}: {server.log()}")
    finally:
        server.stop()


def restart_s(name: str, root: Path, entries: int, snapshot: bool, rounds: int) -> float:
    """Seconds to load a stream of this many entries, from its snapshot or from its AOF."""
    directives = SNAPSHOT if snapshot else logging("everysec")
    full, empty = root / f"{name}-{snapshot}", root / f"{name}-{snapshot}-empty"
    server = start(name, full, directives)
    try:
        peer = Peer(name, server)
        fill(peer, STREAM, entries)
        if snapshot:
            peer.command("SAVE")
    finally:
        server.stop()
    loading = min(seconds_to_serve(name, full, directives) for _ in range(rounds))
    return loading - min(seconds_to_serve(name, empty, directives) for _ in range(rounds))


@dataclass(frozen=True)
class Calm:
    """Times of XADD in microseconds, as one client saw them in one state of the server."""

    state: str
    times_us: list[float]
    seconds: float

    def line(self) -> str:
        """One line for the terminal."""
        p50, p99, p999 = (percentile(self.times_us, share) for share in (0.5, 0.99, 0.999))
        return (
            f"{self.state:14} p50 {p50:7.1f}  p99 {p99:7.1f}  p99.9 {p999:8.1f}"
            f"  max {max(self.times_us):9.1f} us  ({len(self.times_us):,} in {self.seconds:.1f} s)"
        )


def busy(peer: Peer, field: bytes) -> Callable[[], bool]:
    """Whether the server is still saving; looks ten times a second."""
    client, checked, going = peer.client(), [0.0], [True]

    def look() -> bool:
        if time.perf_counter() - checked[0] > 0.1:
            checked[0] = time.perf_counter()
            going[0] = field + b":1" in client("INFO", "persistence")
        return going[0]

    return look


def append_times_us(client: RawClient, go_on: Callable[[], bool]) -> tuple[list[float], float]:
    """One XADD after another, a thousand a second, while ``go_on`` says so."""
    request = encode(b"XADD", b"race:calm", b"MAXLEN", b"~", b"10000", b"*", *F4)
    clock, times = time.perf_counter, []
    begun = due = clock()
    while go_on():
        while clock() < due:
            pass
        sent = clock()
        client.send(request)
        client.read()
        times.append((clock() - sent) * 1e6)
        due = max(due + 0.001, clock())
    return times, clock() - begun


def while_saving(peer: Peer, rest_s: float) -> list[Calm]:
    """XADD at rest, then during BGSAVE, then during BGREWRITEAOF."""
    states = []
    with peer.client() as client:
        until = time.perf_counter() + rest_s
        times, seconds = append_times_us(client, lambda: time.perf_counter() < until)
        states.append(Calm("at rest", times, seconds))
        for command, field in (
            ("BGSAVE", b"rdb_bgsave_in_progress"),
            ("BGREWRITEAOF", b"aof_rewrite_in_progress"),
        ):
            look = busy(peer, field)
            peer.command(command)
            times, seconds = append_times_us(client, look)
            states.append(Calm(command, times, seconds))
    return states
