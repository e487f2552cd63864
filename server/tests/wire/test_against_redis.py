"""A real Redis gets the same bytes; Forebay must give the same answers.

Only ECHO and PING are run; all else is the parser's work.
"""

from __future__ import annotations

import random
import socket

import pytest

from forebay.errors import ProtocolError
from forebay.wire.request import Limits, RequestParser
from forebay.wire.resp_writer import RespWriter
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

PING = b"*1\r\n$4\r\nPING\r\n"
CASES = [
    *[b"*%b\r\n" % n for n in (b"", b"a", b"01", b"+1", b"-0", b" 1", b"1 ", b"2147483648")],
    *[b"*%d\r\n" % n for n in (2**32 + 1, 2**63 - 1, 2**63, 2**64 + 1, -(2**63) - 1)],
    *[b"*%d\r\n" % n + PING for n in (0, -1, -10, -(2**63))],
    *[b"*1\r\n$%b\r\n" % n for n in (b"", b"-1", b"01", b"a", b"+4", b" 4", b"536870913")],
    *[b"*1\r\n$%d\r\n" % n for n in (2**31, 2**32 + 4, 2**63 - 1, 2**63, 2**64 + 4, 10**30)],
    *[b"*1\r\n%b\r\n" % c for c in (b"x", b"", b"\n", b"*1", b"\xff", b"%s", b"'", b"+OK")],
    b"*1\rX$4\rYPINGZZ" + PING,
    b"*2\r\n$4\r\nECHO\r\n$5\r\na\r\nb\0\r\n" + PING,
    b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
    b"*2\r\n$4\r\nECHO\r\n$100000\r\n" + b"a" * 100000 + b"\r\n" + PING,
    b"\r\n\n\r\r\n" + PING,
    b"*" + b"1" * 90000,
    b"*1\r\n$" + b"1" * 90000,
    b"ECHO " + b"a" * 90000,
    b"ECHO " + b"a" * 60000 + b"\n",
    PING + b"*1\r\n$4\r\nPIN",
]
STRANGERS = [b"*11\r\n", b"*10\r\n$16385\r\n", b"*2147483648\r\n", b"*1\r\n$536870913\r\n"]
WORDS = [b'"', b"'", b"\\", b"x", b"4", b"a", b" ", b"\t", b"\r", b"n", b"\x0b", b"\\x4", b'" ']
PIECES = [b"*", b"$", b"\r\n", b"\r", b"1", b"0", b"2", b"-", b"PING", b"*1\r\n", b"$4\r\n", b"\n"]


def answer_of_redis(path: str, data: bytes) -> bytes:
    """All that it sends until it closes the connection."""
    received = b""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(path)
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while piece := sock.recv(1 << 16):
                received += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
    return received


def our_answer(data: bytes, authenticated: bool = True) -> bytes:
    parser = RequestParser(Limits(authenticated=authenticated))
    parser.load(bytearray(data), 0, len(data))
    reply = RespWriter()
    try:
        while parser.next():
            match parser.argv.list():
                case [name, text] if name.upper() in (b"ECHO", b"PING"):
                    reply.bulk(text)
                case [name] if name.upper() == b"PING":
                    reply.status(b"PONG")
                case [_, *_]:
                    # An error whose words are not the parser's.
                    reply.error(b"")
    except ProtocolError as error:
        reply.error(error.text)
    return reply.take()


def without_other_errors(answer: bytes) -> bytes:
    lines = answer.split(b"\r\n")
    ours = b"-ERR Protocol error"
    return b"\r\n".join(b"-" if x[:1] == b"-" and x[:19] != ours else x for x in lines)


@pytest.mark.parametrize("data", CASES, ids=lambda data: repr(data[:24]))
def test_odd_requests_get_the_same_answer(redis_server: ServerProcess, data: bytes) -> None:
    assert our_answer(data) == without_other_errors(answer_of_redis(redis_server.unix_path, data))


@pytest.mark.parametrize("pieces", [WORDS, PIECES], ids=["lines", "arrays"])
def test_random_requests_get_the_same_answer(
    redis_server: ServerProcess, pieces: list[bytes]
) -> None:
    seed = random.Random(7)
    head, tail = (b"ECHO ", b"\n") if pieces is WORDS else (b"", b"")
    for _ in range(1500):
        data = head + b"".join(seed.choices(pieces, k=seed.randint(1, 12))) + tail
        theirs = without_other_errors(answer_of_redis(redis_server.unix_path, data))
        assert our_answer(data) == theirs, data


def test_strangers_get_the_same_answer(redis_server: ServerProcess) -> None:
    with redis_server.client(unix=True) as client:
        client("CONFIG", "SET", "requirepass", "secret")
        try:
            for data in STRANGERS:
                theirs = answer_of_redis(redis_server.unix_path, data)
                assert our_answer(data, authenticated=False) == theirs, data
        finally:
            client("CONFIG", "SET", "requirepass", "")
