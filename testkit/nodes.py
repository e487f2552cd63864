"""A node of a replicated set: a Forebay or a redis-server, through several lives.

    with nodes_in(folder) as start:           all of them are killed at the end
        node = start("redis", maxmemory=0)    writes node.conf, starts, waits for a PING
        node.follow(primary)                  REPLICAOF
        node.kill()                           kill -9
        node.pause(); node.resume()           SIGSTOP, SIGCONT
        node.restart()                        on the same folder, port and node.conf

A node has a folder, a port and a configuration file of its own.  The file is written once;
after that it belongs to the server, because Sentinel makes it rewrite it (CONFIG REWRITE).

    control       a connection over the unix socket: cuts of the network do not affect it
    address       where other nodes, Sentinels and clients find it (``Place``); that may be a
                  proxy, or an address in a network namespace

Both kinds have the same commands, so a set may mix them.  REPLICATING says which kinds take part
in sets; all tests of pairs and trios read it here.
"""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from testkit.oracle import server_program
from testkit.resp import RawClient
from testkit.servers import ServerProcess, free_port
from testkit.waiting import wait_until

#: The kinds that can be primary and replica.  Goals and tests make their pairs and trios from it.
REPLICATING: tuple[str, ...] = ("redis", "forebay")
CONFIG = "node.conf"
#: Three Sentinels may change a role one after the other; a further closed connection is an error.
QUESTIONS = 4
Address = tuple[str, int]
Answer = TypeVar("Answer")

#: Quick links, no automatic snapshots; a test adds its own directives.
DEFAULTS = {
    "protected-mode": "no",
    "save": '""',
    "appendonly": "no",
    "enable-debug-command": "yes",
    "repl-diskless-sync": "yes",
    "repl-diskless-sync-delay": "0",
    "repl-backlog-size": "64mb",
    "repl-timeout": "10",
}


def pairs() -> list[tuple[str, str]]:
    """Every (primary, replica) that REPLICATING allows."""
    return list(itertools.product(REPLICATING, REPLICATING))


def trios() -> dict[str, tuple[str, ...]]:
    """Sets of three of one kind, by the kind."""
    return {kind: (kind, kind, kind) for kind in REPLICATING}


def mixed_trio(first: int = -1) -> tuple[str, ...]:
    """A set of three with all kinds in it; two are of the kind of that number."""
    kinds = (*REPLICATING[first:], *REPLICATING[:first])
    return tuple(itertools.islice(itertools.cycle(kinds), 3))


@dataclass(frozen=True)
class Place:
    """Where a node lives and how others reach it.

    It listens on ``bind`` and ``port``, others use ``address``, and ``prefix`` starts its
    command (``ip netns exec ...``)."""

    bind: str
    port: int
    address: Address
    prefix: tuple[str, ...] = ()

    @property
    def is_direct(self) -> bool:
        """Whether others reach it directly, without a proxy."""
        return self.address == (self.bind, self.port)


def here() -> Place:
    """A place on this machine's loopback, with a free port."""
    port = free_port()
    return Place("127.0.0.1", port, ("127.0.0.1", port))


def program_of(kind: str) -> list[str]:
    """The command that starts a node of this kind; a configuration file follows it."""
    if kind == "forebay":
        return [sys.executable, "-m", "forebay", "serve"]
    return [server_program()]


class Node:
    """One node; at most one process of it runs at a time."""

    def __init__(
        self, kind: str, folder: Path, place: Place | None = None, **directives: str | int
    ) -> None:
        self.kind, self.folder = kind, folder
        self.place = place or here()
        self.lives = 0
        self.paused = False
        folder.mkdir(parents=True, exist_ok=True)
        words = {name.replace("_", "-"): str(value) for name, value in directives.items()}
        self._write_config(DEFAULTS | words)
        self.server = self._start()

    def __repr__(self) -> str:
        host, port = self.address
        return f"{self.kind} {self.folder.name} at {host}:{port}"

    @property
    def address(self) -> Address:
        """Where others find it."""
        return self.place.address

    # -- lives ----------------------------------------------------------------------

    def _write_config(self, directives: dict[str, str]) -> None:
        place = self.place
        own = {
            "port": str(place.port),
            "bind": place.bind,
            "unixsocket": str(self.folder / "sock"),
            "dir": str(self.folder),
        }
        if not place.is_direct:
            own |= {
                "replica-announce-ip": place.address[0],
                "replica-announce-port": str(place.address[1]),
            }
        lines = [f"{name} {value}\n" for name, value in (own | directives).items()]
        (self.folder / CONFIG).write_text("".join(lines))

    def _start(self) -> ServerProcess:
        self.lives += 1
        log = self.folder / "log"
        if log.exists():
            log.rename(self.folder / f"log.{self.lives - 1}")
        command = [*self.place.prefix, *program_of(self.kind), str(self.folder / CONFIG)]
        return ServerProcess(self.kind, command, self.folder, self.place.port)

    def alive(self) -> bool:
        """Whether its process runs (a paused one does)."""
        return self.server.alive()

    def kill(self) -> None:
        """kill -9; a paused process dies too."""
        self.server.kill()
        self.paused = False

    def stop(self) -> int:
        """SIGTERM, and wait; the exit code."""
        self.resume()
        return self.server.stop()

    def restart(self) -> None:
        """Another life on the same files; ready when it answers a PING."""
        assert not self.alive(), f"{self!r} still runs"
        self.server = self._start()

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections and does nothing."""
        self.server.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        """SIGCONT."""
        if self.paused:
            self.server.process.send_signal(signal.SIGCONT)
            self.paused = False

    def log(self) -> str:
        """The end of the log of this life."""
        return self.server.log()

    # -- questions ------------------------------------------------------------------

    def control(self, timeout_s: float = 20.0) -> RawClient:
        """A connection that cuts of the network do not affect."""
        return self.server.client(unix=True, timeout_s=timeout_s)

    def client(self, timeout_s: float = 20.0) -> RawClient:
        """A connection over the network, as a client has."""
        return RawClient(self.address, timeout_s)

    def __call__(self, *words: str | bytes | int) -> Any:
        """One command over the unix socket; an error is raised."""
        with self.control() as client:
            return client.insist(*words)

    def ask(self, question: Callable[[RawClient], Answer]) -> Answer:
        """The answer to a command over its own connection.  When Sentinel changes the role of a
        node, the node closes its clients: then the command is sent again."""
        for _ in range(QUESTIONS - 1):
            try:
                with self.control() as client:
                    return question(client)
            except (EOFError, ConnectionResetError, BrokenPipeError):
                continue
        with self.control() as client:
            return question(client)

    def info(self, section: str = "everything") -> dict[str, str]:
        """INFO as a dictionary."""
        return self.ask(lambda client: info_of(client, section))

    # -- replication ----------------------------------------------------------------

    def follow(self, primary: Node | Address, *, wait: bool = True) -> None:
        """Become a replica; ``wait`` until the link is up."""
        address = primary.address if isinstance(primary, Node) else primary
        self("REPLICAOF", *address)
        if wait:
            wait_until(f"{self!r} follows {address}", self.is_linked)

    def lead(self) -> None:
        """Become a primary."""
        self("REPLICAOF", "NO", "ONE")

    def is_linked(self) -> bool:
        """Whether it is a replica whose link is up."""
        return self.info("replication").get("master_link_status") == "up"

    def offset(self) -> int:
        """The offset of its replication stream: written, or applied."""
        return int(self.info("replication")["master_repl_offset"])


def info_of(client: RawClient, section: str = "everything") -> dict[str, str]:
    """INFO over a connection, as a dictionary."""
    lines = client.insist("INFO", section).decode("utf-8", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def has_caught_up(primary: Node, replica: Node) -> bool:
    """Whether a replica has a link to this primary and has applied all that it wrote."""
    theirs = replica.info("replication")
    is_linked = theirs["role"] == "slave" and theirs["master_link_status"] == "up"
    ours = primary.info("replication")
    return (
        is_linked
        and ours["role"] == "master"
        and ours["master_replid"] == theirs["master_replid"]
        and ours["master_repl_offset"] == theirs["slave_repl_offset"]
    )


def wait_for_replicas(primary: Node, replicas: Sequence[Node], patience_s: float = 60.0) -> None:
    """Wait until every replica has applied all that the primary wrote; no client may write."""
    for replica in replicas:
        what = f"{replica!r} has all of {primary!r}"
        wait_until(what, partial(has_caught_up, primary, replica), patience_s)


@contextmanager
def nodes_in(folder: Path) -> Iterator[Callable[..., Node]]:
    """A function that starts nodes in their own folders; all their processes end afterwards."""
    started: list[Node] = []

    def start(kind: str, place: Place | None = None, **directives: str | int) -> Node:
        node = Node(kind, folder / f"{len(started)}-{kind}", place, **directives)
        started.append(node)
        return node

    try:
        yield start
    finally:
        for node in started:
            node.kill()
