"""The servers under measurement: started, pinned to one core, watched, stopped.

Each has the name of its role: "redis" is the server that Forebay is measured against.  That is
redis-server unless use_peer() names another; reports say which one it was.

All peers run at once and take turns (A B A B), so that a noisy neighbour hurts
them alike and ratios hold where absolute figures do not.  Core 0 belongs to the
servers, core 1 to the load generator; with a single core nothing is pinned.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import forebay
from testkit.certificates import Certificates
from testkit.oracle import start_redis
from testkit.resp import RawClient
from testkit.servers import ServerProcess, free_port, start_forebay


class Peer:
    """One server in the comparison."""

    def __init__(self, name: str, server: ServerProcess) -> None:
        self.name = name
        self.server = server
        self.port = server.port
        #: How its load connects, if the load must use TLS.
        self.tls: ssl.SSLContext | None = None

    def client(self) -> RawClient:
        """A plain connection, for preparing data."""
        return self.server.client(timeout_s=120)

    def cpu_s(self) -> float:
        """CPU time of all threads so far, from the scheduler's own nanosecond counters."""
        tasks = Path(f"/proc/{self.server.pid}/task").iterdir()
        try:
            return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1e9
        except OSError:
            return self.server.cpu_s()

    def command(self, *args: bytes | str | int) -> object:
        """Send one command, fail loudly if it is refused."""
        with self.client() as client:
            reply = client(*args)
        if isinstance(reply, Exception):
            raise TypeError(f"{self.name}: {args[:4]!r} was answered by {reply}")
        return reply

    def identity(self) -> tuple[str, str]:
        """Its name and version, as it reports them."""
        with self.client() as client:
            return identity(client("INFO", "server"))


#: Servers that also report the version of Redis that they follow; their own comes first.
FAMILY = (b"forebay", b"valkey", b"dragonfly", b"redis")


def identity(info: bytes) -> tuple[str, str]:
    """Name and version of a server, from its INFO."""
    for name in FAMILY:
        if found := re.search(rb"^%b_version:(\S+)" % name, info, re.MULTILINE):
            return name.decode(), found.group(1).decode()
    return "server", "?"


def use_peer(path: str) -> None:
    """Use another server instead of redis-server from now on."""
    program = shutil.which(path)
    if program is None:
        raise SystemExit(f"bench: no server program at {path}")
    os.environ["FOREBAY_PEER"] = str(Path(program).resolve())


#: Nothing is kept on disk, so that only the work itself is measured.
IN_MEMORY = ("--appendonly", "no", "--save", "")


def logging(policy: str) -> tuple[str, ...]:
    """Every change goes into the AOF; no rewrite gets in the way of a measurement."""
    rewriting = ("--auto-aof-rewrite-percentage", "0")
    return ("--save", "", "--appendonly", "yes", "--appendfsync", policy, *rewriting)


@contextmanager
def running(names: list[str], *directives: str, pinned: bool = True) -> Iterator[list[Peer]]:
    """Start the named peers side by side; stop them afterwards in any case."""
    if "forebay" in names and not forebay.compiled():
        raise SystemExit(
            "bench: this is the interpreted build; run `make bench` on the compiled one"
        )
    root = Path(tempfile.mkdtemp(prefix="fb-bench-"))
    unpin_client()
    pin = pin_client() if pinned else None
    directives = directives or IN_MEMORY
    peers: list[Peer] = []
    try:
        for name in names:
            start = start_redis if name == "redis" else start_forebay
            peers.append(Peer(name, start(root / name, *directives, pin=pin)))
        yield peers
    finally:
        for peer in peers:
            peer.server.stop()
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def running_tls(names: list[str]) -> Iterator[list[Peer]]:
    """The same, each with a TLS port that takes the load; no client shows a certificate."""
    with tempfile.TemporaryDirectory(prefix="fb-bench-") as folder:
        certificates = Certificates(Path(folder))
        words = certificates.words(tls_auth_clients="no")
        with running(names, *IN_MEMORY, *words) as peers:
            for peer in peers:
                port = free_port()
                peer.command("CONFIG", "SET", "tls-port", port)
                peer.port, peer.tls = port, certificates.context()
            yield peers


def pin_client() -> int | None:
    """Bind this process to the second core; returns the core that is left for the servers."""
    cores = sorted(_pinned or os.sched_getaffinity(0))
    if len(cores) < 2:
        return None
    _pinned.update(cores)
    os.sched_setaffinity(0, {cores[1]})
    return cores[0]


def unpin_client() -> None:
    """All cores for all processes, servers and their children too."""
    if _pinned:
        os.sched_setaffinity(0, _pinned)


_pinned: set[int] = set()


def machine() -> dict[str, str]:
    """The machine that the figures were measured on."""
    cpu = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", cpu)
    return {
        "cpu": model.group(1).strip() if model else platform.processor(),
        "cores": str(len(_pinned) or os.cpu_count()),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
