"""A Redis Cluster of three, whose slots and nodes may move while a test runs.

Real processes on free ports of this machine; each is stopped by its own pid.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from testkit.oracle import counts_entries, find, start_redis
from testkit.servers import ServerProcess, free_port
from testkit.waiting import wait_until


@contextmanager
def redis_cluster(directory: Path) -> Iterator[list[ServerProcess]]:
    """Three primaries that share the slots."""
    nodes = [_cluster_node(directory / f"node{i}") for i in range(3)]
    try:
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        command = [find("redis-cli"), "--cluster", "create", *addresses, "--cluster-yes"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        wait_until("the cluster is ready", lambda: all(map(_is_ready, nodes)))
        yield nodes
    finally:
        for node in nodes:
            node.stop()


def cluster_url(nodes: list[ServerProcess]) -> str:
    """Where a client finds a cluster."""
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)


@contextmanager
def further_node(nodes: list[ServerProcess], directory: Path) -> Iterator[ServerProcess]:
    """A node that joins a cluster without slots, and must have none when it leaves."""
    node = _cluster_node(directory)
    try:
        with node.client() as client:
            node_id, bus = client("CLUSTER", "MYID"), client("CONFIG", "GET", "cluster-port")[1:]
        with nodes[0].client() as client:
            client("CLUSTER", "MEET", "127.0.0.1", node.port, *bus)
        wait_until("all know it", lambda: all(_knows(one, node_id) for one in nodes))
        yield node
        for one in nodes:
            with one.client() as client:
                client("CLUSTER", "FORGET", node_id)
    finally:
        node.stop()


def _knows(node: ServerProcess, node_id: bytes) -> bool:
    with node.client() as client:
        known = client("CLUSTER", "NODES").splitlines()
    return any(line.startswith(node_id) and b" connected" in line for line in known)


def _cluster_node(directory: Path) -> ServerProcess:
    # Without its own port, the bus listens 10,000 above the port, in the range of connections.
    bus = ("--cluster-port", str(free_port())) if counts_entries() else ()
    # A node that has lost its last slot would become a replica by itself.
    own_master = ("--cluster-allow-replica-migration", "no") if counts_entries() else ()
    return start_redis(directory, "--cluster-enabled", "yes", *bus, *own_master)


def _is_ready(node: ServerProcess) -> bool:
    with node.client() as client:
        return b"cluster_state:ok" in client("CLUSTER", "INFO")


class SlotMove:
    """Moves the slot of a key from its node to another one, step by step."""

    def __init__(
        self, client: redis.RedisCluster, key: str, to: ServerProcess | None = None
    ) -> None:
        client.nodes_manager.initialize()
        self._slot = client.keyslot(key)
        source = client.get_node_from_key(key)
        ports = [node.port for node in client.get_primaries() if node.name != source.name]
        self._port = to.port if to is not None else ports[0]
        self._source, self._target = redis.Redis(port=source.port), redis.Redis(port=self._port)
        self._others = [redis.Redis(port=port) for port in ports if port != self._port]
        self._new_owner = self._target.execute_command("CLUSTER MYID")
        owner = self._source.execute_command("CLUSTER MYID")
        self._target.execute_command("CLUSTER SETSLOT", self._slot, "IMPORTING", owner)
        self._source.execute_command("CLUSTER SETSLOT", self._slot, "MIGRATING", self._new_owner)

    def move(self, *names: str) -> None:
        """Move keys; their old node redirects clients that ask for them (ASK)."""
        for name in names:
            self._source.execute_command("MIGRATE", "127.0.0.1", self._port, name, 0, 5000)

    def finish(self) -> None:
        """Move the remaining keys, and the slot itself."""
        self.move(*self._source.execute_command("CLUSTER GETKEYSINSLOT", self._slot, 1000))
        for node in (self._target, self._source, *self._others):
            node.execute_command("CLUSTER SETSLOT", self._slot, "NODE", self._new_owner)
            node.close()


def move_slot(client: redis.RedisCluster, key: str) -> None:
    """Move the slot of a key, with the keys in it, to another node."""
    SlotMove(client, key).finish()
