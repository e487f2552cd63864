"""EVAL, EVALSHA and SCRIPT for the scripts that this server knows; all others are refused, clearly.

    SCRIPT LOAD text    known: remembered as loaded, its SHA1       unknown: an error that says so
    EVALSHA sha         loaded: run                                 otherwise: NOSCRIPT
    EVAL text           known: remembered and run                   unknown: an error that says so

A client that sends EVALSHA first, as most do, gets NOSCRIPT, sends the text, and then learns
whether it can run.  Loading is remembered only because SCRIPT EXISTS and SCRIPT FLUSH must
answer as clients expect.  known.py has the scripts.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha1

from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import (
    ALLOW_BUSY,
    MAY_REPLICATE,
    MOVABLEKEYS,
    NO_MANDATORY_KEYS,
    NOSCRIPT,
    READONLY,
    SKIP_MONITOR,
    STALE,
    Command,
    Handler,
    Keys,
    Words,
)
from forebay.commands.keyspace.value_ops import integer_of
from forebay.commands.scripts.known import BY_SHA
from forebay.commands.scripts.run import Run, Script, write_value
from forebay.errors import CommandError
from forebay.wire.argv import Argv

UNKNOWN = (
    b"ERR script %b is not supported: there is no Lua in this server, only a table of well-known"
    b" scripts (docs/compatibility.md)"
)
NO_MATCH = b"NOSCRIPT No matching script. Please use EVAL."
KEYS_NEGATIVE = b"ERR Number of keys can't be negative"
KEYS_TOO_MANY = b"ERR Number of keys can't be greater than number of args"
BAD_FLUSH = b"ERR SCRIPT FLUSH only support SYNC|ASYNC option"
BAD_DEBUG = b"ERR Use SCRIPT DEBUG YES/SYNC/NO"
NO_DEBUGGER = b"ERR there is no debugger for scripts in this server"
NOT_BUSY = b"NOTBUSY No scripts in execution right now."
#: The index of the number of keys; the keys follow.
NUMKEYS = 2


def _load(ctx: Context, text: bytes) -> Script:
    """The script with this text, which is now loaded."""
    sha = sha1(text, usedforsecurity=False).hexdigest().encode()
    if sha not in BY_SHA:
        raise CommandError(UNKNOWN % sha)
    ctx.services.loaded_scripts.add(sha)
    return BY_SHA[sha]


def _find(ctx: Context, name: bytes) -> Script:
    """The loaded script with this SHA1."""
    if name.lower() not in ctx.services.loaded_scripts:
        raise CommandError(NO_MATCH)
    return BY_SHA[name.lower()]


def _eval(by_sha: bool, read_only: bool) -> Handler:
    """EVAL script numkeys [key ...] [arg ...], and the three like it."""

    def handler(ctx: Context, argv: Argv) -> None:
        words = argv.list()
        count = integer_of(words[NUMKEYS])
        if count > len(words) - NUMKEYS - 1:
            raise CommandError(KEYS_TOO_MANY)
        if count < 0:
            raise CommandError(KEYS_NEGATIVE)
        script = _find(ctx, words[1]) if by_sha else _load(ctx, words[1])
        first = NUMKEYS + 1
        run = Run(ctx, script, words[first : first + count], words[first + count :], read_only)
        write_value(ctx.reply, script.run(run))

    return handler


def script_load(ctx: Context, argv: Argv) -> None:
    """SCRIPT LOAD script: its SHA1."""
    ctx.reply.bulk(_load(ctx, argv[2]).sha)


def script_exists(ctx: Context, argv: Argv) -> None:
    """SCRIPT EXISTS sha1 [sha1 ...]: which of them are loaded."""
    names = argv.list()[2:]
    ctx.reply.array(len(names))
    for name in names:
        ctx.reply.integer(int(name.lower() in ctx.services.loaded_scripts))


def script_flush(ctx: Context, argv: Argv) -> None:
    """SCRIPT FLUSH [ASYNC | SYNC]."""
    words = argv.list()[2:]
    if len(words) > 1 or (words and words[0].upper() not in (b"ASYNC", b"SYNC")):
        raise CommandError(BAD_FLUSH)
    ctx.services.loaded_scripts.clear()
    ctx.reply.ok()


def script_kill(ctx: Context, argv: Argv) -> None:
    """SCRIPT KILL: our scripts always end before another client can send this."""
    raise CommandError(NOT_BUSY)


def script_debug(ctx: Context, argv: Argv) -> None:
    """SCRIPT DEBUG <YES | SYNC | NO>: only NO is supported."""
    mode = argv[2].upper()
    if mode not in (b"YES", b"SYNC", b"NO"):
        raise CommandError(BAD_DEBUG)
    if mode != b"NO":
        raise CommandError(NO_DEBUGGER)
    ctx.reply.ok()


def _key_positions(argv: Words) -> list[int]:
    count = integer_of(argv[NUMKEYS])
    first = NUMKEYS + 1
    return list(range(first, first + count)) if first + count <= len(argv) else []


_HELP = """
DEBUG (YES|SYNC|NO)
    Set the debug mode for subsequent scripts executed.
EXISTS <sha1> [<sha1> ...]
    Return information about the existence of the scripts in the script cache.
FLUSH [ASYNC|SYNC]
    Flush the Lua scripts cache. Very dangerous on replicas.
    When called without the optional mode argument, the behavior is determined by the
    lazyfree-lazy-user-flush configuration directive. Valid modes are:
    * ASYNC: Asynchronously flush the scripts cache.
    * SYNC: Synchronously flush the scripts cache.
KILL
    Kill the currently executing Lua script.
LOAD <script>
    Load a script into the scripts cache without executing it.
"""


def _eval_row(*, name: str, what: str, since: str, by_sha: bool, read_only: bool) -> Command:
    return Command(
        name=name,
        handler=_eval(by_sha, read_only),
        arity=-3,
        flags=NOSCRIPT
        | STALE
        | SKIP_MONITOR
        | NO_MANDATORY_KEYS
        | MOVABLEKEYS
        | (READONLY if read_only else MAY_REPLICATE),
        categories="slow scripting",
        keys=Keys(flags="RO ACCESS" if read_only else "RW ACCESS UPDATE", finder=_key_positions),
        since=since,
        summary=f"Runs a well-known script{' that only reads' if read_only else ''}, {what}.",
        group="scripting",
        syntax=f"{'sha1' if by_sha else 'script'} numkeys [key [key ...]] [arg [arg ...]]",
    )


_script_row = partial(Command, categories="slow scripting", group="scripting")


_SUBCOMMANDS = [
    _script_row(
        name="debug",
        handler=script_debug,
        arity=3,
        flags=NOSCRIPT,
        since="3.2.0",
        summary="Sets the debug mode of scripts; only NO is supported.",
        syntax="<YES | SYNC | NO>",
    ),
    _script_row(
        name="exists",
        handler=script_exists,
        arity=-3,
        flags=NOSCRIPT,
        since="2.6.0",
        summary="Whether scripts are loaded, by their SHA1.",
        syntax="sha1 [sha1 ...]",
    ),
    _script_row(
        name="flush",
        handler=script_flush,
        arity=-2,
        flags=NOSCRIPT,
        since="2.6.0",
        summary="Forgets which scripts are loaded.",
        syntax="[ASYNC | SYNC]",
    ),
    _script_row(
        name="kill",
        handler=script_kill,
        arity=2,
        flags=NOSCRIPT | ALLOW_BUSY,
        since="2.6.0",
        summary="Ends a running script; there never is one.",
    ),
    _script_row(
        name="load",
        handler=script_load,
        arity=3,
        flags=NOSCRIPT | STALE,
        since="2.6.0",
        summary="Loads a well-known script, for calls by its SHA1.",
        syntax="script",
    ),
    help_row(
        container="script",
        text=_HELP,
        since="5.0.0",
        group="scripting",
        categories="slow scripting",
    ),
]

ROWS = [
    _eval_row(name="eval", what="given as text", since="2.6.0", by_sha=False, read_only=False),
    _eval_row(
        name="evalsha", what="given by its SHA1", since="2.6.0", by_sha=True, read_only=False
    ),
    _eval_row(name="eval_ro", what="given as text", since="7.0.0", by_sha=False, read_only=True),
    _eval_row(
        name="evalsha_ro", what="given by its SHA1", since="7.0.0", by_sha=True, read_only=True
    ),
    Command(
        name="script",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="2.6.0",
        summary="Commands about scripts.",
        group="scripting",
        subcommands=_SUBCOMMANDS,
    ),
]
