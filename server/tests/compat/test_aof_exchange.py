"""AOFs are loaded by a real redis-server, and back (the AOF half of R11)."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay
from reliability.aof_exchange import exchange
from reliability.redis_judge import accepts
from testkit.engine_client import EngineClient
from testkit.replaying import rewritten

pytestmark = pytest.mark.oracle

KEYSPACES = 16 if forebay.compiled() else 6
SEED = 20261116
FOLDER = "/data/appendonlydir/"
MANIFEST = (
    b"file appendonly.aof.1.base.aof seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n"
)


def test_random_keyspaces_survive_the_way_there_and_back(server_root: Path) -> None:
    # A unix socket's path must be short: the servers live below server_root.
    outcome = exchange(KEYSPACES, SEED, server_root)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == KEYSPACES


def test_a_base_of_commands_with_deleted_pending_entries_loads_there(server_root: Path) -> None:
    client = EngineClient()
    for n in range(1, 3000):
        client("XADD", "s", f"{n}-0", "n", n)
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "COUNT", "2500", "STREAMS", "s", ">")
    client("XTRIM", "s", "MAXLEN", "=", "1800")
    client("XDEL", "s", *(f"{n}-0" for n in range(1300, 1400)))
    files = {
        f"{FOLDER}appendonly.aof.1.base.aof": rewritten(client.engine.keyspace),
        f"{FOLDER}appendonly.aof.1.incr.aof": b"",
        f"{FOLDER}appendonly.aof.manifest": MANIFEST,
    }
    assert accepts(files, client.engine.keyspace, server_root) == ""


def test_the_judge_can_say_no(server_root: Path) -> None:
    client = EngineClient()
    client("SET", "a", "1")
    files = {
        f"{FOLDER}appendonly.aof.1.base.aof": rewritten(client.engine.keyspace),
        f"{FOLDER}appendonly.aof.1.incr.aof": b"",
        f"{FOLDER}appendonly.aof.manifest": MANIFEST,
    }
    client("SET", "a", "2")
    assert "digest" in accepts(files, client.engine.keyspace, server_root)
    files[f"{FOLDER}appendonly.aof.1.base.aof"] = b"*1\r\n$3\r\nSE"
    assert "redis-check-aof" in accepts(files, client.engine.keyspace, server_root)
