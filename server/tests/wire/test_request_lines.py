"""Requests typed by a person: lines of words with quotes."""

from __future__ import annotations

import pytest

from forebay.wire.argv import Argv
from forebay.wire.inline import split_line
from server.tests.wire.feeding import commands_of, encode, error_of, parse_all

LINES = [
    (b"PING", [b"PING"]),
    (b"  XLEN \t orders  ", [b"XLEN", b"orders"]),
    (b'ECHO "two words"', [b"ECHO", b"two words"]),
    (b"ECHO 'two words'", [b"ECHO", b"two words"]),
    (b'ECHO ""', [b"ECHO", b""]),
    (b"ECHO ''", [b"ECHO", b""]),
    (b'"PING"', [b"PING"]),
    (b'a"b c"', [b"ab c"]),
    (b"a'b c'", [b"ab c"]),
    (rb'"\x41\x4a\xfF\x00"', [b"AJ\xff\x00"]),
    (rb'"\n\r\t\b\a"', [b"\n\r\t\b\a"]),
    (rb'"\q\\\""', [b'q\\"']),
    (rb'"\x4"', [b"x4"]),
    (rb'"\x4g"', [b"x4g"]),
    (rb'"\xg4"', [b"xg4"]),
    (rb"'it\'s'", [b"it's"]),
    (rb"'\n\x41'", [rb"\n\x41"]),
    (b"'a\"b'", [b'a"b']),
    (b'"a\'b"', [b"a'b"]),
    (b"a\rb", [b"a", b"b"]),
    (b"\x0bPING \x0c", [b"PING"]),
    (b"a\x0bb\x0c", [b"a\x0bb\x0c"]),
    (b'"a"\x0bb', [b"a", b"b"]),
    (rb"a\nb", [rb"a\nb"]),
    (b"a b\0c d", [b"a", b"b"]),
    (b"", []),
    (b"   ", []),
]

UNBALANCED = [
    b'"',
    b"'",
    b'ECHO "a',
    b"ECHO 'a",
    b'"a"b',
    b"'a'b",
    b'a"b"c',
    b'"a""b"',
    b'"a\\"',
    b'"a\\',
    b"'a\\'",
    b'a"',
    b'"a\0"',
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("line", "words"), LINES)
def test_a_line_is_cut_into_words(line: bytes, words: list[bytes], end: bytes) -> None:
    assert commands_of(line + end) == [words]


@pytest.mark.parametrize("line", UNBALANCED)
def test_a_quote_that_does_not_close_is_an_error(line: bytes) -> None:
    assert error_of(line + b"\r\n") == b"unbalanced quotes in request"


def test_lines_and_arrays_may_follow_each_other() -> None:
    data = b"PING\r\n" + encode(b"XLEN", b"s") + b"\r\n\nECHO 'x y'\n" + encode(b"PING")
    expected = [[b"PING"], [b"XLEN", b"s"], [], [], [b"ECHO", b"x y"], [b"PING"]]
    assert commands_of(data) == expected


def test_words_of_a_line_do_not_disturb_the_bytes_behind_it() -> None:
    data = b'ECHO "\\x41\\x41\\x41"\n' + encode(b"ECHO", b"BBB")
    assert commands_of(data) == [[b"ECHO", b"AAA"], [b"ECHO", b"BBB"]]


def test_a_line_without_its_end_waits() -> None:
    assert parse_all(b"XLEN orders") == ([], b"", 11)


def test_many_words() -> None:
    words = [b"%d" % i for i in range(500)]
    assert commands_of(b" ".join(words) + b"\n") == [words]


def test_splitting_works_on_a_buffer_of_its_own() -> None:
    argv = Argv()
    assert split_line(argv, bytearray(b"XADD s * note 'a b'"))
    assert argv.list() == [b"XADD", b"s", b"*", b"note", b"a b"]
    assert not split_line(argv, bytearray(b"XADD 's"))
