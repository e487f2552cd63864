"""A machine dies while a turn of several units is being written to the disk.

Its AOF ends anywhere.  The loaded data must match the position in the stream that the server then
reports: otherwise bytes of the stream would be missed or run twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.tests.support.sim_rig import SimRig
from testkit.replaying import lasting
from testkit.resp import encode
from testkit.sim_machine import SimDisk
from testkit.sim_node import SimNode

INCREMENT = ".incr.aof"
#: The commands of one turn of the primary, and so of its replica: six units.
TURN = (
    ("SET", "a", "1"),
    ("INCR", "n"),
    ("XADD", "s", "*", "f", "v" * 30),
    ("SELECT", "1"),
    ("INCR", "n"),
    ("MULTI",),
    ("INCR", "n"),
    ("APPEND", "text", "x"),
    ("EXEC",),
    ("SELECT", "0"),
    ("INCR", "n"),
)


@pytest.fixture
def rig() -> Iterator[SimRig]:
    """A primary and its replica."""
    rig = SimRig(2, appendfsync="always")
    primary, replica = rig.nodes
    primary.start()
    replica.start(primary.address)
    rig.settle()
    yield rig
    rig.close()


def run_turn(rig: SimRig) -> None:
    """Run all of them in one turn of the primary, and then of its replica."""
    primary = rig.nodes[0]
    primary.client().send_raw(b"".join(encode(*words) for words in TURN))
    primary.turn()
    rig.settle()


def increment_of(node: SimNode) -> str:
    """The current increment of a node's AOF."""
    return max(path for path in node.disk.files() if path.endswith(INCREMENT))


def restart_with(node: SimNode, files: dict[str, bytes], rig: SimRig) -> None:
    """The node dies, and starts again with these files, without a network."""
    node.kill()
    node.disk = SimDisk(files)
    rig.network.isolated = {node.address}
    primary = rig.nodes[0]
    node.start(None if node is primary else primary.address)
    rig.until(lambda: node.is_ready)


def known_place(node: SimNode) -> tuple[str, int]:
    """The stream and position of its data; for a former primary, the stream before its new one."""
    history = node.replication.side.history
    return history.oldest_name(), history.offset


@pytest.mark.parametrize("number", [0, 1], ids=["primary", "replica"])
def test_an_aof_that_ends_anywhere_holds_the_data_of_the_place_that_it_names(
    rig: SimRig, number: int
) -> None:
    node = rig.nodes[number]
    states, sizes = {}, []
    for _ in range(2):
        run_turn(rig)
        states[node.place] = lasting(node.engine.keyspace)
        sizes.append(node.disk.size(increment_of(node)))
    files, path = node.disk.files(), increment_of(node)
    for size in range(sizes[0], sizes[-1] + 1):
        restart_with(node, files | {path: files[path][:size]}, rig)
        assert known_place(node) in states, size
        assert lasting(node.engine.keyspace) == states[known_place(node)], size
    # The last cut was none: everything is there.
    assert lasting(node.engine.keyspace) == list(states.values())[-1]


@pytest.mark.parametrize("sixths", range(1, 6))
def test_a_replica_that_lost_the_end_of_a_turn_goes_on_without_a_full_sync(
    rig: SimRig, sixths: int
) -> None:
    primary, replica = rig.nodes
    run_turn(rig)
    start = replica.disk.size(increment_of(replica))
    run_turn(rig)
    files, path = replica.disk.files(), increment_of(replica)
    size = start + (len(files[path]) - start) * sixths // 6
    before = primary.engine.stats.full_syncs
    restart_with(replica, files | {path: files[path][:size]}, rig)
    rig.network.isolated = set()
    rig.settle()
    assert lasting(replica.engine.keyspace) == lasting(primary.engine.keyspace)
    assert primary.engine.stats.full_syncs == before
