"""Strings as arrays of bits: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP.

    string   0x80         0x01
    bits     1000 0000    0000 0001        bit 0 is the first one, the highest of its byte
             0              8       15

After its end a string counts as endless zeros: a bit there is 0, and BITOP fills the
shorter strings with zeros.  Large strings are processed in steps of 64 KiB, as
integers, so that no Python loop runs over bytes.  Writes are propagated as received.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor

from forebay.commands.api.context import Context
from forebay.commands.api.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import integer_of, remove
from forebay.commands.strings.bit_offset import bit_offset
from forebay.commands.strings.string_ops import (
    String,
    bounds,
    changeable,
    changed,
    read_string,
    set_string,
    string_of,
)
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

BAD_BIT = b"ERR bit is not an integer or out of range"
BAD_BIT_WANTED = b"ERR The bit argument must be 1 or 0."
NOT_OF_ONE = b"ERR BITOP NOT must be called with a single source key."
OF_TWO = b"ERR BITOP %s must be called with at least two source keys."

STEP_BYTES = 1 << 16
#: The number of words of BITCOUNT and BITPOS: without a range, up to the unit.
COUNT_WORDS = (2, 4, 5)
POS_WORDS = (3, 4, 5, 6)


# One bit


def setbit(ctx: Context, argv: Argv) -> None:
    """SETBIT key offset value: the old bit."""
    key, offset = argv[1], bit_offset(ctx, argv[2])
    on = integer_of(argv[3], BAD_BIT)
    if on not in (0, 1):
        raise CommandError(BAD_BIT)
    value = string_of(ctx.lookup(key))
    size = len(value or b"")
    buffer = changeable(ctx, key, value, (offset >> 3) + 1)
    mask = 0x80 >> (offset & 7)
    before = buffer[offset >> 3] & mask != 0
    if before != on:
        buffer[offset >> 3] ^= mask
    if before != on or len(buffer) > size:
        changed(ctx, key, b"setbit")
        ctx.effects.record_call(argv)
    ctx.reply.integer(before)


def getbit(ctx: Context, argv: Argv) -> None:
    """GETBIT key offset."""
    offset = bit_offset(ctx, argv[2])
    value = read_string(ctx, argv[1]) or b""
    byte = value[offset >> 3] if offset >> 3 < len(value) else 0
    ctx.reply.integer(byte >> (7 - (offset & 7)) & 1)


# Ranges of bits


def bitcount(ctx: Context, argv: Argv) -> None:
    """BITCOUNT key [start end [BYTE|BIT]]."""
    if argv.n not in COUNT_WORDS:
        raise CommandError(SYNTAX)
    start, stop, in_bits = 0, -1, False
    if argv.n > 2:
        start, stop = integer_of(argv[2]), integer_of(argv[3])
        in_bits = _unit(argv, 4)
    value = read_string(ctx, argv[1]) or b""
    first, last = _bit_bounds(start, stop, len(value), in_bits)
    if stop < start < 0 or first > last:
        ctx.reply.integer(0)
    else:
        ctx.reply.integer(_count(value, first, last))


def bitpos(ctx: Context, argv: Argv) -> None:
    """BITPOS key bit [start [end [BYTE|BIT]]]: the position of the first such bit, or -1."""
    wanted = integer_of(argv[2])
    if wanted not in (0, 1):
        raise CommandError(BAD_BIT_WANTED)
    if argv.n not in POS_WORDS:
        raise CommandError(SYNTAX)
    start = integer_of(argv[3]) if argv.n > 3 else 0
    in_bits = _unit(argv, 5)
    stop = integer_of(argv[4]) if argv.n > 4 else -1
    value = read_string(ctx, argv[1])
    if value is None:
        ctx.reply.integer(-wanted)
        return
    first, last = _bit_bounds(start, stop, len(value), in_bits)
    place = _find(value, wanted, first, last) if first <= last else -1
    if place < 0 and first <= last and not wanted and argv.n <= 4:
        place = 8 * len(value)  # the first of the zeros after the string
    ctx.reply.integer(place)


def _unit(argv: Argv, at: int) -> bool:
    """Whether the range counts bits, by the optional last word."""
    if argv.n <= at:
        return False
    word = argv[at].upper()
    if word not in (b"BIT", b"BYTE"):
        raise CommandError(SYNTAX)
    return word == b"BIT"


def _bit_bounds(start: int, stop: int, size: int, in_bits: bool) -> tuple[int, int]:
    """First and last bit of a range of bits or bytes; empty if the first is greater."""
    if in_bits:
        return bounds(start, stop, 8 * size)
    first, last = bounds(start, stop, size)
    return 8 * first, 8 * last + 7


def _count(value: String, first: int, last: int) -> int:
    """How many bits are set, from the first to the last, both included."""
    at, end = first >> 3, (last >> 3) + 1
    count = 0
    for i in range(at, end, STEP_BYTES):
        count += int.from_bytes(value[i : min(i + STEP_BYTES, end)], "big").bit_count()
    outside = (value[at] >> (8 - (first & 7)), value[end - 1] & (0x7F >> (last & 7)))
    return count - sum(byte.bit_count() for byte in outside)


def _find(value: String, wanted: int, first: int, last: int) -> int:
    """The first bit of this kind from the first to the last, or -1."""
    at, end = first >> 3, (last >> 3) + 1
    skip = b"\x00" if wanted else b"\xff"
    # Bits before the first one are set to the value that is not searched for.
    before = 0xFF00 >> (first & 7) & 0xFF
    head = value[at] & ~before if wanted else value[at] | before
    step: String = bytes((head,))
    rest = step.lstrip(skip)
    while not rest and at + len(step) < end:
        at += len(step)
        step = value[at : min(at + STEP_BYTES, end)]
        rest = step.lstrip(skip)
    at += len(step) - len(rest)
    if not rest:
        return -1
    place = 8 * at + 8 - (rest[0] if wanted else rest[0] ^ 0xFF).bit_length()
    return place if place <= last else -1


# Whole strings


def bitop(ctx: Context, argv: Argv) -> None:
    """BITOP operation destkey key [key ...]: the length of the result."""
    name = argv[1].upper()
    operation = OPERATIONS.get(name)
    if operation is None:
        raise CommandError(SYNTAX)
    if name == b"NOT" and argv.n != 4:
        raise CommandError(NOT_OF_ONE)
    if name in (b"DIFF", b"DIFF1", b"ANDOR") and argv.n < 5:
        raise CommandError(OF_TWO % name)
    sources = [read_string(ctx, argv[i]) or b"" for i in range(3, argv.n)]
    size = max(map(len, sources))
    ctx.lookup(argv[2])
    if size:
        # Little-endian, so that zeros are added at the end of the shorter strings.
        numbers = [int.from_bytes(source, "little") for source in sources]
        every = (1 << 8 * size) - 1
        result = operation(numbers) & every
        set_string(ctx, argv[2], bytearray(result.to_bytes(size, "little")))
        ctx.effects.record_call(argv)
    elif argv[2] in ctx.db.values:
        remove(ctx, argv[2])
        ctx.effects.record_call(argv)
    ctx.reply.integer(size)


def _exactly_one(numbers: list[int]) -> int:
    once = twice = 0
    for number in numbers:
        twice |= once & number
        once |= number
    return once & ~twice


def _rest(numbers: list[int]) -> int:
    """The OR of all strings but the first."""
    return reduce(or_, numbers[1:])


OPERATIONS: dict[bytes, Callable[[list[int]], int]] = {
    b"AND": lambda numbers: reduce(and_, numbers),
    b"OR": lambda numbers: reduce(or_, numbers),
    b"XOR": lambda numbers: reduce(xor, numbers),
    b"NOT": lambda numbers: ~numbers[0],
    b"DIFF": lambda numbers: numbers[0] & ~_rest(numbers),
    b"DIFF1": lambda numbers: ~numbers[0] & _rest(numbers),
    b"ANDOR": lambda numbers: numbers[0] & _rest(numbers),
    b"ONE": _exactly_one,
}


_READ_KEY = Keys(1, 1, 1, "RO ACCESS")
_READ = "@read @bitmap @slow"
_WRITE = "@write @bitmap @slow"
_UNIT = "[BYTE | BIT]"

ROWS = [
    Command(
        name="setbit",
        handler=setbit,
        arity=4,
        flags=WRITE | DENYOOM,
        categories=_WRITE,
        keys=Keys(1, 1, 1, "RW ACCESS UPDATE"),
        since="2.2.0",
        summary="Sets or clears a bit of a string.",
        group="bitmap",
        syntax="key offset value",
    ),
    Command(
        name="getbit",
        handler=getbit,
        arity=3,
        flags=READONLY | FAST,
        categories="@read @bitmap @fast",
        keys=_READ_KEY,
        since="2.2.0",
        summary="A bit of a string.",
        group="bitmap",
        syntax="key offset",
    ),
    Command(
        name="bitcount",
        handler=bitcount,
        arity=-2,
        flags=READONLY,
        categories=_READ,
        keys=_READ_KEY,
        since="2.6.0",
        summary="How many bits of a string are set.",
        group="bitmap",
        syntax=f"key [start end {_UNIT}]",
    ),
    Command(
        name="bitpos",
        handler=bitpos,
        arity=-3,
        flags=READONLY,
        categories=_READ,
        keys=_READ_KEY,
        since="2.8.7",
        summary="The first bit of a string that is set, or that is clear.",
        group="bitmap",
        syntax=f"key bit [start [end {_UNIT}]]",
    ),
    Command(
        name="bitop",
        handler=bitop,
        arity=-4,
        flags=WRITE | DENYOOM,
        categories=_WRITE,
        keys=Keys(2, -1, 1, "OW UPDATE; RO ACCESS"),
        since="2.6.0",
        summary="Combines strings bit by bit into another one.",
        group="bitmap",
        syntax="<AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE> destkey key [key ...]",
    ),
]
