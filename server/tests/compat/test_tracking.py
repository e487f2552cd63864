"""Client side caching: every message to every client is what redis-server sends, byte for byte.

Four clients: two in RESP3 that read and cache, one in RESP2 that redirects its messages, and one
that only listens.  In each step of a script one client acts; then every client sends a PING with a
mark, and all bytes before its answer are compared.
"""

from __future__ import annotations

import random
import re
from contextlib import ExitStack

import pytest

from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

Step = tuple[str, list[list[str]]]
KEYS = ["a", "ab", "b:1", "b:2", "c"]
NAMES = ["one", "two", "old"]
MARK = b"mark-of-the-end"
SCRIPTS = 60
STEPS = 40


class Party:
    """The four clients at one server."""

    def __init__(self, server: ServerProcess, stack: ExitStack) -> None:
        self.clients: dict[str, RawClient] = {}
        for name in (*NAMES, "listener"):
            self.clients[name] = stack.enter_context(server.client(unix=True))
        self.clients["one"].insist("FLUSHALL")
        self.clients["one"].insist("HELLO", "3")
        self.clients["two"].insist("HELLO", "3")
        self.number = str(self.clients["listener"].insist("CLIENT", "ID"))
        self.clients["listener"].raw("SUBSCRIBE", "__redis__:invalidate")

    def run(self, step: Step) -> list[bytes]:
        """Do a step; returns all output of each client, with client IDs masked."""
        name, commands = step
        words = [[self.number if w == "LISTENER" else w for w in words] for words in commands]
        client = self.clients[name]
        client.send(b"".join(encode(*command) for command in words))
        got = [b""]
        left = len(words)
        while left > 0:
            reply = client.read()
            got[0] += reply
            left -= not reply.startswith(b">")
        # Messages at the end of a turn are sent together with the replies of that turn.
        for each in self.clients.values():
            each.send(encode("PING", MARK))
            got.append(b"")
            while MARK not in (reply := each.read()):
                got[-1] += reply
        return [re.sub(rb":%s\r\n" % self.number.encode(), b":N\r\n", part) for part in got]


def tracking_words(dice: random.Random, name: str) -> list[str]:
    """One CLIENT TRACKING, sensible or not."""
    words = ["CLIENT", "TRACKING", dice.choice(["ON", "ON", "ON", "OFF"])]
    for option, likely in (("BCAST", 0.3), ("OPTIN", 0.2), ("OPTOUT", 0.2), ("NOLOOP", 0.3)):
        if dice.random() < likely:
            words.append(option)
    if "BCAST" in words and dice.random() < 0.6:
        words += ["PREFIX", dice.choice(["a", "b:", "c", "b:1"])]
    if name == "old":
        # Only one: the order in which redis-server notifies clients depends on its memory.
        words += ["REDIRECT", "LISTENER"]
    return words


def one_command(dice: random.Random) -> list[str]:
    """A command that reads or writes."""
    key, other = dice.choice(KEYS), dice.choice(KEYS)
    return dice.choice(
        [
            ["GET", key],
            ["GET", key],
            ["MGET", key, other],
            ["SET", key, "1"],
            ["MSET", key, "1", other, "2"],
            ["DEL", key],
            ["APPEND", key, "x"],
            ["EXISTS", key, other],
            ["XADD", "s", "*", "f", "v"],
            ["XLEN", "s"],
            ["XADD", "s", "MAXLEN", "1", "9999999999999-*", "f", "v"],
            ["XINFO", "STREAM", "nothing"],
            ["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"],
            ["XREAD", "COUNT", "1", "STREAMS", "nothing", key, "0", "0"],
            ["LPUSH", "l", "x"],
            ["LRANGE", "l", "0", "-1"],
            ["EXPIRE", key, "1000"],
            ["PEXPIRE", key, "-1"],
            ["PERSIST", key],
            ["COPY", key, other, "REPLACE"],
            ["STRLEN", key],
            ["GETDEL", key],
            ["SADD", "set", "x"],
            ["SMEMBERS", "set"],
        ]
    )


def one_step(dice: random.Random) -> Step:
    """The next step of one client; a transaction is one step."""
    name = dice.choice(NAMES)
    chance = dice.random()
    if chance < 0.12:
        return name, [tracking_words(dice, name)]
    if chance < 0.18:
        return name, [["CLIENT", "CACHING", dice.choice(["YES", "NO"])], one_command(dice)]
    if chance < 0.22:
        return name, [["CLIENT", "TRACKINGINFO"], ["CLIENT", "GETREDIR"]]
    if chance < 0.25:
        return name, [[dice.choice(["FLUSHDB", "FLUSHALL"])]]
    if chance < 0.35:
        inside = [one_command(dice) for _ in range(3)]
        return name, [["MULTI"], *inside, ["EXEC"]]
    return name, [one_command(dice)]


def without_ids(got: list[bytes]) -> list[bytes]:
    """The output without the IDs of XADD, which are times."""
    return [re.sub(rb"\$\d+\r\n\d{13}-\d+\r\n", b"ID", part) for part in got]


def test_random_scripts_send_the_same_messages_as_redis(
    redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    for seed in range(SCRIPTS):
        dice = random.Random(seed)
        done: list[Step] = []
        with ExitStack() as stack:
            parties = [Party(server, stack) for server in (redis_server, forebay_server)]
            for _ in range(STEPS):
                done.append(one_step(dice))
                redis, forebay = (without_ids(party.run(done[-1])) for party in parties)
                assert forebay == redis, told(seed, done)


def told(seed: int, done: list[Step]) -> str:
    """A script as a person would type it."""
    lines = [f"{name}: {' '.join(words)}" for name, commands in done for words in commands]
    return "\n".join([f"seed {seed}", *lines])
