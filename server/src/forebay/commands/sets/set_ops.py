"""Operations that several families of set commands share; a set is a ``Members``."""

from __future__ import annotations

from functools import partial

from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_SET
from forebay.commands.api.spec import Command
from forebay.commands.keyspace.value_ops import add, read, typed
from forebay.core.members import Members


def set_at(ctx: Context, key: bytes) -> Members | None:
    """The set at a key, for a command that may change it."""
    return typed(ctx.lookup(key), Members)


def read_set(ctx: Context, key: bytes) -> Members | None:
    """The set at a key, for a command that only reads."""
    return typed(read(ctx, key), Members)


def include(ctx: Context, key: bytes, present: Members | None, members: list[bytes]) -> int:
    """Add members to the set at the key, which is created if missing; how many were new."""
    if present is None:
        created = Members()
        added = created.include(members, ctx.settings)
        add(ctx, key, created)
    else:
        added = present.include(members, ctx.settings)
    if added:
        ctx.db.touch(key)
        ctx.notify(NOTIFY_SET, b"sadd", key)
    return added


#: The other categories of a row follow from its flags.
row = partial(Command, categories="set", group="set")
