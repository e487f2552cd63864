"""SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB.

Every channel of a SUBSCRIBE is confirmed by a message of its own: kind, name,
how many subscriptions the client now has.  The engine's Pubsub keeps the lists;
see there for how a message finds its listeners.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.context import Context
from forebay.commands.help_text import help_row
from forebay.commands.session import Session
from forebay.commands.spec import (
    FAST,
    LOADING,
    MAY_REPLICATE,
    NOSCRIPT,
    PUBSUB,
    STALE,
    Command,
    Handler,
)
from forebay.commands.stream_args import bad_subcommand
from forebay.wire.argv import Argv

Change = Callable[[Session, bytes], bool]


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


def _change(ctx: Context, kind: bytes, change: Change, names: list[bytes]) -> None:
    """Change the subscriptions one by one and confirm each; confirm nothing as well."""
    for name in names:
        change(ctx.session, name)
        _confirm(ctx, kind, name)
    if not names:
        _confirm(ctx, kind, None)
    ctx.session.refresh_subscribed()


def _confirm(ctx: Context, kind: bytes, name: bytes | None) -> None:
    ctx.out.push(3)
    ctx.out.bulk(kind)
    ctx.out.value(name)
    ctx.out.integer(ctx.session.subscriptions())


def publish(ctx: Context, argv: Argv) -> None:
    """PUBLISH channel message: to how many it was sent."""
    ctx.out.integer(ctx.services.pubsub.publish(argv[1], argv[2]))


# PUBSUB


def channels(ctx: Context, argv: Argv) -> None:
    """PUBSUB CHANNELS [pattern]."""
    if len(argv) > 3:
        raise bad_subcommand(argv)
    pattern = argv[2] if len(argv) == 3 else None
    ctx.out.value(ctx.services.pubsub.channel_names(pattern))


def numsub(ctx: Context, argv: Argv) -> None:
    """PUBSUB NUMSUB [channel ...]."""
    names = argv.list()[2:]
    ctx.out.array(2 * len(names))
    for name in names:
        ctx.out.bulk(name)
        ctx.out.integer(ctx.services.pubsub.subscribers(name))


def numpat(ctx: Context, argv: Argv) -> None:
    """PUBSUB NUMPAT."""
    ctx.out.integer(ctx.services.pubsub.pattern_count())


_HELP = """
CHANNELS [<pattern>]
    Return the currently active channels matching a <pattern> (default: '*').
NUMPAT
    Return number of subscriptions to patterns.
NUMSUB [<channel> ...]
    Return the number of subscribers for the specified channels, excluding
    pattern subscriptions(default: no channels).
"""

_LISTEN = PUBSUB | NOSCRIPT | LOADING | STALE
_ASK = PUBSUB | LOADING | STALE


def _listener(name: str, handler: Handler, arity: int, summary: str, syntax: str) -> Command:
    return Command(
        name, handler, arity, _LISTEN, "@pubsub @slow", since="2.0.0", summary=summary,
        group="pubsub", syntax=syntax,
    )  # fmt: skip


def _question(name: str, handler: Handler, arity: int, summary: str, syntax: str) -> Command:
    return Command(
        name, handler, arity, _ASK, "@pubsub @slow", since="2.8.0", summary=summary,
        group="pubsub", syntax=syntax,
    )  # fmt: skip


ROWS = [
    _listener(
        "subscribe", subscribe, -2, "Listens for messages published to channels.",
        "channel [channel ...]",
    ),
    _listener(
        "psubscribe", psubscribe, -2, "Listens for messages to channels that match patterns.",
        "pattern [pattern ...]",
    ),
    _listener(
        "unsubscribe", unsubscribe, -1, "Stops listening to messages posted to channels.",
        "[channel [channel ...]]",
    ),
    _listener(
        "punsubscribe", punsubscribe, -1, "Stops listening to channels that match patterns.",
        "[pattern [pattern ...]]",
    ),
    Command(
        "publish", publish, 3, PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE, "@pubsub @fast",
        since="2.0.0", summary="Posts a message to a channel.", group="pubsub",
        syntax="channel message",
    ),
    Command(
        "pubsub", None, -2, 0, "@slow", since="2.8.0",
        summary="A container for Pub/Sub commands.", group="pubsub",
        subcommands=[
            _question("channels", channels, -2, "Returns the active channels.", "[pattern]"),
            _question(
                "numsub", numsub, -2, "Returns a count of subscribers to channels.",
                "[channel [channel ...]]",
            ),
            _question(
                "numpat", numpat, 2, "Returns a count of unique pattern subscriptions.", ""
            ),
            help_row("pubsub", _HELP, "6.2.0", group="pubsub"),
        ],
    ),
]  # fmt: skip
