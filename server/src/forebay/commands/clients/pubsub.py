"""SUBSCRIBE PSUBSCRIBE SSUBSCRIBE, their opposites, PUBLISH SPUBLISH PUBSUB.

Every channel of a SUBSCRIBE is confirmed by a message of its own: kind, name,
and the number of the client's subscriptions.  Channels and patterns are counted
together, shard channels separately: a cluster keeps a shard channel on the node
of its slot, and a server without cluster keeps them all.  The engine's Pubsub
has the lists; see there for how a message finds its listeners.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from forebay.commands.api import gates
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.session import Session
from forebay.commands.api.spec import (
    DENYOOM,
    FAST,
    LOADING,
    MAY_REPLICATE,
    NOSCRIPT,
    PUBSUB,
    STALE,
    Command,
    Keys,
)
from forebay.errors import CommandError
from forebay.wire.argv import Argv

Change = Callable[[Session, bytes], bool]

NOT_IN_EXEC = b"ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"


def subscribe(ctx: Context, argv: Argv) -> None:
    """SUBSCRIBE channel [channel ...]."""
    _change(ctx, b"subscribe", ctx.services.pubsub.subscribe, argv.list()[1:])


def psubscribe(ctx: Context, argv: Argv) -> None:
    """PSUBSCRIBE pattern [pattern ...]."""
    _change(ctx, b"psubscribe", ctx.services.pubsub.psubscribe, argv.list()[1:])


def unsubscribe(ctx: Context, argv: Argv) -> None:
    """UNSUBSCRIBE [channel ...]: all of them if none is named."""
    names = argv.list()[1:] or list(ctx.session.channels)
    _change(ctx, b"unsubscribe", ctx.services.pubsub.unsubscribe, names)


def punsubscribe(ctx: Context, argv: Argv) -> None:
    """PUNSUBSCRIBE [pattern ...]: all of them if none is named."""
    names = argv.list()[1:] or list(ctx.session.patterns)
    _change(ctx, b"punsubscribe", ctx.services.pubsub.punsubscribe, names)


def ssubscribe(ctx: Context, argv: Argv) -> None:
    """SSUBSCRIBE shardchannel [shardchannel ...]."""
    if not ctx.may_block:
        raise CommandError(NOT_IN_EXEC)
    _change(ctx, b"ssubscribe", ctx.services.pubsub.ssubscribe, argv.list()[1:])


def sunsubscribe(ctx: Context, argv: Argv) -> None:
    """SUNSUBSCRIBE [shardchannel ...]: all of them if none is named."""
    names = argv.list()[1:] or list(ctx.session.shard_channels)
    _change(ctx, b"sunsubscribe", ctx.services.pubsub.sunsubscribe, names)


def _change(ctx: Context, kind: bytes, change: Change, names: list[bytes]) -> None:
    """Change the subscriptions one by one and confirm each; confirm also if there are none."""
    for name in names:
        change(ctx.session, name)
        _confirm(ctx, kind, name)
    if not names:
        _confirm(ctx, kind, None)
    ctx.session.refresh_subscribed()


def _confirm(ctx: Context, kind: bytes, name: bytes | None) -> None:
    """A message that CLIENT REPLY OFF does not suppress."""
    shards = len(ctx.session.shard_channels)
    is_shard = kind in (b"ssubscribe", b"sunsubscribe")
    count = shards if is_shard else ctx.session.subscriptions() - shards
    muted = ctx.session.gate & (gates.REPLY_OFF | gates.REPLY_SKIP)
    out = ctx.services.pubsub.output(ctx.session) if muted else ctx.reply
    out.push(3)
    out.bulk(kind)
    out.value(name)
    out.integer(count)


def publish(ctx: Context, argv: Argv) -> None:
    """PUBLISH channel message: the number of receivers."""
    ctx.reply.integer(ctx.services.pubsub.publish(argv[1], argv[2]))
    ctx.services.replication.pass_on(argv)


def spublish(ctx: Context, argv: Argv) -> None:
    """SPUBLISH shardchannel message: the number of receivers."""
    ctx.reply.integer(ctx.services.pubsub.spublish(argv[1], argv[2]))
    ctx.services.replication.pass_on(argv)


# PUBSUB


def channels(ctx: Context, argv: Argv) -> None:
    """PUBSUB CHANNELS [pattern]."""
    _names(ctx, argv, shard=False)


def shardchannels(ctx: Context, argv: Argv) -> None:
    """PUBSUB SHARDCHANNELS [pattern]."""
    _names(ctx, argv, shard=True)


def _names(ctx: Context, argv: Argv, shard: bool) -> None:
    if len(argv) > 3:
        raise bad_subcommand(argv)
    pattern = argv[2] if len(argv) == 3 else None
    ctx.reply.value(ctx.services.pubsub.channel_names(pattern, shard))


def numsub(ctx: Context, argv: Argv) -> None:
    """PUBSUB NUMSUB [channel ...]."""
    _counts(ctx, argv, shard=False)


def shardnumsub(ctx: Context, argv: Argv) -> None:
    """PUBSUB SHARDNUMSUB [shardchannel ...]."""
    _counts(ctx, argv, shard=True)


def _counts(ctx: Context, argv: Argv, shard: bool) -> None:
    names = argv.list()[2:]
    ctx.reply.array(2 * len(names))
    for name in names:
        ctx.reply.bulk(name)
        ctx.reply.integer(ctx.services.pubsub.subscribers(name, shard))


def numpat(ctx: Context, argv: Argv) -> None:
    """PUBSUB NUMPAT."""
    ctx.reply.integer(ctx.services.pubsub.pattern_count())


_HELP = """
CHANNELS [<pattern>]
    Return the currently active channels matching a <pattern> (default: '*').
NUMPAT
    Return number of subscriptions to patterns.
NUMSUB [<channel> ...]
    Return the number of subscribers for the specified channels, excluding
    pattern subscriptions(default: no channels).
SHARDCHANNELS [<pattern>]
    Return the currently active shard level channels matching a <pattern> (default: '*').
SHARDNUMSUB [<shardchannel> ...]
    Return the number of subscribers for the specified shard level channel(s)
"""

_LISTEN = PUBSUB | NOSCRIPT | LOADING | STALE
_ASK = PUBSUB | LOADING | STALE

_listener = partial(
    Command, flags=_LISTEN | DENYOOM, categories="@pubsub @slow", since="2.0.0", group="pubsub"
)
_leaver = partial(_listener, flags=_LISTEN)
_question = partial(Command, flags=_ASK, categories="@pubsub @slow", since="2.8.0", group="pubsub")
#: A shard channel takes the place of a key: it decides the slot.
_CHANNEL, _CHANNELS = Keys(1, 1, 1, "not_key"), Keys(1, -1, 1, "not_key")
_shard_row = partial(Command, categories="@pubsub", since="7.0.0", group="pubsub")

ROWS = [
    _listener(
        name="subscribe",
        handler=subscribe,
        arity=-2,
        summary="Subscribes this client to channels.",
        syntax="channel [channel ...]",
    ),
    _listener(
        name="psubscribe",
        handler=psubscribe,
        arity=-2,
        summary="Subscribes this client to all channels that match a pattern.",
        syntax="pattern [pattern ...]",
    ),
    _leaver(
        name="unsubscribe",
        handler=unsubscribe,
        arity=-1,
        summary="Ends subscriptions to the given channels, or to all.",
        syntax="[channel [channel ...]]",
    ),
    _leaver(
        name="punsubscribe",
        handler=punsubscribe,
        arity=-1,
        summary="Ends subscriptions to the given patterns, or to all.",
        syntax="[pattern [pattern ...]]",
    ),
    Command(
        name="publish",
        handler=publish,
        arity=3,
        flags=PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE,
        categories="@pubsub @fast",
        since="2.0.0",
        summary="Sends a message to the subscribers of a channel.",
        group="pubsub",
        syntax="channel message",
    ),
    _shard_row(
        name="ssubscribe",
        handler=ssubscribe,
        arity=-2,
        flags=_LISTEN | DENYOOM,
        keys=_CHANNELS,
        summary="Subscribes this client to shard channels.",
        syntax="shardchannel [shardchannel ...]",
    ),
    _shard_row(
        name="sunsubscribe",
        handler=sunsubscribe,
        arity=-1,
        flags=_LISTEN,
        keys=_CHANNELS,
        summary="Ends subscriptions to the given shard channels, or to all.",
        syntax="[shardchannel [shardchannel ...]]",
    ),
    _shard_row(
        name="spublish",
        handler=spublish,
        arity=3,
        flags=PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE,
        keys=_CHANNEL,
        summary="Sends a message to the subscribers of a shard channel.",
        syntax="shardchannel message",
    ),
    Command(
        name="pubsub",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="2.8.0",
        summary="Shows channels and their numbers of subscribers.",
        group="pubsub",
        subcommands=[
            _question(
                name="channels",
                handler=channels,
                arity=-2,
                summary="The channels that have subscribers.",
                syntax="[pattern]",
            ),
            _question(
                name="numsub",
                handler=numsub,
                arity=-2,
                summary="The number of subscribers of each channel.",
                syntax="[channel [channel ...]]",
            ),
            _question(
                name="numpat",
                handler=numpat,
                arity=2,
                summary="The number of patterns that have subscribers.",
                syntax="",
            ),
            _question(
                name="shardchannels",
                handler=shardchannels,
                arity=-2,
                summary="The shard channels that have subscribers.",
                syntax="[pattern]",
                since="7.0.0",
            ),
            _question(
                name="shardnumsub",
                handler=shardnumsub,
                arity=-2,
                summary="The number of subscribers of each shard channel.",
                syntax="[shardchannel [shardchannel ...]]",
                since="7.0.0",
            ),
            help_row(container="pubsub", text=_HELP, since="6.2.0", group="pubsub"),
        ],
    ),
]
