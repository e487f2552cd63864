"""Long strings go straight into an Arrow buffer; everything else goes through the parser."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
import pytest
import redis

from forebay_spark.options import BATCH, read_options
from forebay_spark.servers.connect import Link, Server
from forebay_spark.servers.long_replies import LONG_BYTES, long_string
from spark.tests.support.spark_streams import Target

LONG = bytes(range(256)) * (LONG_BYTES // 256)


def link_to(url: str, **given: str) -> Link:
    return Server(read_options({"url": url, "streams": "s", **given}, BATCH)).link("s")


@contextmanager
def connected(timeout_s: int) -> Iterator[tuple[Link, socket.socket]]:
    """A link, and the other end of its connection, which sends the test's bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        link = link_to(url, timeoutSeconds=str(timeout_s))
        link.send(("PING",))
        with closing(listener.accept()[0]) as other:
            yield link, other
        link.drop()


@pytest.fixture
def peer() -> Iterator[tuple[Link, socket.socket]]:
    """They wait longer than any test may take, so a wait for nothing is seen."""
    with connected(timeout_s=3600) as both:
        yield both


@pytest.fixture
def hasty_peer() -> Iterator[tuple[Link, socket.socket]]:
    """The link waits for a second."""
    with connected(timeout_s=1) as both:
        yield both


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)


def as_bytes(reply: Any) -> bytes:
    assert isinstance(reply, pa.Buffer)
    return reply.to_pybytes()


def test_a_long_string_of_a_server_comes_as_a_buffer(target: Target) -> None:
    link = link_to(target.url)
    link.call("SET", "s", LONG)
    link.send(("GET", "s"), ("PING",), ("GET", "s"))
    assert as_bytes(link.reply(long=True)) == LONG
    assert link.reply(long=True) == b"PONG"
    # The parser may already hold a part of the bytes after a short reply.
    again = link.reply(long=True)
    assert (again if isinstance(again, bytes) else as_bytes(again)) == LONG
    link.drop()


def test_only_a_caller_that_asks_for_it_gets_a_buffer(peer: tuple[Link, socket.socket]) -> None:
    link, other = peer
    other.sendall(bulk(LONG))
    assert link.reply() == LONG


def test_a_short_string_and_an_error_are_as_ever(peer: tuple[Link, socket.socket]) -> None:
    link, other = peer
    other.sendall(bulk(b"x" * (LONG_BYTES - 1)))
    assert link.reply(long=True) == b"x" * (LONG_BYTES - 1)
    other.sendall(b"-ERR no\r\n")
    assert isinstance(link.reply(long=True), redis.exceptions.ResponseError)


def test_a_reply_longer_than_any_socket_holds_is_put_together(
    peer: tuple[Link, socket.socket],
) -> None:
    link, other = peer
    longer = LONG * 500
    sender = threading.Thread(target=other.sendall, args=(bulk(longer) + b"+OK\r\n",))
    sender.start()
    assert as_bytes(link.reply(long=True)) == longer
    assert link.reply(long=True) == b"OK"
    sender.join()


def test_a_connection_that_ends_in_the_middle_is_a_fault(peer: tuple[Link, socket.socket]) -> None:
    link, other = peer
    other.sendall(bulk(LONG)[:-10])
    other.shutdown(socket.SHUT_WR)
    with pytest.raises(redis.exceptions.ConnectionError, match="closed by server"):
        link.reply(long=True)
    assert not link.is_open


@pytest.mark.parametrize("sent", [b"", bulk(LONG)[:-10]])
def test_a_server_that_falls_silent_is_waited_for_in_vain(
    hasty_peer: tuple[Link, socket.socket], sent: bytes
) -> None:
    link, other = hasty_peer
    other.sendall(sent)
    with pytest.raises(redis.exceptions.TimeoutError):
        link.reply(long=True)
    assert not link.is_open


def test_a_connection_without_a_plain_socket_is_left_to_the_parser() -> None:
    class Tls:
        _sock = object()

    assert long_string(Tls()) is None


def test_a_string_that_comes_slowly_takes_as_long_as_it_takes(
    hasty_peer: tuple[Link, socket.socket],
) -> None:
    link, other = hasty_peer
    told = bulk(LONG)
    stop = threading.Event()

    def trickle() -> None:
        at = len(told) // 2
        other.sendall(told[:at])
        while at < len(told) and not stop.wait(0.3):  # a timeout of the link is a second
            other.sendall(told[at : at + len(told) // 12])
            at += len(told) // 12

    sender = threading.Thread(target=trickle)
    sender.start()
    assert as_bytes(link.reply(long=True)) == LONG
    stop.set()
    sender.join()


def test_a_reply_after_a_long_string_is_seen_at_its_first_byte(
    peer: tuple[Link, socket.socket],
) -> None:
    link, other = peer
    other.sendall(bulk(LONG))
    assert as_bytes(link.reply(long=True)) == LONG
    other.sendall(b"+")
    assert len(other_end(link).recv(1, socket.MSG_PEEK)) == 1
    other.sendall(b"OK\r\n")
    assert link.reply(long=True) == b"OK"


def other_end(link: Link) -> socket.socket:
    """The socket of a link."""
    found = link._connection._sock
    assert isinstance(found, socket.socket)
    return found
