"""Clients that wait for lists: which client gets which element, and the rest, as in redis-server.

A scenario has lines of ``client COMMAND``.  The replies to each are compared byte for byte.
"""

from __future__ import annotations

import re
import shlex
from contextlib import ExitStack

import pytest

from testkit.resp import NEED_MORE, RawClient, encode, end_of_reply
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

pytestmark = pytest.mark.oracle

BLOCKED = re.compile(rb"blocked_clients:(\d+)")

SCENARIOS = {
    "first come, first served": """
        a BLPOP l 0
        b BRPOP l 0
        c BLMPOP 0 1 l LEFT COUNT 5
        main RPUSH l 1 2 3 4
        main LRANGE l 0 -1
    """,
    "a chain of lists": """
        a BLMOVE one two LEFT RIGHT 0
        b BRPOPLPUSH two three 0
        c BLPOP three 0
        main RPUSH one x
        main EXISTS one two three
    """,
    "a chain inside a transaction": """
        a BLMOVE one two LEFT RIGHT 0
        b BLMPOP 0 2 none two RIGHT
        main MULTI
        main RPUSH one x y
        main LLEN one
        main EXEC
        main LRANGE one 0 -1
    """,
    "a circle": """
        a BRPOPLPUSH one two 0
        b BRPOPLPUSH two one 0
        main RPUSH one x
        main LRANGE one 0 -1
        main LRANGE two 0 -1
    """,
    "a list that is its own destination": """
        a BLMOVE one one LEFT RIGHT 0
        main RPUSH one x y
        main LRANGE one 0 -1
    """,
    "a destination of another type": """
        main SET text 1
        a BLMOVE one text LEFT RIGHT 0
        b BLPOP one 0
        main RPUSH one x
        main EXISTS one
        main BRPOPLPUSH text one 0
        main BLMOVE text one LEFT LEFT 0
    """,
    "a source that becomes another type": """
        a BLMOVE one two LEFT RIGHT 0
        main SET one 1
        main DEL one
        main SADD one x
        main DEL one
        main RPUSH one x
        main LRANGE two 0 -1
    """,
    "what is gone at the end of a transaction": """
        a BLMOVE one two LEFT RIGHT 0
        main MULTI
        main RPUSH one x
        main DEL one
        main EXEC
        main RPUSH one y
        main LRANGE two 0 -1
    """,
    "time runs out": """
        a BLMOVE one two LEFT RIGHT 0.01
        a BRPOPLPUSH one two 0.01
        a BLMPOP 0.01 2 one two LEFT COUNT 2
        b HELLO 3
        b BLMOVE one two LEFT RIGHT 0.01
        b BLMPOP 0.01 1 one LEFT
    """,
    "nobody waits in a transaction": """
        main MULTI
        main BLMOVE one two LEFT RIGHT 0
        main BRPOPLPUSH one two 0
        main BLMPOP 0 1 one LEFT
        main BLPOP one 0
        main EXEC
    """,
    "a list that comes by other ways": """
        a BLPOP one 0
        b BLMPOP 0 1 two RIGHT COUNT 2
        c BLMOVE three four LEFT LEFT 0
        main RPUSH src 3 1 2
        main SORT src STORE one
        main COPY src two
        main RENAME src three
        main LRANGE one 0 -1
        main LRANGE two 0 -1
        main LRANGE three 0 -1
    """,
    "a member of a set wakes nobody": """
        a BLPOP one 0
        main SADD one x
        main SMOVE one two x
        main SUNIONSTORE one two
        main DEL one
        main LPUSHX one x
        main LPUSH one x
    """,
    "errors come before waiting": """
        main BLMOVE one two UP LEFT 0
        main BLMOVE one two LEFT LEFT x
        main BLMPOP x 0 one LEFT
        main BLMPOP x 1 one LEFT
        main BLMPOP 0 2 one LEFT
        main BLMPOP 0 1 one LEFT COUNT 0
        main BLMPOP 0 1 one LEFT COUNT 1 COUNT 1
        main BRPOPLPUSH one two -1
    """,
}


class Stage:
    """One server and all its clients."""

    def __init__(self, server: ServerProcess, stack: ExitStack) -> None:
        self.server = server
        self.stack = stack
        self.clients: dict[str, RawClient] = {}
        self.waiting: set[str] = set()
        self.observer = stack.enter_context(server.client(unix=True))

    def play(self, line: str) -> None:
        """Send one command; returns when it was answered or waits."""
        who, *words = shlex.split(line)
        if who not in self.clients:
            self.clients[who] = self.stack.enter_context(self.server.client(unix=True))
        client = self.clients[who]
        before, size = self.blocked(), len(client.buffer)
        client.send(encode(*words))
        may_stay = "0" in words
        wait_until(
            f"an answer to {line}",
            lambda: self.has_more(client, size) or (may_stay and self.blocked() > before),
        )

    def blocked(self) -> int:
        found = BLOCKED.search(self.observer.raw("INFO", "clients"))
        assert found is not None
        return int(found[1])

    def has_more(self, client: RawClient, size: int) -> bool:
        """Whether another reply is there, without waiting for it."""
        client.socket.settimeout(0.001)
        try:
            client._receive()
        except TimeoutError:
            pass
        finally:
            client.socket.settimeout(20)
        return len(client.buffer) > size and end_of_reply(client.buffer, size) != NEED_MORE


def play(server: ServerProcess, scenario: str) -> dict[str, list[bytes]]:
    """The replies of all clients at the end, and the number of blocked clients."""
    with ExitStack() as stack:
        stage = Stage(server, stack)
        for line in scenario.strip().splitlines():
            stage.play(line)
        # A woken client is answered before the next command.
        found = {"blocked": [b"%d" % stage.blocked()]}
        for name, client in stage.clients.items():
            stage.has_more(client, len(client.buffer))
            found[name] = masked(bytes(client.buffer))
        return found


def masked(replies: bytes) -> list[bytes]:
    """The replies one by one, without that of HELLO."""
    found, at = [], 0
    while at < len(replies):
        end = end_of_reply(replies, at)
        found.append(b"hello" if replies[at : at + 1] == b"%" else replies[at:end])
        at = end
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_everybody_is_told_the_same(
    name: str, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    assert play(forebay_server, SCENARIOS[name]) == play(redis_server, SCENARIOS[name])
