"""Every shape of reply, in both protocols, byte for byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.wire.resp_writer import RespWriter

#: The call, its RESP2 bytes, its RESP3 bytes.
Shape = tuple[Callable[[RespWriter], Any], bytes, bytes]

SHAPES: dict[str, Shape] = {
    "ok": (lambda r: r.ok(), b"+OK\r\n", b"+OK\r\n"),
    "status": (lambda r: r.status(b"PONG"), b"+PONG\r\n", b"+PONG\r\n"),
    "empty status": (lambda r: r.status(b""), b"+\r\n", b"+\r\n"),
    "error": (lambda r: r.error(b"ERR no"), b"-ERR no\r\n", b"-ERR no\r\n"),
    "integer": (lambda r: r.integer(7), b":7\r\n", b":7\r\n"),
    "bulk": (lambda r: r.bulk(b"abc"), b"$3\r\nabc\r\n", b"$3\r\nabc\r\n"),
    "empty bulk": (lambda r: r.bulk(b""), b"$0\r\n\r\n", b"$0\r\n\r\n"),
    "null": (lambda r: r.null(), b"$-1\r\n", b"_\r\n"),
    "null array": (lambda r: r.null_array(), b"*-1\r\n", b"_\r\n"),
    "array": (lambda r: r.array(3), b"*3\r\n", b"*3\r\n"),
    "empty array": (lambda r: r.array(0), b"*0\r\n", b"*0\r\n"),
    "map": (lambda r: r.map(3), b"*6\r\n", b"%3\r\n"),
    "set": (lambda r: r.set(3), b"*3\r\n", b"~3\r\n"),
    "push": (lambda r: r.push(3), b"*3\r\n", b">3\r\n"),
    "double": (lambda r: r.double(1.5), b"$3\r\n1.5\r\n", b",1.5\r\n"),
    "true": (lambda r: r.boolean(True), b":1\r\n", b"#t\r\n"),
    "false": (lambda r: r.boolean(False), b":0\r\n", b"#f\r\n"),
    "verbatim": (
        lambda r: r.verbatim(b"txt", b"a\r\nb"),
        b"$4\r\na\r\nb\r\n",
        b"=8\r\ntxt:a\r\nb\r\n",
    ),
    "raw": (lambda r: r.raw(b"+X\r\n"), b"+X\r\n", b"+X\r\n"),
    "stream id": (lambda r: r.stream_id(12, 3), b"$4\r\n12-3\r\n", b"$4\r\n12-3\r\n"),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("resp", [2, 3])
def test_a_shape_in_both_protocols(name: str, resp: int) -> None:
    write, in_resp2, in_resp3 = SHAPES[name]
    reply = RespWriter(resp)
    write(reply)
    assert reply.take() == (in_resp2 if resp == 2 else in_resp3)


@pytest.mark.parametrize("resp", [2, 3])
def test_all_shapes_one_behind_the_other(resp: int) -> None:
    reply = RespWriter(resp)
    for write, _, _ in SHAPES.values():
        write(reply)
    assert reply.take() == b"".join(shape[resp - 1] for shape in SHAPES.values())


def test_the_protocol_may_change_between_two_replies() -> None:
    reply = RespWriter()
    reply.null()
    reply.resp = 3
    reply.null()
    assert reply.take() == b"$-1\r\n_\r\n"


EDGES = sorted({edge for k in range(20) for edge in (10**k - 1, 10**k, 10**k + 1)})


@pytest.mark.parametrize("value", [v for v in EDGES if v < 2**63] + [2**63 - 1])
def test_integers_of_every_width(value: int) -> None:
    reply = RespWriter()
    reply.integer(value)
    reply.integer(-value)
    assert reply.take() == b":%d\r\n:%d\r\n" % (value, -value)


@pytest.mark.parametrize("value", [0, 1, 9, 10, 999_999_999, 10**18, 2**63 - 1, -1, -10, -(2**63)])
def test_a_number_as_an_argument_of_a_command(value: int) -> None:
    reply = RespWriter()
    reply.number(value)
    digits = b"%d" % value
    assert reply.take() == b"$%d\r\n%b\r\n" % (len(digits), digits)


def test_the_smallest_integer() -> None:
    reply = RespWriter()
    reply.integer(-(2**63))
    assert reply.take() == b":-9223372036854775808\r\n"


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64])
def test_an_integer_of_more_than_64_bits_is_a_mistake_of_the_caller(value: int) -> None:
    with pytest.raises((OverflowError, AssertionError)):
        RespWriter().integer(value)


@pytest.mark.parametrize("n", [0, 9, 10, 99, 100, 65535, 2**31, 2**32, 2**62])
def test_headers_of_every_width(n: int) -> None:
    reply = RespWriter(3)
    reply.array(n)
    reply.map(n)
    assert reply.take() == b"*%d\r\n%%%d\r\n" % (n, n)


def test_a_length_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        RespWriter().array(-1)


@pytest.mark.parametrize("ms", [v for v in EDGES if v < 2**64] + [2**64 - 1])
@pytest.mark.parametrize("seq", [0, 9, 10, 2**63, 2**64 - 1])
def test_stream_ids_of_every_width(ms: int, seq: int) -> None:
    reply = RespWriter()
    reply.stream_id(ms, seq)
    text = b"%d-%d" % (ms, seq)
    assert reply.take() == b"$%d\r\n%b\r\n" % (len(text), text)


U64 = st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1))


@given(U64, U64)
def test_any_stream_id(ms: int, seq: int) -> None:
    reply = RespWriter()
    reply.stream_id(ms, seq)
    text = b"%d-%d" % (ms, seq)
    assert reply.take() == b"$%d\r\n%b\r\n" % (len(text), text)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 99, 100, 4090, 4096, 70000])
def test_bulk_strings_of_every_width(size: int) -> None:
    reply = RespWriter()
    data = bytes(range(256)) * 300
    reply.bulk(data[:size])
    reply.bulk(b"next")
    assert reply.take() == b"$%d\r\n%b\r\n$4\r\nnext\r\n" % (size, data[:size])


DOUBLES = [
    (0.0, b"0"),
    (-0.5, b"-0.5"),
    (3.0, b"3"),
    (0.1, b"0.1"),
    (3.141, b"3.141"),
    (1e16, b"10000000000000000"),
    (1e300, b"1e+300"),
    (math.inf, b"inf"),
    (-math.inf, b"-inf"),
    (math.nan, b"nan"),
]


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_doubles(value: float, text: bytes) -> None:
    reply = RespWriter(3)
    reply.double(value)
    assert reply.take() == b",%b\r\n" % text


HOSTILE = [b"a\r\nb", b"\r\n", b"a\n", b"\rb", b"x\r\n+OK\r\n:1", b"\n\n\r\r", b"a\r\n\r\n$3"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_user_never_ends_a_line(text: bytes) -> None:
    for write in (RespWriter.status, RespWriter.error):
        reply = RespWriter()
        write(reply, text)
        reply.status(b"END")
        body = reply.take()
        assert body.endswith(b"\r\n+END\r\n")
        line = body[: -len(b"\r\n+END\r\n")]
        assert b"\r" not in line
        assert b"\n" not in line


def test_line_ends_inside_an_error_become_spaces() -> None:
    reply = RespWriter()
    reply.error(b"ERR unknown command 'a\r\nb'\r\n")
    assert reply.take() == b"-ERR unknown command 'a  b'\r\n"


@given(st.binary(max_size=200))
def test_one_line_stays_one_line(text: bytes) -> None:
    reply = RespWriter()
    reply.error(text)
    body = reply.take()
    assert body.count(b"\r") == body.count(b"\n") == 1


VALUE = [1, b"b", "OK", None, True, 2.5, [b"x", [b"y"]], (1, 2), {b"k": 1}, {b"m"}, frozenset(), []]


@pytest.mark.parametrize(
    ("resp", "expected"),
    [
        (
            2,
            b"*12\r\n:1\r\n$1\r\nb\r\n+OK\r\n$-1\r\n:1\r\n$3\r\n2.5\r\n*2\r\n$1\r\nx\r\n*1\r\n$1\r\ny\r\n"
            b"*2\r\n:1\r\n:2\r\n*2\r\n$1\r\nk\r\n:1\r\n*1\r\n$1\r\nm\r\n*0\r\n*0\r\n",
        ),
        (
            3,
            b"*12\r\n:1\r\n$1\r\nb\r\n+OK\r\n_\r\n#t\r\n,2.5\r\n*2\r\n$1\r\nx\r\n*1\r\n$1\r\ny\r\n"
            b"*2\r\n:1\r\n:2\r\n%1\r\n$1\r\nk\r\n:1\r\n~1\r\n$1\r\nm\r\n~0\r\n*0\r\n",
        ),
    ],
)
def test_nested_values(resp: int, expected: bytes) -> None:
    reply = RespWriter(resp)
    reply.value(VALUE)
    assert reply.take() == expected


def test_a_value_that_is_no_reply_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        RespWriter().value(object())
