"""Operations that several families of list commands share.

A list is an ``Elements`` (core/elements.py); its head is the left end.  One
flag, ``left``, selects the end; events, the AOF and errors call the operations
lpush, rpush, lpop and rpop.
"""

from __future__ import annotations

import math
from functools import partial

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_LIST
from forebay.commands.api.spec import Command
from forebay.commands.keyspace.value_ops import add, drop_if_empty, read, typed
from forebay.core.elements import Elements
from forebay.errors import SYNTAX, CommandError

TIMEOUT_NOT_A_FLOAT = b"ERR timeout is not a float or out of range"
TIMEOUT_NEGATIVE = b"ERR timeout is negative"
TIMEOUT_OUT_OF_RANGE = b"ERR timeout is out of range"


def list_at(ctx: Context, key: bytes) -> Elements | None:
    """The list at a key, for a command that may change it."""
    return typed(ctx.lookup(key), Elements)


def read_list(ctx: Context, key: bytes) -> Elements | None:
    """The list at a key, for a command that only reads."""
    return typed(read(ctx, key), Elements)


def push(
    ctx: Context, key: bytes, items: Elements | None, elements: list[bytes], left: bool
) -> Elements:
    """Add elements to the list at the key; a missing list is created."""
    fill = ctx.settings.list_max_listpack_size
    if items is None:
        items = Elements()
        items.push(elements, left, fill)
        add(ctx, key, items)
    else:
        items.push(elements, left, fill)
        ctx.db.touch(key)
    ctx.notify(NOTIFY_LIST, b"lpush" if left else b"rpush", key)
    return items


def take(ctx: Context, key: bytes, items: Elements, count: int, left: bool) -> list[bytes]:
    """Take up to ``count`` elements from one end; the key is removed with the last one."""
    taken = items.take(count, left, ctx.settings.list_max_listpack_size)
    if taken:
        ctx.notify(NOTIFY_LIST, pop_name(left), key)
        drop_if_empty(ctx, key, items)
    return taken


def pop_name(left: bool) -> bytes:
    """The name of a pop at this end."""
    return b"lpop" if left else b"rpop"


def is_left(word: bytes) -> bool:
    """LEFT or RIGHT."""
    end = word.upper()
    if end not in (b"LEFT", b"RIGHT"):
        raise CommandError(SYNTAX)
    return end == b"LEFT"


def read_timeout(ctx: Context, text: bytes) -> int:
    """Seconds with a fraction, as milliseconds rounded up."""
    timeout_ms = _float_of(text) * 1000
    if timeout_ms > mem.I64_MAX - ctx.now_ms:
        raise CommandError(TIMEOUT_OUT_OF_RANGE)
    if timeout_ms <= -1:
        raise CommandError(TIMEOUT_NEGATIVE)
    return math.ceil(timeout_ms)


def _float_of(text: bytes) -> float:
    """A number as C's strtold() reads it: decimal, hexadecimal or infinite."""
    word = text.decode("latin-1")
    # Python, unlike C, allows blanks around a number and underscores in it.
    if word.strip() != word or "_" in word:
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    try:
        value = float.fromhex(word) if "x" in word.lower() else float(word)
    except (ValueError, OverflowError):
        raise CommandError(TIMEOUT_NOT_A_FLOAT) from None
    if math.isnan(value) or (math.isinf(value) and "inf" not in word.lower()):
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    return value


#: The other categories of a row follow from its flags.
row = partial(Command, categories="list", group="list")
