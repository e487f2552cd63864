"""``lazyfreed_objects``: objects that Redis frees in a thread, counted as 8.6.3 counts them.

The numbers come from a redis-server 8.6.3; Forebay frees nothing in a thread.
"""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient


def stream(groups: int, pending: int, entries: int = 100) -> list[list[str]]:
    added = [["XADD", "k", f"{i}-0", "a", "1"] for i in range(1, entries + 1)]
    made = [["XGROUP", "CREATE", "k", f"g{i}", "0"] for i in range(groups)]
    read = ["XREADGROUP", "GROUP", "g0", "c", "COUNT", str(pending), "STREAMS", "k", ">"]
    return added + made + ([read] if pending else [])


CASES = [
    ([["SET", "k", "x" * 100_000]], 0),
    ([["SADD", "k", *(f"m{i}" for i in range(128))]], 0),
    ([["SADD", "k", *(f"m{i}" for i in range(129))]], 1),
    ([["SADD", "k", *map(str, range(500))]], 0),
    ([["RPUSH", "k", *(f"{i:05}" + "x" * 10 for i in range(20_000))]], 0),
    ([["RPUSH", "k", *("x" * 9000 for _ in range(64))]], 0),
    ([["RPUSH", "k", *("x" * 9000 for _ in range(65))]], 1),
    (stream(0, 0), 0),
    (stream(0, 0, 7000), 1),
    (stream(1, 0), 0),
    (stream(63, 0), 1),
    (stream(1, 62), 1),
]


@pytest.mark.parametrize(("commands", "counted"), CASES)
def test_a_large_value_that_is_unlinked_is_counted(commands: list[list[str]], counted: int) -> None:
    for line, lazy in (("UNLINK", "no"), ("DEL", "no"), ("DEL", "yes")):
        client = EngineClient(lazyfree_lazy_user_del=lazy == "yes")
        for command in commands:
            client(*command)
        assert client(line, "k") == 1
        is_counted = line == "UNLINK" or lazy == "yes"
        assert client.engine.stats.lazyfreed_objects == counted * is_counted


@pytest.mark.parametrize("mode", ["", " SYNC", " ASYNC"])
def test_every_key_that_is_flushed_is_counted(mode: str) -> None:
    client = EngineClient()
    for number in range(10):
        client("SET", f"k{number}", 1)
    client("SELECT", 1)
    client("SET", "k", 1)
    assert client("FLUSHDB" + mode) == "OK"
    assert client.engine.stats.lazyfreed_objects == 1
    assert client("FLUSHALL" + mode) == "OK"
    assert client.engine.stats.lazyfreed_objects == 11
