"""Rare moments that real servers do not reach on purpose; the simulation (R24) found them."""

from __future__ import annotations

import pytest

from forebay.replication.peers import ONLINE, TRANSFER
from server.tests.support.sim_rig import MakeRig, SimRig, chain
from testkit.sim_machine import SimDisk


def full_syncs(rig: SimRig) -> int:
    return sum(node.engine.stats.full_syncs for node in rig.nodes if node.is_alive)


def test_a_turn_that_ends_with_a_ping_notes_its_place_in_the_aof(make_rig: MakeRig) -> None:
    rig = make_rig(2, repl_ping_period_s=1)
    primary, replica = chain(rig)
    side, client = primary.replication.side, primary.client()
    pinged_ms = side.pinged_ms
    while side.pinged_ms == pinged_ms:
        rig.time.pass_ms(100)
        client("SET", "k", "v")
    primary.kill()
    primary.start(replica.address)
    rig.until(lambda: primary.is_ready)
    assert primary.replication.replica.knows_place


def test_a_base_of_commands_says_where_in_the_stream_it_is(make_rig: MakeRig) -> None:
    rig = make_rig(2, aof_use_rdb_preamble=False)
    primary, replica = chain(rig)
    primary.client()("SET", "k", "v")
    rig.settle()
    replica.client()("BGREWRITEAOF")
    rig.until(lambda: replica.durability.rewrite_job.done == 1)
    replica.kill()
    replica.start(primary.address)
    before = full_syncs(rig)
    rig.settle()
    assert full_syncs(rig) == before


def test_a_replica_is_not_taken_back_by_one_that_is_behind(make_rig: MakeRig) -> None:
    rig = make_rig(3, repl_timeout_s=5)
    primary, first, second = rig.nodes
    primary.start()
    first.start(primary.address)
    second.start(primary.address)
    rig.settle()
    for wire in rig.network.of(first.address):
        wire.is_silent = True
    primary.client()("SET", "k", "v")
    rig.until(lambda: second.place == primary.place)
    before = full_syncs(rig)
    second.client()("REPLICAOF", *map(str, first.address))
    rig.rounds(10)
    assert second.place == primary.place
    assert "behind you" in second.replication.replica.last_error
    rig.settle()
    assert second.replication.replica.state == "connected"
    assert full_syncs(rig) == before


def test_a_replica_notes_the_new_name_of_its_stream(make_rig: MakeRig) -> None:
    rig = make_rig(3, repl_ping_period_s=1)
    primary, first, second = chain(rig)
    primary.client()("SET", "k", "v")
    rig.settle()
    for leader in (first, second):
        others = [node for node in rig.nodes if node is not leader]
        leader.client()("REPLICAOF", "NO", "ONE")
        for node in others:
            node.client()("REPLICAOF", *map(str, leader.address))
        # Pings are bytes of the stream, though nothing for an AOF.
        rig.rounds(30)
        rig.settle()
    primary.kill()
    primary.start(second.address)
    before = full_syncs(rig)
    rig.settle()
    assert full_syncs(rig) == before


@pytest.mark.parametrize("words", [("WAIT", 1, 100), ("WAITAOF", 0, 1, 100)])
def test_a_replica_whose_copy_is_still_on_its_way_confirms_nothing(
    make_rig: MakeRig, words: tuple[str | int, ...]
) -> None:
    rig = make_rig(2)
    primary, replica = rig.nodes
    primary.start()
    rig.settle()
    client = primary.client()
    replica.start(primary.address)
    client("SET", "k", "v")
    while [peer.state for peer in primary.replication.side.peers] != [ONLINE]:
        for wire in list(rig.network.wires):
            rig.network.carry(wire, 200)
        rig.time.pass_ms(100)
        replica.turn()
        primary.turn()
        primary.children.step(1 << 20)
    assert not replica.engine.keyspace.databases[0].values
    assert client(*words) is None
    rig.time.pass_ms(200)
    primary.turn()
    (reply,) = client.replies()
    assert reply.endswith(b":0\r\n")


@pytest.mark.parametrize("diskless", [True, False])
def test_a_replica_that_takes_nothing_more_of_its_copy_is_given_up(
    make_rig: MakeRig, diskless: bool
) -> None:
    rig = make_rig(
        2, repl_timeout_s=5, repl_diskless_sync=diskless, rdbcompression=False, rdbchecksum=False
    )
    rig.network.send_bytes = 4608
    primary, replica = rig.nodes
    primary.start()
    rig.settle()
    assert primary.client()("SETRANGE", "k", 12_000_000, "v") == 12_000_001
    replica.start(primary.address)
    side = primary.replication.side
    rig.until(lambda: [peer.state for peer in side.peers] == [TRANSFER])
    # The machine of the replica is gone, and the primary is not told.
    (wire,) = rig.network.wires
    wire.is_silent = True
    replica.kill()
    rig.rounds(70)
    assert not side.feeds
    assert not primary.durability.job
    rig.network.send_bytes = 0
    replica.start(primary.address)
    rig.settle()


def test_the_role_is_not_handed_to_a_replica_that_has_lost_its_data(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = chain(rig)
    old_files = replica.disk.files()
    client = primary.client()
    client("SET", "k", "v")
    rig.settle()
    client("FAILOVER")
    rig.until(lambda: primary.replication.is_replica)
    replica.kill()
    replica.disk = SimDisk(old_files)
    replica.start(primary.address)
    rig.until(lambda: not primary.replication.is_replica)
    rig.settle()
    assert client("GET", "k") == b"v"
    assert replica.engine.keyspace.databases[0].values == {b"k": b"v"}


def test_replicas_hear_of_a_turn_in_which_the_disk_is_well_again(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = chain(rig)
    primary.client()("SET", "brief", "v", "PX", "500")
    rig.settle()
    primary.disk.room = 0
    primary.client()("SET", "k", "v")
    assert primary.durability.live.trouble
    # In one turn: an expired key is found, and the failed write is tried again.
    primary.disk.room = None
    rig.time.pass_ms(1100)
    assert primary.client()("GET", "brief") is None
    assert not primary.durability.live.trouble
    rig.settle()
    assert replica.engine.keyspace.databases[0].values == {b"k": b"v"}


def test_a_server_whose_last_snapshot_failed_tries_again_though_nothing_can_change(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(1, appendonly=False, save_points=((1, 1),))
    (node,) = rig.nodes
    node.start()
    rig.settle()
    client = node.client()
    node.disk.room = 0
    client("SAVE")
    assert str(client("SET", "k", "v")).startswith("MISCONF")
    node.disk.room = None
    rig.rounds(70)
    assert client("SET", "k", "v") == "OK"
