"""Arguments as places in a buffer."""

from __future__ import annotations

import pytest

from forebay.wire.argv import Argv, argv_of
from forebay.wire.request import Limits, RequestParser

ARGS = [b"XADD", b"orders", b"maxlen", b"-12", b"", b"\x00\xff"]


def test_arguments_come_back_as_they_were() -> None:
    argv = argv_of(ARGS)
    assert len(argv) == argv.n == 6
    assert argv.list() == ARGS
    assert [argv[i] for i in range(6)] == ARGS
    assert list(argv) == ARGS
    assert Argv.of(ARGS).list() == ARGS


def test_sizes_are_known_without_making_objects() -> None:
    argv = argv_of(ARGS)
    assert [argv.size(i) for i in range(6)] == [4, 6, 6, 3, 0, 2]


def test_a_word_matches_in_any_letter_case() -> None:
    argv = argv_of([b"MaxLen", b"MAXLE", b"MAXLEN~", b"M\xe1XLEN", b"\x2dAXLEN"])
    assert [argv.word(i, b"MAXLEN") for i in range(5)] == [True, False, False, False, False]
    assert not argv_of([b"@", b"{"]).word(0, b"`")
    assert not argv_of([b"{"]).word(0, b"[")


def test_same_is_exact() -> None:
    argv = argv_of([b"*", b"$", b"", b"**"])
    assert argv.same(0, b"*")
    assert not argv.same(1, b"*")
    assert not argv.same(2, b"*")
    assert not argv.same(3, b"*")
    assert argv.same(2, b"")


@pytest.mark.parametrize(
    "text", [b"0", b"1", b"-1", b"10", b"9223372036854775807", b"-9223372036854775808"]
)
def test_integers_that_are_numbers(text: bytes) -> None:
    assert argv_of([b"x", text]).integer(1) == (True, int(text))


@pytest.mark.parametrize(
    "text",
    [
        *[b"", b"-", b"+1", b"01", b"-0", b" 1", b"1 ", b"1.0", b"1e3", b"a", b"0x1", b"1\0"],
        *[b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"9" * 40],
    ],
)
def test_integers_that_are_not(text: bytes) -> None:
    assert argv_of([text]).integer(0)[0] is False


@pytest.mark.parametrize("i", [-1, 6, 7, 100])
def test_an_index_outside_is_refused_by_every_method(i: int) -> None:
    argv = argv_of(ARGS)
    with pytest.raises(IndexError):
        argv.at(i)
    with pytest.raises(IndexError):
        argv.size(i)
    with pytest.raises(IndexError):
        argv.word(i, b"X")
    with pytest.raises(IndexError):
        argv.same(i, b"X")
    with pytest.raises(IndexError):
        argv.integer(i)


def test_no_arguments_at_all() -> None:
    argv = argv_of([])
    assert len(argv) == 0
    assert argv.list() == []
    with pytest.raises(IndexError):
        argv.at(0)


@pytest.mark.parametrize("n", [15, 16, 17, 33, 1000])
def test_more_arguments_than_there_was_room_for(n: int) -> None:
    args = [b"%d" % i for i in range(n)]
    assert argv_of(args).list() == args


def test_an_argv_can_be_filled_again() -> None:
    argv = argv_of([b"a"] * 40)
    argv.fill([b"b", b"cc"])
    assert argv.list() == [b"b", b"cc"]


def test_arguments_of_its_own_are_kept_without_a_copy() -> None:
    argv = argv_of([b"XREAD", b"s"])
    assert argv.kept() is argv
    assert argv.copy().is_own


def test_arguments_in_a_shared_buffer_are_copied_to_be_kept() -> None:
    parser = RequestParser(Limits())
    buffer = bytearray(b"*2\r\n$4\r\nXLEN\r\n$1\r\ns\r\n")
    parser.load(buffer, 0, len(buffer))
    parser.next()
    kept = parser.argv.kept()
    assert kept is not parser.argv
    assert kept.is_same(parser.argv)
    buffer[8:12] = b"PING"
    assert kept.list() == [b"XLEN", b"s"]
    assert not kept.is_same(parser.argv)


@pytest.mark.parametrize("other", [[b"ab"], [b"ab", b"d"], [b"ab", b"cd"], [b"abc", b""], []])
def test_other_arguments_are_not_the_same(other: list[bytes]) -> None:
    assert not argv_of([b"ab", b"c"]).is_same(argv_of(other))
    assert argv_of([b"ab", b"c"]).is_same(argv_of([b"ab", b"c"]))
