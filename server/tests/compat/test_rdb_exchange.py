"""Snapshots and payloads are loaded by a real redis-server and back, and the other way round.

DEBUG DIGEST compares the data of both; state outside the digest (groups, pending
entries, counters) is compared after a round trip.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.commands.admin.digest import add_value
from forebay.core.check import check_stream
from forebay.core.stream import Stream
from forebay.persistence.rdb.payload import restore
from reliability import rdb_goals
from testkit.engine_client import EngineClient
from testkit.portrait import of_value
from testkit.random_keyspace import fill
from testkit.rdb_files import loaded, saved
from testkit.resp import RawClient
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

KEYSPACES = int(os.environ.get("FOREBAY_KEYSPACES", 20 if forebay.compiled() else 4))


@pytest.fixture
def redis(redis_server: ServerProcess) -> Iterator[RawClient]:
    with redis_server.client(unix=True) as client:
        yield client
        client("CONFIG", "SET", "rdbcompression", "yes")


def test_random_keyspaces_are_exchanged_through_files(server_root: Path) -> None:
    outcome = rdb_goals.exchange(KEYSPACES, 11, server_root)
    assert outcome.failures == []
    assert outcome.n == KEYSPACES


def test_values_are_exchanged_through_dump_and_restore(redis: RawClient) -> None:
    for seed in range(KEYSPACES):
        client = EngineClient()
        fill(client, Random(f"dump {seed}"))
        redis("CONFIG", "SET", "rdbcompression", "yes" if seed % 2 else "no")
        redis("CONFIG", "SET", "sanitize-dump-payload", "yes")
        for db in client.engine.keyspace.databases:
            client("SELECT", db.index)
            for key, value in db.values.items():
                redis("DEL", "k")
                assert redis("RESTORE", "k", 0, client("DUMP", key)) == "OK"
                digest = add_value(bytes(20), value, has_expiry=False).hex()
                assert redis("DEBUG", "DIGEST-VALUE", "k") == [digest]
                assert of_value(restore(redis("DUMP", "k"))) == of_value(value)


def test_redis_does_not_lose_what_its_version_does_not_know(
    redis_server: ServerProcess, redis: RawClient
) -> None:
    client = EngineClient(now_ms=int(time.time() * 1000))
    for n in range(1, 6):
        client("XADD", "s", f"{n}-0", "f", "v")
    client("XGROUP CREATE s g 0")
    client("XREADGROUP GROUP g alice STREAMS s >")
    client("XNACK s g FAIL IDS 2 4-0 2-0")
    client("XADD s IDMP producer message * f v")
    path = redis_server.directory / "dump.rdb"
    path.write_bytes(saved(client.engine.keyspace))
    assert rdb_goals.rejected_by_check(path) == []
    assert redis("DEBUG", "RELOAD", "NOSAVE") == "OK"
    assert redis("XLEN", "s") == 6
    summary = redis("XPENDING", "s", "g")
    assert summary == [5, b"1-0", b"5-0", [[b"alice", b"3"], [b"forebay:unowned", b"2"]]]
    claimed = redis("XAUTOCLAIM", "s", "g", "bob", 3_600_000, "0", "JUSTID")
    assert claimed[1] == [b"2-0", b"4-0"], "released entries may be claimed there at once"


def test_nodes_that_minid_has_emptied_are_left_out(
    redis_server: ServerProcess, redis: RawClient
) -> None:
    redis("CONFIG", "SET", "stream-node-max-entries", 3)
    for n in range(1, 8):
        redis("XADD", "s", f"{n}-0", "f", "v")
    redis("CONFIG", "SET", "stream-node-max-entries", 100)
    redis("XDEL", "s", "3-0")
    redis("XTRIM", "s", "MINID", "=", "3-0")
    redis("SAVE")
    stream = loaded((redis_server.directory / "dump.rdb").read_bytes()).keyspace.databases[0].values
    assert isinstance(stream[b"s"], Stream)
    assert [ms for ms, _, _ in stream[b"s"].range()] == [4, 5, 6, 7]
    assert [node.ms for node in stream[b"s"].nodes.values()] == [4, 7]


@pytest.mark.parametrize("mode", ["hash", "sorted set"])
def test_other_types_are_refused_by_name_or_left_out(
    mode: str, redis_server: ServerProcess, redis: RawClient
) -> None:
    for size in (1, 1000):
        redis("FLUSHALL")
        for n in range(size):
            redis(*(["HSET", "k", n, "v"] if mode == "hash" else ["ZADD", "k", n, n]))
        redis("SET", "after", "it")
        redis("FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('f', function() end)")
        redis("SAVE")
        redis("FUNCTION", "FLUSH")
        data = (redis_server.directory / "dump.rdb").read_bytes()
        loader = loaded(data, skip_foreign=True)
        assert loader.foreign == {mode: 1, "function library": 1}
        assert loader.keyspace.databases[0].values == {b"after": b"it"}


def test_a_stream_whose_last_id_was_set_back_below_deleted_entries_is_taken(
    redis: RawClient,
) -> None:
    for n in (1, 2, 3):
        redis("XADD", "s", f"{n}-0", "f", "v")
    redis("XDEL", "s", "3-0")
    assert redis("XSETID", "s", "2-0") == "OK"
    for entries in ([(1, 0), (2, 0)], [(1, 0), (2, 0), (2, 5)]):
        stream = restore(redis("DUMP", "s"))
        check_stream(stream)
        assert [(ms, seq) for ms, seq, _ in stream.range()] == entries
        redis("XADD", "s", "2-5", "f", "v")
