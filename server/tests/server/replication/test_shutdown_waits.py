"""SHUTDOWN waits until replicas have everything: writes wait, and so does the caller."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from testkit.nodes import Node, wait_for_replicas
from testkit.resp import RawClient, encode
from testkit.waiting import wait_until

Start = Callable[..., Node]

LONG_S = 600
FAILED = b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"


def pair_that_lags(start: Start, timeout_s: int = LONG_S) -> tuple[Node, Node]:
    """A primary, and a paused replica that lacks a write."""
    primary, replica = start("forebay", shutdown_timeout=timeout_s), start("forebay")
    replica.follow(primary)
    primary("SET", "k", "1")
    wait_for_replicas(primary, [replica])
    replica.pause()
    primary("INCR", "k")
    return primary, replica


def waits(primary: Node) -> bool:
    return "shutdown_in_milliseconds" in primary.info("server")


def ask(client: RawClient, primary: Node) -> None:
    client.send(encode("SHUTDOWN"))
    wait_until("it waits for its replica", lambda: waits(primary))


def by_command(primary: Node) -> RawClient | None:
    client = primary.control()
    ask(client, primary)
    return client


def by_signal(primary: Node) -> RawClient | None:
    primary.server.process.send_signal(signal.SIGTERM)
    wait_until("it waits for its replica", lambda: waits(primary))
    return None


@pytest.mark.parametrize("asked", [by_command, by_signal])
def test_a_replica_gets_the_last_write_before_its_primary_ends(
    start: Start, asked: Callable[[Node], RawClient | None]
) -> None:
    primary, replica = pair_that_lags(start)
    client = asked(primary)
    replica.resume()
    assert primary.server.process.wait(30) == 0
    wait_until("the write is there", lambda: replica("GET", "k") == b"2")
    assert "1 of 1 replicas are in sync" in primary.log()
    if client is not None:
        assert client.closed()
        client.close()


def test_writes_wait_and_reads_do_not(start: Start) -> None:
    primary, replica = pair_that_lags(start)
    with primary.control() as asker, primary.control() as writer, primary.control() as reader:
        ask(asker, primary)
        writer.send(encode("SET", "late", "1"))
        wait_until("two wait", lambda: primary.info("clients")["blocked_clients"] == "2")
        assert reader("GET", "k") == b"2"
        assert reader("EXISTS", "late") == 0
        assert reader("SHUTDOWN", "ABORT") == "OK"
        assert asker.read() == FAILED
        assert writer.read() == b"+OK\r\n"
        assert asker("PING") == "PONG"
    replica.resume()
    wait_for_replicas(primary, [replica])
    assert replica("GET", "late") == b"1"
    assert "Shutdown manually aborted" in primary.log()


def test_a_signal_after_an_abort_is_a_first_one(start: Start) -> None:
    primary, replica = pair_that_lags(start)
    by_signal(primary)
    assert primary("SHUTDOWN", "ABORT") == "OK"
    by_signal(primary)
    replica.resume()
    assert primary.server.process.wait(30) == 0


def test_a_replica_that_never_comes_is_waited_for_until_the_time_is_up(start: Start) -> None:
    primary, _ = pair_that_lags(start, timeout_s=1)
    with primary.control() as client:
        client.send(encode("SHUTDOWN"))
        assert primary.server.process.wait(30) == 0
    assert "Lagging replica" in primary.log()
    assert "0 of 1 replicas are in sync" in primary.log()


def test_now_does_not_wait_even_if_another_does(start: Start) -> None:
    primary, _ = pair_that_lags(start)
    with primary.control() as asker, primary.control() as client:
        ask(asker, primary)
        client.send(encode("SHUTDOWN", "NOW"))
        assert primary.server.process.wait(30) == 0


def test_several_may_ask_and_all_hear_that_the_disk_refused(start: Start) -> None:
    primary, replica = pair_that_lags(start)
    with primary.control() as first, primary.control() as second:
        primary("CONFIG", "SET", "save", "3600 1", "stop-writes-on-bgsave-error", "no")
        (primary.folder / "dump.rdb").mkdir()
        ask(first, primary)
        second.send(encode("SHUTDOWN"))
        wait_until("two wait", lambda: primary.info("clients")["blocked_clients"] == "2")
        replica.resume()
        assert [first.read(), second.read()] == [FAILED, FAILED]
        assert first("INCR", "k") == 3
    wait_for_replicas(primary, [replica])
    assert not waits(primary)


def test_there_is_nothing_to_abort_where_nothing_ends(start: Start) -> None:
    with start("forebay").control() as client:
        assert str(client("SHUTDOWN", "ABORT")) == "ERR No shutdown in progress."
