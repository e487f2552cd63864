"""Commands about the connection itself: PING ECHO SELECT AUTH HELLO RESET QUIT.

A new connection belongs to the user ``default``, and is logged in if that user needs no
password.  Users and their rights: commands/access, engine/access.py.

    HELLO [2|3 [AUTH user password] [SETNAME name]]     all or nothing
"""

from __future__ import annotations

from functools import partial

from forebay.commands.access.user import DEFAULT
from forebay.commands.api import gates
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import (
    ALLOW_BUSY,
    FAST,
    LOADING,
    NO_AUTH,
    NOSCRIPT,
    STALE,
    Command,
)
from forebay.commands.api.version import REDIS_VERSION
from forebay.commands.keyspace.value_ops import database_of
from forebay.errors import SYNTAX, CommandError, wrong_arity
from forebay.wire.argv import Argv

SUBSCRIBED_BIT = gates.SUBSCRIBED
WRONGPASS = b"WRONGPASS invalid username-password pair or user is disabled."
NO_PASSWORD_SET = (
    b"ERR AUTH <password> called without any password configured for the default user. "
    b"Are you sure your configuration is correct?"
)
HELLO_NEEDS_AUTH = (
    b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
    b"<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
    b"RESP protocol version at the same time"
)
NOT_A_VERSION = b"ERR Protocol version is not an integer or out of range"
NOPROTO = b"NOPROTO unsupported protocol version"
BAD_NAME = b"ERR Client names cannot contain spaces, newlines or special characters."


def ping(ctx: Context, argv: Argv) -> None:
    """PING [message]; a subscribed RESP2 client gets it in the shape of a message."""
    if argv.n > 2:
        raise wrong_arity(b"ping")
    if ctx.session.gate & SUBSCRIBED_BIT:
        ctx.reply.array(2)
        ctx.reply.bulk(b"pong")
        ctx.reply.bulk(argv.at(1) if argv.n == 2 else b"")
    elif argv.n == 2:
        ctx.reply.bulk(argv.at(1))
    else:
        ctx.reply.raw(b"+PONG\r\n")


def echo(ctx: Context, argv: Argv) -> None:
    """ECHO message."""
    ctx.reply.bulk(argv.at(1))


def select(ctx: Context, argv: Argv) -> None:
    """SELECT index."""
    ctx.session.db = database_of(ctx, argv[1])
    ctx.use(ctx.session)
    ctx.reply.ok()


def quit_(ctx: Context, argv: Argv) -> None:
    """QUIT: answer, then close."""
    ctx.reply.ok()
    ctx.services.sessions.close(ctx.session)


# Login


def auth(ctx: Context, argv: Argv) -> None:
    """AUTH [username] password."""
    if len(argv) > 3:
        raise CommandError(SYNTAX)
    if len(argv) == 2 and ctx.services.access.users.default.nopass:
        raise CommandError(NO_PASSWORD_SET)
    user = argv[1] if len(argv) == 3 else DEFAULT
    log_in(ctx, user, argv[len(argv) - 1], argv[0])
    ctx.reply.ok()


def log_in(ctx: Context, user: bytes, password: bytes, command: bytes) -> None:
    """Log the session in as this user, or raise."""
    if not ctx.services.access.log_in(ctx.session, user, password, command):
        raise CommandError(WRONGPASS)


def checked_name(name: bytes) -> bytes:
    """A name that can be printed in CLIENT LIST without harm."""
    if any(not 33 <= byte <= 126 for byte in name):
        raise CommandError(BAD_NAME)
    return name


def hello(ctx: Context, argv: Argv) -> None:
    """HELLO [protover [AUTH username password] [SETNAME clientname]]."""
    session = ctx.session
    version = session.out.resp
    args = Args(argv)
    if args.more():
        version = args.integer(NOT_A_VERSION)
        if version not in (2, 3):
            raise CommandError(NOPROTO)
    login, name = hello_options(args)
    if login is not None:
        log_in(ctx, *login, argv[0])
    if not session.authenticated:
        raise CommandError(HELLO_NEEDS_AUTH)
    if name is not None:
        session.name = name
    session.out.resp = version
    session.refresh_subscribed()
    say_hello(ctx)


def hello_options(args: Args) -> tuple[tuple[bytes, bytes] | None, bytes | None]:
    """User and password, and name, if given."""
    login = name = None
    while args.more():
        if args.left() >= 3 and args.word(b"AUTH"):
            login = (args.next(), args.next())
        elif args.left() >= 2 and args.word(b"SETNAME"):
            name = checked_name(args.next())
        else:
            raise CommandError(b"ERR Syntax error in HELLO option '%b'" % args.peek())
    return login, name


def say_hello(ctx: Context) -> None:
    """The facts about this server."""
    ctx.reply.value(
        {
            b"server": b"redis",
            b"version": REDIS_VERSION.encode(),
            b"proto": ctx.reply.resp,
            b"id": ctx.session.id,
            b"mode": b"standalone",
            b"role": b"master",
            b"modules": [],
        }
    )


def reset(ctx: Context, argv: Argv) -> None:
    """RESET: as if the client had just connected."""
    session = ctx.session
    session.forget_queue()
    session.unwatch()
    ctx.services.pubsub.drop(session)
    ctx.services.tracking.stop(session)
    ctx.services.executor.monitor(session, on=False)
    session.db = ctx.keyspace.databases[0]
    session.name = b""
    session.no_evict = session.no_touch = False
    session.gate &= ~gates.REPLIES
    ctx.services.access.arrive(session)
    session.out.resp = 2
    session.refresh_subscribed()
    ctx.use(session)
    ctx.reply.status(b"RESET")


_AT_THE_DOOR = NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY
_row = partial(Command, categories="@fast @connection", group="connection")

ROWS = [
    _row(
        name="ping",
        handler=ping,
        arity=-1,
        flags=FAST,
        since="1.0.0",
        summary="Answers PONG, or the message.",
        syntax="[message]",
    ),
    _row(
        name="echo",
        handler=echo,
        arity=2,
        flags=LOADING | STALE | FAST,
        since="1.0.0",
        summary="Answers with its argument.",
        syntax="message",
    ),
    _row(
        name="select",
        handler=select,
        arity=2,
        flags=LOADING | STALE | FAST,
        since="1.0.0",
        summary="Switches to another database.",
        syntax="index",
    ),
    _row(
        name="quit",
        handler=quit_,
        arity=-1,
        flags=_AT_THE_DOOR,
        since="1.0.0",
        summary="Answers, then closes the connection.",
    ),
    _row(
        name="auth",
        handler=auth,
        arity=-2,
        flags=_AT_THE_DOOR,
        since="1.0.0",
        summary="Logs in.",
        syntax="[username] password",
    ),
    _row(
        name="hello",
        handler=hello,
        arity=-1,
        flags=_AT_THE_DOOR,
        since="6.0.0",
        summary="Chooses the protocol; may log in.",
        syntax="[protover [AUTH username password] [SETNAME clientname]]",
    ),
    _row(
        name="reset",
        handler=reset,
        arity=1,
        flags=_AT_THE_DOOR,
        since="6.2.0",
        summary="Returns the connection to its initial state.",
    ),
]
