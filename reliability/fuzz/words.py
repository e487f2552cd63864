"""Command lines made from the command table, with every command, subcommand and option word.

Half of the lines follow the syntax of their row, with values that fit; the others have any words
in any place.  A word may hold CR and LF followed by a text that a client would take for a reply,
if the server sent it back in a line of its own (``INJECTED``).

Some commands would only end the test: they are named in ``LEFT_OUT`` and ``tamed``, with the
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from forebay.commands.admin.command_syntax import Argument, arguments_of
from forebay.commands.api.spec import Command
from forebay.commands.table import TABLE

Line = list[bytes]

#: No line of an answer may begin with these.
INJECTED = b"INJECTED"
KEYS = (b"s1", b"s2", b"s3", b"text", b"list", b"set", b"missing", b"")
NAMES = (b"g1", b"g2", b"alice", b"bob", b"STREAMS", b"pid", b"")
IDS = (
    *(
        b"*",
        b"$",
        b">",
        b"+",
        b"-",
        b"0",
        b"0-0",
        b"1-1",
        b"2-0",
        b"3-*",
        b"(1-1",
        b"5",
        b"1-",
        b"x",
    ),
    *(b"18446744073709551615-18446744073709551615", b"18446744073709551616", b"(-", b"--"),
)
NUMBERS = (
    *(b"0", b"1", b"-1", b"2", b"3", b"10", b"100", b"100000"),
    *(b"%d" % ((1 << bits) + d) for bits in (31, 32, 53, 63, 64) for d in (-1, 0, 1)),
    *(b"-%d" % ((1 << bits) + d) for bits in (31, 63) for d in (-1, 0, 1)),
    *(b"x", b"", b"1e3", b"0x10", b" 1", b"1 ", b"1.5", b"inf", b"nan", b"-0", b"9" * 200),
)
LINE_ENDS = (b"\r\n", b"\n", b"\r", b"\n\r", b"\r\n\r\n", b"x\r\n")
HOSTILE = (
    *(
        end + kind + INJECTED + b"\r\n"
        for end in LINE_ENDS
        for kind in (b"+", b"-", b":", b"$3\r\n")
    ),
    *(b"\r\n", b"\n", b"\r", b"\0", b"\x80\xff", b"'%s%n%d'", b"a" * 300, b"\xe2\x80\xa8", b"x\0y"),
)
PATTERNS = (b"*", b"?", b"[a-c]", b"[^a]", b"*" * 30 + b"b", b"[", b"[b-", b"\\", b"a*b*c*d*e*f*")

#: SHUTDOWN ends the server, and REPLICAOF makes it refuse all that follows; MONITOR and the
#: commands of replicas turn a connection into one that gets other things than replies.
LEFT_OUT = frozenset(b"shutdown replicaof slaveof monitor sync psync failover".split())
#: The directives that CONFIG SET may change here: no port, no folder, no limit that stops all.
DIRECTIVES = (b"stream-node-max-entries", b"hz", b"maxmemory-policy", b"slowlog-max-len", b"save")


def all_rows() -> list[tuple[Line, Command]]:
    """The words that name each command or subcommand, and its row."""
    rows: list[tuple[Line, Command]] = []
    for name, row in TABLE.items():
        if name.lower() in LEFT_OUT:
            continue
        rows.append(([row.upper], row))
        rows += [([row.upper, sub.upper], sub) for sub in row.subcommands.values()]
    return rows


class LineWriter:
    """Writes random command lines; all chance comes from ``dice``."""

    def __init__(self, dice: Random, hostile: float = 0.1) -> None:
        self.dice = dice
        #: The share of lines that get a hostile word.
        self.hostile = hostile
        self.rows = all_rows()
        self.streams = [pair for pair in self.rows if pair[0][0].startswith(b"X")]
        self.trees = {id(row): arguments_of(row.syntax, row.group) for _, row in self.rows}
        tokens = {t for tree in self.trees.values() for t in tokens_of(tree)}
        self.tokens = sorted(token.encode() for token in tokens)

    def line(self) -> Line:
        """One command line; every second one is about streams."""
        dice = self.dice
        name, row = dice.choice(self.streams if dice.random() < 0.5 else self.rows)
        words = [*name]
        if dice.random() < 0.6:
            for argument in self.trees[id(row)]:
                words += self.follow(argument)
        else:
            words += [self.any_word() for _ in range(dice.randrange(12))]
        for _ in range(dice.randrange(3)):
            words[dice.randrange(len(words))] = self.any_word()
        if dice.random() < self.hostile:
            words[dice.randrange(len(words))] = dice.choice(HOSTILE)
            if dice.random() < 0.3:
                words.append(dice.choice(HOSTILE))
        return tamed(words)

    def follow(self, argument: Argument) -> Line:
        """Words for one part of a syntax."""
        dice = self.dice
        if argument.optional and dice.random() < 0.5:
            return []
        words: Line = []
        for _ in range(dice.choice((1, 1, 2, 3)) if argument.multiple else 1):
            if argument.token and (argument.multiple_token or not words):
                words.append(argument.token.encode())
            words += self.value(argument)
        return words

    def value(self, argument: Argument) -> Line:
        """A value for a part of a syntax, without its token."""
        match argument.type:
            case "oneof":
                return self.follow(self.dice.choice(argument.parts))
            case "block":
                return [word for part in argument.parts for word in self.follow(part)]
            case "pure-token":
                return []
            case "integer" | "double" | "unix-time":
                return [self.dice.choice(NUMBERS)]
            case "key":
                return [self.dice.choice(KEYS)]
            case "pattern":
                return [self.dice.choice(PATTERNS)]
        ids = argument.name in ("id", "start", "end", "threshold", "lastid", "last-id")
        return [self.dice.choice(IDS if ids else self.dice.choice((KEYS, NAMES)))]

    def any_word(self) -> bytes:
        """A word of any kind."""
        kinds: tuple[Sequence[bytes], ...] = (KEYS, NAMES, IDS, NUMBERS, self.tokens, self.tokens)
        return self.dice.choice(self.dice.choice(kinds))


def tokens_of(tree: Sequence[Argument]) -> list[str]:
    """All words of a syntax that are typed literally."""
    return [part.token for argument in tree for part in argument.each() if part.token]


def tamed(words: Line) -> Line:
    """The line; if it would stop the test, a similar one that does not."""
    name = words[0].upper()
    if name.lower() in LEFT_OUT:
        return [b"PING", *words[1:]]
    second = words[1].upper() if len(words) > 1 else b""
    if name == b"CONFIG" and second == b"SET":
        return [*words[:2], DIRECTIVES[len(words) % len(DIRECTIVES)], *words[3:4]]
    if name == b"CLIENT" and second in (b"PAUSE", b"REPLY", b"KILL"):
        return [words[0], b"LIST", *words[2:]]
    if name == b"DEBUG" or (name == b"CONFIG" and second == b"REWRITE"):
        return [words[0], b"HELP"]
    return words
