"""An existing backup is whole: kill -9 and power loss at any moment, full disks, restarts.

Without its manifest a backup does not exist.  With it, a fresh server finds exactly the data at
the moment of the seal, whatever happened to the server that made it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.commands.admin.digest import keyspace_digest
from forebay.persistence.files import join
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import Recovery
from testkit.resp import RawClient, ReplyError
from testkit.servers import ServerProcess, start_forebay
from testkit.sim_machine import Time
from testkit.sim_network import Network
from testkit.sim_node import SimClient, SimNode

MANIFEST = "appendonly.aof.manifest"
ACCIDENTS = 600 if forebay.compiled() else 150
KILLS = 8 if forebay.compiled() else 3


NewNode = Callable[[bool], SimNode]


@pytest.fixture
def new_node() -> Iterator[NewNode]:
    """Makes servers on simulated machines; they are removed after the test."""
    nodes: list[SimNode] = []

    def make(appendonly: bool) -> SimNode:
        nodes.append(started_node(appendonly))
        return nodes[-1]

    yield make
    for node in nodes:
        node.kill()


def started_node(appendonly: bool) -> SimNode:
    settings = {"appendonly": appendonly, "appendfsync": "always"}
    node = SimNode("data", ("10.0.0.1", 6379), Time(), Network(), Random(1), settings)
    node.start()
    while not node.is_ready:
        node.turn()
    return node


def state_of(client: SimClient) -> bytes:
    reply: list[bytes] = client("BACKUP", "STATUS")
    return reply[1]


def go_on(node: SimNode, client: SimClient, state: bytes) -> None:
    """Let the child, the thread and the clock advance."""
    for _ in range(100):
        if state_of(client) == state:
            return
        node.children.step(1 << 30)
        node.syncer.step()
        node.clock.time.pass_ms(100)
    raise AssertionError(f"the backup is {state_of(client)!r}, not {state!r}")


def digest(node: SimNode) -> bytes:
    return keyspace_digest(node.engine.keyspace)


def sealed_backup(node: SimNode) -> bytes:
    """Some data, a backup, more data; returns the digest at the seal."""
    client = node.client()
    for n in range(1, 30):
        client("XADD", "s", f"{n}-0", "f", "v" * 300)
    client("BACKUP", "START")
    client("XGROUP", "CREATE", "s", "g", "0")
    go_on(node, client, b"incrementing")
    for n in range(30, 60):
        client("XADD", "s", f"{n}-0", "f", "v" * 300)
        client("XREADGROUP", "GROUP", "g", "c", "COUNT", "2", "STREAMS", "s", ">")
    sealed = digest(node)
    assert client("BACKUP", "SEAL") == "OK"
    for n in range(60, 70):
        client("XADD", "s", f"{n}-0", "f", "v" * 300)
    go_on(node, client, b"sealed")
    return sealed


@pytest.mark.parametrize("appendonly", [True, False])
def test_power_loss_leaves_a_whole_backup_or_none(new_node: NewNode, appendonly: bool) -> None:
    node, dice = new_node(appendonly), Random(3)
    sealed = sealed_backup(node)
    operations, found = len(node.disk.trace), 0
    for _ in range(ACCIDENTS):
        files = node.disk.survivors(dice.randint(1, operations), dice)
        if join("/data/backupdir", MANIFEST) not in files:
            continue
        found += 1
        loaded = Recovery(ForgetfulDisk(files), "/data/backupdir", truncated_ok=False).run()
        assert keyspace_digest(loaded.keyspace) == sealed
    assert found > ACCIDENTS // 100


def test_a_disk_that_is_full_fails_the_backup_and_not_the_server(new_node: NewNode) -> None:
    node = new_node(False)
    disk = node.disk
    client = node.client()
    client("SET", "k", "v" * 1000)
    client("BACKUP", "START")
    disk.room = 10
    go_on(node, client, b"failed")
    disk.room = None
    assert client("SET", "k", "other") == "OK"
    assert client("BACKUP", "CLEANUP") == "OK"
    client("BACKUP", "START")
    go_on(node, client, b"incrementing")


def test_a_full_disk_while_changes_are_collected_fails_the_backup_alone(
    new_node: NewNode,
) -> None:
    node = new_node(False)
    disk = node.disk
    client = node.client()
    client("BACKUP", "START")
    go_on(node, client, b"incrementing")
    disk.room = 10
    client("SET", "k", "v" * 100)
    other = node.client()
    go_on(node, other, b"failed")
    assert other("SET", "k", "v") == "OK"


class Killer:
    """Kills a server after some time; later requests to it raise."""

    def __init__(self, server: ServerProcess, after_s: float) -> None:
        self.timer = threading.Timer(after_s, server.process.kill)
        self.timer.start()


def write_and_back_up(client: RawClient, seals: list[int], added: list[int]) -> None:
    """Backups one after the other, until the server is gone."""
    while True:
        client("BACKUP", "START")
        while client("BACKUP", "STATUS")[1] != b"incrementing":
            added[0] += not isinstance(client("XADD", "s", "*", "f", "v"), ReplyError)
        for _ in range(20):
            client("XADD", "s", "*", "f", "v")
            added[0] += 1
        seals.append(added[0])
        assert client("BACKUP", "SEAL") == "OK"
        client("XADD", "s", "*", "f", "v")
        added[0] += 1
        if len(seals) % 3 == 0:
            client("BACKUP", "CLEANUP")
        else:
            client("BACKUP", "ABORT")
            client("BACKUP", "CLEANUP")


@pytest.mark.parametrize("appendonly", ["yes", "no"])
def test_kill_9_leaves_a_whole_backup_or_none(tmp_path: Path, appendonly: str) -> None:
    dice = Random(appendonly)
    for number in range(KILLS):
        place = tmp_path / str(number)
        words = ("--dir", str(place), "--appendonly", appendonly, "--save", "")
        server = start_forebay(place, *words)
        seals: list[int] = [0]
        added = [0]
        with server.client() as client:
            Killer(server, dice.uniform(0.05, 0.6))
            with pytest.raises((OSError, EOFError)):
                write_and_back_up(client, seals, added)
        server.process.wait()
        if (place / "backupdir" / MANIFEST).exists():
            assert length_in(place / "backupdir", place / "copy") == seals[-1]


def length_in(folder: Path, place: Path) -> int:
    """How many entries a fresh server finds in a backup."""
    words = ("--dir", str(place), "--preload-file", f"aof:{folder / MANIFEST}")
    server = start_forebay(place, *words)
    try:
        with server.client() as client:
            length: int = client("XLEN", "s")
            return length
    finally:
        server.stop()
