"""Servers in company: a Redis Cluster of three, and a primary with its Sentinel.

Real processes on free ports of this machine; each is stopped by its own pid.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from testkit.oracle import counts_entries, find, server_program, start_redis
from testkit.servers import ServerProcess, free_port
from testkit.waiting import wait_until

SERVICE = "mymaster"


@contextmanager
def redis_cluster(directory: Path) -> Iterator[list[ServerProcess]]:
    """Three primaries that share the slots among them."""
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
    """Where the connector finds a cluster."""
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)


def _cluster_node(directory: Path) -> ServerProcess:
    # The bus listens 10,000 above the port, which must be a port too, unless it is given one.
    bus = ("--cluster-port", str(free_port())) if counts_entries() else ()
    port = free_port(below=65_536 - 10_000)
    return start_redis(directory, "--cluster-enabled", "yes", *bus, port=port)


def _is_ready(node: ServerProcess) -> bool:
    with node.client() as client:
        return b"cluster_state:ok" in client("CLUSTER", "INFO")


def move_slot(client: redis.RedisCluster, key: str) -> None:
    """Move the slot of a key, with the keys in it, to another node."""
    slot = client.keyslot(key)
    source = client.get_node_from_key(key)
    target = next(node for node in client.get_primaries() if node.name != source.name)
    ids = {node.name: client.cluster_myid(node) for node in (source, target)}
    at_source, at_target = (client.get_redis_connection(node) for node in (source, target))
    at_target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source.name])
    at_source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target.name])
    for name in at_source.execute_command("CLUSTER GETKEYSINSLOT", slot, 1000):
        at_source.execute_command("MIGRATE", target.host, target.port, name, 0, 5000)
    for node in client.get_primaries():
        client.get_redis_connection(node).execute_command(
            "CLUSTER SETSLOT", slot, "NODE", ids[target.name]
        )


@contextmanager
def watched_by_sentinel(primary: ServerProcess, directory: Path) -> Iterator[int]:
    """A Sentinel that knows a primary; its port."""
    directory.mkdir(parents=True)
    port = free_port()
    config = directory / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\nunixsocket {directory / 'sock'}\ndir {directory}\n"
        f"sentinel monitor {SERVICE} 127.0.0.1 {primary.port} 1\n"
    )
    command = [server_program(), str(config), "--sentinel"]
    sentinel = ServerProcess("sentinel", command, directory, port)
    try:
        yield port
    finally:
        sentinel.stop()
