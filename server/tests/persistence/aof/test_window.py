"""The window over an AOF: how much of the file it holds at a time, and what it finds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from forebay.persistence.aof.scanner import BAD, MORE, SHORT, AofScanner
from forebay.persistence.aof.seals import SEAL_SIZE
from forebay.persistence.files import PIECE
from server.tests.support.aof_files import ONE, THREE, TWO, command, seal_all, transaction


def test_a_window_does_not_grow_while_its_room_is_enough() -> None:
    text = seal_all(ONE, TWO, THREE)
    ends = [text.index(unit) + len(unit) + SEAL_SIZE for unit in (ONE, TWO, THREE)]
    scanner = AofScanner(len(text), 0, 0)
    room = scanner.make_room(PIECE)
    for start, end in pairwise([0, *ends]):
        scanner.add(text[start:end])
        assert scanner.step() == MORE
        assert scanner.make_room(PIECE) == room


def test_a_window_grows_for_what_is_not_walked_yet() -> None:
    text = seal_all(ONE)
    scanner = AofScanner(2 * len(text), 0, 0)
    room = scanner.make_room(PIECE)
    scanner.add(text[:-1])
    assert scanner.make_room(room) >= room


def good_bytes(text: bytes, size: int) -> tuple[bytes, list[int]]:
    """The bytes that may be run from a file read in pieces of this size, and their places."""
    scanner = AofScanner(len(text), 0, 0)
    found, places = b"", []
    for at in range(0, len(text), size):
        scanner.make_room(size)
        scanner.add(text[at : at + size])
        scanner.start = scanner.good
        assert scanner.step() == MORE
        found += bytes(scanner.buf[scanner.start : scanner.good])
        places += [scanner.offset_of(i) for i in range(scanner.start, scanner.good)]
    return found, places


def test_each_byte_that_is_good_knows_its_place_however_small_the_pieces_are() -> None:
    stamp = b"#TS:1700000000\r\n"
    noted = transaction(stamp, ONE, stamp, THREE, stamp)
    text = seal_all(ONE, noted, TWO, noted + stamp, THREE)
    commands = b"".join([ONE, noted, TWO, noted, THREE]).replace(stamp, b"")
    for size in range(1, len(text) + 1, 3):
        found, places = good_bytes(text, size)
        assert found == commands, size
        assert bytes(text[place] for place in places) == found, size
        assert places == sorted(set(places)), size


def test_more_than_there_is_room_for_is_refused() -> None:
    scanner = AofScanner(100, 0, 0)
    room = scanner.make_room(10)
    with pytest.raises(ValueError, match="more bytes than room was made for"):
        scanner.add(b"x" * (room + 1))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (command("MULTI") * 2, "MULTI inside of MULTI"),
        (b"*0\r\n", "a command without words"),
        (b"*1\r\nPING\r\n", "a word that does not begin with its length"),
        (b"*x\r\n", "a length that is no number"),
        (b"*" + b"1" * 40, "a length that does not end"),
        (b"*1\r\n$4\r\nPINGER\r\n", "a word without CR LF after it"),
        (b"*1\r\n$4\rPING\r\n", "a length whose line does not end with CR LF"),
        (b"PING\r\n", "a byte that begins neither a command nor a comment"),
        (b"#" + b"x" * 200, "a comment that does not end"),
        (b"#CRC:xyz\r\n", "a checksum line that is none"),
    ],
)
def test_what_is_no_command_is_named(text: bytes, reason: str) -> None:
    scanner = AofScanner(len(text), 0, 0)
    scanner.make_room(PIECE)
    scanner.add(text)
    assert scanner.step() == BAD
    assert scanner.reason == reason


def test_a_command_of_more_words_than_the_file_can_hold_is_short() -> None:
    text = b"*1000000\r\n$4\r\nMSET\r\n"
    scanner = AofScanner(len(text), 0, 0)
    scanner.make_room(PIECE)
    scanner.add(text)
    assert scanner.step() == SHORT
    assert scanner.commands == 0
