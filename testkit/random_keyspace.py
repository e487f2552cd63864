"""Random keyspaces, made by commands: the same seed fills a Forebay or a redis-server.

    fill(client, Random(7))                      the commands of Redis 7.0
    fill(client, Random(7), newest=True)         IDMP, XNACK, XACKDEL as well

``client`` is anything that runs a command: an EngineClient or a RawClient.  There
are few IDs and names, so that commands use the same keys.  Error replies do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Run = Callable[..., Any]

GROUPS = ("g", "workers", "\0\xff\r\n")
CONSUMERS = ("alice", "bob", "carol \xe4")
TEXTS = ("", "0", "-1", "007", "9223372036854775807", "x" * 63, "y" * 64, "z" * 5000, "a\r\n\0b")
FAR_FUTURE_MS = 4_000_000_000_000


class Filler:
    """Fills one server."""

    def __init__(self, run: Run, dice: Random, *, newest: bool) -> None:
        self.run = run
        self.dice = dice
        self.newest = newest

    def fill(self, keys: int) -> None:
        """Some keys of every type in some databases."""
        makers = [
            self.string_key,
            self.list_key,
            self.set_key,
            self.stream,
            self.stream,
            self.stream,
        ]
        for number in range(keys):
            self.run("SELECT", self.dice.choice((0, 0, 0, 1, 15)))
            key = f"key:{number}"
            self.dice.choice(makers)(key)
            if self.dice.random() < 0.3:
                self.run("PEXPIREAT", key, FAR_FUTURE_MS + number)

    def text(self) -> str:
        return self.dice.choice((*TEXTS, str(self.dice.getrandbits(40))))

    def string_key(self, key: str) -> None:
        self.run("SET", key, self.text())
        if self.dice.random() < 0.4:
            # A string that is changed in place has another encoding.
            self.run("APPEND", key, self.text())

    def list_key(self, key: str) -> None:
        for _ in range(self.dice.choice((1, 3, 200))):
            self.run("RPUSH", key, self.text())

    def set_key(self, key: str) -> None:
        kind = self.dice.choice((str, lambda n: f"member {n}"))
        for n in range(self.dice.choice((1, 5, 150))):
            self.run("SADD", key, kind(n))

    # -- streams

    def stream(self, key: str) -> None:
        """Entries, groups, and some ordinary commands."""
        if self.newest and self.dice.random() < 0.5:
            self.idmp(key)
        for n in range(self.dice.choice((0, 1, 5, 250))):
            self.run("XADD", key, f"{n // 3 + 1}-*", *self.fields())
        for group in GROUPS[: self.dice.randint(0, 3)]:
            self.run(
                "XGROUP", "CREATE", key, group, self.dice.choice(("0", "$", "3-0")), "MKSTREAM"
            )
        steps = [self.read, self.read, self.ack, self.delete, self.claim, self.odd]
        steps += [self.nack, self.nack, self.ackdel] if self.newest else []
        for _ in range(self.dice.randint(0, 15)):
            self.dice.choice(steps)(key)

    def fields(self) -> list[str]:
        names = self.dice.choice((("rider", "speed"), ("rider", "speed"), ("a",), ("", "1", "b")))
        return [word for name in names for word in (name, self.text())]

    def ids(self) -> list[str]:
        dice = self.dice
        return [f"{dice.randint(1, 90)}-{dice.randint(0, 2)}" for _ in range(dice.randint(1, 20))]

    def who(self, key: str) -> tuple[str, str]:
        return key, self.dice.choice(GROUPS)

    def read(self, key: str) -> None:
        _, group = self.who(key)
        consumer, count = self.dice.choice(CONSUMERS), self.dice.choice((1, 3, 40, 500))
        self.run("XREADGROUP", "GROUP", group, consumer, "COUNT", count, "STREAMS", key, ">")

    def ack(self, key: str) -> None:
        self.run("XACK", *self.who(key), *self.ids())

    def delete(self, key: str) -> None:
        self.run("XDEL", key, *self.ids())

    def claim(self, key: str) -> None:
        options = ("TIME", self.dice.randint(1, 1_000_000), "RETRYCOUNT", self.dice.randint(0, 9))
        consumer = self.dice.choice(CONSUMERS)
        self.run("XCLAIM", *self.who(key), consumer, 0, *self.ids(), *options, "FORCE", "JUSTID")

    def odd(self, key: str) -> None:
        """Rare commands that change the counters."""
        command: list[Any] = self.dice.choice(
            (
                ["XTRIM", key, "MAXLEN", "=", self.dice.choice((0, 2, 100))],
                ["XTRIM", key, "MINID", "=", f"{self.dice.randint(1, 60)}-1"],
                ["XSETID", key, "2000-7", "ENTRIESADDED", 5000, "MAXDELETEDID", "1500-0"],
                ["XSETID", key, "3000-0"],
                # Not more than was added: Redis 7.0 would accept that, newer versions do not.
                ["XGROUP", "SETID", *self.who(key), "2-1", "ENTRIESREAD", 0],
                ["XGROUP", "CREATECONSUMER", *self.who(key), "idle one"],
                ["XGROUP", "DELCONSUMER", *self.who(key), self.dice.choice(CONSUMERS)],
            )
        )
        self.run(*command)

    # -- newer than Redis 7.0

    def idmp(self, key: str) -> None:
        for n in range(self.dice.randint(1, 8)):
            self.run("XADD", key, "IDMP", f"producer {n % 3}", f"message {n}", "*", "n", n)
        if self.dice.random() < 0.3:
            self.run("XCFGSET", key, "IDMP-DURATION", 500, "IDMP-MAXSIZE", 7)
            self.run("XADD", key, "IDMPAUTO", "producer 1", "*", "n", "again")

    def nack(self, key: str) -> None:
        ids = self.ids()
        words = [self.dice.choice(("SILENT", "FAIL", "FATAL")), "IDS", len(ids), *ids]
        force = ["FORCE"] if self.dice.random() < 0.5 else []
        self.run("XNACK", *self.who(key), *words, *force)

    def ackdel(self, key: str) -> None:
        ids = self.ids()
        policy = self.dice.choice(("KEEPREF", "DELREF", "ACKED"))
        self.run("XACKDEL", *self.who(key), policy, "IDS", len(ids), *ids)


def fill(run: Run, dice: Random, keys: int = 6, *, newest: bool = False) -> None:
    """Fill the server that ``run`` talks to with some random keys."""
    Filler(run, dice, newest=newest).fill(keys)
