"""Requests as arrays of bulk strings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.wire.request import Limits, RequestParser
from server.tests.wire.feeding import commands_of, encode, in_pieces, parse_all
from testkit.places import ROOT

LENGTHS = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 4096]


def test_a_command_of_several_arguments() -> None:
    assert commands_of(encode(b"XADD", b"s", b"*", b"f", b"v")) == [
        [b"XADD", b"s", b"*", b"f", b"v"]
    ]


def test_the_worked_example_of_the_format_page_is_true() -> None:
    page = (ROOT / "docs/formats/resp.md").read_text()
    data = bytes.fromhex("".join(re.findall(r"^((?:[0-9a-f]{2} )+)  ", page, re.MULTILINE)))
    spans = [int(n) for pair in re.findall(r"\((\d+), (\d+)\)", page) for n in pair]
    parser = RequestParser(Limits())
    parser.load(bytearray(data), 0, len(data))
    assert parser.next() == 1
    assert parser.argv.list() == [b"XADD", b"s", b"*", b"f", b"v"]
    assert list(parser.argv.spans[: len(spans)]) == spans


def test_a_pipeline_is_cut_into_its_commands() -> None:
    data = encode(b"XLEN", b"a") + encode(b"PING") + encode(b"XLEN", b"b")
    assert commands_of(data) == [[b"XLEN", b"a"], [b"PING"], [b"XLEN", b"b"]]


@pytest.mark.parametrize("n", LENGTHS)
def test_arguments_of_every_width_of_length(n: int) -> None:
    args = [b"ECHO", b"x" * n, b"end"]
    assert commands_of(encode(*args)) == [args]


@pytest.mark.parametrize("n", [1, 9, 10, 15, 16, 17, 99, 100, 101, 1025])
def test_any_number_of_arguments(n: int) -> None:
    args = [b"%d" % i for i in range(n)]
    assert commands_of(encode(*args)) == [args]


def test_a_bulk_string_may_hold_any_byte_and_look_like_protocol() -> None:
    args = [b"SET", bytes(range(256)), b"*1\r\n$4\r\nPING\r\n", b"\r\n\r\n", b""]
    assert commands_of(encode(*args)) == [args]


def test_an_empty_argument_is_an_argument() -> None:
    assert commands_of(b"*2\r\n$0\r\n\r\n$0\r\n\r\n") == [[b"", b""]]


@pytest.mark.parametrize("head", [b"*0\r\n", b"*-1\r\n", b"*-10\r\n", b"*-9223372036854775808\r\n"])
def test_an_array_of_nothing_is_an_empty_command(head: bytes) -> None:
    assert commands_of(head + encode(b"PING")) == [[], [b"PING"]]


def test_the_byte_behind_a_carriage_return_is_not_looked_at() -> None:
    assert commands_of(b"*1\rX$4\rYPINGZZ") == [[b"PING"]]


@pytest.mark.parametrize("cut", range(1, len(encode(b"XLEN", b"orders"))))
def test_a_part_of_a_command_is_not_a_command(cut: int) -> None:
    data = encode(b"XLEN", b"orders")
    assert parse_all(data[:cut]) == ([], b"", cut)
    assert in_pieces([data[:cut], data[cut:]], Limits(), shift=3) == (
        [[b"XLEN", b"orders"]],
        b"",
        0,
    )


def test_want_is_what_is_missing_of_a_long_argument() -> None:
    parser = RequestParser(Limits())
    data = bytearray(b"*2\r\n$3\r\nSET\r\n$5000\r\nabc")
    parser.load(data, 0, len(data))
    assert parser.next() == 0
    assert parser.want == 5000 - 3 + 2
    assert parser.pos == 0


def test_want_is_unknown_before_a_length_has_come() -> None:
    parser = RequestParser(Limits())
    data = bytearray(b"*2\r\n$3\r\nSET\r\n$50")
    parser.load(data, 0, len(data))
    assert parser.next() == 0
    assert parser.want == 0


def test_a_long_argument_is_not_read_again_for_each_piece() -> None:
    class Counted(bytearray):
        reads = 0

        def __getitem__(self, where):  # type: ignore[no-untyped-def]
            Counted.reads += 1
            return super().__getitem__(where)

    parser = RequestParser(Limits())
    data = Counted(encode(b"SET", b"k", b"x" * 3000))
    for end in range(1, len(data)):
        parser.load(data, 0, end)
        assert parser.next() == 0
    # A handful of looks at each header, none at the body.
    assert Counted.reads < 300


def test_an_announced_length_allocates_nothing() -> None:
    parser = RequestParser(Limits())
    data = bytearray(b"*2147483647\r\n$536870912\r\nabc")
    parser.load(data, 0, len(data))
    assert parser.next() == 0
    assert parser.want == 536870912 - 3 + 2
    assert len(parser.argv.spans) < 100


def test_the_table_of_a_huge_command_is_given_up_afterwards() -> None:
    parser = RequestParser(Limits())
    data = bytearray(encode(*[b"x"] * 5000))
    parser.load(data, 0, len(data))
    assert parser.next() == 1
    assert len(parser.argv) == 5000
    assert parser.next() == 0
    assert len(parser.argv.spans) < 100
    parser.load(data, 0, len(data))
    assert parser.next() == 1
    assert parser.argv.list() == [b"x"] * 5000


def test_a_parser_with_nothing_to_do_holds_no_buffer() -> None:
    parser = RequestParser(Limits())
    data = bytearray(encode(b"PING"))
    parser.load(data, 0, len(data))
    assert parser.next() == 1
    assert parser.argv.buf is data
    assert parser.next() == 0
    assert parser.argv.buf == b""
    assert len(parser.argv) == 0
    assert parser.next() == 0


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 2), (0, 5), (5, 5)])
def test_bytes_outside_the_buffer_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not in the buffer"):
        RequestParser(Limits()).load(bytearray(4), start, end)


commands = st.lists(st.lists(st.binary(max_size=130), max_size=20), max_size=6)


@given(commands, st.lists(st.integers(1, 40), min_size=1), st.integers(0, 7))
def test_however_it_is_cut_the_same_commands_come_out(
    expected: list[list[bytes]], sizes: list[int], shift: int
) -> None:
    data = b"".join(encode(*args) for args in expected)
    pieces = []
    at = turn = 0
    while at < len(data):
        step = sizes[turn % len(sizes)]
        pieces.append(data[at : at + step])
        at += step
        turn += 1
    assert in_pieces(pieces, Limits(), shift) == (expected, b"", 0)
