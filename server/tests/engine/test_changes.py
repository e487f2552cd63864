"""How many changes a command counts, as in Redis 8.6; INFO and the save points use them."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient

READ = "XREADGROUP GROUP g {} STREAMS s {}"


@pytest.fixture
def client() -> EngineClient:
    """Entries 1-0 to 5-0, of which alice has 1-0 and 2-0; effects are not recorded."""
    client = EngineClient()
    client.engine.effects.enabled = False
    for n in range(1, 6):
        client(f"XADD s {n}-0 f v")
    client("XGROUP CREATE s g 0")
    client("XREADGROUP GROUP g alice COUNT 2 STREAMS s >")
    return client


def counted(client: EngineClient, command: str) -> int:
    before = client.engine.effects.changes
    client(command)
    return client.engine.effects.changes - before


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("XADD s * f v", 1),
        ("MSETNX a 1 b 2", 2),
        ("MSETEX 2 a 1 b 2 EX 10", 2),
        ("BITFIELD k SET u8 0 1 SET u8 8 0 GET u8 0", 2),
        ("BITFIELD k OVERFLOW FAIL SET u1 0 2", 0),
        ("SETBIT k 9 0", 1),
        ("SETBIT s 0 1", 0),
        ("XADD s MAXLEN 1 * f v", 1),
        ("XADD s NOMKSTREAM 1-0 f v", 0),
        ("XTRIM s MAXLEN 2", 3),
        ("XTRIM s MAXLEN ~ 2 DELREF", 3),
        ("XTRIM s MAXLEN 9", 0),
        ("XDEL s 1-0 2-0 9-0", 2),
        ("XDELEX s DELREF IDS 3 1-0 2-0 9-0", 2),
        ("XACK s g 1-0 2-0 3-0", 2),
        ("XACKDEL s g IDS 3 1-0 2-0 3-0", 2),
        ("XNACK s g FAIL IDS 2 1-0 2-0", 2),
        (READ.format("alice", ">"), 1),
        (READ.format("bob", ">"), 2),
        (READ.format("bob NOACK", ">"), 2),
        (READ.format("alice", "0"), 0),
        (READ.format("bob CLAIM 0", ">"), 2),
        ("XREADGROUP GROUP g alice STREAMS none >", 0),
        ("XCLAIM s g alice 0 1-0 2-0 3-0", 2),
        ("XCLAIM s g bob 0 1-0 2-0 JUSTID", 3),
        ("XCLAIM s g alice 0 9-0 LASTID 4-0", 1),
        ("XCLAIM s g alice 0 1-0 LASTID 4-0", 1),
        ("XAUTOCLAIM s g alice 0 -", 2),
        ("XAUTOCLAIM s g bob 9000 -", 1),
        ("XSETID s 9-0", 1),
        ("XGROUP CREATECONSUMER s g bob", 1),
        ("XGROUP CREATECONSUMER s g alice", 0),
        ("XGROUP DELCONSUMER s g alice", 1),
        ("XGROUP SETID s g 0", 1),
        ("XGROUP DESTROY s g", 1),
        ("XCFGSET s IDMP-MAXSIZE 5", 1),
        ("MSET a 1 b 2 c 3", 3),
        ("RPUSH l a b c", 3),
        ("SADD set a b a", 2),
        ("DEL s t u", 1),
        ("FLUSHALL", 1),
        ("FLUSHDB", 1),
    ],
)
def test_a_command_counts_what_it_changed(client: EngineClient, command: str, changes: int) -> None:
    assert counted(client, command) == changes


@pytest.mark.parametrize(
    ("setup", "command", "changes"),
    [
        ("RPUSH l a b c", "LPOP l 2", 2),
        ("RPUSH l a b c", "RPOP l 9", 3),
        ("SADD set a b c", "SREM set a b x", 2),
        ("MSET a 1 b 2", "UNLINK a b c", 2),
        ("XDEL s 1-0", "XAUTOCLAIM s g alice 0 -", 2),
        ("XDEL s 1-0", "XDELEX s DELREF IDS 1 1-0", 0),
        ("XADD s IDMP p i * f v", "XADD s IDMP p i * f v", 1),
    ],
)
def test_it_counts_what_it_found(
    client: EngineClient, setup: str, command: str, changes: int
) -> None:
    client(setup)
    assert counted(client, command) == changes


def test_recording_makes_no_difference(client: EngineClient) -> None:
    client.engine.effects.enabled = True
    assert counted(client, READ.format("bob", ">")) == 2
    assert counted(client, "XCLAIM s g carol 0 1-0 2-0 3-0") == 4


def test_what_ran_out_of_time_is_no_change(client: EngineClient) -> None:
    client("SET k v PX 10")
    client.now_ms += 100
    assert counted(client, "GET k") == 0
