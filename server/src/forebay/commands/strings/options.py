"""The options of SET, GETEX, MSETEX and DELEX: when to write, and for how long.

    condition   NX, XX                        does the key exist?
    match       IFEQ, IFNE value              does it hold this string?
                IFDEQ, IFDNE digest           does its string have this digest?
    expiry      EX, PX, EXAT, PXAT time | KEEPTTL | PERSIST

A word may be repeated, and the last one counts; words of one line above exclude each
other.  A condition may follow a match, but not the other way round.

A digest is the XXH3 of the string, 64 bits as 16 hexadecimal digits.  With it a
client can ask whether a long string is unchanged without sending it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import xxhash

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.keyspace.value_ops import bad_expire_time, integer_of
from forebay.commands.strings.string_ops import String
from forebay.errors import SYNTAX, CommandError

DIGEST_DIGITS = 16
BAD_DIGEST = b"ERR must be exactly 16 hexadecimal characters"

#: Option -> (milliseconds of its unit, whether it is relative to now).
TIMES = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
MATCHES = frozenset((b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE"))
MSETEX_WORDS = frozenset((b"NX", b"XX", b"KEEPTTL", *TIMES))
SET_WORDS = frozenset((b"GET", *MSETEX_WORDS, *MATCHES))
GETEX_WORDS = frozenset((b"PERSIST", *TIMES))


@dataclass(slots=True)
class Options:
    """The options of a call."""

    condition: bytes = b""  # NX or XX
    match: bytes = b""  # one of MATCHES
    wanted: bytes = b""  # the word after one of MATCHES
    expiry: bytes = b""  # one of TIMES, KEEPTTL or PERSIST
    amount: bytes = b""  # the word after one of TIMES
    get: bool = False

    def keeps_time(self) -> bool:
        return self.expiry == b"KEEPTTL"


def read_options(args: Args, words: Collection[bytes]) -> Options:
    """Read all remaining arguments, which must be among these words."""
    options = Options()
    while args.more():
        word = args.next().upper()
        if word not in words:
            raise CommandError(SYNTAX)
        if word == b"GET":
            options.get = True
        elif word in (b"NX", b"XX"):
            options.condition = _unrivalled(options.condition, word)
        elif word in MATCHES:
            _unrivalled(options.condition, b"")
            options.match = _unrivalled(options.match, word)
            options.wanted = args.next()
        else:
            options.expiry = _unrivalled(options.expiry, word)
            if word in TIMES:
                options.amount = args.next()
    return options


def _unrivalled(before: bytes, word: bytes) -> bytes:
    if before not in (b"", word):
        raise CommandError(SYNTAX)
    return word


def absolute_ms(ctx: Context, name: bytes, options: Options) -> int | None:
    """When the key expires by these options; None if they name no time."""
    if options.expiry not in TIMES:
        return None
    return when_ms(ctx, name, options.expiry, options.amount)


def when_ms(ctx: Context, name: bytes, word: bytes, amount: bytes) -> int:
    """The absolute time of an option such as EX 10; ``name`` is the command's."""
    unit_ms, from_now = TIMES[word]
    value = integer_of(amount)
    at_ms = value * unit_ms + (ctx.now_ms if from_now else 0)
    if value <= 0 or at_ms > mem.I64_MAX:
        raise bad_expire_time(name)
    return at_ms


def digest_of(text: String) -> bytes:
    """The digest of a string, as the commands print it."""
    return xxhash.xxh3_64_hexdigest(text).encode()


def does_match(match: bytes, wanted: bytes, text: String) -> bool:
    """Whether a string, or its digest, is what a word of MATCHES asks for."""
    if match in (b"IFEQ", b"IFNE"):
        same = text == wanted
    else:
        if len(wanted) != DIGEST_DIGITS:
            raise CommandError(BAD_DIGEST)
        same = digest_of(text) == wanted.lower()
    return same == (match in (b"IFEQ", b"IFDEQ"))
