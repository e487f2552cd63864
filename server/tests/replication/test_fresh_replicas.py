"""Which replicas are fresh enough for min-replicas-to-write."""

from __future__ import annotations

import pytest

from forebay.replication.peers import ONLINE, Peer, Peers

NOW_MS = 5_000_000


@pytest.mark.parametrize(
    ("silent_ms", "max_lag_s", "is_good"),
    [
        (0, 1, True),
        (1400, 1, True),  # it speaks once a second, and may be a little late
        (1600, 1, False),
        (2400, 2, True),
        (2600, 2, False),
    ],
)
def test_a_replica_is_good_while_it_was_heard_not_long_ago(
    silent_ms: int, max_lag_s: int, is_good: bool
) -> None:
    peers = Peers()
    peer = Peer(1, "127.0.0.1")
    peer.state = ONLINE
    peer.hear(0, 0, NOW_MS - silent_ms)
    peers.add(peer)
    assert peers.count_good(NOW_MS, max_lag_s) == is_good
