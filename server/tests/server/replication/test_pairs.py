"""A primary and a replica, of both kinds: all state arrives, over every path."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from server.tests.support.replicas import assert_same, cut, fill, fill_newer, syncs
from testkit.cli import redis_cli
from testkit.node_state import difference, read_state
from testkit.nodes import Node, wait_for_replicas
from testkit.oracle import has_idempotency, second_channel
from testkit.resp import RawClient, encode
from testkit.waiting import wait_until

Start = Callable[..., Node]

PAIRS = [("forebay", "forebay"), ("forebay", "redis"), ("redis", "forebay")]


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_all_state_arrives_by_a_copy_and_then_by_the_stream(
    start: Start, first: str, second: str, diskless: str
) -> None:
    primary = start(first, repl_diskless_sync=diskless)
    replica = start(second)
    fill(primary)
    replica("SET", "of-its-own", "gone after the sync")
    replica.follow(primary)
    fill(primary, first=200)
    assert_same(primary, replica)
    assert syncs(primary) == (1, 0)
    assert replica("EXISTS", "of-its-own") == 0


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_link_that_was_cut_goes_on_where_it_was(start: Start, first: str, second: str) -> None:
    primary, replica = start(first), start(second)
    fill(primary)
    replica.follow(primary)
    for round_ in range(1, 4):
        cut(primary)
        fill(primary, first=200 * round_)
        assert_same(primary, replica)
        assert syncs(primary) == (1, round_)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_replica_that_missed_more_than_the_backlog_gets_all_data_again(
    start: Start, first: str, second: str
) -> None:
    primary, replica = start(first, repl_backlog_size=16384), start(second)
    fill(primary)
    replica.follow(primary)
    replica.pause()
    with primary.control() as client:
        client.insist("CLIENT", "KILL", "TYPE", "replica")
        for n in range(300):
            client.insist("XADD", "orders", "*", "big", "y" * 200 + str(n))
    replica.resume()
    assert_same(primary, replica)
    assert syncs(primary)[0] == 2


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_promoted_replica_goes_on_and_its_old_primary_follows_without_a_copy(
    start: Start, first: str, second: str
) -> None:
    old, new = start(first), start(second)
    fill(old)
    new.follow(old)
    wait_for_replicas(old, [new])
    new.lead()
    old.follow(new)
    fill(new, first=200)
    assert_same(new, old)
    assert syncs(new) == (0, 1)


@pytest.mark.parametrize(("first", "second"), PAIRS[1:])
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_all_that_a_peer_holds_comes_through_a_copy_a_cut_and_two_failovers(
    start: Start, first: str, second: str, diskless: str
) -> None:
    of_kind = {
        "redis": second_channel(),
        "forebay": {"rdb-format": "8.6"} if has_idempotency() else {},
    }
    primary = start(first, repl_diskless_sync=diskless, **of_kind[first])
    replica = start(second, **of_kind[second])
    fill(primary)
    fill_newer(primary)
    replica.follow(primary)
    assert_same(primary, replica)
    cut(primary)
    primary("XADD", "orders", "10000-0", "n", 1)
    primary("XREADGROUP", "GROUP", "audit", "eve", "COUNT", 5, "STREAMS", "orders", ">")
    assert_same(primary, replica)
    hand_over(primary, replica)
    replica("XADD", "orders", "10001-0", "n", 1)
    assert_same(replica, primary)
    hand_over(replica, primary)
    assert_same(primary, replica)
    assert (syncs(primary), syncs(replica)) == ((1, 2), (0, 1))
    if has_idempotency():
        primary("XADD", "once", "IDMP", "producer", "first", "*", "n", 1)
        assert primary("XLEN", "once") == 2


def hand_over(old: Node, new: Node) -> None:
    """Run FAILOVER and wait until the old primary follows."""
    online = lambda: "state=online" in old.info("replication").get("slave0", "")  # noqa: E731
    wait_until("the replica is counted", online)
    old("FAILOVER", "TO", *new.address, "TIMEOUT", 60_000)
    wait_until("it leads", lambda: new.info("replication")["role"] == "master")
    wait_until("the old primary follows", old.is_linked)


def test_state_that_only_forebay_holds_reaches_a_forebay(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    with primary.control() as client:
        for n in range(1, 6):
            client.insist("XADD", "s", "IDMP", "producer", f"msg-{n}", "*", "n", n)
        client.insist("XGROUP", "CREATE", "s", "g", "0")
        client.insist("XREADGROUP", "GROUP", "g", "c", "COUNT", 4, "STREAMS", "s", ">")
        (ids,) = [[entry[0] for entry in client.insist("XRANGE", "s", "-", "+")]]
        client.insist("XNACK", "s", "g", "FAIL", "IDS", 2, ids[0], ids[1])
        client.insist("XCFGSET", "s", "IDMP-MAXSIZE", 7)
    replica.follow(primary)
    primary("XADD", "s", "IDMP", "producer", "after", "*", "n", 6)
    primary("XNACK", "s", "g", "FATAL", "IDS", 1, ids[2])
    assert_same(primary, replica)
    full = primary("XINFO", "STREAM", "s", "FULL")
    assert b"nacked-count" in full[full.index(b"groups") + 1][0]
    again = primary("XADD", "s", "IDMP", "producer", "after", "*", "n", 6)
    replica.lead()
    assert replica("XADD", "s", "IDMP", "producer", "after", "*", "n", 6) == again


def test_a_chain_passes_the_stream_on_as_it_is(start: Start) -> None:
    top, middle, end = start("forebay"), start("forebay"), start("redis")
    fill(top)
    middle.follow(top)
    end.follow(middle)
    fill(top, first=200)
    assert_same(top, middle, end)
    cut(top)
    fill(top, first=400)
    assert_same(top, middle, end)
    assert syncs(middle) == (1, 0), "the link further down was not touched"


def test_the_end_of_a_chain_goes_on_after_the_middle_was_promoted(start: Start) -> None:
    top, middle, end = start("forebay"), start("forebay"), start("forebay")
    fill(top)
    middle.follow(top)
    end.follow(middle)
    wait_for_replicas(top, [middle, end])
    middle.lead()
    fill(middle, first=200)
    assert_same(middle, end)
    assert syncs(middle) == (1, 1)


@pytest.mark.parametrize("kind", ["forebay", "redis"])
def test_many_replicas_share_one_copy(start: Start, kind: str) -> None:
    primary = start("forebay", repl_diskless_sync_delay=1)
    fill(primary)
    replicas = [start(kind) for _ in range(3)]
    for replica in replicas:
        replica.follow(primary, wait=False)
    assert_same(primary, *replicas)
    assert primary.log().count("Background sync started") == 1


@pytest.mark.compiled
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_a_copy_of_many_megabytes_arrives_while_the_primary_writes(
    start: Start, diskless: str
) -> None:
    primary = start("forebay", repl_diskless_sync=diskless, rdbcompression="no")
    replica = start("forebay")
    with primary.control() as client:
        for n in range(40):
            client.insist("SET", f"large-{n}", bytes([65 + n % 26]) * (1 << 20))
    replica.follow(primary, wait=False)
    with primary.control() as client:
        for n in range(2000):
            client.insist("XADD", "s", "*", "n", n)
    assert_same(primary, replica)
    assert syncs(primary) == (1, 0)


def test_messages_reach_subscribers_of_a_replica(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with replica.control() as listener:
        assert listener("SUBSCRIBE", "news") == [b"subscribe", b"news", 1]
        primary("PUBLISH", "news", "hello")
        assert listener.read() == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"


def test_a_reader_of_a_replica_is_woken_by_a_write_at_the_primary(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with replica.control() as reader:
        reader.send(encode("XREAD", "BLOCK", 0, "STREAMS", "s", "$"))
        wait_until("a blocked reader", lambda: replica.info("clients")["blocked_clients"] == "1")
        primary("XADD", "s", "7-1", "f", "v")
        assert b"7-1" in reader.read()


def test_redis_cli_takes_a_snapshot_of_a_forebay(start: Start) -> None:
    node, other = start("forebay"), start("redis")
    fill(node)
    path = node.folder / "copy.rdb"
    assert "Transfer finished with success" in redis_cli(node, "--rdb", str(path))
    other.kill()
    (other.folder / "dump.rdb").write_bytes(path.read_bytes())
    other.restart()
    with node.control() as ours, other.control() as theirs:
        assert difference(read_state(ours), read_state(theirs)) == ""


def test_links_are_clients_of_their_own_kind(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)

    def lines(client: RawClient, kind: str) -> list[str]:
        return client.insist("CLIENT", "LIST", "TYPE", kind).decode().splitlines()

    with primary.control() as client:
        (line,) = lines(client, "replica")
        assert " flags=S " in line
        assert lines(client, "master") == []
    with replica.control() as client:
        (line,) = lines(client, "master")
        assert " flags=M " in line
        assert client.insist("CLIENT", "KILL", "TYPE", "master") == 1
    fill(primary)
    assert_same(primary, replica)
    assert syncs(primary) == (1, 1)


@pytest.mark.parametrize("is_transaction", [False, True])
def test_a_message_reaches_a_replica_after_the_writes_before_it(
    start: Start, is_transaction: bool
) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    calls = [encode("INCR", "n"), encode("PUBLISH", "news", "n grew")]
    if is_transaction:
        calls = [encode("MULTI"), *calls, encode("EXEC")]
    with replica.control() as monitor, primary.control() as client:
        monitor("MONITOR")
        client.send(b"".join(calls))
        client.read_many(len(calls))
        seen = [monitor.read().split(b"] ")[1] for _ in range(3)]
    assert seen == [b'"SELECT" "0"\r\n', b'"INCR" "n"\r\n', b'"PUBLISH" "news" "n grew"\r\n']
