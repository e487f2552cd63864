"""Nodes, networks and Sentinels of the harness, with real redis-servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from testkit.network import Namespaces, Network, Proxies, has_namespaces
from testkit.node_state import difference, read_state
from testkit.nodes import Node, nodes_in, wait_for_replicas
from testkit.random_keyspace import fill
from testkit.resp import RawClient
from testkit.sentinels import Sentinels
from testkit.waiting import wait_until

pytestmark = [pytest.mark.oracle, pytest.mark.compiled]

SEED = 20261120


def state_of(node: Node):
    return node.ask(read_state)


def test_a_node_lives_several_times_on_one_folder(scratch: Path) -> None:
    with nodes_in(scratch) as start:
        node = start("redis", appendonly="yes", appendfsync="always")
        address, run_id = node.address, node.info("server")["run_id"]
        assert node("XADD", "s", "1-1", "f", "v") == b"1-1"
        node("CONFIG", "SET", "maxclients", "123")
        node("CONFIG", "REWRITE")
        node.pause()
        with node.client(timeout_s=0.05) as client, pytest.raises(TimeoutError):
            client("PING")
        node.resume()
        assert node("PING") == "PONG"
        node.kill()
        assert not node.alive()
        node.restart()
        assert node.address == address
        assert node.info("server")["run_id"] != run_id
        assert node("XLEN", "s") == 1
        assert node("CONFIG", "GET", "maxclients") == [b"maxclients", b"123"]
        assert (scratch / "0-redis" / "log.1").exists()
    assert not node.alive()


def test_a_question_is_asked_again_if_the_node_closes_its_clients(scratch: Path) -> None:
    with nodes_in(scratch) as start:
        node, asked = start("redis"), 0

        def question(client: RawClient) -> object:
            nonlocal asked
            asked += 1
            if asked < 3:
                node("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            return client("PING")

        assert node.ask(question) == "PONG"
        assert asked == 3
        node.kill()
        with pytest.raises(OSError):
            node.ask(question)


def test_states_are_equal_when_a_replica_has_caught_up_and_only_then(scratch: Path) -> None:
    with nodes_in(scratch) as start:
        primary, replica = start("redis"), start("redis")
        with primary.control() as client:
            fill(client, Random(SEED), keys=40)
        replica.follow(primary)
        wait_for_replicas(primary, [replica])
        assert difference(state_of(primary), state_of(replica)) == ""
        replica.lead()
        with primary.control() as client:
            fill(client, Random(SEED + 1), keys=5)
        assert difference(state_of(primary), state_of(replica)) != ""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("XADD s 9-9 f v", "entries: 4 and 3 items"),
        ("XGROUP CREATE s other 0", "groups: [b'g', b'other'], [b'g']"),
        ("XGROUP CREATECONSUMER s g carol", "consumers: [b'ann', b'carol'], [b'ann']"),
        ("XGROUP SETID s g 3-0 ENTRIESREAD 2", "last-delivered-id: b'3-0', b'2-0'"),
        ("XGROUP SETID s g 2-0 ENTRIESREAD 7", "entries-read: 7, 2"),
        ("XACK s g 1-0", "pel-count: 1, 2"),
        ("XCLAIM s g ann 0 1-0 RETRYCOUNT 9 TIME 77 JUSTID", "pending: 2 and 2 items"),
        ("XDEL s 3-0", "entries: 2 and 3 items"),
        ("XSETID s 5-0 MAXDELETEDID 1-5", "last-generated-id: b'5-0', b'3-0'"),
        ("PEXPIREAT s 4000000000000", "stream until 4000000000000, stream until -1"),
        ("SADD t b", "[b'a', b'b'], [b'a']"),
        ("SET u 1", "1 keys are on one side only"),
    ],
)
def test_a_difference_is_told_in_words(redis_server, command: str, told: str) -> None:
    with redis_server.client(unix=True) as client:
        for number in (1, 2, 3):
            client.insist("XADD", "s", f"{number}-0", "f", "v")
        client.insist("XGROUP", "CREATE", "s", "g", "0")
        client.insist("XREADGROUP", "GROUP", "g", "ann", "COUNT", 2, "STREAMS", "s", ">")
        client.insist("SADD", "t", "a")
        before = read_state(client)
        client.insist(*command.split())
        assert told in difference(read_state(client), before)
        assert difference(before, before) == ""


def test_a_delivery_time_may_be_a_little_off_if_redis_took_it_in(redis_server) -> None:
    with redis_server.client(unix=True) as client:
        client.insist("XADD", "s", "1-0", "f", "v")
        client.insist("XGROUP", "CREATE", "s", "g", "0")
        states = []
        for time_ms, count in ((500_000, 1), (500_040, 1), (502_000, 1), (500_000, 2)):
            claim = ("XCLAIM", "s", "g", "ann", 0, "1-0", "TIME", time_ms, "RETRYCOUNT", count)
            client.insist(*claim, "FORCE")
            states.append(read_state(client))
    first, near, far, counted = states
    assert "pending: 1 and 1 items" in difference(first, near)
    assert difference(first, near, told_by_redis=True) == ""
    assert "pending: 1 and 1 items" in difference(first, far, told_by_redis=True)
    assert "pending: 1 and 1 items" in difference(first, counted, told_by_redis=True)


def test_what_redis_does_not_tell_its_replicas_can_be_left_out(redis_server) -> None:
    with redis_server.client(unix=True) as client:
        client.insist("XADD", "s", "1-0", "f", "v")
        client.insist("XGROUP", "CREATE", "s", "g", "0")
        before = read_state(client)
        client.insist("XGROUP", "CREATECONSUMER", "s", "g", "idle")
        client.insist("XGROUP", "SETID", "s", "g", "0", "ENTRIESREAD", "1")
        after = read_state(client)
        assert difference(before, after) != ""
        assert difference(before, after, told_by_redis=True) == ""
        client.insist("XGROUP", "DESTROY", "s", "g")
        assert difference(before, read_state(client), told_by_redis=True) != ""


@pytest.fixture(params=[Proxies, Namespaces], ids=lambda kind: kind.name)
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    if request.param is Namespaces and not has_namespaces():
        pytest.skip("network namespaces may not be made here")
    network: Network = request.param()
    yield network
    network.close()


def test_an_isolated_node_is_silent_until_it_is_healed(scratch: Path, network: Network) -> None:
    with nodes_in(scratch) as start:
        node = start("redis", network.place())
        with node.client(timeout_s=0.05) as before:
            assert before("PING") == "PONG"
            network.isolate(node.place)
            with pytest.raises(TimeoutError):
                before("PING")
            assert node("PING") == "PONG"
            network.heal(node.place)
            before.socket.settimeout(20)
            assert before.read() == b"+PONG\r\n"  # bytes that were held arrive now
            with node.client() as after:
                assert after("PING") == "PONG"


def test_an_isolated_replica_is_seen_from_both_sides(scratch: Path, network: Network) -> None:
    with nodes_in(scratch) as start:
        primary = start("redis", network.place(), repl_timeout=2, repl_ping_replica_period=1)
        replica = start("redis", network.place(), repl_timeout=2)
        replica.follow(primary)
        network.isolate(primary.place)
        wait_until("the link is seen to be down", lambda: not replica.is_linked())
        primary("SET", "k", "v")
        network.heal(primary.place)
        wait_for_replicas(primary, [replica])
        assert replica("GET", "k") == b"v"
        assert primary.info("stats")["sync_full"] == "1"


def test_three_sentinels_promote_a_replica_and_take_the_old_primary_back(scratch: Path) -> None:
    with nodes_in(scratch) as start, Sentinels(scratch) as sentinels:
        nodes = [start("redis") for _ in range(3)]
        for replica in nodes[1:]:
            replica.follow(nodes[0])
        sentinels.monitor("orders", nodes[0].address)
        sentinels.wait_until_known("orders", replicas=2)
        assert {sentinels.primary_of("orders", n) for n in range(3)} == {nodes[0].address}
        mark = sentinels.mark()
        nodes[0].kill()
        switch = sentinels.wait_for("+switch-master", mark, text="orders ")
        new = next(node for node in nodes[1:] if str(node.address[1]) == switch.text.split()[-1])
        assert new.info("replication")["role"] == "master"
        nodes[0].restart()
        sentinels.wait_until_known("orders", replicas=2)
        assert sentinels.primary_of("orders") == new.address
        wait_for_replicas(new, [node for node in nodes if node is not new])
        with RawClient(new.address) as client:
            client.insist("SET", "k", "v")
            assert client.insist("WAIT", 2, 10_000) == 2
