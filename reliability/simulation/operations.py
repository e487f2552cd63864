"""The commands of clients: on few keys, groups and IDs, so that they affect each other.

    traffic = Traffic(Random(7), ids)
    traffic.batch()            a few commands, as lists of words

``ids`` are the latest IDs that XADD answered, so that XACK and XDEL find something.  Error
replies do not matter, as long as all nodes end with the same data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

Words = list[str | int]

STREAMS = ("s1", "s2", "s3")
GROUPS = ("g1", "g2")
CONSUMERS = ("alice", "bob", "carol")
KEYS = ("k1", "k2", "k3", "k4")
#: Most values are short; some are so long that a frame arrives in pieces.
SIZES = (1, 5, 12, 12, 30, 30, 80, 200, 700, 3000)


class Traffic:
    """Makes commands."""

    def __init__(self, dice: Random, ids: deque[str]) -> None:
        self.dice = dice
        self.ids = ids
        #: How often, and what.
        self.makers: list[Callable[[], Words]] = [
            *[self.xadd] * 9,
            *[self.message] * 2,
            *[self.xreadgroup] * 4,
            *[self.xack] * 2,
            *[self.xgroup] * 2,
            *[self.plain] * 6,
            *[self.expiry] * 2,
            self.xclaim,
            self.xautoclaim,
            self.xdel,
            self.xtrim,
            self.xnack,
            self.xackdel,
            self.xsettings,
            self.collection,
            self.random_member,
            self.whole_key,
        ]

    def batch(self) -> list[Words]:
        """Some commands of one client, now and then as a transaction or in another database."""
        dice = self.dice
        words = [dice.choice(self.makers)() for _ in range(dice.choice((1, 1, 2, 3, 5)))]
        chance = dice.random()
        if chance < 0.12:
            words = [["MULTI"], *words, ["EXEC"]]
        if chance > 0.8:
            words = [["SELECT", dice.choice((1, 9))], *words, ["SELECT", 0]]
        return words

    # Words

    def key(self) -> str:
        return self.dice.choice(STREAMS)

    def text(self) -> str:
        return self.dice.choice("abcxyz") * self.dice.randint(0, self.dice.choice(SIZES))

    def some_ids(self) -> list[str]:
        known = self.ids
        if not known:
            return ["1-1"]
        return [self.dice.choice(known) for _ in range(self.dice.choice((1, 1, 3, 6)))]

    def who(self) -> list[str]:
        return [self.key(), self.dice.choice(GROUPS)]

    # Streams

    def xadd(self) -> Words:
        trim = self.dice.choice(
            ([], [], [], ["MAXLEN", "~", 20], ["MAXLEN", 15], ["MINID", "~", self.some_ids()[0]])
        )
        fields = ["f", self.text()] * self.dice.choice((1, 1, 2))
        return ["XADD", self.key(), *trim, "*", *fields]

    def message(self) -> Words:
        """A message of a producer that may send it again."""
        number = self.dice.randint(0, 30)
        who = f"p{number % 3}"
        return ["XADD", self.key(), "IDMP", who, f"m{number}", "*", "n", number]

    def xreadgroup(self) -> Words:
        key, group = self.who()
        options = self.dice.choice(([], [], ["NOACK"], ["CLAIM", self.dice.choice((0, 50))]))
        count = self.dice.randint(1, 6)
        head = ["XREADGROUP", "GROUP", group, self.dice.choice(CONSUMERS), "COUNT", count]
        # Not its history: as in Redis, a second read of it is not replicated.
        return [*head, *options, "STREAMS", key, ">"]

    def xack(self) -> Words:
        return ["XACK", *self.who(), *self.some_ids()]

    def xgroup(self) -> Words:
        key, group = self.who()
        who, start = self.dice.choice(CONSUMERS), self.dice.choice(("0", "$", self.some_ids()[0]))
        lines: tuple[Words, ...] = (
            ["XGROUP", "CREATE", key, group, start, "MKSTREAM"],
            ["XGROUP", "CREATE", key, group, "0", "MKSTREAM", "ENTRIESREAD", 3],
            ["XGROUP", "CREATECONSUMER", key, group, who],
            ["XGROUP", "SETID", key, group, start],
            ["XGROUP", "DELCONSUMER", key, group, who],
            ["XGROUP", "DESTROY", key, group],
        )
        return self.dice.choice((*lines[:2] * 3, *lines))

    def xclaim(self) -> Words:
        options = self.dice.choice(([], ["JUSTID"], ["FORCE"], ["IDLE", 70, "RETRYCOUNT", 4]))
        return [
            *("XCLAIM", *self.who(), self.dice.choice(CONSUMERS), 0),
            *(*self.some_ids(), *options),
        ]

    def xautoclaim(self) -> Words:
        return ["XAUTOCLAIM", *self.who(), self.dice.choice(CONSUMERS), 0, "0", "COUNT", 4]

    def xdel(self) -> Words:
        ids = self.some_ids()
        if self.dice.random() < 0.5:
            return ["XDEL", self.key(), *ids]
        how = self.dice.choice(("KEEPREF", "DELREF", "ACKED"))
        return ["XDELEX", self.key(), how, "IDS", len(ids), *ids]

    def xtrim(self) -> Words:
        how = self.dice.choice((["MAXLEN", 10], ["MAXLEN", "~", 5], ["MINID", self.some_ids()[0]]))
        return ["XTRIM", self.key(), *how]

    def xnack(self) -> Words:
        ids = self.some_ids()
        how = self.dice.choice(("SILENT", "FAIL", "FATAL"))
        return ["XNACK", *self.who(), how, "IDS", len(ids), *ids]

    def xackdel(self) -> Words:
        ids = self.some_ids()
        how = self.dice.choice(("KEEPREF", "DELREF", "ACKED"))
        return ["XACKDEL", *self.who(), how, "IDS", len(ids), *ids]

    def xsettings(self) -> Words:
        key = self.key()
        lines: tuple[Words, ...] = (
            ["XCFGSET", key, "IDMP-MAXSIZE", self.dice.randint(5, 40)],
            ["XSETID", key, "9999999999999-1"],
            ["XADD", key, "NOMKSTREAM", "*", "f", "v"],
        )
        return self.dice.choice((lines[0], lines[2]))

    # Other keys

    def plain(self) -> Words:
        key = self.dice.choice(KEYS)
        lines: tuple[Words, ...] = (
            ["SET", key, self.text()],
            ["SET", key, self.text(), "PX", self.dice.choice((20, 500, 5000))],
            ["INCR", "counter"],
            ["APPEND", key, self.text()],
            ["GETDEL", key],
            ["GETEX", key, "PX", 300],
            ["SETRANGE", key, 3, "zz"],
            ["PUBLISH", "news", self.text()],
        )
        return self.dice.choice(lines)

    def expiry(self) -> Words:
        key = self.dice.choice((*KEYS, *STREAMS, "list", "set"))
        lines: tuple[Words, ...] = (
            ["PEXPIRE", key, self.dice.choice((10, 200, 3000, 60_000))],
            ["EXPIRE", key, 2, self.dice.choice(("NX", "XX", "GT", "LT"))],
            ["PERSIST", key],
        )
        return self.dice.choice(lines)

    def collection(self) -> Words:
        lines: tuple[Words, ...] = (
            ["RPUSH", "list", self.text(), "b"],
            ["LPOP", "list", 2],
            ["LTRIM", "list", 0, 20],
            ["SADD", "set", self.dice.randint(0, 50), "m"],
            ["SREM", "set", "m"],
        )
        return self.dice.choice(lines)

    def random_member(self) -> Words:
        """The server chooses at random: replicas must get its choice."""
        lines: tuple[Words, ...] = (["SPOP", "set"], ["SPOP", "set", 3], ["RANDOMKEY"])
        return self.dice.choice(lines)

    def whole_key(self) -> Words:
        key = self.dice.choice((*KEYS, *STREAMS, "list", "set"))
        lines: tuple[Words, ...] = (
            ["DEL", key],
            ["UNLINK", key],
            ["RENAME", key, self.dice.choice(KEYS)],
            ["COPY", self.key(), self.key(), "REPLACE"],
            ["MOVE", key, self.dice.choice((1, 9))],
            ["SWAPDB", 1, 9],
            ["BGREWRITEAOF"],
            ["BGSAVE"],
        )
        return self.dice.choice(lines)
