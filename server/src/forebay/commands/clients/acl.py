"""ACL: show and change users and their rules.

    ACL SETUSER name [rule ...]      make or change a user, all rules or none (access/rules.py)
    ACL DELUSER name [name ...]      and close its clients
    ACL GETUSER, LIST, USERS         the existing users
    ACL LOAD, SAVE                   from the ACL file and back
    ACL CAT [category]               categories, or the commands of one
    ACL DRYRUN name command ...      would it be allowed?
    ACL LOG [count | RESET]          refused calls (access/log.py)
    ACL GENPASS, WHOAMI

engine/access.py checks the rules for each command.
"""

from __future__ import annotations

from functools import partial

from forebay.commands.access.categories import CATEGORIES
from forebay.commands.access.log import Entry
from forebay.commands.access.rules import RuleError, has_blanks
from forebay.commands.access.selector import Selector
from forebay.commands.access.user import DEFAULT
from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import bad_subcommand, help_row
from forebay.commands.api.spec import ADMIN, LOADING, NOSCRIPT, STALE, Command
from forebay.commands.keyspace.value_ops import integer_of
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv, argv_of
from forebay.wire.resp_writer import RespWriter

BAD_NAME = b"ERR Usernames can't contain spaces or null characters"
NOT_DEFAULT = b"ERR The 'default' user cannot be removed"
NO_FILE = (
    b"ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
    b"via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
    b"configuration file set) in order to store users in the Redis configuration."
)
PASSWORD_BITS = 256
MOST_BITS = 4096
BAD_BITS = (
    b"ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
    b"number up to %d" % MOST_BITS
)
LOG_ENTRIES = 10


# Changing


def setuser(ctx: Context, argv: Argv) -> None:
    """ACL SETUSER username [rule ...]."""
    words = argv.list()
    if has_blanks(words[2]):
        raise CommandError(BAD_NAME)
    try:
        ctx.services.access.set_user(words[2], words[3:])
    except RuleError as error:
        raise failure(error) from None
    ctx.reply.ok()


def failure(error: RuleError) -> CommandError:
    """The error for invalid rules, as an answer."""
    return CommandError(b"ERR " + str(error).encode("utf-8", "surrogateescape"))


def deluser(ctx: Context, argv: Argv) -> None:
    """ACL DELUSER username [username ...]: how many existed."""
    names = argv.list()[2:]
    if DEFAULT in names:
        raise CommandError(NOT_DEFAULT)
    ctx.reply.integer(ctx.services.access.delete_users(names))


def load(ctx: Context, argv: Argv) -> None:
    """ACL LOAD: replace all users by those of the file."""
    file, access = ctx.services.access_file, ctx.services.access
    if not file.path:
        raise CommandError(NO_FILE)
    try:
        access.exchange(access.users.read_lines(file.read(), file.path))
    except RuleError as error:
        raise failure(error) from None
    ctx.reply.ok()


def save(ctx: Context, argv: Argv) -> None:
    """ACL SAVE: write the users to the file."""
    file = ctx.services.access_file
    if not file.path:
        raise CommandError(NO_FILE)
    file.write(ctx.services.access.users.lines())
    ctx.reply.ok()


# Reading


def getuser(ctx: Context, argv: Argv) -> None:
    """ACL GETUSER username: everything about the user, or null."""
    user = ctx.services.access.users.get(argv[2])
    out = ctx.reply
    if user is None:
        out.null()
        return
    out.map(6)
    out.bulk(b"flags")
    flags = user.flags()
    out.set(len(flags))
    for flag in flags:
        out.bulk(flag)
    out.bulk(b"passwords")
    out.value(list(user.passwords))
    write_selector(out, user.root)
    out.bulk(b"selectors")
    out.array(len(user.others))
    for selector in user.others:
        out.map(3)
        write_selector(out, selector)


def write_selector(out: RespWriter, selector: Selector) -> None:
    """Three fields of a map."""
    out.bulk(b"commands")
    out.bulk(selector.commands_text())
    out.bulk(b"keys")
    out.bulk(selector.keys_text())
    out.bulk(b"channels")
    out.bulk(selector.channels_text())


def list_(ctx: Context, argv: Argv) -> None:
    """ACL LIST: all users as lines of a file."""
    ctx.reply.value(ctx.services.access.users.lines())


def users(ctx: Context, argv: Argv) -> None:
    """ACL USERS: their names."""
    ctx.reply.value(ctx.services.access.users.names())


def whoami(ctx: Context, argv: Argv) -> None:
    """ACL WHOAMI."""
    ctx.reply.bulk(ctx.session.user.name)


def cat(ctx: Context, argv: Argv) -> None:
    """ACL CAT [category]."""
    if len(argv) > 3:
        raise bad_subcommand(argv)
    if len(argv) == 2:
        ctx.reply.value([name.encode() for name in CATEGORIES])
        return
    name = argv[2].decode("latin-1").lower()
    if name not in CATEGORIES:
        raise CommandError(b"ERR Unknown category '%b'" % shown(argv[2])[:128])
    rows = ctx.services.access.users.catalogue.in_category(name)
    ctx.reply.value([row.full_name for row in rows])


def genpass(ctx: Context, argv: Argv) -> None:
    """ACL GENPASS [bits]: hexadecimal digits that cannot be guessed."""
    if len(argv) > 3:
        raise bad_subcommand(argv)
    bits = integer_of(argv[2]) if len(argv) == 3 else PASSWORD_BITS
    if not 0 < bits <= MOST_BITS:
        raise CommandError(BAD_BITS)
    digits = (bits + 3) // 4
    ctx.reply.bulk(ctx.services.random_bytes((digits + 1) // 2).hex().encode()[:digits])


def dryrun(ctx: Context, argv: Argv) -> None:
    """ACL DRYRUN username command [arg ...]: OK, or why it would be refused."""
    words = argv.list()[3:]
    known = ctx.services.access.users
    user = known.get(argv[2])
    if user is None:
        raise CommandError(b"ERR User '%b' not found" % shown(argv[2]))
    row = known.catalogue.of_call(words[0], words[1] if len(words) > 1 else None)
    if row is None:
        raise CommandError(b"ERR Command '%b' not found" % shown(words[0]))
    if not row.takes(len(words)):
        raise wrong_arity(row.full_name)
    denial = user.denial(row, argv_of(words))
    if denial is None:
        ctx.reply.ok()
    else:
        ctx.reply.bulk(denial.text(verbose=True))


# The log


def log(ctx: Context, argv: Argv) -> None:
    """ACL LOG [count | RESET]."""
    if len(argv) > 3:
        raise bad_subcommand(argv)
    entries = ctx.services.access.log.entries
    if len(argv) == 3 and argv.word(2, b"RESET"):
        entries.clear()
        ctx.reply.ok()
        return
    count = integer_of(argv[2]) if len(argv) == 3 else LOG_ENTRIES
    chosen = entries[: max(count, 0)]
    ctx.reply.array(len(chosen))
    for entry in chosen:
        write_entry(ctx.reply, entry, ctx.now_ms)


def write_entry(out: RespWriter, entry: Entry, now_ms: int) -> None:
    """One refusal."""
    out.map(10)
    for name, value in (
        (b"count", entry.count),
        (b"reason", entry.reason),
        (b"context", entry.context),
        (b"object", entry.object),
        (b"username", entry.user),
        (b"age-seconds", (now_ms - entry.updated_ms) / 1000),
        (b"client-info", entry.client),
        (b"entry-id", entry.number),
        (b"timestamp-created", entry.created_ms),
        (b"timestamp-last-updated", entry.updated_ms),
    ):
        out.bulk(name)
        out.value(value)


_HELP = """
CAT [<category>]
    List all commands that belong to <category>, or all command categories
    when no category is specified.
DELUSER <username> [<username> ...]
    Delete a list of users.
DRYRUN <username> <command> [<arg> ...]
    Returns whether the user can execute the given command without executing the command.
GETUSER <username>
    Get the user's details.
GENPASS [<bits>]
    Generate a secure 256-bit user password. The optional `bits` argument can
    be used to specify a different size.
LIST
    Show users details in config file format.
LOAD
    Reload users from the ACL file.
LOG [<count> | RESET]
    Show the ACL log entries.
SAVE
    Save the current config to the ACL file.
SETUSER <username> <attribute> [<attribute> ...]
    Create or modify a user with the specified attributes.
USERS
    List all the registered usernames.
WHOAMI
    Return the current connection username.
"""

_OPEN = NOSCRIPT | LOADING | STALE
_open = partial(Command, flags=_OPEN, categories="@slow", since="6.0.0", group="server")
_admin = partial(_open, flags=ADMIN | _OPEN)

_SUBCOMMANDS = [
    _open(
        name="cat",
        handler=cat,
        arity=-2,
        summary="The categories of commands, or the commands of one.",
        syntax="[category]",
    ),
    _admin(
        name="deluser",
        handler=deluser,
        arity=-3,
        summary="Deletes users and closes their connections.",
        syntax="username [username ...]",
    ),
    _admin(
        name="dryrun",
        handler=dryrun,
        arity=-4,
        since="7.0.0",
        summary="Whether a user may run a command, without running it.",
        syntax="username command [arg [arg ...]]",
    ),
    _open(
        name="genpass",
        handler=genpass,
        arity=-2,
        summary="A random password.",
        syntax="[bits]",
    ),
    _admin(
        name="getuser",
        handler=getuser,
        arity=3,
        summary="The rules of a user.",
        syntax="username",
    ),
    _admin(name="list", handler=list_, arity=2, summary="All users, as lines of an ACL file."),
    _admin(name="load", handler=load, arity=2, summary="Replaces the users by those of the file."),
    _admin(
        name="log",
        handler=log,
        arity=-2,
        summary="Refused logins and calls, newest first.",
        syntax="[count | RESET]",
    ),
    _admin(name="save", handler=save, arity=2, summary="Writes the users into the ACL file."),
    _admin(
        name="setuser",
        handler=setuser,
        arity=-3,
        summary="Creates or changes a user.",
        syntax="username [rule [rule ...]]",
    ),
    _admin(name="users", handler=users, arity=2, summary="The names of all users."),
    _open(name="whoami", handler=whoami, arity=2, summary="The user of the connection."),
    help_row(container="acl", text=_HELP, since="6.0.0"),
]

ROWS = [
    Command(
        name="acl",
        handler=None,
        arity=-2,
        flags=0,
        categories="@slow",
        since="6.0.0",
        summary="Users and their permissions.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
