"""The offset of a bit, as SETBIT, GETBIT and BITFIELD read it."""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.keyspace.value_ops import integer_of
from forebay.errors import CommandError

BAD_OFFSET = b"ERR bit offset is not an integer or out of range"


def bit_offset(ctx: Context, text: bytes, width: int = 0) -> int:
    """An offset in bits; ``#3`` is the third field of this width, if there is one."""
    if width and text[:1] == b"#":
        offset = integer_of(text[1:], BAD_OFFSET) * width
    else:
        offset = integer_of(text, BAD_OFFSET)
    too_far = offset >> 3 >= ctx.settings.proto_max_bulk_len and not ctx.session.is_replaying
    if offset < 0 or too_far:
        raise CommandError(BAD_OFFSET)
    return offset
