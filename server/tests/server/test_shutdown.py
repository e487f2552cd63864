"""SHUTDOWN and signals: the data on disk when the process ends."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from testkit.durable_server import CLOSED, DurableServer
from testkit.resp import ReplyError, encode
from testkit.servers import start_forebay

CANNOT = ReplyError("ERR Errors trying to SHUTDOWN. Check logs.")


def shut_down(server: DurableServer, *words: str) -> object:
    """Send SHUTDOWN; returns the client's reply."""
    return server.client()("SHUTDOWN", *words)


@pytest.mark.parametrize(
    ("save_points", "words", "is_saved"),
    [
        ((), [], False),
        (((3600, 1),), [], True),
        (((3600, 1),), ["NOSAVE"], False),
        ((), ["SAVE"], True),
        ((), ["SAVE", "NOW"], True),
    ],
)
def test_a_snapshot_is_saved_if_save_points_are_set_or_it_is_asked_for(
    tmp_path: Path, save_points: tuple[tuple[int, int], ...], words: list[str], is_saved: bool
) -> None:
    with DurableServer(tmp_path, save_points=save_points) as server:
        server.client()("SET", "a", "1")
        shut_down(server, *words)
        assert not server.server.loop.running
        assert server.durability.close()
    assert (tmp_path / "dump.rdb").exists() == is_saved


def test_the_aof_is_synced_before_the_end(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="no") as server:
        client = server.client()
        client.ask(encode("SET", "a", "1") + encode("SHUTDOWN") + encode("SET", "a", "2"))
        aof = server.durability.live.aof
        assert aof is not None
        assert aof.synced_offset == aof.offset > 0
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"1"


@pytest.mark.parametrize("fault", ["write_fault", "sync_fault"])
def test_it_is_refused_if_the_data_cannot_be_brought_to_disk(tmp_path: Path, fault: str) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        setattr(server.disk, fault, "Input/output error")
        assert shut_down(server, "SAVE") == CANNOT
        assert not server.server.loop.is_stopping
        assert client("GET", "a") == b"1"
        assert shut_down(server, "SAVE", "FORCE") is not CANNOT
        assert server.server.loop.is_stopping


def test_a_child_at_work_does_not_hold_it_up(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        client("BGREWRITEAOF")
        shut_down(server)
        assert server.durability.children.current is None
        assert server.durability.close()
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"1"


def test_an_aof_that_is_not_whole_yet_is_made_whole_first(tmp_path: Path) -> None:
    """appendonly was turned on, and SHUTDOWN was sent before the child had written the base."""
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        client.ask(encode("CONFIG", "SET", "appendonly", "yes") + encode("SHUTDOWN"))
        assert server.durability.close()
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"1"


def test_while_loading_it_ends_at_once_and_leaves_the_files_alone(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        server.client()("SET", "a", "1")
    (increment,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    before = increment.read_bytes()
    with DurableServer(tmp_path, ready=False) as server:
        assert shut_down(server) in (None, CLOSED)
        assert server.server.loop.is_stopping
    assert increment.read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_brings_all_data_to_disk(scratch: Path, number: int) -> None:
    server = start_forebay(scratch, "--appendfsync", "no")
    with server.client() as client:
        for item in range(100):
            client("XADD", "s", "*", "n", item)
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
    server = start_forebay(scratch)
    try:
        with server.client() as client:
            assert client("XLEN", "s") == 100
    finally:
        server.stop()


def test_the_words_for_a_signal_come_from_the_settings(scratch: Path) -> None:
    server = start_forebay(scratch, "--shutdown-on-sigterm", "save", "--appendonly", "no")
    with server.client() as client:
        client("SET", "a", "1")
    assert server.stop() == 0
    assert (scratch / "dump.rdb").exists()
