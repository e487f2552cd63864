"""The interpreted version of the system calls; tests over a socket cover the compiled one."""

from __future__ import annotations

import errno
import select
import socket
from array import array
from collections.abc import Iterator

import pytest

from forebay.server.net import sysio

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of one connection, both non-blocking."""
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    yield left, right
    left.close()
    right.close()


def test_bytes_go_through_to_the_place_asked_for(pair: Pair) -> None:
    left, right = pair
    buf = bytearray(b"..........")
    assert sysio.send(left.fileno(), b"--hello--", 2, 5) == 5
    assert sysio.recv(right.fileno(), buf, 3, 7) == 5
    assert buf == b"...hello.."


def test_nothing_there_yet_is_not_an_exception(pair: Pair) -> None:
    result = sysio.recv(pair[0].fileno(), bytearray(10), 0, 10)
    assert result == -errno.EAGAIN
    assert sysio.again(result)


def test_what_was_only_looked_at_is_still_to_be_received(pair: Pair) -> None:
    left, right = pair
    buf = bytearray(b"..........")
    assert sysio.peek(right.fileno(), buf, 0, 5) == -errno.EAGAIN
    assert sysio.send(left.fileno(), b"hello", 0, 5) == 5
    assert sysio.peek(right.fileno(), buf, 3, 3) == 3
    assert buf == b"...hel...."
    assert sysio.recv(right.fileno(), buf, 0, 10) == 5


def test_a_full_socket_asks_to_come_back(pair: Pair) -> None:
    load = bytes(1 << 20)
    while (result := sysio.send(pair[0].fileno(), load, 0, len(load))) > 0:
        pass
    assert sysio.again(result)


def test_the_end_of_the_other_side_is_zero(pair: Pair) -> None:
    left, right = pair
    left.close()
    assert sysio.recv(right.fileno(), bytearray(10), 0, 10) == 0
    assert not sysio.again(0)


def test_a_fault_is_minus_its_number(pair: Pair) -> None:
    left, right = pair
    left.close()
    result = sysio.send(right.fileno(), b"x", 0, 1)
    assert result == -errno.EPIPE
    assert not sysio.again(result)


def test_waiting_names_the_ready_descriptors_and_their_events(pair: Pair) -> None:
    left, right = pair
    words = array("Q", bytes(16 * 4))
    with select.epoll() as epoll:
        epoll.register(right.fileno(), select.EPOLLIN)
        assert sysio.wait(epoll, epoll.fileno(), words, 4, 0) == 0
        left.send(b"x")
        assert sysio.wait(epoll, epoll.fileno(), words, 4, 1000) == 1
        assert list(words[:2]) == [right.fileno(), select.EPOLLIN]


def test_both_clocks_go_forward() -> None:
    assert sysio.wall_us() > 1_700_000_000_000_000
    assert sysio.monotonic_us() <= sysio.monotonic_us()
