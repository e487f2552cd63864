"""Helpers for tests of replication: fill nodes, cut their links, compare them."""

from __future__ import annotations

from testkit.node_state import difference, read_state
from testkit.nodes import Node, wait_for_replicas
from testkit.oracle import has_idempotency, tells_replicas_all


def fill(node: Node, first: int = 1, count: int = 120) -> None:
    """Streams, groups, pending entries in several states, and keys of every type."""
    with node.control() as client:
        for n in range(first, first + count):
            client.insist("XADD", "orders", f"{n}-0", "item", n, "note", "x" * (n % 40))
        if first == 1:
            client.insist("XGROUP", "CREATE", "orders", "billing", "0")
            client.insist("XGROUP", "CREATE", "orders", "audit", "5-0")
        read = ("COUNT", 20, "STREAMS", "orders", ">")
        client.insist("XREADGROUP", "GROUP", "billing", "alice", *read)
        client.insist("XREADGROUP", "GROUP", "billing", "bob", *read)
        client.insist("XACK", "orders", "billing", f"{first}-0", f"{first + 3}-0")
        client.insist("XCLAIM", "orders", "billing", "carol", 0, f"{first + 5}-0", "RETRYCOUNT", 7)
        client.insist("XDEL", "orders", f"{first + 10}-0")
        client.insist("XTRIM", "orders", "MAXLEN", "~", 100)
        client.insist("SET", "cursor", first, "PX", 3_600_000)
        client.insist("RPUSH", "jobs", first, first + 1)
        client.insist("SADD", "seen", first, "a")
        client.insist("SELECT", 3)
        client.insist("XADD", "elsewhere", "*", "n", first)
        client.insist("SELECT", 0)


def fill_newer(node: Node) -> None:
    """More state of groups, and data that only newer peers hold, if this one can; after fill()."""
    with node.control() as client:
        client.insist("XGROUP", "CREATECONSUMER", "orders", "audit", "idle")
        read = ("NOACK", "STREAMS", "orders", ">")
        client.insist("XREADGROUP", "GROUP", "audit", "hasty", "COUNT", 3, *read)
        client.insist("XAUTOCLAIM", "orders", "billing", "dave", 0, "-", "COUNT", 5)
        client.insist("XGROUP", "DELCONSUMER", "orders", "billing", "bob")
        client.insist("XSETID", "orders", "9999-0")
        client.insist("XGROUP", "SETID", "orders", "audit", "50-0", "ENTRIESREAD", 40)
        if has_idempotency():
            client.insist("XADD", "once", "IDMP", "producer", "first", "*", "n", 1)
            client.insist("XADD", "once", "IDMPAUTO", "other", "*", "n", 2)
            client.insist("XDELEX", "orders", "ACKED", "IDS", 1, "30-0")
            client.insist("XACKDEL", "orders", "billing", "DELREF", "IDS", 1, "31-0")


def assert_same(primary: Node, *replicas: Node) -> None:
    """Compare two nodes, without the state that Redis 7.0 does not send to replicas."""
    wait_for_replicas(primary, replicas)
    with primary.control() as client:
        wanted = read_state(client)
    assert wanted, "nothing to compare"
    kinds = [primary.kind, *(replica.kind for replica in replicas)]
    told_by_redis = "redis" in kinds and not tells_replicas_all()
    for replica in replicas:
        with replica.control() as client:
            got = read_state(client)
        assert difference(wanted, got, told_by_redis=told_by_redis) == ""


def syncs(node: Node) -> tuple[int, int]:
    """Full and partial syncs that a primary has served."""
    stats = node.info("stats")
    return int(stats["sync_full"]), int(stats["sync_partial_ok"])


def cut(primary: Node) -> None:
    """Cut the link of every replica of the primary."""
    assert primary("CLIENT", "KILL", "TYPE", "replica") > 0
