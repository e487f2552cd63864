"""The proxy that cuts links: each fault, seen from both of its ends.  No server is needed."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from testkit.proxy import HELD_BYTES, Proxy
from testkit.waiting import wait_until

TIMEOUT_S = 20.0
LONG = bytes(range(256)) * 1200


class Ends(NamedTuple):
    """A connection through the proxy: the client's end and the target's."""

    client: socket.socket
    target: socket.socket


class Bench:
    """A proxy before a listening socket."""

    def __init__(self, seed: int = 0) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(TIMEOUT_S)
        self.proxy = Proxy(self.listener.getsockname(), seed)
        self.open: list[socket.socket] = []

    def connect(self) -> Ends:
        client = socket.create_connection(self.proxy.address, timeout=TIMEOUT_S)
        target, _ = self.listener.accept()
        target.settimeout(TIMEOUT_S)
        self.open += [client, target]
        return Ends(client, target)

    def try_to_connect(self) -> None:
        """Connect and read; a reset may happen in either of the two."""
        with socket.create_connection(self.proxy.address, timeout=TIMEOUT_S) as client:
            client.recv(1)

    def close(self) -> None:
        self.proxy.close()
        for end in (self.listener, *self.open):
            end.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def read(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = end.recv(size - len(data))
        assert piece, f"the end after {len(data)} bytes"
        data += piece
    return data


def read_to_the_end(end: socket.socket) -> tuple[bytes, bool]:
    """All bytes that arrive, and whether a reset ended them."""
    data = b""
    try:
        while piece := end.recv(1 << 16):
            data += piece
    except ConnectionResetError:
        return data, True
    return data, False


def is_silent(end: socket.socket, for_s: float = 0.05) -> bool:
    end.settimeout(for_s)
    try:
        end.recv(1)
    except TimeoutError:
        return True
    finally:
        end.settimeout(TIMEOUT_S)
    return False


def test_bytes_pass_both_ways(bench: Bench) -> None:
    ends = bench.connect()
    ends.client.sendall(b"question")
    assert read(ends.target, 8) == b"question"
    ends.target.sendall(LONG)
    assert read(ends.client, len(LONG)) == LONG
    wait_until("the bytes are counted", lambda: bench.proxy.bytes_down == len(LONG))


def test_an_orderly_end_passes_without_a_reset(bench: Bench) -> None:
    ends = bench.connect()
    ends.target.sendall(b"bye")
    ends.target.close()
    assert read_to_the_end(ends.client) == (b"bye", False)
    assert bench.proxy.cuts == 0


def test_a_reset_of_one_end_reaches_the_other(bench: Bench) -> None:
    ends = bench.connect()
    ends.client.sendall(b"unread")
    wait_until("the target can read", lambda: not is_silent_peek(ends.target))
    ends.target.close()  # with unread bytes: the kernel sends a reset
    assert read_to_the_end(ends.client) == (b"", True)


def is_silent_peek(end: socket.socket) -> bool:
    end.setblocking(False)
    try:
        end.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        end.settimeout(TIMEOUT_S)
    return False


def test_a_cut_resets_both_ends_of_every_connection(bench: Bench) -> None:
    both = [bench.connect(), bench.connect()]
    assert bench.proxy.cut() == 2
    assert bench.proxy.cuts == 2
    for end in (end for ends in both for end in ends):
        assert read_to_the_end(end) == (b"", True)
    again = bench.connect()
    again.client.sendall(b"x")
    assert read(again.target, 1) == b"x"


@pytest.mark.parametrize("size", [0, 1, 7, 70_000])
def test_a_planned_cut_comes_after_exactly_so_many_bytes(bench: Bench, size: int) -> None:
    ends = bench.connect()
    ends.target.sendall(b"before")
    assert read(ends.client, 6) == b"before"
    bench.proxy.cut_after(size)
    ends.client.sendall(b"bytes up do not count" * 100)
    read(ends.target, 2100)
    ends.target.sendall(LONG)
    assert read_to_the_end(ends.client) == (LONG[:size], True)
    wait_until("the cut is counted", lambda: bench.proxy.cuts == 1)


def lengths_until_the_cut(seed: int) -> list[int]:
    bench = Bench(seed)
    bench.proxy.cut_each(1, 5000)
    lengths = []
    for _ in range(5):
        ends = bench.connect()
        ends.target.sendall(LONG[:6000])
        lengths.append(len(read_to_the_end(ends.client)[0]))
    bench.proxy.spare()
    ends = bench.connect()
    ends.target.sendall(LONG)
    assert read(ends.client, len(LONG)) == LONG
    bench.close()
    return lengths


def test_the_same_seed_cuts_at_the_same_bytes() -> None:
    first = lengths_until_the_cut(7)
    assert first == lengths_until_the_cut(7)
    assert first != lengths_until_the_cut(8)
    assert all(1 <= length <= 5000 for length in first)


def test_a_stalled_link_holds_everything_and_loses_nothing(bench: Bench) -> None:
    ends = bench.connect()
    bench.proxy.stall()
    ends.client.sendall(b"up")
    ends.target.sendall(b"down")
    late = socket.create_connection(bench.proxy.address, timeout=TIMEOUT_S)
    late.sendall(b"late")
    assert is_silent(ends.client)
    assert is_silent(ends.target)
    bench.proxy.resume()
    assert read(ends.client, 4) == b"down"
    assert read(ends.target, 2) == b"up"
    target, _ = bench.listener.accept()
    bench.open += [late, target]
    assert read(target, 4) == b"late"


def test_a_stalled_link_can_be_cut(bench: Bench) -> None:
    ends = bench.connect()
    bench.proxy.stall()
    assert bench.proxy.cut() == 1
    assert read_to_the_end(ends.client) == (b"", True)


def test_a_proxy_that_refuses_resets_new_connections_until_it_accepts(bench: Bench) -> None:
    ends = bench.connect()
    bench.proxy.refuse()
    assert read_to_the_end(ends.client) == (b"", True)
    with pytest.raises(ConnectionResetError):
        bench.try_to_connect()
    bench.proxy.accept()
    again = bench.connect()
    again.client.sendall(b"x")
    assert read(again.target, 1) == b"x"


def test_nobody_at_the_target_is_a_reset(bench: Bench) -> None:
    bench.listener.close()
    with pytest.raises(ConnectionResetError):
        bench.try_to_connect()


def test_delayed_bytes_come_later_and_in_order(bench: Bench) -> None:
    ends = bench.connect()
    bench.proxy.delay_s = 0.1
    begin_s = time.monotonic()
    for piece in (b"a", b"b", b"c"):
        ends.target.sendall(piece)
    assert read(ends.client, 3) == b"abc"
    assert time.monotonic() - begin_s >= 0.1  # the delay is what was asked for


def test_a_throttled_link_passes_everything_at_its_rate(bench: Bench) -> None:
    ends = bench.connect()
    bench.proxy.bytes_per_s = 1_000_000
    begin_s = time.monotonic()
    ends.target.sendall(LONG)
    assert read(ends.client, len(LONG)) == LONG
    assert time.monotonic() - begin_s >= 0.8 * len(LONG) / 1_000_000


def test_a_reader_that_does_not_read_makes_the_sender_wait(bench: Bench) -> None:
    ends = bench.connect()
    ends.target.setblocking(False)
    sent = 0

    def is_full() -> bool:
        nonlocal sent
        try:
            sent += ends.target.send(LONG)
        except BlockingIOError:
            (link,) = bench.proxy.links
            return link.down.held_bytes >= HELD_BYTES
        return False

    wait_until("the proxy takes no more", is_full)
    assert len(read(ends.client, sent)) == sent
