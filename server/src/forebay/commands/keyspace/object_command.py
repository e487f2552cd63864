"""OBJECT: facts about the value of a key.

The answers of the subcommands
    ENCODING    how Redis would have stored it (encodings.py)
    REFCOUNT    1: values are not shared, as in Redis since 8.0
    IDLETIME    0: the last access to a key is not recorded
    FREQ        0 if an LFU policy is chosen, an error otherwise
"""

from __future__ import annotations

from functools import partial

from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.keyspace.encodings import encoding
from forebay.errors import CommandError
from forebay.wire.argv import Argv

KEY = 2

NOT_LFU = (
    b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that"
    b" when switching between policies at runtime LRU and LFU data will take some time to adjust."
)
IS_LFU = (
    b"ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when"
    b" switching between policies at runtime LRU and LFU data will take some time to adjust."
)


def object_encoding(ctx: Context, argv: Argv) -> None:
    """OBJECT ENCODING key."""
    value = ctx.lookup(argv[KEY])
    if value is None:
        ctx.reply.null()
    else:
        ctx.reply.bulk(encoding(argv[KEY], value, ctx.settings))


def object_refcount(ctx: Context, argv: Argv) -> None:
    """OBJECT REFCOUNT key."""
    if ctx.lookup(argv[KEY]) is None:
        ctx.reply.null()
    else:
        ctx.reply.integer(1)


def object_idletime(ctx: Context, argv: Argv) -> None:
    """OBJECT IDLETIME key."""
    _untracked(ctx, argv, b"" if not _is_lfu(ctx) else IS_LFU)


def object_freq(ctx: Context, argv: Argv) -> None:
    """OBJECT FREQ key."""
    _untracked(ctx, argv, b"" if _is_lfu(ctx) else NOT_LFU)


def _untracked(ctx: Context, argv: Argv, error: bytes) -> None:
    if ctx.lookup(argv[KEY]) is None:
        ctx.reply.null()
    elif error:
        raise CommandError(error)
    else:
        ctx.reply.integer(0)


def _is_lfu(ctx: Context) -> bool:
    return ctx.settings.maxmemory_policy.endswith("lfu")


_HELP = """
ENCODING <key>
    Return the kind of internal representation used in order to store the value
    associated with a <key>.
FREQ <key>
    Return the access frequency index of the <key>. The returned integer is
    proportional to the logarithm of the recent access frequency of the key.
IDLETIME <key>
    Return the idle time of the <key>, that is the approximated number of
    seconds elapsed since the last access to the key.
REFCOUNT <key>
    Return the number of references of the value associated with the specified
    <key>.
"""


_row = partial(
    Command,
    arity=3,
    flags=READONLY,
    categories="keyspace read slow",
    keys=Keys(2, 2, 1, "RO"),
    group="generic",
    syntax="key",
)


_SUBCOMMANDS = [
    _row(
        name="encoding",
        handler=object_encoding,
        since="2.2.3",
        summary="Names the encoding in which Redis would store a value.",
    ),
    _row(
        name="freq",
        handler=object_freq,
        since="4.0.0",
        summary="Returns 0 if an LFU policy is chosen, an error otherwise.",
    ),
    _row(
        name="idletime",
        handler=object_idletime,
        since="2.2.3",
        summary="Returns 0: the last access to a key is not recorded.",
    ),
    _row(
        name="refcount",
        handler=object_refcount,
        since="2.2.3",
        summary="Returns 1: values are not shared.",
    ),
    help_row(
        container="object", text=_HELP, since="6.2.0", group="generic", categories="keyspace slow"
    ),
]

ROWS = [
    Command(
        name="object",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="2.2.3",
        summary="Shows how a value is stored.",
        group="generic",
        subcommands=_SUBCOMMANDS,
    )
]
