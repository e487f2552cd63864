"""DEBUG: for tests of clients and servers, not for production.

Off unless ``enable-debug-command`` says otherwise; ``local`` admits clients of
this machine.  The subcommands:

    SLEEP seconds                 stop the whole server for that long
    OBJECT key                    a line about the value, with its encoding
    DIGEST, DIGEST-VALUE key ...  fingerprints, equal to those of Redis (digest.py)
    SET-ACTIVE-EXPIRE 0|1         whether the server searches for expired keys
    PROTOCOL type                 one reply of each type, to test a client's parser
    STRINGMATCH-LEN pattern text  whether the text matches the pattern: 1 or 0
    JMAP                          answers, and does nothing else
    RELOAD, LOADAOF               save and reload the snapshot; load all data from the AOF
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.admin.digest import keyspace_digest, value_digest
from forebay.commands.admin.local_only import is_allowed, not_allowed
from forebay.commands.api import glob
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import write_help
from forebay.commands.api.spec import ADMIN, LOADING, NOSCRIPT, STALE, Command, Handler
from forebay.commands.keyspace.encodings import encoding, value_bytes
from forebay.errors import NO_SUCH_KEY, CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

BAD_RELOAD = b"ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
BAD_TYPE = (
    b"ERR Wrong protocol type name. Please use one of the following: "
    b"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"
)
BIG_NUMBER = b"1234567999999999999999999999999999999"
AFTER_ATTRIBUTE = b"Some real reply following the attribute"
AFTER_PUSH = b"Some real reply following the push reply"


def debug(ctx: Context, argv: Argv) -> None:
    """DEBUG subcommand ..."""
    if not is_allowed(ctx.settings.enable_debug_command, ctx.session):
        raise not_allowed(b"DEBUG")
    least, most, run = _SUBCOMMANDS.get(argv[1].lower(), (1, 0, debug_help))
    if not least <= len(argv) <= most:
        text = b"ERR unknown subcommand or wrong number of arguments for '%s'. Try DEBUG HELP."
        raise CommandError(text % argv[1][:128])
    run(ctx, argv)


def debug_sleep(ctx: Context, argv: Argv) -> None:
    """DEBUG SLEEP seconds."""
    try:
        seconds = float(argv[2])
    except ValueError:
        seconds = 0.0
    if 0.0 < seconds < float("inf"):
        ctx.services.sleep(seconds)
    ctx.reply.ok()


def debug_object(ctx: Context, argv: Argv) -> None:
    """DEBUG OBJECT key; also shows a key that has expired but was not removed yet."""
    value = ctx.db.get(argv[2])
    if value is None:
        raise CommandError(NO_SUCH_KEY)
    ctx.reply.status(
        b"Value at:0x%x refcount:1 encoding:%s serializedlength:%d lru:0 lru_seconds_idle:0"
        % (id(value), encoding(argv[2], value, ctx.settings), value_bytes(value, 0))
    )


def debug_digest(ctx: Context, argv: Argv) -> None:
    """DEBUG DIGEST."""
    ctx.reply.status(keyspace_digest(ctx.keyspace).hex().encode())


def debug_digest_value(ctx: Context, argv: Argv) -> None:
    """DEBUG DIGEST-VALUE key ..."""
    keys = argv.list()[2:]
    ctx.reply.array(len(keys))
    for key in keys:
        ctx.lookup(key)
        ctx.reply.status(value_digest(ctx.db, key).hex().encode())


def debug_set_active_expire(ctx: Context, argv: Argv) -> None:
    """DEBUG SET-ACTIVE-EXPIRE 0|1."""
    is_number, value = argv.integer(2)
    ctx.services.executor.active_expire = is_number and value != 0
    ctx.reply.ok()


def debug_stringmatch(ctx: Context, argv: Argv) -> None:
    """DEBUG STRINGMATCH-LEN pattern text."""
    ctx.reply.integer(int(glob.matches(argv[2], argv[3])))


def debug_nothing(ctx: Context, argv: Argv) -> None:
    """Subcommands about things that do not exist here."""
    ctx.reply.ok()


def debug_reload(ctx: Context, argv: Argv) -> None:
    """DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]."""
    words = [word.upper() for word in argv.list()[2:]]
    if any(word not in (b"MERGE", b"NOFLUSH", b"NOSAVE") for word in words):
        raise CommandError(BAD_RELOAD)
    check_alone(ctx)
    ctx.services.durability.reload(
        b"NOSAVE" not in words, b"NOFLUSH" not in words, b"MERGE" in words
    )
    ctx.reply.ok()


def debug_loadaof(ctx: Context, argv: Argv) -> None:
    """DEBUG LOADAOF."""
    check_alone(ctx)
    ctx.services.durability.reload_aof()
    ctx.reply.ok()


def check_alone(ctx: Context) -> None:
    """Refuse it in a transaction: the data would be replaced in the middle of its effects."""
    if not ctx.may_block:
        raise CommandError(b"ERR Command not allowed inside a transaction")


def debug_protocol(ctx: Context, argv: Argv) -> None:
    """DEBUG PROTOCOL type."""
    write = _PROTOCOL.get(argv[2].lower())
    if write is None:
        raise CommandError(BAD_TYPE)
    write(ctx.reply)


def _write_three(out: RespWriter) -> None:
    for number in range(3):
        out.integer(number)


def _array(out: RespWriter) -> None:
    out.array(3)
    _write_three(out)


def _set(out: RespWriter) -> None:
    out.set(3)
    _write_three(out)


def _map(out: RespWriter) -> None:
    out.map(3)
    for number in range(3):
        out.integer(number)
        out.boolean(number == 1)


def _push(out: RespWriter) -> None:
    if out.resp == 2:
        raise CommandError(b"ERR RESP2 is not supported by this command")
    out.push(2)
    out.bulk(b"server-cpu-usage")
    out.integer(42)
    out.bulk(AFTER_PUSH)


def _attribute(out: RespWriter) -> None:
    if out.resp == 3:
        out.raw(b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n")
    out.bulk(AFTER_ATTRIBUTE)


def _big_number(out: RespWriter) -> None:
    if out.resp == 3:
        out.raw(b"(" + BIG_NUMBER + b"\r\n")
    else:
        out.bulk(BIG_NUMBER)


_PROTOCOL: dict[bytes, Callable[[RespWriter], object]] = {
    b"string": lambda out: out.bulk(b"Hello World"),
    b"integer": lambda out: out.integer(12345),
    b"double": lambda out: out.double(3.141),
    b"bignum": _big_number,
    b"null": lambda out: out.null(),
    b"array": _array,
    b"set": _set,
    b"map": _map,
    b"attrib": _attribute,
    b"push": _push,
    b"verbatim": lambda out: out.verbatim(b"txt", b"This is a verbatim\nstring"),
    b"true": lambda out: out.boolean(True),
    b"false": lambda out: out.boolean(False),
}

_HELP = """
DIGEST
    Output a hex signature representing the current DB content.
DIGEST-VALUE <key> [<key> ...]
    Output a hex signature of the values of all the specified keys.
JMAP
    Accepted and without effect.
LOADAOF
    Flush the AOF buffers on disk and reload the AOF in memory.
OBJECT <key>
    Show low level info about `key` and associated value.
PROTOCOL <type>
    Reply with a test value of the specified type. <type> can be: string,
    integer, double, bignum, null, array, set, map, attrib, push, verbatim,
    true, false.
RELOAD [option ...]
    Save the RDB on disk and reload it back to memory. Valid <option> values:
    * MERGE: conflicting keys will be loaded from RDB.
    * NOFLUSH: the existing database will not be removed before load.
    * NOSAVE: the database will be loaded from an existing RDB file.
SET-ACTIVE-EXPIRE <0|1>
    Setting it to 0 disables expiring keys in background when they are not
    accessed. Setting it to 1 reenables back the default.
SLEEP <seconds>
    Stop the server for <seconds>. Decimals allowed.
STRINGMATCH-LEN <pattern> <string>
    Return 1 if the glob-like <pattern> matches the <string>, 0 otherwise.
"""


def debug_help(ctx: Context, argv: Argv) -> None:
    """DEBUG HELP."""
    write_help(ctx.reply, "debug", _HELP)


_ANY = 1 << 30
#: Name to the minimum and maximum number of words, and the handler.
_SUBCOMMANDS: dict[bytes, tuple[int, int, Handler]] = {
    b"help": (2, 2, debug_help),
    b"sleep": (3, 3, debug_sleep),
    b"object": (3, 4, debug_object),
    b"digest": (2, 2, debug_digest),
    b"digest-value": (2, _ANY, debug_digest_value),
    b"set-active-expire": (3, 3, debug_set_active_expire),
    b"protocol": (3, 3, debug_protocol),
    b"stringmatch-len": (4, 4, debug_stringmatch),
    b"jmap": (2, 2, debug_nothing),
    b"quicklist-packed-threshold": (3, 3, debug_nothing),
    b"reload": (2, _ANY, debug_reload),
    b"loadaof": (2, 2, debug_loadaof),
}

ROWS = [
    Command(
        name="debug",
        handler=debug,
        arity=-2,
        flags=ADMIN | NOSCRIPT | LOADING | STALE,
        categories="admin slow dangerous",
        since="1.0.0",
        summary="Tools for tests; not for production.",
        group="server",
        syntax="subcommand [argument [argument ...]]",
    )
]
