"""XCFGSET and XIDMPRECORD: the settings and the content of a stream's idempotency map.

    XCFGSET key [IDMP-DURATION seconds] [IDMP-MAXSIZE n]
    XIDMPRECORD key pid iid stream-id

A stream remembers for some time which message of which producer became which
entry (core/idmp.py).  XCFGSET sets for how long, and how many messages.  A new
value clears the map; the same value again changes nothing.  XIDMPRECORD is for
AOFs and tools: it puts one known message back into the map.
"""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.spec import DENYOOM, FAST, WRITE, Command, Keys
from forebay.commands.streams.parsing import strict_id
from forebay.core.idmp import DURATION_MAX_S, MAXSIZE_MAX, Idmp
from forebay.core.stream import Stream
from forebay.errors import NO_SUCH_KEY, SYNTAX, CommandError
from forebay.wire.argv import Argv

_OPTIONS = (
    (b"IDMP-DURATION", DURATION_MAX_S, b"seconds"),
    (b"IDMP-MAXSIZE", MAXSIZE_MAX, b"entries"),
)


def xcfgset(ctx: Context, argv: Argv) -> None:
    """Set for how long and how many messages of a producer are remembered."""
    stream = _stream(ctx, argv)
    given = _settings(Args(argv, 2))
    duration_s = given.get(b"IDMP-DURATION", stream.idmp_duration_s)
    maxsize = given.get(b"IDMP-MAXSIZE", stream.idmp_maxsize)
    if (duration_s, maxsize) != (stream.idmp_duration_s, stream.idmp_maxsize):
        stream.idmp_duration_s = duration_s
        stream.idmp_maxsize = maxsize
        stream.idmp = None
        ctx.effects.record_call(argv)
    ctx.reply.ok()


def _settings(args: Args) -> dict[bytes, int]:
    """The options given, each at most once and within its limits."""
    given: dict[bytes, int] = {}
    while args.more():
        for name, most, unit in _OPTIONS:
            if args.word(name):
                if name in given:
                    raise CommandError(b"ERR %s specified multiple times" % name)
                value = args.integer()
                if not 1 <= value <= most:
                    raise CommandError(b"ERR %s must be between 1 and %d %s" % (name, most, unit))
                given[name] = value
                break
        else:
            raise CommandError(SYNTAX)
    if not given:
        raise CommandError(b"ERR At least one parameter must be specified")
    return given


def xidmprecord(ctx: Context, argv: Argv) -> None:
    """Remember the entry of a producer's message; the entry must be in the stream."""
    ms, seq = strict_id(argv, 4)
    pid, iid = argv[2], argv[3]
    if not pid:
        raise CommandError(b"ERR producer ID must be non-empty")
    if not iid:
        raise CommandError(b"ERR idempotent ID must be non-empty")
    stream = _stream(ctx, argv)
    if not stream.exists(ms, seq):
        raise CommandError(b"ERR No such message in stream")
    if stream.idmp is None:
        stream.idmp = Idmp()
    found, known_ms, known_seq = stream.idmp.lookup(pid, iid)
    if not found:
        stream.idmp.record(pid, iid, ms, seq, stream.idmp_maxsize)
        stream.iids_added += 1
        ctx.effects.record_call(argv)
    elif (known_ms, known_seq) != (ms, seq):
        raise CommandError(b"ERR IID already exists for this producer with a different stream ID")
    ctx.reply.ok()


def _stream(ctx: Context, argv: Argv) -> Stream:
    stream = ctx.find_stream(argv, 1).stream
    if stream is None:
        raise CommandError(NO_SUCH_KEY)
    return stream


_CATEGORIES = "@write @stream @fast"

ROWS = [
    Command(
        name="xcfgset",
        handler=xcfgset,
        arity=-2,
        flags=WRITE | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="8.6.0",
        summary="Sets for how long and how many messages per producer a stream remembers.",
        group="stream",
        syntax="key [IDMP-DURATION seconds] [IDMP-MAXSIZE count]",
    ),
    Command(
        name="xidmprecord",
        handler=xidmprecord,
        arity=5,
        flags=WRITE | DENYOOM | FAST,
        categories=_CATEGORIES,
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="8.6.2",
        summary="Records which entry a producer's message became.",
        group="stream",
        syntax="key pid iid stream-id",
    ),
]
