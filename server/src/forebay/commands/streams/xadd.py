"""XADD and XTRIM: append an entry to a stream, and remove old entries from its other end.

    XADD key [NOMKSTREAM] [KEEPREF|DELREF|ACKED] [IDMPAUTO pid | IDMP pid iid]
             [MAXLEN|MINID [=|~] threshold [LIMIT count]]
             <* | ms-* | ms-seq> field value [field value ...]
             id_at               id_at + 1
    XTRIM key MAXLEN|MINID [=|~] threshold [LIMIT count] [KEEPREF|DELREF|ACKED]

    parse_xadd    words, in any order up to the ID; touches nothing
    apply_xadd    look up, choose the ID, append, trim, reply
    record_xadd   events, the AOF, WATCH, clients that wait

The order of checks is part of the contract, because a failing command must change
nothing: words and ID, then pairs, then 0-0, then the type of the key, then a
duplicate message, then whether the ID may follow the last one.  Only then is a key
created.

XADD reads an unknown word as the ID and refuses it as such; XTRIM calls it a syntax
error.

The result of some trims depends on the boundaries of nodes (``~``; by length with
ACKED).  Such a trim must not be recorded as received: record_words() writes its
result instead.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context, Found
from forebay.commands.api.notify_flags import NOTIFY_NEW, NOTIFY_STREAM
from forebay.commands.api.spec import DENYOOM, FAST, WRITE, Command, Keys
from forebay.commands.streams.parsing import integer, policy_word
from forebay.core import ids
from forebay.core.idmp import Idmp, auto_iid
from forebay.core.stream import Stream
from forebay.core.trim import NO_POLICY, Trimmer
from forebay.errors import INVALID_ID, SYNTAX, CommandError, wrong_arity
from forebay.wire.argv import Argv
from forebay.wire.chars import DASH, EQUALS, STAR, TILDE

#: The maximum size of an entry's fields and values together.
ENTRY_BYTES_MAX = 1 << 30
TOO_LARGE = b"ERR Elements are too large to be stored"
NOT_ABOVE_TOP = b"ERR The ID specified in XADD is equal or smaller than the target stream top item"
ZERO_ID = b"ERR The ID specified in XADD must be greater than 0-0"
EXHAUSTED = b"ERR The stream has exhausted the last possible ID, unable to add more items"
# "~" without LIMIT removes at most this many nodes' worth of entries, within bounds, so that one
# command cannot stall the server.
DEFAULT_LIMIT_NODES = 100
DEFAULT_LIMIT = 10_000
DEFAULT_LIMIT_MAX = 1_000_000

BOTH_STRATEGIES = b"ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
LIMIT_ALONE = b"ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
LIMIT_EXACT = b"ERR syntax error, LIMIT cannot be used without the special ~ option"
NO_STRATEGY = b"ERR syntax error, XTRIM must be called with a trimming strategy"
IDMP_TWICE = b"ERR syntax error, IDMP/IDMPAUTO specified multiple times"
IDMP_EXPLICIT_ID = b"ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"


def xadd(ctx: Context, argv: Argv) -> None:
    """Append an entry."""
    options = parse_xadd(ctx, argv)
    found = ctx.find_stream(argv, 1)
    stream = apply_xadd(ctx, argv, found, options)
    if stream is not None:
        record_xadd(ctx, argv, found.key, stream, options)


# Parse


def parse_xadd(ctx: Context, argv: Argv) -> AddOptions:
    """All words of a call, checked as far as possible without looking at the data."""
    options: AddOptions | None = ctx.xadd_options
    if options is None:
        options = ctx.xadd_options = AddOptions()
    options.reset()
    options.read(ctx, argv, True)
    first = options.id_at + 1
    if argv.n - first < 2 or (argv.n - first) % 2 == 1:
        raise wrong_arity(b"xadd")
    if options.id_given and options.seq_given and options.ms == 0 and options.seq == 0:
        raise CommandError(ZERO_ID)
    return options


class AddOptions:
    """The parsed words, and the result of the call.

    Making one costs as much as a short XADD, so it is reused.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset everything, for the next command."""
        self.ms = self.seq = 0
        self.id_given = False
        self.seq_given = False
        self.nomkstream = False
        self.trimmer: Trimmer | None = None
        #: The index of the ID; 0 for XTRIM.
        self.id_at = 0
        #: The index of the trim threshold, 0 without one.
        self.threshold_at = 0
        self.policy = NO_POLICY
        self.limit = -1
        #: The indexes of producer and message ID; iid_at is 0 for IDMPAUTO.
        self.pid_at = 0
        self.iid_at = 0
        #: How many entries the trim removed.
        self.trimmed = 0

    def read(self, ctx: Context, argv: Argv, is_add: bool) -> None:
        """Read the words after the key; for XADD, up to and including the ID."""
        at = 2
        while at < argv.n:
            if is_add and argv.w[2 * at + 1] == 1 and argv.p[argv.w[2 * at]] == STAR:
                break
            after = self.read_word(argv, at, is_add)
            if after == 0:
                if not is_add:
                    raise CommandError(SYNTAX)
                self.read_id(argv, at)
                if self.pid_at != 0 and not ctx.session.is_replaying:
                    raise CommandError(IDMP_EXPLICIT_ID)
                break
            at = after
        if self.trimmer is not None or self.limit != -1 or not is_add:
            self.settle_limit(ctx, is_add)
        if is_add:
            self.id_at = at

    def read_word(self, argv: Argv, at: int, is_add: bool) -> int:
        """Read one option; the index after it, or 0 if it is not an option."""
        left = argv.n - 1 - at
        if left >= 1 and argv.word(at, b"MAXLEN"):
            return self.read_threshold(argv, at + 1, True)
        if left >= 1 and argv.word(at, b"MINID"):
            return self.read_threshold(argv, at + 1, False)
        if left >= 1 and argv.word(at, b"LIMIT"):
            return self.read_limit(argv, at + 1)
        if self.policy == NO_POLICY:
            self.policy = policy_word(argv, at)
            if self.policy != NO_POLICY:
                return at + 1
        if not is_add:
            return 0
        if argv.word(at, b"NOMKSTREAM"):
            self.nomkstream = True
            return at + 1
        if left >= 1 and argv.word(at, b"IDMPAUTO"):
            return self.read_producer(argv, at + 1, b"IDMPAUTO")
        if left >= 2 and argv.word(at, b"IDMP"):
            return self.read_message(argv, at + 1)
        return 0

    def read_threshold(self, argv: Argv, at: int, by_length: bool) -> int:
        """[= | ~] and a length or an ID."""
        if self.trimmer is not None:
            raise CommandError(BOTH_STRATEGIES)
        trimmer = Trimmer()
        trimmer.by_length = by_length
        if at + 1 < argv.n and argv.w[2 * at + 1] == 1:
            sign = argv.p[argv.w[2 * at]]
            if sign == TILDE or sign == EQUALS:
                trimmer.approx = sign == TILDE
                at += 1
        if by_length:
            maxlen = integer(argv, at)
            if maxlen < 0:
                raise CommandError(b"ERR The MAXLEN argument must be >= 0.")
            trimmer.maxlen = maxlen
        else:
            ok, ms, seq = ids.parse(argv.p, argv.w[2 * at], argv.w[2 * at + 1], 0)
            if not ok:
                raise CommandError(INVALID_ID)
            trimmer.min_ms = ms
            trimmer.min_seq = seq
        self.trimmer = trimmer
        self.threshold_at = at
        return at + 1

    def read_limit(self, argv: Argv, at: int) -> int:
        """The maximum number of entries to remove."""
        limit = integer(argv, at)
        if limit < 0:
            raise CommandError(b"ERR The LIMIT argument must be >= 0.")
        self.limit = limit
        return at + 1

    def read_producer(self, argv: Argv, at: int, word: bytes) -> int:
        """The producer's ID after IDMP or IDMPAUTO."""
        if self.pid_at != 0:
            raise CommandError(IDMP_TWICE)
        if argv.size(at) == 0:
            raise CommandError(b"ERR syntax error, %s requires a non-empty producer ID" % word)
        self.pid_at = at
        return at + 1

    def read_message(self, argv: Argv, at: int) -> int:
        """The producer's ID and the message's after IDMP."""
        at = self.read_producer(argv, at, b"IDMP")
        if argv.size(at) == 0:
            raise CommandError(b"ERR syntax error, IDMP requires a non-empty idempotent ID")
        self.iid_at = at
        return at + 1

    def read_id(self, argv: Argv, at: int) -> None:
        """ms-seq, ms, or ms-* (the sequence is then chosen by the stream)."""
        start = argv.w[2 * at]
        n = argv.w[2 * at + 1]
        p = argv.p
        self.id_given = True
        self.seq_given = True
        if 2 < n <= ids.MAX_TEXT and p[start + n - 1] == STAR and p[start + n - 2] == DASH:
            self.seq_given = False
            n -= 2
        ok, self.ms, self.seq = ids.parse(p, start, n, 0)
        # "1-2-*" has a sequence already, so its star is not part of an ID.
        if not ok or (not self.seq_given and mem.find(p, start, start + n, DASH) >= 0):
            raise CommandError(INVALID_ID)

    def settle_limit(self, ctx: Context, is_add: bool) -> None:
        """Check LIMIT against the strategy, or choose one."""
        trimmer = self.trimmer
        if trimmer is None:
            raise CommandError(self.without_strategy(is_add))
        if self.policy != NO_POLICY:
            trimmer.policy = self.policy
        if ctx.session.is_replaying:
            trimmer.by_node = False
        elif self.limit != -1:
            if not trimmer.approx:
                raise CommandError(LIMIT_EXACT)
            trimmer.limit = self.limit
        elif trimmer.approx:
            limit = DEFAULT_LIMIT_NODES * ctx.node_entries
            if limit <= 0:
                limit = DEFAULT_LIMIT
            trimmer.limit = min(limit, DEFAULT_LIMIT_MAX)

    def without_strategy(self, is_add: bool) -> bytes:
        """The error for LIMIT, or XTRIM, without MAXLEN or MINID."""
        if self.limit > 0:
            return LIMIT_ALONE
        return LIMIT_EXACT if is_add else NO_STRATEGY


# Apply


def apply_xadd(ctx: Context, argv: Argv, found: Found, options: AddOptions) -> Stream | None:
    """Append, trim and reply; the stream, or None if no entry was added."""
    stream = found.stream
    first = options.id_at + 1
    if stream is None:
        if options.nomkstream:
            ctx.reply.null()
            return None
        stream = new_stream(ctx)
    elif options.pid_at != 0 and is_duplicate(ctx, argv, stream, options):
        return None
    choose_id(ctx, stream, options)
    size = payload_size(argv, first)
    if found.stream is None:
        create(ctx, found.key, stream)
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
        remember_message(argv, stream, options)
    if options.trimmer is not None:
        options.trimmed = options.trimmer.apply(stream)
    ctx.reply.stream_id(options.ms, options.seq)
    return stream


def new_stream(ctx: Context) -> Stream:
    """An empty stream with the server's settings, not yet under a key."""
    stream = Stream()
    stream.idmp_duration_s = ctx.settings.stream_idmp_duration_s
    stream.idmp_maxsize = ctx.settings.stream_idmp_maxsize
    return stream


def create(ctx: Context, key: bytes, stream: Stream) -> None:
    """Put a new stream under a key that does not exist."""
    ctx.db.put(key, stream)
    ctx.notify(NOTIFY_NEW, b"new", key)


def choose_id(ctx: Context, stream: Stream, options: AddOptions) -> None:
    """Set the new entry's ID in ``options``; it is above the stream's last ID."""
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
    """The size of all fields and values; an entry too large for any node is refused."""
    total = 0
    for i in range(first, argv.n):
        total += argv.w[2 * i + 1]
    if total > ENTRY_BYTES_MAX:
        raise CommandError(TOO_LARGE)
    return total


def message_key(argv: Argv, options: AddOptions) -> tuple[bytes, bytes]:
    """The producer's ID and the message's, given or computed from the content."""
    pid = argv[options.pid_at]
    if options.iid_at != 0:
        return pid, argv[options.iid_at]
    return pid, auto_iid([argv[i] for i in range(options.id_at + 1, argv.n)])


def is_duplicate(ctx: Context, argv: Argv, stream: Stream, options: AddOptions) -> bool:
    """Whether this message was added before; if so, answer with its entry.

    In an AOF that is already decided: a new message has an ID, and a repeated one has ``*``.
    That holds even if the map has forgotten the one, or has not yet forgotten the other.
    """
    if ctx.session.is_replaying:
        stream.iids_duplicates += not options.id_given
        return not options.id_given
    if stream.idmp is None:
        return False
    pid, iid = message_key(argv, options)
    found, ms, seq = stream.idmp.lookup(pid, iid)
    if found:
        stream.iids_duplicates += 1
        ctx.reply.stream_id(ms, seq)
        ctx.effects.record_call(argv)
    return found


def remember_message(argv: Argv, stream: Stream, options: AddOptions) -> None:
    """Remember the entry of this message."""
    if stream.idmp is None:
        stream.idmp = Idmp()
    pid, iid = message_key(argv, options)
    stream.idmp.record(pid, iid, options.ms, options.seq, stream.idmp_maxsize)
    stream.iids_added += 1


# Record


def record_xadd(ctx: Context, argv: Argv, key: bytes, stream: Stream, options: AddOptions) -> None:
    """Everything after an append: events, effects, wake-ups."""
    if ctx.notify_flags != 0:
        ctx.notify(NOTIFY_STREAM, b"xadd", key)
        if options.trimmed > 0:
            ctx.notify(NOTIFY_STREAM, b"xtrim", key)
    ctx.effects.changes += 1
    if ctx.effects.enabled:
        record_words(ctx, argv, stream, options)
    ctx.db.touch(key)
    ctx.db.signal(key)


def record_words(ctx: Context, argv: Argv, stream: Stream, options: AddOptions) -> None:
    """Record the command for AOF and replicas; an XADD with the ID that was chosen."""
    makes_id = options.id_at != 0 and not options.seq_given
    trimmer = options.trimmer
    if trimmer is None or not trimmer.depends_on_nodes():
        if makes_id:
            ctx.effects.record_call_with_id(argv, options.id_at, options.ms, options.seq, 0)
        else:
            ctx.effects.record_call(argv, 0)
        return
    effects, at = ctx.effects, options.threshold_at
    effects.begin_command(argv.n)
    effects.copy(argv, 0, at - 1)
    if trimmer.approx:
        effects.out.bulk(b"=")
    else:
        effects.copy(argv, at - 1, at)
    effects.out.bulk(exact_threshold(trimmer, stream))
    if makes_id:
        effects.copy(argv, at + 1, options.id_at)
        effects.out.stream_id(options.ms, options.seq)
        at = options.id_at
    effects.copy(argv, at + 1, argv.n)


def exact_threshold(trimmer: Trimmer, stream: Stream) -> bytes:
    """The threshold with which an exact trim would have the same result.

    Not the first entry that is left: entries that ACKED kept may be before the point
    where it stopped.
    """
    if trimmer.by_length:
        return b"%d" % stream.length
    node = trimmer.stop
    if node is None:
        return ids.text(trimmer.min_ms, trimmer.min_seq)
    return ids.text(node.ms, node.seq)


# XTRIM


def xtrim(ctx: Context, argv: Argv) -> None:
    """Shorten a stream at its old end."""
    options = parse_xtrim(ctx, argv)
    found = ctx.find_stream(argv, 1)
    if found.stream is not None:
        apply_xtrim(found.stream, options)
        record_xtrim(ctx, argv, found, options)
    ctx.reply.integer(options.trimmed)


def parse_xtrim(ctx: Context, argv: Argv) -> AddOptions:
    """The words of the trim, as in XADD."""
    options = AddOptions()
    options.read(ctx, argv, False)
    return options


def apply_xtrim(stream: Stream, options: AddOptions) -> None:
    """Remove entries at the old end."""
    assert options.trimmer is not None, "XTRIM has a strategy"
    options.trimmed = options.trimmer.apply(stream)


def record_xtrim(ctx: Context, argv: Argv, found: Found, options: AddOptions) -> None:
    """Everything after a trim: events, effects."""
    if options.trimmed > 0 and found.stream is not None:
        ctx.notify(NOTIFY_STREAM, b"xtrim", found.key)
        ctx.effects.changes += options.trimmed
        if ctx.effects.enabled:
            record_words(ctx, argv, found.stream, options)
        ctx.db.touch(found.key)


ROWS = [
    Command(
        name="xadd",
        handler=xadd,
        arity=-5,
        flags=WRITE | DENYOOM | FAST,
        categories="@write @stream @fast",
        keys=Keys(1, 1, 1, "RW UPDATE"),
        since="5.0.0",
        summary="Adds an entry at the end of a stream; a missing stream is created.",
        group="stream",
        syntax="key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO pid | IDMP pid iid] "
        "[<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value "
        "[field value ...]",
    ),
    Command(
        name="xtrim",
        handler=xtrim,
        arity=-4,
        flags=WRITE,
        categories="@write @stream @slow",
        keys=Keys(1, 1, 1, "RW DELETE"),
        since="5.0.0",
        summary="Removes the oldest entries of a stream.",
        group="stream",
        syntax="key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
    ),
]
