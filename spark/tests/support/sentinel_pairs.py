"""A primary with its replica and Sentinel.

Real processes on free ports of this machine; each is stopped by its own pid.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis

from spark.tests.support.spark_streams import Target
from testkit.oracle import server_program, start_redis
from testkit.servers import ServerProcess, free_port, start_forebay
from testkit.waiting import wait_until

SERVICE = "mymaster"


@contextmanager
def watched_by_sentinel(primary: ServerProcess, directory: Path) -> Iterator[int]:
    """A Sentinel that knows a primary; its port."""
    directory.mkdir(parents=True)
    port = free_port()
    config = directory / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\nunixsocket {directory / 'sock'}\ndir {directory}\n"
        f"sentinel monitor {SERVICE} 127.0.0.1 {primary.port} 1\n"
        f"sentinel down-after-milliseconds {SERVICE} 500\n"
        f"sentinel failover-timeout {SERVICE} 5000\n"
    )
    command = [server_program(), str(config), "--sentinel"]
    sentinel = ServerProcess("sentinel", command, directory, port)
    try:
        yield port
    finally:
        sentinel.stop()


class Pair:
    """A primary that may die, and the replica that Sentinel puts in its place."""

    def __init__(self, primary: ServerProcess, replica: ServerProcess, sentinel_port: int) -> None:
        self._primary, self._replica = primary, replica
        self._sentinel = redis.Redis(port=sentinel_port)
        self.url = f"redis+sentinel://127.0.0.1:{sentinel_port}/{SERVICE}/0"
        self.before, self.after = Target(primary), Target(replica)
        wait_until("Sentinel knows the replica", self._is_known)

    def _is_known(self) -> bool:
        known: Any = self._sentinel.sentinel_slaves(SERVICE)
        return any(one["flags"] == "slave" and one["master-link-status"] == "ok" for one in known)

    def settle(self) -> None:
        """Wait until the replica has all that the primary has."""
        self.before.client.set("settled", "")
        assert self.before.client.wait(1, 20_000) == 1

    def part(self) -> None:
        """Cut the replica off from all later writes."""
        self._replica.process.send_signal(signal.SIGSTOP)
        self.before.client.execute_command("CLIENT KILL TYPE replica")

    def kill_primary(self) -> None:
        """SIGKILL; Sentinel notices after half a second, and acts a little later."""
        self._primary.kill()
        self._replica.process.send_signal(signal.SIGCONT)

    def wait_for_failover(self) -> None:
        """Wait until the replica is the primary."""
        wait_until("the failover", lambda: self.after.client.role()[0] == b"master")

    def close(self) -> None:
        """Drop connections, and let the replica end."""
        self._replica.process.send_signal(signal.SIGCONT)
        for client in (self._sentinel, self.before.client, self.after.client):
            client.close()


@contextmanager
def sentinel_pair(directory: Path, kind: str = "redis") -> Iterator[Pair]:
    """A primary, its replica and a Sentinel, all real; both servers are of one kind."""
    start = start_forebay if kind == "forebay" else start_redis
    with ExitStack() as stack:
        primary = start(directory / "primary", "--repl-diskless-sync-delay", "0")
        stack.callback(primary.kill)
        replica = start(directory / "replica", "--replicaof", "127.0.0.1", str(primary.port))
        stack.callback(replica.kill)
        port = stack.enter_context(watched_by_sentinel(primary, directory / "sentinel"))
        pair = Pair(primary, replica, port)
        stack.callback(pair.close)
        yield pair
