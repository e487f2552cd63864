"""Replicas that do not read the data they asked for are closed, and no client waits for them.

lazy      asks for all data and reads nothing of it, or nothing of the stream that follows
LARGE     more than the system buffers for a peer that does not read
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forebay.server.replication.full_sync import HIGH_BYTES
from server.tests.support.replicas import assert_same, fill, syncs
from testkit.nodes import Node, wait_for_replicas
from testkit.waiting import wait_until

Start = Callable[..., Node]

LARGE = 20
#: Megabytes that the output of a replica holds and the system does not.
SMALLEST_HELD = 4
#: Megabytes that are written and read quickly without compiled code, too.
PLAIN = {"rdbcompression": "no", "rdbchecksum": "no"}
ASKS = {"psync": b"PSYNC ? -1\r\n", "sync": b"SYNC\r\n"}


def fill_megabytes(node: Node, count: int) -> None:
    with node.control() as client:
        for n in range(count):
            client.insist("SET", f"large-{n}", os.urandom(1 << 20))


@contextmanager
def lazy_replica(primary: Node, ask: str = "psync") -> Iterator[socket.socket]:
    """A client that asks for all data and reads nothing of it."""
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect(primary.address)
        lazy.sendall(b"REPLCONF capa eof\r\n")
        assert lazy.recv(100) == b"+OK\r\n"
        lazy.sendall(ASKS[ask])
        yield lazy


def replicas_of(primary: Node) -> int:
    return int(primary.info("replication")["connected_slaves"])


def wait_for_count(primary: Node, count: int) -> None:
    wait_until(f"{count} replicas", lambda: replicas_of(primary) == count)


def be_patient(primary: Node) -> None:
    """Allow slow replicas: the machine may be busy, and the code not compiled."""
    primary("CONFIG", "SET", "repl-timeout", 60)


def no_copy_is_left(primary: Node) -> None:
    """Whether no child is at work, and no file of a child is left."""
    fork = primary.info("persistence")
    assert fork["rdb_bgsave_in_progress"] == "0"
    assert list(primary.folder.glob("temp-sync-*")) == []


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_a_replica_that_takes_nothing_of_its_copy_is_closed_and_the_next_one_gets_its_own(
    start: Start, diskless: str, ask: str
) -> None:
    primary = start("forebay", repl_diskless_sync=diskless, repl_timeout=1, **PLAIN)
    fill(primary)
    fill_megabytes(primary, LARGE)
    with lazy_replica(primary, ask):
        wait_for_count(primary, 1)
        wait_for_count(primary, 0)
        assert "it has taken nothing of its copy of all data for" in primary.log()
        no_copy_is_left(primary)
        be_patient(primary)
        replica = start("forebay")
        replica.follow(primary)
        assert_same(primary, replica)


def test_replicas_that_share_a_copy_with_one_that_takes_nothing_get_it_when_that_one_is_closed(
    start: Start,
) -> None:
    primary = start("forebay", repl_diskless_sync_delay=600, repl_timeout=1, **PLAIN)
    primary("CONFIG", "SET", "repl-diskless-sync-max-replicas", 2)
    fill(primary)
    fill_megabytes(primary, LARGE)
    replica = start("forebay")
    with lazy_replica(primary):
        wait_for_count(primary, 1)
        replica.follow(primary, wait=False)
        wait_for_count(primary, 2)
        wait_for_count(primary, 1)
        be_patient(primary)
        assert_same(primary, replica)
    assert primary.log().count("Background sync started") == 1
    assert primary.info("stats")["sync_full"] == "2"


def test_the_rest_of_a_copy_that_nobody_takes_does_not_hold_up_the_next_one(start: Start) -> None:
    """With one of these sizes the rest is held back after the child's end; which one may vary."""
    primary = start("forebay", **PLAIN)
    fill_megabytes(primary, SMALLEST_HELD - 1)
    ended = []
    for n in range(SMALLEST_HELD, LARGE):
        primary("SET", f"more-{n}", os.urandom(1 << 20))
        with lazy_replica(primary):
            wait_until("all is written, or nobody goes on", lambda: is_at_rest(primary))
            ended.append(primary.info("persistence")["rdb_bgsave_in_progress"] == "0")
        wait_for_count(primary, 0)
        if not ended[-1]:
            break
    assert ended[0] and not ended[-1], "every size is below, or above, the one that matters"
    replica = start("forebay")
    replica.follow(primary)
    assert_same(primary, replica)


def is_at_rest(primary: Node) -> bool:
    """Whether all the rest is queued for the lazy replica, or so much that the child must wait."""
    with primary.control() as client:
        line = client.insist("CLIENT", "LIST", "TYPE", "replica").decode()
    if primary.info("persistence")["rdb_bgsave_in_progress"] == "0":
        return "state=online" in primary.info("replication").get("slave0", "") or is_held(line)
    pid = primary.log().rpartition("Background sync started by pid ")[2].split()[0]
    child = Path(f"/proc/{pid}/stat")
    return is_held(line) and child.exists() and child.read_text().split()[2] == "S"


def is_held(line: str) -> bool:
    """Whether so much is queued that the pipe of the child is not read any more."""
    facts = dict(word.split("=", 1) for word in line.split())
    return int(facts.get("obl", 0)) > HIGH_BYTES


def test_a_copy_that_is_larger_than_the_output_limit_of_replicas_arrives(start: Start) -> None:
    primary = start("forebay", **PLAIN)
    primary("CONFIG", "SET", "client-output-buffer-limit", "replica 1mb 1mb 60")
    fill(primary)
    fill_megabytes(primary, LARGE)
    replica = start("forebay")
    replica.follow(primary)
    assert_same(primary, replica)
    assert primary.info("stats")["sync_full"] == "1"


def test_a_replica_that_never_reads_the_stream_is_closed_at_its_limit_and_the_others_go_on(
    start: Start,
) -> None:
    primary = start("forebay", repl_backlog_size=16384)
    primary("CONFIG", "SET", "client-output-buffer-limit", "replica 1mb 1mb 60")
    replica = start("forebay")
    replica.follow(primary)
    held = []
    with lazy_replica(primary, "sync"), primary.control() as client:
        wait_for_count(primary, 2)
        for n in range(1000):
            client.insist("XADD", "s", "MAXLEN", 10, "*", "big", "z" * 10_000 + str(n))
            if n % 20 == 0:
                held.append(int(primary.info("memory")["mem_total_replication_buffers"]))
        wait_for_count(primary, 1)
    wait_for_replicas(primary, [replica])
    assert primary.info("stats")["sync_full"] == "2"
    assert "output buffer limit" in primary.log()
    assert 1 << 18 < max(held) < 3 << 20, "kept for the lazy one, and not more than its limit"


def test_what_only_a_lazy_replica_needed_is_let_go_when_it_goes(start: Start) -> None:
    primary = start("forebay", repl_backlog_size=16384, repl_ping_replica_period=600)

    def held() -> int:
        return int(primary.info("memory")["mem_total_replication_buffers"])

    with lazy_replica(primary, "sync"):
        wait_for_count(primary, 1)
        for n in range(20):
            primary("SET", f"k{n}", "z" * 100_000)
        assert held() > 2_000_000
    wait_until("nothing but the backlog is left", lambda: held() < 200_000)


def test_a_replica_that_comes_back_may_ask_for_what_a_lazy_one_needs(start: Start) -> None:
    primary, replica = start("forebay", repl_backlog_size=16384), start("forebay")
    replica.follow(primary)
    link = primary("CLIENT", "LIST", "TYPE", "replica").decode().split()[0].removeprefix("id=")
    with lazy_replica(primary, "sync"):
        wait_for_count(primary, 2)
        replica.pause()
        assert primary("CLIENT", "KILL", "ID", link) == 1
        for n in range(20):
            primary("SET", f"k{n}", "z" * 100_000)
        replica.resume()
        assert_same(primary, replica)
    assert syncs(primary) == (2, 1)


def test_a_replica_may_be_owed_the_whole_backlog_whatever_its_limit_is(start: Start) -> None:
    primary = start("forebay", repl_backlog_size=100 << 20)
    replica = start("forebay")
    primary("CONFIG", "SET", "client-output-buffer-limit", "replica 512kb 0 0")
    replica.follow(primary)
    replica.pause()
    for n in range(20):
        primary("SET", f"k{n}", "z" * 1_000_000)
    assert replicas_of(primary) == 1
    replica.resume()
    assert_same(primary, replica)
    assert syncs(primary) == (1, 0)


def test_a_replica_that_is_never_heard_is_closed_after_its_time(start: Start) -> None:
    primary = start("forebay", repl_timeout=1)
    with lazy_replica(primary):
        wait_for_count(primary, 1)
        wait_for_count(primary, 0)
    assert "not heard for" in primary.log()
