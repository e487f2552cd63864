"""MEMORY."""

import gc
import sys
import tracemalloc

import pytest

from server.tests.support.admin_client import AdminClient
from server.tests.support.names import NAMES, words
from testkit.engine_client import EngineClient
from testkit.resp import ReplyError


def test_usage_of_a_stream_grows_with_entries_and_with_pending_ones() -> None:
    client = AdminClient()
    client("XADD", "s", "1-1", "f", "v" * 100)
    small = client("MEMORY", "USAGE", "s")
    for number in range(2, 1002):
        client("XADD", "s", f"{number}-1", "f", "v" * 100)
    large = client("MEMORY", "USAGE", "s")
    assert small < 2000
    assert 100_000 < large < 300_000
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    assert large + 44 * 1000 < client("MEMORY", "USAGE", "s") < large + 60 * 1000


def fill(client: EngineClient, key: str, entries: int, consumers: int, pending: int) -> None:
    for n in range(1, entries + 1):
        client("XADD", key, f"{n}-0", "field", f"value {n}")
    if consumers:
        client("XGROUP", "CREATE", key, "group", "0")
    for n in range(consumers):
        client("XGROUP", "CREATECONSUMER", key, "group", f"consumer{n}")
    if pending:
        client("XREADGROUP", "GROUP", "group", "consumer0", "COUNT", pending, "STREAMS", key, ">")


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("entries", "consumers", "pending"),
    [(1, 0, 0), (10, 0, 0), (90, 0, 0), (350, 0, 0), (1, 1, 0), (1, 12, 0), (100, 2, 100)],
)
def test_usage_of_a_stream_is_what_the_process_grows_by(
    entries: int, consumers: int, pending: int
) -> None:
    client = EngineClient()
    client.engine.effects.enabled = False
    fill(client, "first", entries, consumers, pending)
    gc.collect()
    tracemalloc.start(1)
    try:
        before = tracemalloc.get_traced_memory()[0]
        for n in range(60):
            fill(client, f"stream{n:03}", entries, consumers, pending)
        gc.collect()
        grown = (tracemalloc.get_traced_memory()[0] - before) / 60
    finally:
        tracemalloc.stop()
    assert 0.85 < client("MEMORY", "USAGE", "stream050") / grown < 1.15


def test_usage_of_strings_lists_and_sets_counts_their_bytes() -> None:
    client = AdminClient()
    client("SET", "k", "x" * 1000)
    client("RPUSH", "l", *["y" * 100] * 50)
    client("SADD", "m", *[f"{number:0100}" for number in range(50)])
    assert 1000 < client("MEMORY", "USAGE", "k") < 1400
    for key in ("l", "m"):
        for samples in ("0", "5", "1000"):
            assert 5000 < client("MEMORY", "USAGE", key, "SAMPLES", samples) < 15000


def test_usage_counts_what_a_key_has_beside_its_value() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    plain = client("MEMORY", "USAGE", "k")
    client("EXPIRE", "k", "100")
    assert plain < client("MEMORY", "USAGE", "k") < plain + 200
    for number in range(1, 101):
        client("XADD", "s", "IDMP", "producer", f"{number:050}", "*", "f", "v")
        client("XADD", "t", "*", "f", "v")
    remembered = client("MEMORY", "USAGE", "s") - client("MEMORY", "USAGE", "t")
    assert 100 * 50 < remembered < 100 * 500


def test_usage_of_a_missing_key_is_nil() -> None:
    assert AdminClient()("MEMORY", "USAGE", "k") is None


def test_usage_refuses_other_options_and_negative_samples() -> None:
    client = AdminClient()
    for options in (["SAMPLES"], ["SAMPLES", "-1"], ["FOO", "1"]):
        assert client("MEMORY", "USAGE", "k", *options) == ReplyError("ERR syntax error")


def test_stats_has_the_fields_of_redis() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    client("HELLO", "3")
    stats = client("MEMORY", "STATS")
    assert stats[b"total.allocated"] == 10 << 20
    assert stats[b"peak.allocated"] == 20 << 20
    assert stats[b"keys.count"] == 1
    assert b"overhead.hashtable.main" in stats[b"db.0"]
    assert stats[b"peak.percentage"] == 50.0
    assert stats[b"startup.allocated"] == 1 << 20
    assert stats[b"allocator.allocated"] == 10 << 20
    assert stats[b"allocator.resident"] == 30 << 20
    assert stats[b"fragmentation"] == 3.0
    assert stats[b"fragmentation.bytes"] == 20 << 20
    assert stats[b"keys.bytes-per-key"] == 9 << 20
    parts = stats[b"overhead.total"] + stats[b"dataset.bytes"]
    assert parts == stats[b"total.allocated"]


def test_stats_and_info_agree() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    client("HELLO", "3")
    stats, info = client("MEMORY", "STATS"), client.info("memory")
    for field, name in [
        (b"total.allocated", "used_memory"),
        (b"overhead.total", "used_memory_overhead"),
        (b"dataset.bytes", "used_memory_dataset"),
        (b"clients.normal", "mem_clients_normal"),
        (b"aof.buffer", "mem_aof_buffer"),
        (b"allocator.resident", "allocator_resident"),
        (b"fragmentation.bytes", "mem_fragmentation_bytes"),
    ]:
        assert stats[field] == int(info[name]), name


def test_stats_come_under_the_names_and_in_the_order_of_redis() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    client("HELLO", "3")
    stats = client("MEMORY", "STATS")
    names = []
    for name, value in stats.items():
        names += [name, *value] if isinstance(value, dict) else [name]
    assert [name.decode() for name in names] == words(NAMES["memory_stats"])


def test_doctor_speaks_of_a_peak_and_of_a_limit_that_is_near() -> None:
    assert b"Peak:" in AdminClient()("MEMORY", "DOCTOR")
    report = AdminClient(maxmemory=10 << 20)("MEMORY", "DOCTOR")
    assert b"Limit:" in report


def test_doctor_finds_nothing_in_a_server_that_grows_slowly() -> None:
    client = AdminClient(maxmemory=100 << 20)
    client.engine.services.memory_peak = lambda: 11 << 20
    assert client("MEMORY", "DOCTOR") == b"No memory issue was found in this instance.\n"


def test_doctor_finds_nothing_in_a_small_server() -> None:
    client = AdminClient()
    client.engine.services.memory_used = lambda: 1000
    assert b"very little memory" in client("MEMORY", "DOCTOR")


def test_malloc_stats_and_purge_answer() -> None:
    client = AdminClient()
    assert client("MEMORY", "MALLOC-STATS") == b"Stats not supported for the current allocator"
    assert client("MEMORY", "PURGE") == "OK"
    assert "PURGE" in client("MEMORY", "HELP")


def test_a_deleted_stream_is_let_go_of_soon() -> None:
    client = AdminClient()
    client("XADD", "s", "1-1", "f", "v")
    client("XADD", "s", "1-2", "f", "v")
    stream = client.engine.keyspace.databases[0].values[b"s"]
    client("DEL", "s")
    client.sleep(1000)
    held_here_and_by_the_question = 2
    assert sys.getrefcount(stream) == held_here_and_by_the_question
