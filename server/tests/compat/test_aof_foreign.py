"""The AOF of a redis-server that also had hashes and sorted sets, loaded without them.

Random commands of all types use the same keys in two databases.  Then Redis deletes the
foreign keys, and both must hold the same: DEBUG DIGEST sees keys, values and expiry times.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reliability.aof_exchange import rewrite_there
from testkit.durable_server import DurableServer
from testkit.oracle import start_redis
from testkit.resp import RawClient, ReplyError

pytestmark = pytest.mark.oracle

LIVES = 60
FOREIGN = ("hash", "zset")
ANY_KEY = [
    "DEL {a}",
    "UNLINK {a} {b}",
    "RENAME {a} {b}",
    "RENAMENX {a} {b}",
    "COPY {a} {b}",
    "COPY {a} {b} REPLACE",
    "COPY {a} {b} DB {other}",
    "MOVE {a} {other}",
    "PEXPIRE {a} 9000000",
    "PERSIST {a}",
    "SWAPDB 0 1",
    "SELECT {other}",
]
OURS = [
    "SET {a} {n}",
    "SET {a} {n} NX",
    "SET {a} {n} XX",
    "SET {a} {n} KEEPTTL",
    "SETNX {a} {n}",
    "MSET {a} {n} {b} {n}",
    "INCR {a}",
    "APPEND {a} {n}",
    "RPUSH {a} {n}",
    "LPOP {a}",
    "SADD {a} {n}",
    "SREM {a} {n}",
    "XADD {a} * f {n}",
    "XTRIM {a} MAXLEN 2",
]
THEIRS = [
    "HSET {a} f{n} v",
    "HDEL {a} f1 f2 f3",
    "HINCRBY {a} f{n} 1",
    "ZADD {a} 1 m{n}",
    "ZREM {a} m1 m2 m3",
    "ZPOPMIN {a} 2",
    "ZUNIONSTORE {a} 2 {b} {c}",
    "ZRANGESTORE {a} {b} 0 1",
    "GEOADD {a} 1 1 m{n}",
    "GEOSEARCHSTORE {a} {b} FROMLONLAT 1 1 BYRADIUS 1 km",
]


def live(redis: RawClient, dice: Random, name: str) -> None:
    """Short lives of three keys each, so that a later command seldom hides what went wrong."""
    db = 0
    for number in range(LIVES):
        keys = [f"{name}{number}{letter}" for letter in "abc"]
        for _ in range(dice.randint(3, 12)):
            line = dice.choice(dice.choice((ANY_KEY, OURS, OURS, THEIRS, THEIRS)))
            a, b, c = dice.choices(keys, k=3)
            words = line.format(a=a, b=b, c=c, n=dice.randint(1, 3), other=1 - db).split()
            redis(*words)
            if words[0] == "SELECT":
                db = int(words[1])
            if dice.random() < 0.1 and (payload := redis("DUMP", a)) is not None:
                redis("RESTORE", b, dice.choice((0, 9000000)), payload, "REPLACE")


def forget_foreign(redis: RawClient) -> None:
    for db in (0, 1):
        redis("SELECT", db)
        for key in redis("KEYS", "*"):
            if redis("TYPE", key) in FOREIGN:
                redis("DEL", key)


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("seed", range(6))
def test_all_that_is_ours_comes_through(scratch: Path, seed: int, preamble: str) -> None:
    options = "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble
    redis = start_redis(scratch, *options)
    try:
        with redis.client() as client:
            live(client, Random(seed), "first")
            rewrite_there(client)
            live(client, Random(seed + 100), "first")
            live(client, Random(seed + 200), "second")
            # Later commands are not part of the AOF that is loaded.
            assert client("CONFIG", "SET", "appendonly", "no") == "OK"
            forget_foreign(client)
            want = client("DEBUG", "DIGEST")
            assert not isinstance(want, ReplyError)
    finally:
        redis.kill()
    with DurableServer(scratch, skip_foreign_types=True, enable_debug_command="yes") as server:
        assert "Left out" in server.log()
        assert server.client()("DEBUG", "DIGEST") == want
