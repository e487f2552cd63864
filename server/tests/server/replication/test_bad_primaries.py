"""Bad primaries: not a primary, wants a password, sends damaged or unsupported data."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from server.tests.support.replicas import fill
from testkit.nodes import Node, wait_for_replicas
from testkit.waiting import wait_until

Start = Callable[..., Node]

ID = "a" * 40


@contextmanager
def fake_primary(talk: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A server that sends the test's bytes, to one connection after another."""
    door = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                sock, _ = door.accept()
            except OSError:
                return
            with sock:
                try:
                    talk(sock)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield door.getsockname()
    finally:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
        thread.join()


def after_handshake(sock: socket.socket, *pieces: bytes, stays: bool = True) -> None:
    """Accept the introduction, then send these bytes; without ``stays`` send no more after that."""
    seen = b""
    sock.sendall(b"+PONG\r\n")
    while b"PSYNC" not in seen:
        data = sock.recv(4096)
        if not data:
            return
        seen += data
        sock.sendall(b"+OK\r\n" * data.count(b"REPLCONF"))
    for piece in pieces:
        sock.sendall(piece)
    if not stays:
        sock.shutdown(socket.SHUT_WR)
    while sock.recv(4096):
        pass


def error_of(node: Node) -> str:
    return node.info("replication")["forebay_link_error"]


def follows(node: Node, address: tuple[str, int], says: str) -> None:
    """Follow it without success: INFO says why, and our data is unchanged."""
    node("SET", "ours", "1")
    node.follow(address, wait=False)
    wait_until(f"INFO says {says!r}", lambda: says in error_of(node))
    assert node("GET", "ours") == b"1"
    assert node.info("replication")["master_link_status"] == "down"


def test_a_port_where_nobody_listens(start: Start) -> None:
    node = start("forebay")
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    follows(node, ("127.0.0.1", port), "Connection refused")


def test_a_host_that_does_not_exist(start: Start) -> None:
    follows(start("forebay"), ("no.such.host.invalid", 6379), "no.such.host.invalid:6379: ")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answers PING with 'HTTP/1.1 400 Bad Request'"),
        (b"-ERR no\r\n", "answers PING with '-ERR no'"),
        (b"x" * 100_000, "sends no lines"),
    ],
)
def test_a_server_that_is_no_primary(start: Start, answer: bytes, says: str) -> None:
    node = start("forebay")
    with fake_primary(lambda sock: sock.sendall(answer)) as address:
        follows(node, address, says)


def test_a_wrong_password_and_then_the_right_one(start: Start) -> None:
    primary, node = start("forebay", requirepass="right"), start("forebay")
    follows(node, primary.address, "wants a password (masterauth)")
    node("CONFIG", "SET", "masterauth", "wrong")
    wait_until("it is refused", lambda: "WRONGPASS" in error_of(node))
    node("CONFIG", "SET", "masterauth", "right")
    wait_until("the link is up", node.is_linked)
    assert error_of(node) == ""
    assert "wrong" not in node.log()


@pytest.mark.parametrize(
    ("copy", "says"),
    [
        (b"REDIS0099" + b"\xff" * 9, "RDB version 99 is newer"),
        (b"garbage that is no copy", "this is not an RDB file"),
        (b"REDIS0010\xfe\x00\xfb\x01\x00\x00", "offset"),
    ],
)
def test_a_copy_that_cannot_be_read_leaves_our_data(start: Start, copy: bytes, says: str) -> None:
    node = start("forebay", appendonly="yes")
    head = b"+FULLRESYNC %b 0\r\n$%d\r\n" % (ID.encode(), len(copy))
    with fake_primary(lambda sock: after_handshake(sock, head, copy)) as address:
        follows(node, address, says)
    node.kill()
    node.restart()
    assert node("GET", "ours") == b"1"


def test_a_copy_that_is_cut_off_leaves_our_data(start: Start) -> None:
    node = start("forebay", appendonly="yes")

    def talk(sock: socket.socket) -> None:
        head = b"+FULLRESYNC %b 0\r\n$5000\r\n" % ID.encode()
        after_handshake(sock, head, b"REDIS0010", stays=False)

    with fake_primary(talk) as address:
        follows(node, address, "the primary closed the connection")
        node.lead()
    temps = list((node.folder / "appendonlydir").glob("temp-*"))
    assert temps == []


def test_a_redis_with_types_that_we_do_not_have_is_refused_by_name_before_data_is_dropped(
    start: Start,
) -> None:
    primary, node = start("redis"), start("forebay")
    primary("HSET", "profile", "f", "v")
    primary("XADD", "s", "*", "f", "v")
    follows(node, primary.address, "key 'profile' holds a hash")
    node("CONFIG", "SET", "skip-foreign-types", "yes")
    wait_until("what we have is taken over", node.is_linked)
    assert node("XLEN", "s") == 1
    assert node("EXISTS", "profile", "ours") == 0


def test_a_foreign_command_in_the_stream_ends_the_link_and_says_which(start: Start) -> None:
    primary, node = start("redis"), start("forebay")
    fill(primary)
    node.follow(primary)
    primary("ZADD", "board", "1", "ann")
    wait_until(
        "the link says why",
        lambda: "'ZADD board 1 ann'" in error_of(node) or "board" in error_of(node),
    )
    primary("DEL", "board")
    wait_until("it recovers by a copy", node.is_linked, 60)
    primary("SET", "more", "1")
    wait_for_replicas(primary, [node])
    assert node("GET", "more") == b"1"


def test_foreign_commands_are_left_out_if_the_operator_says_so(start: Start) -> None:
    primary, node = start("redis"), start("forebay", skip_foreign_types="yes")
    fill(primary)
    node.follow(primary)
    primary("ZADD", "board", "1", "ann")
    primary("SET", "more", "1")
    wait_for_replicas(primary, [node])
    assert node("GET", "more") == b"1"
    assert node("EXISTS", "board") == 0
