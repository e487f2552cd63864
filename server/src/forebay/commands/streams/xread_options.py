"""The words of XREAD and XREADGROUP: one reader for all callers.

    XREADGROUP GROUP g c COUNT 10 BLOCK 0 STREAMS a b > >
               |                          |       | |
               options, in any order      keys_at ids from keys_at + streams on

The same reader serves the commands, COMMAND GETKEYS and access rules.  So the
server checks exactly the keys that the command uses, whatever the names of
groups, consumers and keys are.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.spec import Words
from forebay.commands.streams.parsing import integer
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv, argv_of

NOT_SET = -1


class ReadOptions:
    """The result of read(); it can be reused."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset everything, for the next command."""
        #: Entries per stream, 0 for all.
        self.count = 0
        self.count_given = False
        #: Maximum entries and bytes of the whole reply, 0 for no limit.
        self.maxcount = 0
        self.maxsize = 0
        #: How long to wait, 0 for ever; NOT_SET: do not wait.
        self.block_ms = NOT_SET
        #: Claim entries idle at least this long; NOT_SET claims none.
        self.claim_ms = NOT_SET
        self.noack = False
        self.group_at = 0
        self.keys_at = 0
        self.streams = 0

    def read(self, argv: Argv, now_ms: int, is_group: bool) -> None:
        """Read the words up to and including STREAMS."""
        self.reset()
        at = 1
        while at < argv.n and self.keys_at == 0:
            at = self.read_word(argv, at, now_ms, is_group)
        if self.keys_at == 0:
            raise CommandError(SYNTAX)
        if is_group and self.group_at == 0:
            raise CommandError(b"ERR Missing GROUP option for XREADGROUP")
        if self.maxcount != 0 and self.count_given and self.maxcount < self.count:
            raise CommandError(b"ERR MAXCOUNT must be greater than or equal to COUNT")

    def read_word(self, argv: Argv, at: int, now_ms: int, is_group: bool) -> int:
        """Read one option; the index after it."""
        left = argv.n - 1 - at
        if left >= 1 and argv.word(at, b"STREAMS"):
            return self.read_streams(argv, at + 1, is_group)
        if left >= 1 and argv.word(at, b"COUNT"):
            count = integer(argv, at + 1)
            self.count = count if count > 0 else 0
            self.count_given = True
        elif left >= 1 and argv.word(at, b"BLOCK"):
            self.block_ms = read_timeout(argv, at + 1, now_ms)
        elif left >= 2 and argv.word(at, b"GROUP"):
            only_group(is_group, b"GROUP")
            self.group_at = at + 1
            return at + 3
        elif argv.word(at, b"NOACK"):
            only_group(is_group, b"NOACK")
            self.noack = True
            return at + 1
        elif left >= 1 and argv.word(at, b"CLAIM"):
            only_group(is_group, b"CLAIM")
            self.claim_ms = integer(
                argv, at + 1, b"ERR min-idle-time is not an integer or out of range"
            )
            if self.claim_ms < 0:
                raise CommandError(b"ERR min-idle-time must be a positive integer")
        elif left >= 1 and argv.word(at, b"MAXCOUNT"):
            self.maxcount = positive(argv, at + 1, b"MAXCOUNT")
        elif left >= 1 and argv.word(at, b"MAXSIZE"):
            self.maxsize = positive(argv, at + 1, b"MAXSIZE")
        else:
            raise CommandError(SYNTAX)
        return at + 2

    def read_streams(self, argv: Argv, at: int, is_group: bool) -> int:
        """The words after STREAMS: as many keys as IDs."""
        n = argv.n - at
        if n % 2 != 0:
            raise CommandError(
                b"ERR Unbalanced 'xreadgroup' list of streams: "
                b"for each stream key an ID or '>' must be specified."
                if is_group
                else b"ERR Unbalanced 'xread' list of streams: "
                b"for each stream key an ID, '+', or '$' must be specified."
            )
        self.keys_at = at
        self.streams = n // 2
        return argv.n


def only_group(is_group: bool, word: bytes) -> None:
    """Refuse a word that only XREADGROUP knows."""
    if not is_group:
        raise CommandError(
            b"ERR The %s option is only supported by XREADGROUP. You called XREAD instead." % word
        )


def positive(argv: Argv, at: int, word: bytes) -> int:
    """Argument ``at`` as a number above zero."""
    value = integer(argv, at)
    if value <= 0:
        raise CommandError(b"ERR %s must be a positive integer" % word)
    return value


def read_timeout(argv: Argv, at: int, now_ms: int) -> int:
    """Argument ``at`` as a timeout in milliseconds."""
    value = integer(argv, at, b"ERR timeout is not an integer or out of range")
    if value < 0:
        raise CommandError(b"ERR timeout is negative")
    if value > mem.I64_MAX - now_ms:
        raise CommandError(b"ERR timeout is out of range")
    return value


def key_positions(argv: Words) -> list[int]:
    """The positions of the keys in an XREAD or XREADGROUP; none if it cannot be read."""
    options = ReadOptions()
    call = argv if isinstance(argv, Argv) else argv_of([argv[i] for i in range(len(argv))])
    try:
        options.read(call, 0, call.word(0, b"XREADGROUP"))
    except CommandError:
        return []
    return list(range(options.keys_at, options.keys_at + options.streams))
