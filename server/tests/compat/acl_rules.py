"""Random rules of users, and random calls to check against them, for a comparison with Redis."""

from __future__ import annotations

from random import Random

from forebay.commands.access.categories import CATEGORIES, Catalogue
from forebay.commands.api.spec import Command
from forebay.commands.table import TABLE

KEYS = ["a", "ab", "abc", "b", "b:1", "b:2", "x", "key", "*", "[", ""]
PATTERNS = ["a", "a*", "b:*", "?", "*c", "x", "[ab]*", "b:[0-9]", "*", "", "**", "\\*", "k?y"]
CHANNELS = ["news", "news:1", "n*", "log"]
PASSWORDS = ["one", "two", ""]
HASHES = ["0" * 64, "f" * 64, "F" * 64, "12", "z" * 64]
OF_USER = [
    "on",
    "OFF",
    "nopass",
    "resetpass",
    "reset",
    "clearselectors",
    "sanitize-payload",
    "skip-sanitize-payload",
]
OF_SELECTOR = [
    *("allkeys", "resetkeys", "AllChannels", "resetchannels", "allcommands", "nocommands"),
    *("+@all", "-@all", "~*", "&*"),
]
NONSENSE = ["foo", "+nosuch", "-nosuch", "+@nosuch", "+config|nosuch", "-select|0", "%~x", "%X~a"]
MORE_NONSENSE = ["%RR~a", "+get|", "+config|get|a", "~a b", "&a b", "(+get", "+@all)", "((+get))"]
#: Arguments of commands for which random words would seldom be a call with keys.
SHAPES = {
    b"xread": [
        "STREAMS {k} {k} 0 0",
        "COUNT 1 STREAMS {k} 0",
        "STREAMS {k}",
        "BLOCK 1 COUNT 2 {k}",
    ],
    b"xreadgroup": ["GROUP g c STREAMS {k} >", "GROUP STREAMS c STREAMS {k} {k} > >"],
    b"xadd": ["{k} * f v", "{k} MAXLEN 3 * f v"],
    b"set": ["{k} v", "{k} v GET", "{k} v EX 10", "{k} v NX GET"],
    b"copy": ["{k} {k}", "{k} {k} DB 1"],
    b"sort": ["{k} STORE {k}", "{k} BY nosort", "{k}"],
    b"eval": ["return 2 {k} {k}", "return 0", "return -1 {k}", "return x {k}"],
    b"bitfield": ["{k} GET u8 0", "{k} SET u8 0 1", "{k}"],
    b"lmpop": ["2 {k} {k} LEFT", "9 {k} LEFT"],
    b"sintercard": ["2 {k} {k}", "1 {k} LIMIT 1"],
    b"bitop": ["AND {k} {k} {k}"],
    b"publish": ["{c} hello"],
    b"spublish": ["{c} hello"],
    b"subscribe": ["{c} {c}"],
    b"psubscribe": ["{c} {c}"],
    b"ssubscribe": ["{c}"],
    b"unsubscribe": ["{c}"],
    b"rename": ["{k} {k}"],
    b"smove": ["{k} {k} m"],
    b"lmove": ["{k} {k} LEFT LEFT"],
    b"mset": ["{k} 1 {k} 2"],
}


class RuleWriter:
    """Writes rules and calls from a seed; ``known`` are the full names that both servers have."""

    def __init__(self, random: Random, known: set[bytes]) -> None:
        self.random = random
        self.rows = [row for row in Catalogue(TABLE) if row.full_name in known]

    def rules(self) -> list[str]:
        """The words of one ACL SETUSER."""
        return [self.rule() for _ in range(self.random.randrange(5))]

    def rule(self) -> str:
        """One word, now and then a selector of several."""
        random = self.random
        kind = random.randrange(20)
        if kind < 3:
            return random.choice(OF_USER)
        if kind < 5:
            sign = random.choice("><#!")
            return sign + random.choice(PASSWORDS if sign in "><" else HASHES)
        if kind < 7:
            inner = " ".join(self.rule_of_selector() for _ in range(random.randrange(4)))
            return f"({inner})"
        if kind < 8:
            return random.choice(NONSENSE + MORE_NONSENSE)
        return self.rule_of_selector()

    def rule_of_selector(self) -> str:
        """A rule that may be in parentheses."""
        random = self.random
        kind = random.randrange(12)
        if kind < 2:
            return random.choice(OF_SELECTOR)
        if kind < 5:
            sign = random.choice(["~", "~", "%R~", "%W~", "%RW~", "%w~"])
            return sign + random.choice(PATTERNS)
        if kind < 6:
            return "&" + random.choice(CHANNELS)
        if kind < 8:
            return random.choice("+-") + "@" + random.choice(CATEGORIES)
        if kind < 9:
            return random.choice(["+select|0", "+SELECT|1", "+get|x", "+config|get", "-xinfo|help"])
        return random.choice("+-") + random.choice(self.rows).full_name.decode()

    def call(self) -> list[str]:
        """A command with words that it may or may not understand."""
        random = self.random
        row = random.choice(self.rows)
        if random.random() < 0.5:
            row = TABLE[random.choice(list(SHAPES))]
        return row.full_name.decode().split("|") + self.words(row)

    def words(self, row: Command) -> list[str]:
        """The arguments of a call."""
        random = self.random
        if row.name in SHAPES:
            shape = random.choice(SHAPES[row.name]).split()
            return [self.filled(word) for word in shape]
        container = b"|" in row.full_name
        least = abs(row.arity) - 1 - container
        n = least + (random.randrange(3) if row.arity < 0 else 0)
        return [random.choice(KEYS[:8]) for _ in range(n)]

    def filled(self, word: str) -> str:
        """A word of a shape, with a key or a channel in its place."""
        if word == "{k}":
            return self.random.choice(KEYS)
        return self.random.choice(CHANNELS) if word == "{c}" else word
