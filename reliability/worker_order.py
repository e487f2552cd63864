"""R26, the other half: the order of each key, while workers that share partitions are killed.

    publish, some of each key -> a worker has begun a message -> strike -> another one joins ...

A rebalance follows every strike.  Partitions of a killed worker go to others when their leases
end, those of a worker that was asked to stop at once, and the new worker gets its share.  At the
end the notes of the handlers are checked: each key from its first number to its last, in order, by
one worker at a time (``ordered.check`` says what is allowed after a kill).
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from reliability.goals import Outcome
from reliability.processes import start
from testkit import ordered_worker as ordered
from testkit.clusters import cluster_url, redis_cluster
from testkit.waiting import wait_until

KINDS = ("forebay", "redis", "cluster")
CREW = 3
KEYS = [f"customer-{n}" for n in range(24)]
EACH = 3
LEASE_S, GRACE_S = 3.0, 5.0
TERM_SHARE = 0.2
STRIKE_AFTER_S = (0.0, 0.5)
#: For a machine that is very busy.
PATIENCE_S = 180.0


@contextmanager
def place(kind: str, directory: Path) -> Iterator[tuple[str, Any]]:
    """A server, or a cluster of three: its URL and a client."""
    directory.mkdir(parents=True)
    if kind == "cluster":
        with redis_cluster(directory) as nodes:
            port = nodes[0].port
            client: Any = redis.RedisCluster("127.0.0.1", port, decode_responses=True)
            yield cluster_url(nodes), client
        return
    server = start(kind, directory)
    try:
        client = redis.Redis(unix_socket_path=server.unix_path, decode_responses=True)
        yield f"unix://{server.unix_path}", client
    finally:
        server.kill()


def keep_order(kind: str, directory: Path, n: int, seed: int, outcome: Outcome) -> None:
    """``n`` kills on one kind of place."""
    with place(kind, directory) as (url, client):
        shop = Shop(url, client, outcome)
        try:
            faults = shop.run(n, random.Random(f"{seed} order {kind}"))
        finally:
            shop.end()
    outcome.failures += [f"order, {kind}, seed {seed}: {fault}" for fault in faults]


class Shop:
    """Messages with a number for each key, and workers that share their partitions."""

    def __init__(self, url: str, client: Any, outcome: Outcome) -> None:
        self.url, self.client, self.outcome = url, client, outcome
        self.crew: dict[str, subprocess.Popen[bytes]] = {}
        self._numbers: Counter[str] = Counter()
        self._hired = 0
        self._history: list[str] = []

    def run(self, n: int, dice: random.Random) -> list[str]:
        """Strike, and return what was broken."""
        self._hire()
        faults: list[str] = []
        kills = 0
        while kills < n and not faults:
            self._publish()
            name = self._someone_busy(dice)
            time.sleep(dice.uniform(*STRIKE_AFTER_S))
            victim = self.crew.pop(name)
            if dice.random() < TERM_SHARE:
                faults += self._stop(victim)
            else:
                victim.kill()
                victim.wait()
                kills += 1
            self._hire()
        wait_until("all are handled", self._is_settled, PATIENCE_S, pause_s=0.05)
        self.outcome.n += kills
        self.outcome.count("in_order", sum(self._numbers.values()))
        return faults + self._broken_order()

    def _hire(self) -> None:
        while len(self.crew) < CREW:
            self._hired += 1
            name = f"w{self._hired}"
            self.crew[name] = ordered.start(self.url, name, lease_s=LEASE_S, grace_s=GRACE_S)

    def _publish(self) -> None:
        stream_of = ordered.partitioned().stream_of
        for _ in range(EACH):
            for key in KEYS:
                self._numbers[key] += 1
                fields = {"customer": key, "n": str(self._numbers[key])}
                words = [word.encode() for pair in fields.items() for word in pair]
                self.client.xadd(stream_of(words), fields)

    def _read_history(self) -> list[str]:
        self._history += self.client.lrange("history", len(self._history), -1)
        return self._history

    def _busy(self) -> list[str]:
        """Members of the crew that have begun a message."""
        begun = {line.partition(".")[0] for line in self._read_history()}
        return [name for name in self.crew if name in begun]

    def _someone_busy(self, dice: random.Random) -> str:
        wait_until("a worker begins something", self._busy, PATIENCE_S)
        return dice.choice(self._busy())

    def _stop(self, worker: subprocess.Popen[bytes]) -> list[str]:
        worker.send_signal(signal.SIGTERM)
        code = worker.wait(PATIENCE_S)
        self.outcome.count("stops")
        return [f"exit code {code} after SIGTERM"] if code else []

    def _is_settled(self) -> bool:
        words = [line.split() for line in self._read_history()]
        ended = {(key, number) for _, what, key, number, _ in words if what == "end"}
        return len(ended) == sum(self._numbers.values())

    def _broken_order(self) -> list[str]:
        try:
            last = ordered.check(self._read_history())
        except ordered.DisorderError as error:
            return [str(error)]
        return [] if last == self._numbers else [f"the last numbers are {last}"]

    def end(self) -> None:
        """End all workers."""
        for worker in self.crew.values():
            worker.kill()
            worker.wait()
        self.client.close()
