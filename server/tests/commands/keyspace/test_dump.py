"""DUMP: a value as bytes that hold all of it."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient, ReplyError

STREAM = [
    "XADD s 1-1 f v",
    "XADD s 2-2 f w",
    "XGROUP CREATE s g 0",
    "XREADGROUP GROUP g alice STREAMS s >",
]


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_a_missing_key_gives_null(client: EngineClient) -> None:
    assert client("DUMP nothing") is None


def test_a_string_is_dumped_as_redis_dumps_it(client: EngineClient) -> None:
    client("SET s hello")
    assert client("DUMP s").hex() == "000568656c6c6f0a006372df766534200a"


def test_the_version_of_the_format_can_be_chosen() -> None:
    kinds = {}
    for version in ("7.0", "7.2", "8.6", "8.8"):
        client = EngineClient(rdb_format=version)
        client("XADD s 1-1 f v")
        kinds[version] = client("DUMP s")[0]
    assert kinds == {"7.0": 19, "7.2": 21, "8.6": 26, "8.8": 27}


def test_compression_follows_the_configuration() -> None:
    for compressed in (True, False):
        client = EngineClient(rdbcompression=compressed)
        client("SET", "s", "word " * 100)
        assert (len(client("DUMP s")) < 100) == compressed


def test_dumping_changes_nothing_and_leaves_no_trace_in_the_aof(client: EngineClient) -> None:
    for command in STREAM:
        client(command)
    client.effects()
    first = client("DUMP s")
    assert client("DUMP s") == first
    assert client.effects() == []


def test_an_expired_key_is_not_dumped(client: EngineClient) -> None:
    client("SET s v PX 10")
    client.now_ms += 11
    assert client("DUMP s") is None


def test_dump_takes_one_key(client: EngineClient) -> None:
    assert client("DUMP") == ReplyError("ERR wrong number of arguments for 'dump' command")
    assert client("DUMP a b") == ReplyError("ERR wrong number of arguments for 'dump' command")
