"""Thousands of blocked clients that are woken, killed, unblocked, cut off and timed out.

However a wait ends, the server must forget it: no client is answered twice, none
waits for an entry that it should have got, the counters go back to zero, and no
socket stays open.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from random import Random

import pytest

from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess
from testkit.waiting import info_field, wait_for_blocked, wait_until

pytestmark = pytest.mark.compiled

CROWD = 2000
FOREVER_MS = 0


@pytest.fixture(autouse=True)
def room_for_sockets() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def server(make_forebay: Callable[..., ServerProcess]) -> ServerProcess:
    return make_forebay("--maxclients", "8000")


class Crowd:
    """Many clients of one server, each with its number on that server."""

    def __init__(self, server: ServerProcess, size: int) -> None:
        self.clients = [server.client(timeout_s=60) for _ in range(size)]
        for client in self.clients:
            client.send(encode("CLIENT", "ID"))
        self.numbers = [int(client.read()[1:]) for client in self.clients]

    def send(self, *command: bytes | str | int) -> None:
        for client in self.clients:
            client.send(encode(*command))

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()


def assert_quiet(control: RawClient, server: ServerProcess, files: int) -> None:
    """No client is blocked, no key has waiters, and every socket is closed."""
    wait_for_blocked(control, 0)
    assert info_field(control, "total_blocking_keys") == 0
    assert info_field(control, "total_blocking_keys_on_nokey") == 0
    wait_until("one client left", lambda: info_field(control, "connected_clients") == 1)
    wait_until("files closed", lambda: server.open_files() <= files)
    assert control("PING") == "PONG"


def test_one_xadd_wakes_every_reader(server: ServerProcess) -> None:
    with server.client(unix=True) as control:
        assert control("PING") == "PONG"
        files = server.open_files()
        with Crowd(server, CROWD) as crowd:
            crowd.send("XREAD", "BLOCK", FOREVER_MS, "STREAMS", "race", "$")
            wait_for_blocked(control, CROWD)
            assert info_field(control, "total_blocking_keys") == 1
            control("XADD", "race", "1-1", "a", "b")
            expected = crowd.clients[0].read()
            assert b"$3\r\n1-1\r\n" in expected
            assert all(client.read() == expected for client in crowd.clients[1:])
        assert_quiet(control, server, files)


def test_readers_of_a_group_are_served_in_the_order_they_came(server: ServerProcess) -> None:
    with server.client(unix=True) as control, Crowd(server, 500) as crowd:
        control("XGROUP", "CREATE", "race", "riders", "$", "MKSTREAM")
        read = ("COUNT", 1, "BLOCK", FOREVER_MS, "STREAMS", "race", ">")
        for i, client in enumerate(crowd.clients):
            client.send(encode("XREADGROUP", "GROUP", "riders", f"c{i:03}", *read))
            wait_for_blocked(control, i + 1)
        control.send(b"".join(encode("XADD", "race", f"{i + 1}-1", "n", i) for i in range(500)))
        control.read_many(500)
        for i, client in enumerate(crowd.clients):
            assert b"\r\n%d-1\r\n" % (i + 1) in client.read()
        rows = control("XPENDING", "race", "riders", "-", "+", 500)
        assert [row[1] for row in rows] == [b"c%03d" % i for i in range(500)]


@pytest.mark.parametrize("seed", range(3))
def test_every_way_to_stop_waiting_while_entries_arrive(server: ServerProcess, seed: int) -> None:
    dice = Random(seed)
    with server.client(unix=True) as control:
        assert control("PING") == "PONG"
        files = server.open_files()
        control("XGROUP", "CREATE", "race", "riders", "$", "MKSTREAM")
        with Crowd(server, CROWD) as crowd, server.client(unix=True) as writer:
            let_all_wait(dice, control, crowd)
            order = list(range(CROWD))
            dice.shuffle(order)
            gone = set()
            for step, i in enumerate(order):
                if end_one_wait(dice, control, crowd, i):
                    gone.add(i)
                if step % 7 == 0:
                    writer.send(encode("XADD", "race", "*", "n", step))
            writer.read_many(len(range(0, CROWD, 7)))
            assert control("XLEN", "race") == len(range(0, CROWD, 7))
            # Clients that still wait are readers of the group; destroying it is the last way.
            control("XGROUP", "DESTROY", "race", "riders")
            assert_answered_once([crowd.clients[i] for i in order if i not in gone])
        assert_quiet(control, server, files)


def let_all_wait(dice: Random, control: RawClient, crowd: Crowd) -> None:
    """Let them wait, half with XREAD and half in a group; most without a time limit."""
    forever = 0
    for i, client in enumerate(crowd.clients):
        block_ms = dice.choice((FOREVER_MS, FOREVER_MS, 1, 5, 50, 500))
        forever += block_ms == FOREVER_MS
        block = ("BLOCK", block_ms, "STREAMS")
        keys = ("race", f"other{i % 50}")
        group = ("XREADGROUP", "GROUP", "riders", f"c{i % 40}", *block, "race", ">")
        client.send(encode(*(group if i % 2 else ("XREAD", *block, *keys, "$", "$"))))
    wait_until("all who wait for ever", lambda: info_field(control, "blocked_clients") >= forever)


def end_one_wait(dice: Random, control: RawClient, crowd: Crowd, i: int) -> bool:
    """Kill, unblock or cut off one client, or leave it; returns whether it is gone."""
    number = crowd.numbers[i]
    match dice.randrange(6):
        case 0:
            assert control("CLIENT", "KILL", "ID", number) == 1
            return True
        case 1:
            assert control("CLIENT", "UNBLOCK", number) in (0, 1)
        case 2:
            assert control("CLIENT", "UNBLOCK", number, "ERROR") in (0, 1)
        case 3:
            crowd.clients[i].close()
            return True
    return False


def assert_answered_once(clients: list[RawClient]) -> None:
    """Each has got one reply to its read, and then one to its PING."""
    for client in clients:
        client.send(encode("PING"))
    for client in clients:
        assert client.read() != b"+PONG\r\n"
        assert client.read() == b"+PONG\r\n"
        assert not client.buffer


def test_a_destroyed_group_and_a_lost_key_wake_the_whole_group(server: ServerProcess) -> None:
    with server.client(unix=True) as control:
        assert control("PING") == "PONG"
        files = server.open_files()
        with Crowd(server, 1000) as crowd:
            halves = crowd.clients[:500], crowd.clients[500:]
            ends = ("a", ("XGROUP", "DESTROY", "a", "g")), ("b", ("DEL", "b"))
            for members, (key, end) in zip(halves, ends, strict=True):
                control("XGROUP", "CREATE", key, "g", "$", "MKSTREAM")
                for client in members:
                    read = ("BLOCK", FOREVER_MS, "STREAMS", key, ">")
                    client.send(encode("XREADGROUP", "GROUP", "g", "c", *read))
                wait_for_blocked(control, len(members))
                control(*end)
                assert all(client.read().startswith(b"-NOGROUP ") for client in members)
        assert_quiet(control, server, files)


def test_memory_does_not_grow_with_waits_that_are_over(server: ServerProcess) -> None:
    with server.client(unix=True) as control, server.client(unix=True) as reader:
        sizes = []
        for _ in range(4):
            for _ in range(20):
                reader.send(encode("XREAD", "BLOCK", 1, "STREAMS", "race", "$") * 50)
                assert reader.read_many(50) == [b"*-1\r\n"] * 50
            sizes.append(server.rss_bytes())
        assert sizes[-1] - sizes[0] < 4 << 20
        wait_for_blocked(control, 0)
