"""A server that keeps its data and comes back after a kill, on the same port."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import redis

from spark.tests.support.spark_streams import Target
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, free_port, start_forebay

STARTS: dict[str, Callable[..., ServerProcess]] = {"redis": start_redis, "forebay": start_forebay}
AWAY_S = 1.0


class Restarted:
    """A server that keeps its data, and can be killed and started again on the same port."""

    def __init__(self, kind: str, folder: Path, *directives: str) -> None:
        self._kind = kind
        self._directives = directives
        self._folder = folder
        self._port = free_port()
        self._starter: threading.Timer | None = None
        self.start()
        self.target = Target(self._server)

    def start(self) -> None:
        """Start, with the data from before."""
        directives = ("--appendonly", "yes", "--appendfsync", "always", *self._directives)
        self._server = STARTS[self._kind](self._folder, *directives, port=self._port)

    def kill(self) -> None:
        """SIGKILL."""
        self._server.kill()

    def away(self, seconds: float = AWAY_S) -> threading.Thread:
        """Kill it now and start it again later; a start under way is finished first."""
        self._settle()
        self.kill()
        self._starter = threading.Timer(seconds, self.start)
        self._starter.start()
        return self._starter

    def database(self, number: int) -> Target:
        """Another database of the same server."""
        other = Target(self._server)
        other.client.close()
        other.client = redis.Redis(port=self._port, db=number)
        return other

    def _settle(self) -> None:
        """Wait for a planned restart, if there is one."""
        if self._starter is not None:
            self._starter.join()

    def close(self) -> None:
        """End it, even if a restart is planned."""
        self._settle()
        self.target.client.close()
        self.kill()
