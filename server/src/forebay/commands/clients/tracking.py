"""CLIENT TRACKING and related commands: client side caching with the help of the server.

A client says how it wants to be notified of changes.  engine/tracking.py remembers
which client has read which key, and sends the messages.
"""

from __future__ import annotations

from functools import partial

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.session import Session, Tracked
from forebay.commands.api.spec import LOADING, NOSCRIPT, STALE, Command
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

ONE_REDIRECT = b"ERR A client can only redirect to a single other client"
NOBODY_THERE = b"ERR The client ID you want redirect to does not exist"
PREFIX_WITHOUT_BCAST = b"ERR PREFIX option requires BCAST mode to be enabled"
SWITCHES_BCAST = (
    b"ERR You can't switch BCAST mode on/off before disabling tracking for this client, and "
    b"then re-enabling it with a different mode."
)
OPTIONS_OF_BCAST = b"ERR OPTIN and OPTOUT are not compatible with BCAST"
BOTH_OPTIONS = b"ERR You can't specify both OPTIN mode and OPTOUT mode"
SWITCHES_OPTION = (
    b"ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
    b"then re-enabling it with a different mode."
)
OVERLAP = (
    b"ERR Prefix '%b' overlaps with %b prefix '%b'. Prefixes for a single client must not overlap."
)
NOT_TRACKING = (
    b"ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
    b"OPTOUT mode enabled"
)
WRONG_MODE = b"ERR CLIENT CACHING %b is only valid when tracking is enabled in %b mode."


def tracking(ctx: Context, argv: Argv) -> None:
    """CLIENT TRACKING ON|OFF [REDIRECT id] [BCAST] [PREFIX p ...] [OPTIN] [OPTOUT] [NOLOOP]."""
    tracked, prefixes = _read(ctx, Args(argv, 3))
    if argv.word(2, b"ON"):
        _check(tracked, prefixes, ctx.session)
        ctx.services.tracking.start(ctx.session, tracked, prefixes)
    elif argv.word(2, b"OFF"):
        ctx.services.tracking.stop(ctx.session)
    else:
        raise CommandError(SYNTAX)
    ctx.reply.ok()


def _read(ctx: Context, args: Args) -> tuple[Tracked, list[bytes]]:
    tracked = Tracked()
    prefixes: list[bytes] = []
    while args.more():
        if args.left() >= 2 and args.word(b"REDIRECT"):
            if tracked.redirect:
                raise CommandError(ONE_REDIRECT)
            tracked.redirect = args.integer()
            if ctx.services.sessions.get(tracked.redirect) is None:
                raise CommandError(NOBODY_THERE)
        elif args.left() >= 2 and args.word(b"PREFIX"):
            prefixes.append(args.next())
        elif args.word(b"BCAST"):
            tracked.bcast = True
        elif args.word(b"OPTIN"):
            tracked.optin = True
        elif args.word(b"OPTOUT"):
            tracked.optout = True
        elif args.word(b"NOLOOP"):
            tracked.noloop = True
        else:
            raise CommandError(SYNTAX)
    return tracked, prefixes


def _check(wanted: Tracked, prefixes: list[bytes], session: Session) -> None:
    """Check that the options are compatible with each other and with the client's present mode."""
    present = session.tracked
    if prefixes and not wanted.bcast:
        raise CommandError(PREFIX_WITHOUT_BCAST)
    if present is not None and present.bcast != wanted.bcast:
        raise CommandError(SWITCHES_BCAST)
    if wanted.bcast and (wanted.optin or wanted.optout):
        raise CommandError(OPTIONS_OF_BCAST)
    if wanted.optin and wanted.optout:
        raise CommandError(BOTH_OPTIONS)
    if present is not None and (
        (wanted.optin and present.optout) or (wanted.optout and present.optin)
    ):
        raise CommandError(SWITCHES_OPTION)
    _check_prefixes(prefixes, sorted(present.prefixes) if present is not None else [])


def _check_prefixes(prefixes: list[bytes], present: list[bytes]) -> None:
    """Check that no key would be announced twice to one client."""
    for i, prefix in enumerate(prefixes):
        for other in present:
            if overlap(prefix, other):
                raise CommandError(OVERLAP % (prefix, b"an existing", other))
        for other in prefixes[i + 1 :]:
            if overlap(prefix, other):
                raise CommandError(OVERLAP % (prefix, b"another provided", other))


def overlap(one: bytes, other: bytes) -> bool:
    """Whether a key can have both of them as its prefix."""
    return one.startswith(other) or other.startswith(one)


def caching(ctx: Context, argv: Argv) -> None:
    """CLIENT CACHING YES|NO: for the next command, or transaction."""
    tracked = ctx.session.tracked
    if tracked is None:
        raise CommandError(NOT_TRACKING)
    if argv.word(2, b"YES"):
        if not tracked.optin:
            raise CommandError(WRONG_MODE % (b"YES", b"OPTIN"))
    elif not argv.word(2, b"NO"):
        raise CommandError(SYNTAX)
    elif not tracked.optout:
        raise CommandError(WRONG_MODE % (b"NO", b"OPTOUT"))
    tracked.caching = True
    ctx.reply.ok()


def trackinginfo(ctx: Context, argv: Argv) -> None:
    """CLIENT TRACKINGINFO."""
    tracked = ctx.session.tracked
    flags = [b"off"] if tracked is None else flags_of(tracked)
    reply = ctx.reply
    reply.map(3)
    reply.bulk(b"flags")
    reply.set(len(flags))
    for flag in flags:
        reply.bulk(flag)
    reply.bulk(b"redirect")
    reply.integer(redirect_of(ctx.session))
    reply.bulk(b"prefixes")
    reply.value([] if tracked is None else sorted(tracked.prefixes))


def flags_of(tracked: Tracked) -> list[bytes]:
    """How a client tracks, in the words of CLIENT TRACKINGINFO."""
    words = (
        (b"on", True),
        (b"bcast", tracked.bcast),
        (b"optin", tracked.optin),
        (b"caching-yes", tracked.optin and tracked.caching),
        (b"optout", tracked.optout),
        (b"caching-no", tracked.optout and tracked.caching),
        (b"noloop", tracked.noloop),
        (b"broken_redirect", tracked.is_broken),
    )
    return [word for word, holds in words if holds]


def redirect_of(session: Session) -> int:
    """The client that gets the messages; 0 if it is this one, -1 if it does not track."""
    return -1 if session.tracked is None else session.tracked.redirect


def getredir(ctx: Context, argv: Argv) -> None:
    """CLIENT GETREDIR."""
    ctx.reply.integer(redirect_of(ctx.session))


_own = partial(
    Command,
    flags=NOSCRIPT | LOADING | STALE,
    categories="@slow @connection",
    group="connection",
    since="6.0.0",
)

SUBCOMMANDS = [
    _own(
        name="tracking", handler=tracking, arity=-3,
        summary="Notifies this client when keys that it has read change.",
        syntax="<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN]"
        " [OPTOUT] [NOLOOP]",
    ),
    _own(
        name="trackinginfo", handler=trackinginfo, arity=2, since="6.2.0",
        summary="How this client tracks keys.",
    ),
    _own(
        name="getredir", handler=getredir, arity=2,
        summary="The client that gets the notifications of this one.",
    ),
    _own(
        name="caching", handler=caching, arity=3,
        summary="Whether the keys of the next command are tracked.", syntax="<YES | NO>",
    ),
]  # fmt: skip
