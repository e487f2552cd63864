"""A whole server in this process that gets requests as bytes: parser, engine, commands, replies.

It is a node of the simulation (testkit/sim_node.py) without peers: the real code of the
server from the connection downwards, on a simulated clock and disk, with random numbers from
a seed.  A run can be repeated from its seed, and nothing it does reaches the machine.
"""

from __future__ import annotations

from random import Random

from reliability.fuzz.replies import BrokenReplyError, check_replies
from testkit.resp import encode
from testkit.sim_machine import Time
from testkit.sim_network import Network
from testkit.sim_node import SimClient, SimNode

ADDRESS = ("10.0.0.1", 6379)
SETTINGS = {"appendonly": False, "save_points": []}
#: A server lives for this many batches: its directives and passwords end with it.
BATCHES = 200
#: After this many turns without output a client gets nothing more: it waits, or it is closed.
SILENT_TURNS = 3
PREPARED = (
    ("XADD", "s1", "1-1", "field", "value"),
    ("XADD", "s2", "2-0", "a", "1", "b", "2"),
    ("XGROUP", "CREATE", "s1", "g1", "0"),
    ("XGROUP", "CREATE", "s2", "g2", "0"),
    ("XREADGROUP", "GROUP", "g1", "alice", "STREAMS", "s1", ">"),
    ("SET", "text", "7"),
    ("RPUSH", "list", "a", "b", "c"),
    ("SADD", "set", "m", "n"),
)


class Target:
    """Takes batches of bytes; ``faults`` are sentences about what went wrong."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.time = Time()
        self.faults: list[str] = []
        self.replies = 0
        self.closed = 0
        self.batches = 0
        self.node = self._new_node()

    def _new_node(self) -> SimNode:
        node = SimNode("a", ADDRESS, self.time, Network(), Random(1), SETTINGS)
        node.start()
        while not node.is_ready:
            node.turn()
        return node

    def feed(self, data: bytes, what: str) -> None:
        """Send one batch on a connection of its own, in pieces; then empty the server again."""
        self.batches += 1
        if self.batches % BATCHES == 0:
            self.node.kill()
            self.node = self._new_node()
        client = self._prepared()
        out = self._talk(client, data)
        self.closed += client.is_closed
        try:
            self.replies += check_replies(out)
        except (BrokenReplyError, ValueError, IndexError) as broken:
            self.faults.append(f"{what}: {broken}")
        self._look_at_the_log(what)
        client.close()
        self.node.clients.clear()
        self.time.pass_ms(100)
        self.node.turn()

    def _prepared(self) -> SimClient:
        """A new client of a server with a few keys."""
        client = self.node.client()
        client.send("FLUSHALL")
        client.send("HELLO", self.dice.choice((2, 3)))
        for words in PREPARED:
            client.send(*words)
        self.node.turn()
        client.received()
        return client

    def _talk(self, client: SimClient, data: bytes) -> bytes:
        """All output for these bytes; they arrive in up to three pieces."""
        out, silent, at = bytearray(), 0, 0
        while at < len(data) or silent < SILENT_TURNS:
            if at < len(data):
                n = len(data) if self.dice.random() < 0.7 else self.dice.randint(1, len(data))
                client.send_raw(data[at : at + n])
                at += n
            self.node.turn()
            self.time.pass_ms(20)
            before = len(out)
            out += client.received()
            silent = 0 if len(out) > before else silent + 1
            if client.is_closed:
                break
        return bytes(out)

    def _look_at_the_log(self, what: str) -> None:
        """Defects that the server logged, and an unexpected end."""
        if self.node.log.faults:
            self.faults.append(f"{what}: {' / '.join(self.node.log.faults)[-1500:]}")
            self.node.log.faults.clear()
        if not self.node.is_alive:
            self.faults.append(f"{what}: the server has ended: {self.node.end}")
            self.node = self._new_node()

    def close(self) -> None:
        """The end of the run."""
        self.node.kill()


def request_of(lines: list[list[bytes]]) -> bytes:
    """Command lines as requests, one after the other."""
    return b"".join(encode(*line) for line in lines)
