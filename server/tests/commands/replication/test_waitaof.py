"""WAITAOF waits until written data is on disk."""

from pathlib import Path

import pytest

from server.tests.support.admin_client import AdminClient
from testkit.durable_server import DurableServer
from testkit.engine_client import BLOCKED
from testkit.resp import ReplyError, encode


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["x", "0", "0"], "ERR value is not an integer or out of range"),
        (["2", "0", "0"], "ERR value is out of range, value must between 0 and 1"),
        (["-1", "0", "0"], "ERR value is out of range, value must between 0 and 1"),
        (["1", "-1", "0"], "ERR value is out of range, must be positive"),
        (["1", "x", "0"], "ERR value is out of range, must be positive"),
        (["1", "0", "x"], "ERR timeout is not an integer or out of range"),
        (["1", "0", "-1"], "ERR timeout is negative"),
        (["0", "0", "9223372036854775807"], "ERR timeout is out of range"),
    ],
)
def test_wrong_numbers_are_refused(words: list[str], error: str) -> None:
    assert AdminClient()("WAITAOF", *words) == ReplyError(error)


def test_it_needs_the_aof_if_it_is_to_wait_for_it() -> None:
    client = AdminClient(appendonly=False)
    assert client("WAITAOF", "1", "0", "0") == ReplyError(
        "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
    )
    assert client("WAITAOF", "0", "0", "0") == [0, 0]


def test_replicas_that_do_not_exist_are_waited_for_until_time_is_up() -> None:
    client = AdminClient(appendonly=False)
    assert client("WAITAOF", "0", "1", "500") is BLOCKED
    client.sleep(501)
    assert client.read() == [0, 0]


def test_with_always_it_answers_at_once(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="always") as server:
        client = server.client()
        client("SET", "a", "1")
        assert client("WAITAOF", "1", "0", "0") == [1, 0]


@pytest.mark.parametrize("policy", ["everysec", "no"])
def test_it_asks_the_disk_at_once_and_answers_when_the_disk_has_it(
    tmp_path: Path, policy: str
) -> None:
    """No time passes on the server's clock: it does not wait for the sync of every second."""
    with DurableServer(tmp_path, appendfsync=policy) as server:
        client = server.client()
        client("SET", "a", "1")
        before = server.disk.syncs
        assert client("WAITAOF", "1", "0", "0") is None
        server.durability.syncer.finish()
        server.turn()
        assert client.read() == [1, 0]
        assert server.disk.syncs == before + 1


def test_writes_of_the_same_pipeline_are_waited_for(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        server.pass_s(1.5)
        assert server.info()["aof_unsynced_bytes"] == "0"
        answer = client.ask(encode("SET", "b", "2") + encode("WAITAOF", "1", "0", "0"))
        assert answer == b"+OK\r\n"
        server.durability.syncer.finish()
        server.turn()
        assert client.read() == [1, 0]
        assert server.info()["aof_unsynced_bytes"] == "0"


def test_who_wrote_nothing_since_the_last_sync_does_not_wait(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        server.pass_s(1.5)
        assert client("WAITAOF", "1", "0", "0") == [1, 0]


def test_time_that_is_up_answers_how_far_the_disk_is(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        server.disk.sync_fault = "Input/output error"
        client("SET", "a", "1")
        assert client("WAITAOF", "1", "0", "200") is None
        server.pass_s(0.5)
        assert client.read() == [0, 0]


def test_in_a_transaction_it_does_not_wait(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("MULTI")
        client("SET", "a", "1")
        client("WAITAOF", "1", "0", "0")
        assert client("EXEC") == ["OK", [0, 0]]


def test_a_client_that_leaves_while_it_waits_is_forgotten(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client, other = server.client(), server.client()
        client("SET", "a", "1")
        assert client("WAITAOF", "1", "0", "0") is None
        client.close()
        server.turn()
        server.durability.syncer.finish()
        server.turn()
        assert server.durability.live.waiting == []
        assert other("PING") == "PONG"
