"""LCS: the longest common subsequence of two strings.

The table of lengths, L[i][j] for the first i bytes of one and the first j of the other, would
take minutes to fill in Python.  A row of it never falls and rises by one at a time, so a row
is one bit per column (0: it rises here), kept in one large integer, and a few operations on
whole integers give the next row:

    row'  = (row + hit) | (row - hit)      hit: row, where the other string has this byte

The way back from the end of both strings reads those bits: where the bytes differ, it skips
the byte of the first string if the row rises at the column, otherwise that of the second.
Redis breaks ties in this way, and the ranges of IDX depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.keyspace.value_ops import read
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

NOT_STRINGS = b"ERR The specified keys must contain string values"
LEN_AND_IDX = b"ERR If you want both the length and indexes, please just use IDX."
TOO_LARGE = b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
#: The size of a table cell in Redis, which refuses tables that are too large.
CELL_BYTES = 4
ZERO, ONE = b"01"

#: Where a common part ends in each string, and its length.
Part = tuple[int, int, int]


@dataclass(slots=True)
class Options:
    """The options of a call."""

    length: bool = False
    indexes: bool = False
    least: int = 0
    with_lengths: bool = False


def lcs(ctx: Context, argv: Argv) -> None:
    """LCS key1 key2 [LEN] [IDX] [MINMATCHLEN n] [WITHMATCHLEN]."""
    values = [read(ctx, argv[1]), read(ctx, argv[2])]
    strings = [value for value in values if value is None or isinstance(value, (bytes, bytearray))]
    if len(strings) < len(values):
        raise CommandError(NOT_STRINGS)
    options = _read_options(Args(argv, 3))
    a, b = (bytes(value or b"") for value in strings)
    if CELL_BYTES * (len(a) + 1) * (len(b) + 1) > ctx.settings.proto_max_bulk_len:
        raise CommandError(TOO_LARGE)
    if options.indexes:
        _reply_parts(ctx, list(common_parts(a, b)), options)
    elif options.length:
        ctx.reply.integer(common_length(a, b))
    else:
        parts = [a[end - size : end] for end, _, size in common_parts(a, b)]
        ctx.reply.bulk(b"".join(reversed(parts)))


def _read_options(args: Args) -> Options:
    options = Options()
    while args.more():
        if args.word(b"IDX"):
            options.indexes = True
        elif args.word(b"LEN"):
            options.length = True
        elif args.word(b"WITHMATCHLEN"):
            options.with_lengths = True
        elif args.word(b"MINMATCHLEN"):
            options.least = args.integer()
        else:
            raise CommandError(SYNTAX)
    if options.length and options.indexes:
        raise CommandError(LEN_AND_IDX)
    return options


def _reply_parts(ctx: Context, parts: list[Part], options: Options) -> None:
    out = ctx.reply
    told = [part for part in parts if part[2] >= options.least]
    out.map(2)
    out.bulk(b"matches")
    out.array(len(told))
    for a_end, b_end, size in told:
        out.array(2 + options.with_lengths)
        for end in (a_end, b_end):
            out.array(2)
            out.integer(end - size)
            out.integer(end - 1)
        if options.with_lengths:
            out.integer(size)
    out.bulk(b"len")
    out.integer(sum(size for _, _, size in parts))


def common_parts(a: bytes, b: bytes) -> Iterator[Part]:
    """The runs of bytes of a longest common subsequence, from the last to the first."""
    width = (len(b) + 7) >> 3
    rows = [row.to_bytes(width, "little") for row in _rows(a, b)]
    i, j = len(a), len(b)
    size = 0
    while i and j:
        if a[i - 1] == b[j - 1]:
            size += 1
            i, j = i - 1, j - 1
            continue
        if size:
            yield i + size, j + size, size
            size = 0
        if rows[i - 1][(j - 1) >> 3] >> ((j - 1) & 7) & 1:
            j -= 1
        else:
            i -= 1
    if size:
        yield i + size, j + size, size


def common_length(a: bytes, b: bytes) -> int:
    """The length of a longest common subsequence."""
    row = (1 << len(b)) - 1
    for following in _rows(a, b):
        row = following
    return len(b) - row.bit_count()


def _rows(a: bytes, b: bytes) -> Iterator[int]:
    """For each byte of ``a`` its row: bit j is 0 where the length rises at byte j of ``b``."""
    places = {byte: _places(b, byte) for byte in set(a)}
    row = every = (1 << len(b)) - 1
    for byte in a:
        hit = row & places[byte]
        row = ((row + hit) | (row - hit)) & every
        yield row


def _places(text: bytes, byte: int) -> int:
    """Bit j says whether byte j of the text is this one."""
    marks = bytes(ONE if i == byte else ZERO for i in range(256))
    return int(text[::-1].translate(marks) or b"0", 2)


ROWS = [
    Command(
        name="lcs",
        handler=lcs,
        arity=-3,
        flags=READONLY,
        categories="@read @string @slow",
        keys=Keys(1, 2, 1, "RO ACCESS"),
        since="7.0.0",
        summary="The longest common subsequence of two strings.",
        group="string",
        syntax="key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
    ),
]
