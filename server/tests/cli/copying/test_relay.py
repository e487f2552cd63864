"""The relay: pages cut anywhere become the same commands, and other replies are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.cli.copying.relay import Relay
from forebay.errors import ProtocolError
from testkit.resp import encode

#: The first size of a relay's buffer.
FIRST_ROOM = 1 << 20

IDS = st.builds(lambda ms, seq: b"%d-%d" % (ms, seq), st.integers(0, 2**64 - 1), st.integers(0, 9))
WORDS = st.one_of(st.binary(max_size=12), st.binary(min_size=98, max_size=102))
ENTRIES = st.lists(st.tuples(IDS, st.lists(WORDS, min_size=2, max_size=8)), max_size=6)
#: Lengths of the pieces in which bytes arrive.
CUTS = st.lists(st.integers(1, 60), min_size=1, max_size=20)


def reply(entries: list[tuple[bytes, list[bytes]]]) -> bytes:
    """A page as a server sends it."""
    parts = [b"*%d\r\n" % len(entries)]
    for entry_id, words in entries:
        parts.append(b"*2\r\n$%d\r\n%b\r\n*%d\r\n" % (len(entry_id), entry_id, len(words)))
        parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"".join(parts)


def feed(relay: Relay, data: bytes, cuts: list[int], room: int = 1) -> None:
    """Hand over bytes in pieces."""
    at, turn = 0, 0
    while at < len(data):
        size = min(cuts[turn % len(cuts)], len(data) - at)
        with relay.room(max(size, room)) as free:
            free[:size] = data[at : at + size]
        assert not relay.is_whole()
        relay.came(size)
        at, turn = at + size, turn + 1


def commands(entries: list[tuple[bytes, list[bytes]]]) -> bytes:
    return b"".join(encode("XADD", "target", entry_id, *words) for entry_id, words in entries)


@given(st.lists(ENTRIES, min_size=1, max_size=3), CUTS)
def test_pages_in_any_pieces_become_commands(
    pages: list[list[tuple[bytes, list[bytes]]]], cuts: list[int]
) -> None:
    relay = Relay(b"target")
    for entries in pages:
        relay.begin()
        feed(relay, reply(entries), cuts)
        assert relay.is_whole() and relay.entries == len(entries)
        assert relay.page_bytes == len(reply(entries))
        assert bytes(relay.commands()) == commands(entries)
        if entries:
            assert relay.last_id == entries[-1][0]


@pytest.mark.parametrize("cut", [1000, 65_536, 700_001])
def test_an_entry_that_is_larger_than_the_buffer_is_kept_whole(cut: int) -> None:
    relay = Relay(b"target")
    entries = [
        (b"1-0", [b"a", b"x" * (3 * FIRST_ROOM), b"b", b"y"]),
        (b"2-0", [b"%d" % n for n in range(100_000)]),
        (b"3-0", [b"", b""]),
    ]
    relay.begin()
    feed(relay, reply(entries), [cut], room=cut)
    assert bytes(relay.commands()) == commands(entries)


@pytest.mark.parametrize(
    "data",
    [
        b"+OK\r\n",
        b"$5\r\nhello\r\n",
        b"*-1\r\n",
        b"*1\r\n:5\r\n",
        b"*1\r\n*2\r\n:5\r\n",
        b"*1\r\n*2\r\n$3\r\n1-0\r\n$1\r\na\r\n",
        b"*1\r\n*2\r\n$3\r\n1-0\r\n*-1\r\n",
        b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n:1\r\n:2\r\n",
        b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$-1\r\n$1\r\na\r\n",
        b"*x\r\n",
        b"HTTP/1.1 400 Bad Request and more of it\r\n\r\n",
    ],
)
def test_what_is_no_page_is_refused(data: bytes) -> None:
    relay = Relay(b"target")
    relay.begin()
    with pytest.raises(ProtocolError):
        feed(relay, data, [len(data)])


def test_an_error_reply_is_kept() -> None:
    relay = Relay(b"target")
    relay.begin()
    feed(relay, b"-NOPERM this user\r\n", [7])
    assert relay.is_whole() and relay.refusal == b"NOPERM this user" and relay.entries == 0


def test_more_than_there_was_room_for_is_refused() -> None:
    with pytest.raises(ValueError, match="more than there was room for"):
        Relay(b"target").came(FIRST_ROOM + 1)
