"""Foreign keys (of types that Forebay lacks) in an AOF are skipped, and no other key changes.

server/tests/compat/test_aof_foreign.py loads AOFs of a real redis-server; this file has each way in
which a foreign key and one of ours can affect each other.
"""

from __future__ import annotations

from typing import Any

import pytest

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.engine.replay import Replayer
from forebay.errors import CorruptDataError
from testkit.portrait import portrait
from testkit.rdb_files import sealed
from testkit.resp import encode

LATER_MS = 1 << 42
LONG_MS = str(LATER_MS + 1)


WORDS = {"HASH": sealed(b"\x04\x01\x01f\x01v"), "STRING": sealed(b"\x00\x011")}


def replayed(*lines: str) -> Replayer:
    """A replay of these lines that skips foreign keys."""
    replayer = Replayer(Engine(Settings()), skip_foreign=True)
    commands = [[WORDS.get(word, word) for word in line.split()] for line in lines]
    log = b"".join(encode(*words) for words in commands)
    replayer.begin()
    replayer.run(log, 0, len(log), LATER_MS)
    replayer.foreign.sweep()
    replayer.end()
    return replayer


def left(*lines: str) -> dict[str, Any]:
    """The keys afterwards; those of another database as ``1:key``."""
    found = portrait(replayed(*lines).engine.keyspace)
    return {
        (f"{db}:" if db else "") + key.decode(): value for (db, key), (_, value) in found.items()
    }


@pytest.mark.parametrize(
    "line",
    [
        "HSET a f v",
        "HPEXPIREAT a 1 FIELDS 1 f",
        "ZADD a 1 m",
        "GEOADD a 1 1 m",
        "ZUNIONSTORE a 1 b",
        "GEORADIUS b 1 1 1 m STORE a",
        "VADD a VALUES 1 1 m",
        "JSON.SET a $ 1",
        "JSON.MSET a $ 1 c $ 1",
        "TS.MADD a 1 1 c 1 1",
        "RESTORE a 0 HASH",
        "FUNCTION LOAD code",
        "FT.CREATE a SCHEMA f TEXT",
    ],
)
def test_what_this_server_does_not_have_is_left_out_and_counted(line: str) -> None:
    replayer = replayed("SET k 1", line, line.replace("RESTORE a 0 HASH", "HSET b f v"))
    assert list(portrait(replayer.engine.keyspace)) == [(0, b"k")]
    assert sum(replayer.foreign.counts.values()) == 2
    assert line.split()[0] in replayer.foreign.counts


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        # Commands that replace a value of any type.
        (["SET a 1"], {"a": b"1"}),
        (["SET a 1 XX"], {"a": b"1"}),
        (["MSET a 1"], {"a": b"1"}),
        (["SET b 1", "RENAME b a"], {"a": b"1"}),
        (["SET b 1", "COPY b a REPLACE"], {"a": b"1", "b": b"1"}),
        (["RESTORE a 0 STRING REPLACE"], {"a": b"1"}),
        # Commands that run only if the key is missing.
        (["HDEL a f", "SET a 1 NX"], {"a": b"1"}),
        (["HDEL a f", "SETNX a 1"], {"a": b"1"}),
        (["HDEL a f", "SET b 1", "RENAMENX b a"], {"a": b"1"}),
        (["HDEL a f", "MSETNX b 1 a 1"], {"a": b"1", "b": b"1"}),
        (["HDEL a f", "MSETEX 2 b 1 a 1 NX"], {"a": b"1", "b": b"1"}),
        (["HDEL a f", "SET b 1", "COPY b a"], {"a": b"1", "b": b"1"}),
        (["HDEL a f", "RESTORE a 0 STRING"], {"a": b"1"}),
        (["SELECT 1", "SET a 1", "MOVE a 0"], {"a": b"1"}),
        (["SELECT 1", "SET b 1", "COPY b a DB 0"], {"a": b"1", "1:b": b"1"}),
        # Commands of another type.
        (["HDEL a f", "INCR a"], {"a": b"1"}),
        (["HDEL a f", "APPEND a 1"], {"a": b"1"}),
        (["HDEL a f", "RPUSH a x", "RPUSH a y"], {"a": [b"x", b"y"]}),
        (["HDEL a f", "SADD a x"], {"a": frozenset([b"x"])}),
        (["HDEL a f", "RPUSH b x y", "LMOVE b a LEFT LEFT"], {"a": [b"x"], "b": [b"y"]}),
        (["RPUSH b y x", "SORT b ALPHA STORE a"], {"a": [b"x", b"y"], "b": [b"y", b"x"]}),
        # Commands for keys of any type.
        (["DEL a", "SET a 1 NX"], {"a": b"1"}),
        (["UNLINK a"], {}),
        ([f"PEXPIREAT a {LONG_MS}", "PERSIST a"], {}),
        (["RENAME a b"], {}),
        (["SET b 1", "RENAME a b"], {}),
        (["SET b 1", "COPY a b REPLACE"], {}),
        (["RENAME a b", "SET a 1"], {"a": b"1"}),
        (["RENAME a b", "SET b 1 XX"], {"b": b"1"}),
        (["COPY a b", "SET b 1 XX"], {"b": b"1"}),
        (["MOVE a 1", "SELECT 1", "SET a 1 XX"], {"1:a": b"1"}),
        (["SET b 1", "SWAPDB 0 1", "SET c 1", "SELECT 1", "SET a 1 XX"],
         {"1:a": b"1", "1:b": b"1", "c": b"1"}),
        (["FLUSHALL", "SET a 1 NX"], {"a": b"1"}),
        (["FLUSHDB", "INCR a"], {"a": b"1"}),
        # A foreign value replaces one of ours.
        (["SET b 1", "RESTORE b 0 HASH REPLACE"], {}),
        (["SET b 1", "ZUNIONSTORE b 1 a"], {}),
        (["SADD b 1", "GEORADIUS a 1 1 1 m STORE b"], {}),
    ],
)  # fmt: skip
def test_a_hash_and_a_key_of_ours_meet_as_they_do_in_redis(
    lines: list[str], want: dict[str, Any]
) -> None:
    assert left("HSET a f v", *lines) == want


def test_the_expiry_time_of_a_foreign_key_stays_for_who_keeps_it() -> None:
    for made in (f"RESTORE a {LONG_MS} HASH ABSTTL", f"HSET a f v;PEXPIREAT a {LONG_MS}"):
        replayer = replayed(*made.split(";"), "SET a 1 KEEPTTL")
        assert portrait(replayer.engine.keyspace) == {(0, b"a"): (int(LONG_MS), b"1")}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["SET a 1", "HSET a f v"], "the command 'HSET a f v': the key 'a' holds something else"),
        (["SADD a 1", "JSON.MSET b $ 1 a $ 1"], "the key 'a' holds something else"),
        (["SET a 1", "RESTORE a 0 HASH"], "BUSYKEY"),
        (["SET a 1", "NOSUCH a"], "'NOSUCH a' is not known here"),
        (["HSET a f v", "NOSUCH a"], "'NOSUCH a' is not known here"),
        (["ZADD a 1 m", "SORT a STORE b"], "'SORT a STORE b': it sorts by values that were left"),
        (["RPUSH a 1", "SORT a BY w*->f STORE b"], "it sorts by values that were left out"),
        (["RESTORE a 0 HASH", "RESTORE b 0 garbage"], "DUMP payload version or checksum"),
    ],
)
def test_what_would_leave_a_key_of_ours_wrong_is_refused(lines: list[str], reason: str) -> None:
    with pytest.raises(CorruptDataError) as raised:
        replayed(*lines)
    assert reason in str(raised.value)
