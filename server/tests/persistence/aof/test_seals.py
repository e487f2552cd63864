"""Seals and marks, and the one buffer that holds a whole turn."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.persistence.aof.seals import SEAL_SIZE, Sealer, mark_line, seal_line
from forebay.wire.resp_writer import RespWriter
from server.tests.support.aof_files import command, transaction, units

ONE, TWO = command("XADD", "s", "1-1", "f", "v"), command("DEL", "k")


@given(st.integers(0, 0xFFFFFFFF))
def test_a_seal_is_the_checksum_in_eight_small_hex_digits(crc: int) -> None:
    assert seal_line(crc) == b"#CRC:%08x\r\n" % crc


def test_a_mark_is_the_offset_in_decimal() -> None:
    assert mark_line(0) == b"#SYNC:0\r\n"
    assert mark_line(1 << 40) == b"#SYNC:1099511627776\r\n"


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=20), st.booleans())
def test_every_unit_is_followed_by_the_checksum_of_all_before_it(
    parts: list[bytes], is_sealed: bool
) -> None:
    sealer = Sealer(77, is_sealed)
    size = sealer.seal(*units(*parts), b"#SYNC:5\r\n", True)
    crc = zlib.crc32(b"#SYNC:5\r\n", 77)
    expected = [b"" if is_sealed else seal_line(77), b"#SYNC:5\r\n"]
    for part in parts:
        crc = zlib.crc32(part, crc)
        expected += [part, seal_line(crc)]
    with sealer.view() as view:
        assert bytes(view) == b"".join(expected)
    assert size == len(b"".join(expected))
    assert sealer.next_crc == crc


@pytest.mark.parametrize("in_multi", [True, False])
@pytest.mark.parametrize("word", ["SELECT", "select"])
def test_a_mark_stands_in_front_of_every_unit_that_begins_with_select(
    in_multi: bool, word: str
) -> None:
    select = command(word, 3) + ONE
    select = transaction(select) if in_multi else select
    alike = [command("SELECTED", 3), command("SET", "k", "SELECT"), command("MULTI"), b"x"]
    parts = [*alike, select, TWO, select]
    sealer = Sealer(0, True)
    sealer.seal(*units(*parts), b"#SYNC:9\r\n", False)
    lines, crc = [], 0
    for part in parts:
        lines += [b"#SYNC:9\r\n" if part == select else b"", part]
        crc = zlib.crc32(lines[-2] + part, crc)
        lines.append(seal_line(crc))
    assert bytes(sealer.view()) == b"".join(lines)


def test_nothing_moves_on_before_the_bytes_are_accepted() -> None:
    sealer = Sealer()
    sealer.seal(*units(ONE), b"", False)
    first = bytes(sealer.view())
    sealer.seal(*units(ONE), b"", False)
    assert bytes(sealer.view()) == first
    sealer.accept()
    sealer.seal(*units(TWO), b"", False)
    assert bytes(sealer.view()) == TWO + seal_line(zlib.crc32(ONE + TWO))


def test_bytes_of_a_unit_that_is_still_open_are_left_out() -> None:
    out, ends = units(ONE)
    out.raw(TWO)
    sealer = Sealer(0, True)
    assert sealer.seal(out, ends, b"", False) == len(ONE) + SEAL_SIZE


def test_units_may_begin_behind_bytes_that_were_consumed() -> None:
    out, ends = units(ONE, TWO)
    out.consume(len(ONE))
    sealer = Sealer(0, True)
    if out.start == 0:
        ends[1] -= len(ONE)
    sealer.seal(out, ends[1:], b"", False)
    assert bytes(sealer.view()) == TWO + seal_line(zlib.crc32(TWO))


@pytest.mark.parametrize("wrong", [[5, 4], [1 << 40], [len(ONE) + 1]])
def test_ends_that_are_not_in_the_buffer_are_refused(wrong: list[int]) -> None:
    out, ends = units(ONE)
    del ends[:]
    ends.extend(wrong)
    with pytest.raises(ValueError, match="outside of the buffer"):
        Sealer().seal(out, ends, b"", False)


def test_a_large_unit_does_not_leave_a_large_buffer_behind() -> None:
    sealer = Sealer()
    sealer.seal(*units(command("SET", "k", bytes(3 << 20))), b"", False)
    assert len(sealer.buf) > 3 << 20
    sealer.accept()
    assert len(sealer.buf) < 1 << 20


def test_no_units_are_no_bytes() -> None:
    out, ends = RespWriter(), units()[1]
    assert Sealer(0, True).seal(out, ends, b"", False) == 0
