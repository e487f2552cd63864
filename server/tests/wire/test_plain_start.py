"""Where the arguments of a request can be copied unchanged, and where it only looks so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.api.effects import Effects
from forebay.wire.argv import Argv, argv_of
from forebay.wire.request import Limits, RequestParser
from forebay.wire.resp_writer import WriterPool

words = st.lists(st.binary(max_size=120), min_size=1, max_size=20)


def bulk(word: bytes, ends: bytes = b"\r\n\r\n") -> bytes:
    """A bulk string; readers check only the CR after the length."""
    return b"$%d%b%b%b" % (len(word), ends[:2], word, ends[2:])


def parsed(data: bytes) -> Argv:
    """The arguments of the one request in it."""
    parser = RequestParser(Limits())
    parser.load(bytearray(data), 0, len(data))
    assert parser.next()
    return parser.argv


def recorded(argv: Argv) -> bytes:
    """The bytes of the call for the AOF and replicas."""
    effects = Effects(WriterPool())
    effects.enabled, effects.selected = True, effects.db_index
    effects.begin()
    effects.record_call(argv)
    effects.end()
    return effects.take()


@given(words, st.data())
def test_a_plain_request_is_found_where_it_stands(args: list[bytes], data: st.DataObject) -> None:
    head = b"*%d\r\n" % len(args)
    request = head + b"".join(map(bulk, args))
    argv = parsed(request)
    first = data.draw(st.integers(0, len(args) - 1))
    start = len(head) + sum(len(bulk(arg)) for arg in args[:first])
    for end in range(first + 1, len(args) + 1):
        assert argv.plain_start(first, end) == start
    assert argv.plain_start(first, first) == -1


odd_ends = st.sampled_from([b"\r\n\r\n", b"\rx\r\n", b"\r\nxy", b"\r\n\r\r", b"\r\n\n\n"])


@given(st.lists(st.tuples(st.binary(max_size=12), odd_ends), min_size=1, max_size=6))
def test_whatever_stands_between_arguments_the_record_is_plain(
    args: list[tuple[bytes, bytes]],
) -> None:
    request = b"*%d\r\n" % len(args) + b"".join(bulk(arg, ends) for arg, ends in args)
    plain = b"*%d\r\n" % len(args) + b"".join(bulk(arg) for arg, _ in args)
    assert recorded(parsed(request)) == plain


def test_arguments_that_did_not_come_as_bulk_strings_never_count_as_plain() -> None:
    mimic = argv_of([b"XADD", b"$1\r\n", b"x"])
    assert all(mimic.plain_start(i, i + 1) == -1 for i in range(3))
    assert recorded(mimic) == b"*3\r\n$4\r\nXADD\r\n$4\r\n$1\r\n\r\n$1\r\nx\r\n"
    line = parsed(b'SET "$1\\r\\n" x\r\n')
    assert line.list() == [b"SET", b"$1\r\n", b"x"]
    assert line.plain_start(2, 3) == -1
    assert parsed(b"*1\r\n$1\r\nx\r\n").copy().plain_start(0, 1) == -1
