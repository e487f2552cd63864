"""The words before the ID of XADD, and the words of XTRIM: one reader for both.

    [NOMKSTREAM] [KEEPREF|DELREF|ACKED] [IDMPAUTO pid | IDMP pid iid]
    [MAXLEN|MINID [=|~] threshold [LIMIT count]]  <id>

They may come in any order.  A word that XADD does not know is read as the ID,
so that it is refused as one; XTRIM calls it a syntax error.

A trim that depends on where nodes are cut (``~``; by length with ACKED) must not
be repeated elsewhere as it was asked for: record() writes its result instead.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.context import Context
from forebay.commands.streams.parsing import integer, policy_word
from forebay.core import ids
from forebay.core.stream import Stream
from forebay.core.trim import NO_POLICY, Trimmer
from forebay.errors import INVALID_ID, SYNTAX, CommandError
from forebay.wire.argv import Argv
from forebay.wire.chars import DASH, EQUALS, STAR, TILDE

# "~" without LIMIT removes at most this many nodes' worth of entries, within bounds,
# so that one command cannot stall the server.
DEFAULT_LIMIT_NODES = 100
DEFAULT_LIMIT = 10_000
DEFAULT_LIMIT_MAX = 1_000_000

BOTH_STRATEGIES = b"ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
LIMIT_ALONE = b"ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
LIMIT_EXACT = b"ERR syntax error, LIMIT cannot be used without the special ~ option"
NO_STRATEGY = b"ERR syntax error, XTRIM must be called with a trimming strategy"
IDMP_TWICE = b"ERR syntax error, IDMP/IDMPAUTO specified multiple times"
IDMP_EXPLICIT_ID = b"ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"


class AddOptions:
    """What read() found.  Making one costs as much as a short XADD, so it can be used again."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, for the next command."""
        self.ms = self.seq = 0
        self.id_given = False
        self.seq_given = False
        self.nomkstream = False
        self.trimmer: Trimmer | None = None
        #: Where the threshold of the trim stands, 0 without one.
        self.threshold_at = 0
        self.policy = NO_POLICY
        self.limit = -1
        #: Where producer and message ID stand; iid_at is 0 for IDMPAUTO.
        self.pid_at = 0
        self.iid_at = 0

    def read(self, ctx: Context, argv: Argv, at: int, is_add: bool) -> int:
        """Read the words from ``at`` on; for XADD, where the ID stands."""
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
        return at

    def read_word(self, argv: Argv, at: int, is_add: bool) -> int:
        """Read one option; the index after it, or 0 if it is none."""
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
        """How many entries may go at most."""
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
        # "1-2-*" has a sequence already, so its star is no part of an ID.
        if not ok or (not self.seq_given and mem.find(p, start, start + n, DASH) >= 0):
            raise CommandError(INVALID_ID)

    def settle_limit(self, ctx: Context, is_add: bool) -> int:
        """Check LIMIT against the strategy, or choose one."""
        trimmer = self.trimmer
        if trimmer is None:
            return self.refuse_without_strategy(is_add)
        if self.policy != NO_POLICY:
            trimmer.policy = self.policy
        if ctx.session.is_replaying:
            trimmer.by_node = False
            return 0
        if self.limit != -1:
            if not trimmer.approx:
                raise CommandError(LIMIT_EXACT)
            trimmer.limit = self.limit
        elif trimmer.approx:
            limit = DEFAULT_LIMIT_NODES * ctx.node_entries
            if limit <= 0:
                limit = DEFAULT_LIMIT
            trimmer.limit = min(limit, DEFAULT_LIMIT_MAX)
        return 0

    def refuse_without_strategy(self, is_add: bool) -> int:
        """Why LIMIT, or XTRIM, makes no sense without MAXLEN or MINID."""
        if self.limit > 0:
            raise CommandError(LIMIT_ALONE)
        raise CommandError(LIMIT_EXACT if is_add else NO_STRATEGY)

    def record(self, ctx: Context, argv: Argv, stream: Stream, id_at: int) -> None:
        """Leave the command for AOF and replicas; of XADD, with the ID that was made (at id_at)."""
        makes_id = id_at != 0 and not self.seq_given
        if self.trimmer is None or not self.trimmer.depends_on_nodes():
            if makes_id:
                ctx.effects.with_id(argv, id_at, self.ms, self.seq)
            else:
                ctx.effects.verbatim(argv)
            return
        words = argv.list()
        if makes_id:
            words[id_at] = ids.text(self.ms, self.seq)
        if self.trimmer.approx:
            words[self.threshold_at - 1] = b"="
        words[self.threshold_at] = self.result(stream)
        ctx.effects.record(*words)

    def result(self, stream: Stream) -> bytes:
        """The threshold that an exact trim would need to get where this one got.

        Not the first entry that is left: what ACKED kept may stand before where it stopped.
        """
        trimmer = self.trimmer
        assert trimmer is not None
        if trimmer.by_length:
            return b"%d" % stream.length
        node = trimmer.stop
        if node is None:
            return ids.text(trimmer.min_ms, trimmer.min_seq)
        return ids.text(node.ms, node.seq)
