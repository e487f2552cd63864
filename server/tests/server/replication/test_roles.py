"""What each role may do, and how it describes itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from server.tests.support.replicas import fill
from testkit.nodes import Node, wait_for_replicas
from testkit.resp import ReplyError, encode
from testkit.waiting import wait_until

Start = Callable[..., Node]


def ask(node: Node, *words: str | int) -> object:
    """A reply, errors included."""
    with node.control() as client:
        return client(*words)


def test_a_replica_refuses_writes_and_a_primary_does_not(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    refusal = ReplyError("READONLY You can't write against a read only replica.")
    primary("XADD", "s", "1-1", "f", "v")
    primary("XGROUP", "CREATE", "s", "g", "0")
    wait_for_replicas(primary, [replica])
    assert ask(replica, "XADD", "s", "*", "f", "v") == refusal
    assert ask(replica, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == refusal
    assert ask(replica, "XLEN", "s") == 1
    replica("CONFIG", "SET", "replica-read-only", "no")
    assert ask(replica, "SET", "mine", "1") == "OK"
    assert ask(primary, "EXISTS", "mine") == 0
    replica("CONFIG", "SET", "replica-read-only", "yes")
    assert ask(replica, "SET", "mine", "2") == refusal
    replica.lead()
    assert ask(replica, "SET", "mine", "3") == "OK"


def test_a_transaction_with_a_write_is_refused_on_a_replica(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with replica.control() as client:
        assert client("MULTI") == "OK"
        assert client("GET", "a") == "QUEUED"
        refusal = client("SET", "a", "1")
        assert isinstance(refusal, ReplyError)
        assert str(refusal).startswith("READONLY")
        assert str(client("EXEC")).startswith("EXECABORT")


def test_both_roles_say_who_they_are(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    assert ask(primary, "ROLE") == [b"master", 0, []]
    replica.follow(primary)
    fill(primary)
    wait_for_replicas(primary, [replica])
    host, port = primary.address
    offset = primary.offset()
    assert ask(replica, "ROLE") == [b"slave", host.encode(), port, b"connected", offset]

    def is_counted() -> bool:
        there = [replica.address[0].encode(), b"%d" % replica.address[1], b"%d" % primary.offset()]
        return ask(primary, "ROLE") == [b"master", primary.offset(), [there]]

    wait_until("the primary knows how far its replica is", is_counted)
    line = primary.info("replication")["slave0"]
    assert line.startswith(f"ip={replica.address[0]},port={replica.address[1]},state=online,")


def test_following_the_same_primary_again_changes_nothing(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    host, port = primary.address
    assert ask(replica, "REPLICAOF", host, port) == "OK Already connected to specified master"
    assert ask(replica, "SLAVEOF", host, port) == "OK Already connected to specified master"
    assert ask(primary, "REPLICAOF", "NO", "ONE") == "OK"
    assert ask(primary, "INFO", "replication")


@pytest.mark.parametrize("port", ["x", "-1", "70000"])
def test_a_port_that_is_none_is_refused(start: Start, port: str) -> None:
    node = start("forebay")
    assert ask(node, "REPLICAOF", "127.0.0.1", port) == ReplyError("ERR Invalid master port")
    assert node.info("replication")["role"] == "master"


def test_a_replica_that_may_not_serve_old_data_says_so_while_its_primary_is_away(
    start: Start,
) -> None:
    primary, replica = start("forebay"), start("forebay", replica_serve_stale_data="no")
    primary("SET", "a", "1")
    replica.follow(primary)
    wait_for_replicas(primary, [replica])
    assert ask(replica, "GET", "a") == b"1"
    primary.kill()
    away = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
    wait_until("old data is refused", lambda: ask(replica, "GET", "a") == ReplyError(away))
    assert ask(replica, "PING") == ReplyError(away)
    assert replica.info("replication")["master_link_status"] == "down"
    primary.restart()
    wait_until("the link is up again", replica.is_linked)


def test_writes_need_as_many_replicas_as_the_operator_says(start: Start) -> None:
    primary = start("forebay", min_replicas_to_write=1, min_replicas_max_lag=10)
    too_few = ReplyError("NOREPLICAS Not enough good replicas to write.")
    assert ask(primary, "SET", "a", "1") == too_few
    assert ask(primary, "GET", "a") is None
    replica = start("forebay")
    replica.follow(primary)
    wait_until("a good replica", lambda: ask(primary, "SET", "a", "1") == "OK")
    assert primary.info("replication")["min_slaves_good_slaves"] == "1"
    replica.kill()
    wait_until("too few again", lambda: ask(primary, "SET", "a", "2") == too_few)


def test_a_client_that_waits_is_let_go_when_the_role_changes(start: Start) -> None:
    primary, node = start("forebay"), start("forebay")
    with node.control() as reader:
        reader.send(encode("XREAD", "BLOCK", 0, "STREAMS", "s", "$"))
        wait_until("it waits", lambda: node.info("clients")["blocked_clients"] == "1")
        node.follow(primary, wait=False)
        assert reader.read() == (
            b"-UNBLOCKED force unblock from blocking operation, instance state changed "
            b"(master -> replica?)\r\n"
        )
        assert reader.closed()


def test_the_transaction_of_sentinel_is_run_whole_and_its_sender_is_answered(
    start: Start,
) -> None:
    primary, node = start("forebay"), start("forebay")
    host, port = primary.address
    with node.client() as sender, node.client() as bystander:
        assert bystander("PING") == "PONG"
        lines = [
            ("MULTI",),
            ("SLAVEOF", host, port),
            ("CONFIG", "REWRITE"),
            ("CLIENT", "KILL", "TYPE", "normal"),
            ("CLIENT", "KILL", "TYPE", "pubsub"),
            ("EXEC",),
        ]
        sender.send(b"".join(encode(*line) for line in lines))
        assert sender.read() == b"+OK\r\n"
        assert [sender.read() for _ in lines[1:-1]] == [b"+QUEUED\r\n"] * 4
        assert sender.read() == b"*4\r\n+OK\r\n+OK\r\n:1\r\n:0\r\n"
        assert sender("ROLE")[0] == b"slave"
        assert bystander.closed()
    assert f"replicaof {host} {port}" in (node.folder / "node.conf").read_text()


def test_a_rewritten_configuration_keeps_comments_and_knows_the_primary(start: Start) -> None:
    primary, node = start("forebay"), start("forebay")
    path = node.folder / "node.conf"
    node.kill()
    path.write_text("# who we are\n" + path.read_text() + "# the end\n")
    node.restart()
    node.follow(primary)
    node("CONFIG", "REWRITE")
    text = path.read_text()
    assert text.startswith("# who we are\n")
    assert "# the end\n" in text
    node.kill()
    node.restart()
    wait_until("it follows after a restart", node.is_linked)
    node.lead()
    node("CONFIG", "REWRITE")
    assert "replicaof" not in path.read_text()


def test_an_expired_key_is_gone_for_readers_of_a_replica_and_deleted_by_the_primary(
    start: Start,
) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    primary("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    primary("SET", "a", "1", "PX", "20")
    primary("SET", "b", "2")
    wait_for_replicas(primary, [replica])
    wait_until("it has expired for readers", lambda: ask(replica, "GET", "a") is None)
    assert ask(replica, "DBSIZE") == 2
    assert ask(primary, "GET", "a") is None
    wait_for_replicas(primary, [replica])
    assert ask(replica, "DBSIZE") == 1


def test_the_role_is_handed_over_without_a_copy_and_without_a_lost_write(start: Start) -> None:
    old, new = start("forebay"), start("forebay")
    fill(old)
    new.follow(old)
    assert ask(old, "FAILOVER", "TO", "127.0.0.1", 1) == ReplyError(
        "ERR FAILOVER target HOST and PORT is not a replica."
    )
    assert ask(old, "FAILOVER", "ABORT") == ReplyError("ERR No failover in progress.")
    assert ask(old, "FAILOVER") == "OK"
    wait_until("the roles have changed", old.is_linked)
    assert new.info("replication")["role"] == "master"
    state = "master_failover_state"
    wait_until("it is over", lambda: old.info("replication")[state] == "no-failover")
    new("XADD", "orders", "*", "f", "v")
    wait_for_replicas(new, [old])
    assert ask(old, "XLEN", "orders") == ask(new, "XLEN", "orders")
    assert new.info("stats")["sync_full"] == "0"


def test_a_handover_needs_a_replica_and_can_be_given_up(start: Start) -> None:
    node, replica = start("forebay"), start("forebay")
    assert ask(node, "FAILOVER") == ReplyError("ERR FAILOVER requires connected replicas.")
    replica.follow(node)
    assert ask(replica, "FAILOVER") == ReplyError(
        "ERR FAILOVER is not valid when server is a replica."
    )
    replica.pause()
    node("SET", "a", "1")
    assert ask(node, "FAILOVER", "TIMEOUT", 60000) == "OK"
    assert node.info("replication")["master_failover_state"] == "waiting-for-sync"
    assert ask(node, "FAILOVER") == ReplyError("ERR FAILOVER already in progress.")
    assert ask(node, "FAILOVER", "ABORT") == "OK"
    assert ask(node, "SET", "a", "2") == "OK"
    replica.resume()
    wait_for_replicas(node, [replica])


def test_questions_of_links_are_refused_in_the_words_of_redis(start: Start) -> None:
    node = start("forebay")
    assert ask(node, "REPLCONF", "capa") == ReplyError("ERR syntax error")
    assert ask(node, "REPLCONF", "nonsense", "1") == ReplyError(
        "ERR Unrecognized REPLCONF option: nonsense"
    )
    assert ask(node, "REPLCONF", "capa", "eof", "capa", "whatever") == "OK"
    assert ask(node, "PSYNC", "?", "x") == ReplyError("ERR value is not an integer or out of range")
    replica = start("forebay")
    replica("REPLICAOF", "127.0.0.1", 1)
    assert ask(replica, "SYNC") == ReplyError(
        "NOMASTERLINK Can't SYNC while not connected with my master"
    )
