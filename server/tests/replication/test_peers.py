"""Replicas as their primary counts them."""

from __future__ import annotations

from forebay.replication.peers import ONLINE, TRANSFER, Peer, Peers


def peers(*acked: int) -> Peers:
    found = Peers()
    for number, offset in enumerate(acked):
        peer = Peer(number, "127.0.0.1")
        peer.state = ONLINE
        peer.position = 1000
        peer.hear(offset, offset // 2, 5000)
        found.add(peer)
    return found


def test_only_replicas_that_have_applied_enough_count() -> None:
    found = peers(100, 200, 300)
    assert [found.count_acked(n) for n in (0, 100, 101, 300, 301)] == [3, 3, 2, 1, 0]
    assert [found.count_synced(n) for n in (50, 51, 150, 151)] == [3, 2, 1, 0]


def test_a_replica_that_is_being_copied_to_counts_for_nothing() -> None:
    found = peers(100)
    (peer,) = found
    peer.state = TRANSFER
    assert (found.count_acked(0), found.count_good(5000, 10)) == (0, 0)


def test_a_replica_that_was_silent_for_too_long_is_not_good() -> None:
    found = peers(100)
    assert found.count_good(15_000, 10) == 1
    assert found.count_good(16_000, 10) == 0


def test_an_acknowledgement_never_goes_back() -> None:
    (peer,) = peers(100)
    peer.hear(50, 0, 6000)
    assert (peer.acked, peer.synced, peer.heard_ms) == (100, 50, 6000)


def test_the_stream_is_needed_from_where_the_slowest_replica_is() -> None:
    found = peers(1, 2)
    first, second = found
    first.position, second.position = 700, 500
    assert found.needed(1000) == 500
    second.rdb_only = True
    assert found.needed(1000) == 700
    found.remove(first)
    assert found.needed(1000) == 1000


def test_an_announced_address_is_what_others_are_told() -> None:
    peer = Peer(1, "10.0.0.1")
    peer.port = 6380
    assert peer.address == ("10.0.0.1", 6380)
    peer.announced_host = "db.example"
    assert peer.address == ("db.example", 6380)
