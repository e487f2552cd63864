"""XADD: a new entry at the end of a stream.

    XADD key [options] <* | ms-* | ms-seq> field value [field value ...]
             |          |                  |
             |          id_at              first_field
             add_options.py reads everything up to the ID

The order of checks is part of the contract, because a failing command must leave
nothing behind: words and ID, then pairs, then 0-0, then the type of the key,
then a duplicate message, then whether the ID may follow the last one.  Only then
is a key created.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_NEW, NOTIFY_STREAM
from forebay.commands.api.spec import DENYOOM, FAST, WRITE, Command, Keys
from forebay.commands.streams.add_options import AddOptions
from forebay.core import ids
from forebay.core.idmp import Idmp, auto_iid
from forebay.core.stream import Stream
from forebay.errors import CommandError, wrong_arity
from forebay.wire.argv import Argv

#: An entry's fields and values may not be longer than this together.
ENTRY_BYTES_MAX = 1 << 30
TOO_LARGE = b"ERR Elements are too large to be stored"
NOT_ABOVE_TOP = b"ERR The ID specified in XADD is equal or smaller than the target stream top item"
ZERO_ID = b"ERR The ID specified in XADD must be greater than 0-0"
#: The options of the XADD that is running: handlers do not nest.
SCRATCH = AddOptions()
EXHAUSTED = b"ERR The stream has exhausted the last possible ID, unable to add more items"


def xadd(ctx: Context, argv: Argv) -> None:
    """Append an entry."""
    options = SCRATCH
    options.reset()
    first = options.read(ctx, argv, 2, True) + 1
    if argv.n - first < 2 or (argv.n - first) % 2 == 1:
        raise wrong_arity(b"xadd")
    if options.id_given and options.seq_given and options.ms == 0 and options.seq == 0:
        raise CommandError(ZERO_ID)
    stream = ctx.stream_at(argv, 1)
    is_new = stream is None
    if stream is None:
        if options.nomkstream:
            ctx.out.null()
            return
        stream = new_stream(ctx)
    elif options.pid_at != 0 and is_duplicate(ctx, argv, stream, options, first):
        return
    choose_id(ctx, stream, options)
    size = payload_size(argv, first)
    if is_new:
        create(ctx, stream)
    stream.append(
        options.ms,
        options.seq,
        argv.p,
        argv.w,
        first,
        (argv.n - first) // 2,
        size,
        ctx.node_bytes,
        ctx.node_entries,
    )
    if options.pid_at != 0:
        record_message(argv, stream, options, first)
    ctx.out.stream_id(options.ms, options.seq)
    finish_add(ctx, argv, stream, options, first - 1)


def finish_add(ctx: Context, argv: Argv, stream: Stream, options: AddOptions, id_at: int) -> None:
    """All that follows an append: trimming, events, effects, wake-ups."""
    trimmed = 0
    if options.trimmer is not None:
        trimmed = options.trimmer.apply(stream)
    if ctx.notify_flags != 0:
        ctx.notify(NOTIFY_STREAM, b"xadd", ctx.key)
        if trimmed > 0:
            ctx.notify(NOTIFY_STREAM, b"xtrim", ctx.key)
    ctx.effects.changes += 1
    if ctx.effects.enabled:
        options.record(ctx, argv, stream, id_at)
    ctx.db.touch(ctx.key)
    ctx.db.signal(ctx.key)


def new_stream(ctx: Context) -> Stream:
    """An empty stream with the server's settings, not yet under a key."""
    stream = Stream()
    stream.idmp_duration_s = ctx.settings.stream_idmp_duration_s
    stream.idmp_maxsize = ctx.settings.stream_idmp_maxsize
    return stream


def create(ctx: Context, stream: Stream) -> None:
    """Put a new stream under the key that was just looked up."""
    ctx.db.put(ctx.key, stream)
    ctx.notify(NOTIFY_NEW, b"new", ctx.key)


def choose_id(ctx: Context, stream: Stream, options: AddOptions) -> None:
    """Settle the new entry's ID in ``options``; it is above the stream's last."""
    last_ms = stream.last_ms
    last_seq = stream.last_seq
    if last_ms == mem.U64_MAX and last_seq == mem.U64_MAX:
        raise CommandError(EXHAUSTED)
    if not options.id_given:
        now_ms = mem.wrap(ctx.now_ms)
        if now_ms > last_ms:
            options.ms = now_ms
            options.seq = 0
        else:
            _, options.ms, options.seq = ids.successor(last_ms, last_seq)
    elif not options.seq_given and options.ms == last_ms:
        if last_seq == mem.U64_MAX:
            raise CommandError(NOT_ABOVE_TOP)
        options.seq = last_seq + 1
    elif not ids.before(last_ms, last_seq, options.ms, options.seq):
        raise CommandError(NOT_ABOVE_TOP)


def payload_size(argv: Argv, first: int) -> int:
    """The bytes of all fields and values; an entry that no node could hold is refused."""
    total = 0
    for i in range(first, argv.n):
        total += argv.w[2 * i + 1]
    if total > ENTRY_BYTES_MAX:
        raise CommandError(TOO_LARGE)
    return total


def message_key(argv: Argv, options: AddOptions, first: int) -> tuple[bytes, bytes]:
    """The producer's ID and the message's, given or made from the content."""
    pid = argv[options.pid_at]
    if options.iid_at != 0:
        return pid, argv[options.iid_at]
    return pid, auto_iid([argv[i] for i in range(first, argv.n)])


def is_duplicate(ctx: Context, argv: Argv, stream: Stream, options: AddOptions, first: int) -> bool:
    """Whether this message came before; if so, answer with the entry that it became.

    An AOF has settled that: an ID is given for a new message, and ``*`` stands in a repeated
    one, even where the map has forgotten the one or not yet forgotten the other.
    """
    if ctx.session.is_replaying:
        stream.iids_duplicates += not options.id_given
        return not options.id_given
    if stream.idmp is None:
        return False
    pid, iid = message_key(argv, options, first)
    found, ms, seq = stream.idmp.lookup(pid, iid)
    if found:
        stream.iids_duplicates += 1
        ctx.out.stream_id(ms, seq)
        ctx.propagate(argv)
    return found


def record_message(argv: Argv, stream: Stream, options: AddOptions, first: int) -> None:
    """Remember which entry this message became."""
    if stream.idmp is None:
        stream.idmp = Idmp()
    pid, iid = message_key(argv, options, first)
    stream.idmp.record(pid, iid, options.ms, options.seq, stream.idmp_maxsize)
    stream.iids_added += 1


ROWS = [
    Command(
        "xadd",
        xadd,
        -5,
        WRITE | DENYOOM | FAST,
        "@write @stream @fast",
        Keys(1, 1, 1, "RW UPDATE"),
        "5.0.0",
        "Adds an entry to the end of a stream, which is made if it is missing.",
        "stream",
        "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO pid | IDMP pid iid] "
        "[<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value "
        "[field value ...]",
    ),
]
