"""CLIENT and MONITOR: read and change the state of this client and of others.

Filters choose the clients for CLIENT LIST and CLIENT KILL.  A filter is a function from
a session to yes or no, and all of them must say yes.  ``client_line`` makes a line of
CLIENT LIST.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from forebay import mem
from forebay.commands.api import gates
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.session import Session
from forebay.commands.api.spec import ADMIN, LOADING, NOSCRIPT, STALE, Command
from forebay.commands.clients.client_line import kind_of, line_of
from forebay.commands.clients.connection import checked_name
from forebay.commands.clients.tracking import SUBCOMMANDS as TRACKING
from forebay.commands.keyspace.value_ops import integer_of
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

Filter = Callable[[Session], bool]

KINDS = {b"normal": b"normal", b"pubsub": b"pubsub", b"master": b"master"} | dict.fromkeys(
    [b"slave", b"replica"], b"replica"
)
UNBLOCKED = b"UNBLOCKED client unblocked via CLIENT UNBLOCK"
BAD_REASON = b"ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"
BAD_PAUSE_MODE = b"ERR CLIENT PAUSE mode must be WRITE or ALL"
NO_SUCH_CLIENT = b"ERR No such client"
BAD_CLIENT_ID = b"ERR client-id should be greater than 0"
LARGEST_TIME_MS = mem.I64_MAX


# This client


def client_id(ctx: Context, argv: Argv) -> None:
    """CLIENT ID."""
    ctx.reply.integer(ctx.session.id)


def getname(ctx: Context, argv: Argv) -> None:
    """CLIENT GETNAME."""
    ctx.reply.value(ctx.session.name or None)


def setname(ctx: Context, argv: Argv) -> None:
    """CLIENT SETNAME name."""
    ctx.session.name = checked_name(argv[2])
    ctx.reply.ok()


def setinfo(ctx: Context, argv: Argv) -> None:
    """CLIENT SETINFO LIB-NAME|LIB-VER value."""
    value = argv[3]
    is_name = argv.word(2, b"LIB-NAME")
    if not is_name and not argv.word(2, b"LIB-VER"):
        raise CommandError(b"ERR Unrecognized option '%b'" % argv[2])
    if any(not 33 <= byte <= 126 for byte in value):
        raise CommandError(
            b"ERR %b cannot contain spaces, newlines or special characters." % argv[2]
        )
    if is_name:
        ctx.session.lib_name = value
    else:
        ctx.session.lib_ver = value
    ctx.reply.ok()


def info(ctx: Context, argv: Argv) -> None:
    """CLIENT INFO: the line of CLIENT LIST about this client."""
    ctx.reply.verbatim(b"txt", line_of(ctx.session, ctx.now_ms))


def _on_or_off(argv: Argv) -> bool:
    if argv.word(2, b"ON"):
        return True
    if argv.word(2, b"OFF"):
        return False
    raise CommandError(SYNTAX)


def no_evict(ctx: Context, argv: Argv) -> None:
    """CLIENT NO-EVICT ON|OFF."""
    ctx.session.no_evict = _on_or_off(argv)
    ctx.reply.ok()


def no_touch(ctx: Context, argv: Argv) -> None:
    """CLIENT NO-TOUCH ON|OFF."""
    ctx.session.no_touch = _on_or_off(argv)
    ctx.reply.ok()


def reply(ctx: Context, argv: Argv) -> None:
    """CLIENT REPLY ON|OFF|SKIP; only ON is answered."""
    session = ctx.session
    if argv.word(2, b"ON"):
        session.gate &= ~gates.REPLIES
        ctx.reply.ok()
    elif argv.word(2, b"OFF"):
        session.set_gate(gates.REPLY_OFF, on=True)
    elif argv.word(2, b"SKIP"):
        session.set_gate(gates.REPLY_SKIP_NEXT, not session.gate & gates.REPLY_OFF)
    else:
        raise CommandError(SYNTAX)


# Other clients


def list_clients(ctx: Context, argv: Argv) -> None:
    """CLIENT LIST [TYPE kind | ID id [id ...]]."""
    sessions = ctx.services.sessions
    args = Args(argv, 2)
    chosen: list[Session] = list(sessions)
    if args.left() == 2 and args.word(b"TYPE"):
        kind = _kind(args.next())
        chosen = [session for session in sessions if kind_of(session) == kind]
    elif args.left() >= 2 and args.word(b"ID"):
        numbers = [_client_number(args) for _ in range(args.left())]
        found = [sessions.get(number) for number in numbers]
        chosen = [session for session in found if session is not None]
    args.done()
    text = b"".join(line_of(session, ctx.now_ms) for session in chosen)
    ctx.reply.verbatim(b"txt", text)


def _client_number(args: Args) -> int:
    return args.integer(b"ERR Invalid client ID")


def _kind(name: bytes) -> bytes:
    kind = KINDS.get(name.lower())
    if kind is None:
        raise CommandError(b"ERR Unknown client type '%b'" % name)
    return kind


def kill(ctx: Context, argv: Argv) -> None:
    """CLIENT KILL addr | filter value [filter value ...]."""
    if len(argv) == 3:
        address = argv[2]
        chosen = [session for session in ctx.services.sessions if session.addr == address]
        if not chosen:
            raise CommandError(NO_SUCH_CLIENT)
        ctx.reply.ok()
    else:
        filters = _kill_filters(ctx, Args(argv, 2))
        chosen = [s for s in ctx.services.sessions if all(wanted(s) for wanted in filters)]
        ctx.reply.integer(len(chosen))
    for session in chosen:
        ctx.services.executor.kill(session)


def _kill_filters(ctx: Context, args: Args) -> list[Filter]:
    # If a filter is given twice, the last one counts.
    filters: dict[bytes, Filter] = {}
    skip_me = True
    while args.more():
        if args.left() < 2:
            raise CommandError(SYNTAX)
        name, value = args.next().upper(), args.next()
        if name == b"SKIPME":
            skip_me = _yes_or_no(value)
        else:
            filters[name] = _kill_filter(ctx, name, value)
    if skip_me:
        me = ctx.session
        filters[b"SKIPME"] = lambda session: session is not me
    return list(filters.values())


def _kill_filter(ctx: Context, name: bytes, value: bytes) -> Filter:
    if name == b"ID":
        number = _positive(value, BAD_CLIENT_ID, BAD_CLIENT_ID)
        return lambda session: session.id == number
    if name == b"TYPE":
        kind = _kind(value)
        return lambda session: kind_of(session) == kind
    if name == b"ADDR":
        return lambda session: session.addr == value
    if name == b"LADDR":
        return lambda session: session.laddr == value
    if name == b"USER":
        user = ctx.services.access.users.get(value)
        if user is None:
            raise CommandError(b"ERR No such user '%b'" % value)
        return lambda session: session.user is user
    if name == b"MAXAGE":
        not_a_number = b"ERR maxage is not an integer or out of range"
        age_s = _positive(value, not_a_number, b"ERR maxage should be greater than 0")
        born_ms = ctx.now_ms - 1000 * age_s
        return lambda session: session.created_ms <= born_ms
    raise CommandError(SYNTAX)


def _positive(value: bytes, not_a_number: bytes, not_positive: bytes) -> int:
    number = integer_of(value, not_a_number)
    if number < 1:
        raise CommandError(not_positive)
    return number


def _yes_or_no(value: bytes) -> bool:
    if value.lower() not in (b"yes", b"no"):
        raise CommandError(SYNTAX)
    return value.lower() == b"yes"


def unblock(ctx: Context, argv: Argv) -> None:
    """CLIENT UNBLOCK id [TIMEOUT|ERROR]."""
    error = None
    if len(argv) == 4:
        if argv.word(3, b"ERROR"):
            error = UNBLOCKED
        elif not argv.word(3, b"TIMEOUT"):
            raise CommandError(BAD_REASON)
    elif len(argv) > 4:
        raise bad_subcommand(argv)
    session = ctx.services.sessions.get(integer_of(argv[2]))
    done = session is not None and ctx.services.blocking.unblock(session, error)
    ctx.reply.integer(1 if done else 0)


def pause(ctx: Context, argv: Argv) -> None:
    """CLIENT PAUSE timeout [WRITE|ALL]."""
    if len(argv) > 4:
        raise bad_subcommand(argv)
    args = Args(argv, 3)
    writes_only = args.word(b"WRITE")
    if not writes_only and args.more() and not args.word(b"ALL"):
        raise CommandError(BAD_PAUSE_MODE)
    timeout_ms = integer_of(argv[2], b"ERR timeout is not an integer or out of range")
    if timeout_ms < 0:
        raise CommandError(b"ERR timeout is negative")
    if timeout_ms > LARGEST_TIME_MS - ctx.now_ms:
        raise CommandError(b"ERR timeout is out of range")
    ctx.services.executor.pause(ctx.now_ms + timeout_ms, writes_only)
    ctx.reply.ok()


def unpause(ctx: Context, argv: Argv) -> None:
    """CLIENT UNPAUSE."""
    ctx.services.executor.unpause()
    ctx.reply.ok()


def monitor(ctx: Context, argv: Argv) -> None:
    """MONITOR; a client that already monitors gets no second answer."""
    if not ctx.session.gate & gates.MONITORING:
        ctx.services.executor.monitor(ctx.session, on=True)
        ctx.reply.ok()


_HELP = """
CACHING (YES|NO)
    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.
GETREDIR
    Return the client ID we are redirecting to when tracking is enabled.
GETNAME
    Return the name of the current connection.
ID
    Return the ID of the current connection.
INFO
    Return information about the current client connection.
KILL <ip:port>
    Kill connection made from <ip:port>.
KILL <option> <value> [<option> <value> [...]]
    Kill connections. Options are:
    * ADDR (<ip:port>|<unixsocket>:0)
      Kill connections made from the specified address
    * LADDR (<ip:port>|<unixsocket>:0)
      Kill connections made to specified local address
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Kill connections by type.
    * USER <username>
      Kill connections authenticated by <username>.
    * SKIPME (YES|NO)
      Skip killing current connection (default: yes).
    * ID <client-id>
      Kill connections by client id.
    * MAXAGE <maxage>
      Kill connections older than the specified age.
LIST [options ...]
    Return information about client connections. Options:
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Return clients of specified type.
UNPAUSE
    Stop the current client pause, resuming traffic.
PAUSE <timeout> [WRITE|ALL]
    Suspend all, or just write, clients for <timeout> milliseconds.
REPLY (ON|OFF|SKIP)
    Control the replies sent to the current connection.
SETNAME <name>
    Assign the name <name> to the current connection.
SETINFO <option> <value>
    Set client meta attr. Options are:
    * LIB-NAME: the client lib name.
    * LIB-VER: the client lib version.
UNBLOCK <clientid> [TIMEOUT|ERROR]
    Unblock the specified blocked client.
TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]
         [OPTIN] [OPTOUT] [NOLOOP]
    Control server assisted client side caching.
TRACKINGINFO
    Report tracking status for the current connection.
NO-EVICT (ON|OFF)
    Protect current client connection from eviction.
NO-TOUCH (ON|OFF)
    Will not touch LRU/LFU stats when this mode is on.
"""

_OWN = NOSCRIPT | LOADING | STALE
#: Makers of rows: subcommands about the client itself, and about others.
_own = partial(Command, flags=_OWN, categories="@slow @connection", group="connection")
_others = partial(_own, flags=ADMIN | _OWN, categories="@slow @connection @admin @dangerous")

_SUBCOMMANDS = [
    _own(
        name="id", handler=client_id, arity=2, since="5.0.0",
        summary="The number of this client.",
    ),
    _own(
        name="getname", handler=getname, arity=2, since="2.6.9",
        summary="The name of this client.",
    ),
    _own(
        name="setname", handler=setname, arity=3, since="2.6.9",
        summary="Gives this client a name.", syntax="connection-name",
    ),
    _own(
        name="setinfo", handler=setinfo, arity=4, since="7.2.0",
        summary="Notes the library of the client.", syntax="<LIB-NAME libname | LIB-VER libver>",
    ),
    _own(
        name="info", handler=info, arity=2, since="6.2.0",
        summary="The line of CLIENT LIST about this client.",
    ),
    _others(
        name="list", handler=list_clients, arity=-2, since="2.4.0",
        summary="A line about each client.",
        syntax="[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
    ),
    _others(
        name="kill", handler=kill, arity=-3, since="2.4.0",
        summary="Closes the clients that match.",
        syntax="<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB>]"
        " [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | NO>] [MAXAGE maxage]>",
    ),
    _others(
        name="unblock", handler=unblock, arity=-3, since="5.0.0",
        summary="Unblocks a client that waits.", syntax="client-id [TIMEOUT | ERROR]",
    ),
    _others(
        name="pause", handler=pause, arity=-3, since="3.0.0",
        summary="Holds back commands, or only writes, for a time.", syntax="timeout [WRITE | ALL]",
    ),
    _others(
        name="unpause", handler=unpause, arity=2, since="6.2.0",
        summary="Ends a pause.",
    ),
    _others(
        name="no-evict", handler=no_evict, arity=3, since="7.0.0",
        summary="Does not close this client if memory runs out.", syntax="<ON | OFF>",
    ),
    _own(
        name="no-touch", handler=no_touch, arity=3, since="7.2.0",
        summary="Sets whether commands count as access to keys.", syntax="<ON | OFF>",
    ),
    _own(
        name="reply", handler=reply, arity=3, since="3.2.0",
        summary="Switches replies to this client off and on.", syntax="<ON | OFF | SKIP>",
    ),
    *TRACKING,
    help_row(
        container="client",
        text=_HELP,
        since="5.0.0",
        group="connection",
        categories="slow connection",
    ),
]  # fmt: skip

ROWS = [
    Command(
        name="client",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="2.4.0",
        summary="Shows and controls clients.",
        group="connection",
        subcommands=_SUBCOMMANDS,
    ),
    Command(
        name="monitor",
        handler=monitor,
        arity=1,
        flags=ADMIN | NOSCRIPT | LOADING | STALE,
        categories="@admin @slow @dangerous",
        since="1.0.0",
        summary="Shows every command that the server runs.",
        group="server",
    ),
]
