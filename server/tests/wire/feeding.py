"""Every parser case is run in several ways; all of them must agree.

``parse_all`` gives the same bytes whole, byte by byte, with other bytes after
them, and in pieces that move to another place of another buffer in between, as
a server moves bytes that it could not use yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.errors import ProtocolError
from forebay.wire.request import Limits, RequestParser

#: The result of one run: the commands, the error text (or b""), bytes left over (if no error).
Outcome = tuple[list[list[bytes]], bytes, int]

TRAILER = b"*1\r\n$4\r\nLAST\r\n"


def encode(*args: bytes) -> bytes:
    """A command as an array of bulk strings."""
    return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%b\r\n" % (len(a), a) for a in args)


def whole(data: bytes, limits: Limits) -> Outcome:
    """All bytes at once."""
    return in_pieces([data], limits)


def byte_by_byte(data: bytes, limits: Limits) -> Outcome:
    """One byte at a time: the slowest client."""
    return in_pieces((data[i : i + 1] for i in range(len(data))), limits)


def in_pieces(pieces: Iterable[bytes], limits: Limits, shift: int = 0) -> Outcome:
    """Feed pieces; the rest moves ``shift`` bytes further each time."""
    parser = RequestParser(limits)
    commands: list[list[bytes]] = []
    rest = b""
    for turn, piece in enumerate(pieces):
        missing = parser.want
        rest += piece
        start = turn * shift
        buf = bytearray(b"?" * start + rest + b"*?")
        parser.load(buf, start, start + len(rest))
        got = len(commands)
        try:
            while parser.next():
                commands.append(parser.argv.list())
        except ProtocolError as error:
            return commands, error.text, 0
        rest = rest[parser.pos - start :]
        assert missing == 0 or len(piece) >= missing or len(commands) == got, "want lied"
    return commands, b"", len(rest)


def parse_all(data: bytes, limits: Limits | None = None) -> Outcome:
    """The outcome of every way to feed the data, which must be one and the same."""
    limits = limits or Limits()
    first = whole(data, limits)
    assert byte_by_byte(data, limits) == first
    thirds = [data[i : i + 3] for i in range(0, len(data), 3)]
    assert in_pieces(thirds, limits, shift=5) == first
    commands, error, left = first
    if not error and left == 0:
        assert whole(data + TRAILER, limits) == ([*commands, [b"LAST"]], b"", 0)
    return first


def commands_of(data: bytes, limits: Limits | None = None) -> list[list[bytes]]:
    """The commands in the data, which must hold nothing else."""
    commands, error, left = parse_all(data, limits)
    assert (error, left) == (b"", 0)
    return commands


def error_of(data: bytes, limits: Limits | None = None) -> bytes:
    """The error that the data ends in, without its common beginning."""
    _, error, _ = parse_all(data, limits)
    prefix = b"ERR Protocol error: "
    assert error.startswith(prefix), error
    return error.removeprefix(prefix)
