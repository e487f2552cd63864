"""BITFIELD and BITFIELD_RO: numbers of any width anywhere in a string.

    BITFIELD k GET u4 0 OVERFLOW SAT INCRBY i8 #2 200

    u1 ... u63, i1 ... i64    width, with or without a sign
    offset, #index            in bits, or in fields of this width
    OVERFLOW                  for the next ones: WRAP around, stay at the limit (SAT), or
                              FAIL, which answers null and writes nothing

All words are read before anything is done.  The string grows at once to the end of the
farthest field to write, even if each write fails, as in Redis.  Redis does not propagate
such growth to AOF or replicas; here it is propagated, so that a replay gives the same
string.
"""

from __future__ import annotations

from dataclasses import dataclass

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import DENYOOM, FAST, READONLY, WRITE, Command, Keys
from forebay.commands.keyspace.value_ops import integer_of
from forebay.commands.strings.bit_offset import bit_offset
from forebay.commands.strings.string_ops import String, changeable, changed, read_string, string_of
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

BAD_TYPE = (
    b"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported"
    b" but i64 is."
)
BAD_OVERFLOW = b"ERR Invalid OVERFLOW type specified"
ONLY_GET = b"ERR BITFIELD_RO only supports the GET subcommand"

#: Operation -> the minimum number of words after it.
OPERATIONS = {b"GET": 2, b"SET": 3, b"INCRBY": 3}


@dataclass(slots=True)
class Step:
    """One operation on one field."""

    name: bytes
    offset: int
    width: int
    is_signed: bool
    amount: int  # of SET and INCRBY
    overflow: bytes

    def limits(self) -> tuple[int, int]:
        """The least and the greatest number of the field."""
        if self.is_signed:
            return -(1 << self.width - 1), (1 << self.width - 1) - 1
        return 0, (1 << self.width) - 1


def bitfield(ctx: Context, argv: Argv) -> None:
    """BITFIELD key [GET type offset | [OVERFLOW kind] SET|INCRBY type offset number ...]."""
    steps = _read_steps(ctx, Args(argv, 2))
    if all(step.name == b"GET" for step in steps):
        _reply_fields(ctx, argv[1], steps)
    else:
        _run(ctx, argv, steps)


def bitfield_ro(ctx: Context, argv: Argv) -> None:
    """BITFIELD_RO key [GET type offset ...]."""
    steps = _read_steps(ctx, Args(argv, 2))
    if any(step.name != b"GET" for step in steps):
        raise CommandError(ONLY_GET)
    _reply_fields(ctx, argv[1], steps)


# Words


def _read_steps(ctx: Context, args: Args) -> list[Step]:
    steps = []
    overflow = b"WRAP"
    while args.more():
        name = args.next().upper()
        if name == b"OVERFLOW":
            overflow = args.next().upper()
            if overflow not in (b"WRAP", b"SAT", b"FAIL"):
                raise CommandError(BAD_OVERFLOW)
            continue
        if args.left() < OPERATIONS.get(name, args.left() + 1):
            raise CommandError(SYNTAX)
        is_signed, width = _field_type(args.next())
        offset = bit_offset(ctx, args.next(), width)
        amount = 0 if name == b"GET" else args.integer()
        steps.append(Step(name, offset, width, is_signed, amount, overflow))
    return steps


def _field_type(text: bytes) -> tuple[bool, int]:
    """Whether a type such as i16 has a sign, and its width."""
    is_signed = text[:1] == b"i"
    width = integer_of(text[1:], BAD_TYPE)
    if text[:1] not in (b"i", b"u") or not 1 <= width <= 63 + is_signed:
        raise CommandError(BAD_TYPE)
    return is_signed, width


# Fields


def _reply_fields(ctx: Context, key: bytes, steps: list[Step]) -> None:
    value = read_string(ctx, key) or b""
    ctx.reply.array(len(steps))
    for step in steps:
        ctx.reply.integer(_get(value, step))


def _run(ctx: Context, argv: Argv, steps: list[Step]) -> None:
    key = argv[1]
    value = string_of(ctx.lookup(key))
    size = len(value or b"")
    end = max(step.offset + step.width for step in steps if step.name != b"GET")
    buffer = changeable(ctx, key, value, (end + 7) >> 3)
    has_grown = len(buffer) > size
    changes = 0
    ctx.reply.array(len(steps))
    for step in steps:
        if step.name == b"GET":
            ctx.reply.integer(_get(buffer, step))
        else:
            changes += _write(ctx, buffer, step, has_grown)
    if changes:
        changed(ctx, key, b"setbit")
    elif has_grown:
        ctx.db.touch(key)
    if changes or has_grown:
        ctx.effects.record_call(argv, changes)


def _write(ctx: Context, buffer: bytearray, step: Step, is_new: bool) -> bool:
    """Do one SET or INCRBY; whether the string changed or was created."""
    before = _get(buffer, step)
    after = _fitted(step, before)
    if after is None:
        ctx.reply.null()
        return False
    ctx.reply.integer(after if step.name == b"INCRBY" else before)
    _put(buffer, step, after)
    return is_new or after != before


def _fitted(step: Step, before: int) -> int | None:
    """The number to write, within the limits of the field; None if the write fails."""
    least, greatest = step.limits()
    if step.name == b"INCRBY":
        number = before + step.amount
    else:
        # In a field without a sign a negative number is a very large one.
        number = step.amount if step.is_signed else step.amount & mem.U64_MAX
    if least <= number <= greatest:
        return number
    if step.overflow == b"FAIL":
        return None
    if step.overflow == b"SAT":
        return greatest if number > greatest else least
    return (number - least) % (1 << step.width) + least


def _window(step: Step) -> tuple[int, int, int]:
    """First byte and end of the bytes of a field, and how many bits follow it in them."""
    end = step.offset + step.width
    last = (end + 7) >> 3
    return step.offset >> 3, last, 8 * last - end


def _get(value: String, step: Step) -> int:
    first, last, following = _window(step)
    held = bytes(value[first:last]).ljust(last - first, b"\x00")
    number = int.from_bytes(held, "big") >> following & ((1 << step.width) - 1)
    least, greatest = step.limits()
    return number if number <= greatest else number + 2 * least


def _put(buffer: bytearray, step: Step, number: int) -> None:
    first, last, following = _window(step)
    mask = (1 << step.width) - 1
    held = int.from_bytes(buffer[first:last], "big") & ~(mask << following)
    held |= (number & mask) << following
    buffer[first:last] = held.to_bytes(last - first, "big")


_GET = "GET encoding offset"

ROWS = [
    Command(
        name="bitfield",
        handler=bitfield,
        arity=-2,
        flags=WRITE | DENYOOM,
        categories="@write @bitmap @slow",
        keys=Keys(1, 1, 1, "RW ACCESS UPDATE VARIABLE_FLAGS"),
        since="3.2.0",
        summary="Reads, sets and increments numbers of any width in a string.",
        group="bitmap",
        syntax=f"key [{_GET}] [OVERFLOW <WRAP | SAT | FAIL>]"
        " [SET encoding offset value | INCRBY encoding offset increment]",
    ),
    Command(
        name="bitfield_ro",
        handler=bitfield_ro,
        arity=-2,
        flags=READONLY | FAST,
        categories="@read @bitmap @fast",
        keys=Keys(1, 1, 1, "RO ACCESS"),
        since="6.0.0",
        summary="Reads numbers of any width in a string.",
        group="bitmap",
        syntax=f"key [{_GET} [{_GET} ...]]",
    ),
]
