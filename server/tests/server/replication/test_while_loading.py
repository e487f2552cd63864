"""The replies of a replica to clients while it reads a copy of all data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from testkit.nodes import Node, info_of, wait_for_replicas
from testkit.waiting import wait_until

pytestmark = pytest.mark.compiled

Start = Callable[..., Node]

#: Reading them takes many turns of the loop; questions are answered between two of them.
KEYS = 400_000
AT_ONCE = 1000


def primary_with_many_keys(start: Start) -> Node:
    node = start("forebay")
    with node.control() as client:
        for first in range(0, KEYS, AT_ONCE):
            pairs = [word for n in range(first, first + AT_ONCE) for word in (f"key:{n}", n)]
            client.insist("MSET", *pairs)
    return node


def seen_while_reading(replica: Node, field: str) -> Any:
    """The answer of GET while INFO says that a copy is being read."""
    seen: list[Any] = []
    with replica.control() as client:

        def is_reading() -> bool:
            return info_of(client, "persistence")[field] == "1"

        def look() -> bool:
            if not is_reading():
                return False
            seen.append(client("GET", "old"))
            return is_reading()

        wait_until(f"{field} is 1", look, pause_s=0.001)
    return seen[-1]


@pytest.mark.parametrize(
    ("way", "field", "answer"),
    [
        ("disabled", "loading", "LOADING Redis is loading the dataset in memory"),
        ("flushdb", "loading", "LOADING Redis is loading the dataset in memory"),
        ("swapdb", "async_loading", b"data"),
    ],
)
def test_old_data_is_served_or_clients_hear_loading(
    start: Start, way: str, field: str, answer: Any
) -> None:
    primary = primary_with_many_keys(start)
    replica = start("forebay", repl_diskless_load=way)
    replica("SET", "old", "data")
    replica.follow(primary, wait=False)
    seen = seen_while_reading(replica, field)
    assert (seen if isinstance(seen, bytes) else str(seen)) == answer
    wait_for_replicas(primary, [replica])
    assert replica("GET", "old") is None
    assert replica("DBSIZE") == KEYS


@pytest.mark.parametrize(("before", "after"), [("no", "yes"), ("yes", "no")])
def test_the_aof_may_be_turned_on_and_off_while_a_copy_arrives(
    start: Start, before: str, after: str
) -> None:
    primary = primary_with_many_keys(start)
    replica = start("forebay", appendonly=before)
    replica("SET", "old", "data")
    replica.follow(primary, wait=False)
    seen_while_reading(replica, "loading")
    replica("CONFIG", "SET", "appendonly", after)
    primary("SET", "new", "data")
    wait_for_replicas(primary, [replica])
    wait_until("no child is at work", lambda: has_its_aof(replica, after))
    replica.kill()
    (replica.folder / "node.conf").write_text(
        f"port {replica.place.port}\nunixsocket {replica.folder}/sock\ndir {replica.folder}\n"
        f"appendonly {after}\n"
    )
    replica.restart()
    assert replica("DBSIZE") == (KEYS + 1 if after == "yes" else 0)


def has_its_aof(node: Node, is_on: str) -> bool:
    facts = node.info("persistence")
    is_busy = facts["aof_rewrite_in_progress"] == "1" or facts["aof_rewrite_scheduled"] == "1"
    return facts["aof_enabled"] == str(int(is_on == "yes")) and not is_busy
