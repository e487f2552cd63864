"""Clients of the simulation, and the ledger: the replies they got, which must stay true.

Every client writes numbers, each once, besides its other traffic:

    XADD audit * t 17                              acknowledged when its ID arrives
    XADD audit IDMP c1 18 * t 18                   sent again until it is; never there twice
    MULTI, SET pair:a 19, SET pair:b 19, XADD audit * t 19, EXEC        never visible in part
    WAIT 1 ms         answered 1 or more: the earlier writes of this client are confirmed
    WAITAOF 1 1 ms    answered 1 and 1 or more: the same, and on two disks

A confirmed number must never be lost, whichever node is the primary afterwards.  One exception: a
number confirmed by WAIT may be lost if a machine that does not sync each write has lost power.
From a FLUSHALL to the next quiet point nothing is promised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from reliability.simulation.operations import Traffic, Words
from testkit.resp import ReplyError, encode, parse
from testkit.sim_node import SimClient, SimNode

AUDIT = b"audit"
PAIR = (b"pair:a", b"pair:b")

# What a reply is for.
IGNORED = ""
ENTRY = "entry"
ADDED = "added"
BLOCK = "block"
WAIT = "wait"
WAITAOF = "waitaof"


class Ask(NamedTuple):
    """A command in flight, and the use of its reply."""

    kind: str
    token: int = 0


FOR_NOBODY = Ask(IGNORED)


class Ledger:
    """The promises to all clients together."""

    def __init__(self) -> None:
        self.tokens = 0
        #: Token -> the ID that XADD answered.
        self.acked: dict[int, bytes] = {}
        self.confirmed: set[int] = set()
        self.on_disk: set[int] = set()
        #: Messages without an answer: their producer sends them again.
        self.unanswered: set[int] = set()
        #: A machine has lost data that its server had confirmed: WAIT alone promises nothing now.
        self.is_lossy = False
        #: The primary was replaced, or has lost data: numbers only acknowledged may be gone.
        self.may_lose_acked = False
        #: FLUSHALL was sent.
        self.is_flushed = False
        self.complaints: list[str] = []
        #: Called with the IDs confirmed just now, and whether they must be on two disks.
        self.on_confirm: Callable[[list[bytes], bool], None] = lambda ids, on_disk: None
        # Counters for the report.
        self.acks = 0
        self.confirmations = 0

    def new_token(self) -> int:
        """A number that no client has written."""
        self.tokens += 1
        return self.tokens

    def acknowledge(self, token: int, entry_id: bytes) -> None:
        """XADD has answered."""
        self.acks += 1
        known = self.acked.get(token)
        may_differ = self.may_lose_acked or self.is_flushed
        if known is not None and known != entry_id and not may_differ:
            self.complaints.append(f"{token} was added as {known!r} and again as {entry_id!r}")
        self.acked[token] = entry_id

    def confirm(self, tokens: list[int], on_disk: bool) -> None:
        """WAIT has answered."""
        if not self.is_flushed and not self.is_lossy:
            self.on_confirm([self.acked[token] for token in tokens], on_disk)
        self.confirmations += len(tokens)
        self.confirmed.update(tokens)
        if on_disk:
            self.on_disk.update(tokens)

    def flush(self) -> None:
        """FLUSHALL was sent: entries written so far need not be there."""
        self.is_flushed = True

    def settle(self, present: dict[int, bytes]) -> None:
        """A quiet point: every node has exactly these entries; the ledger continues from them."""
        self.acked = dict(present)
        self.confirmed = set(present)
        self.on_disk &= present.keys()
        self.is_lossy = self.may_lose_acked = self.is_flushed = False


class Client:
    """A client with one connection at a time, to the server that it takes for the primary."""

    def __init__(self, number: int, dice: Random, ledger: Ledger, ids: deque[str]) -> None:
        self.number = number
        self.dice = dice
        self.ledger = ledger
        self.ids = ids
        self.traffic = Traffic(dice, ids)
        self.link: SimClient | None = None
        self.asks: deque[Ask] = deque()
        #: Acknowledged on this connection, not confirmed yet.
        self.written: list[int] = []
        self.sent = 0

    @property
    def is_idle(self) -> bool:
        """Whether it waits for no reply."""
        return not self.asks

    def connect(self, node: SimNode) -> None:
        """Connect to that server."""
        self.leave()
        self.link = node.client()

    def leave(self) -> None:
        """End the connection; commands without an answer may have been done, or not."""
        if self.link is not None:
            self.link.close()
            if self.link in self.link.node.clients:
                self.link.node.clients.remove(self.link)
        self.link = None
        self.asks.clear()
        self.written = []

    # Sending

    def act(self) -> None:
        """Send some commands."""
        assert self.link is not None
        chance = self.dice.random()
        if chance < 0.35:
            self.write_token()
        elif chance < 0.3505:
            self.ledger.flush()
            self.send(["FLUSHALL"])
        else:
            for words in self.traffic.batch():
                kind = ADDED if words[0] == "XADD" else IGNORED
                self.send(words, Ask(kind))
        if self.written and self.dice.random() < 0.3:
            self.wait()

    def send(self, words: Words, ask: Ask = FOR_NOBODY) -> None:
        """One command."""
        assert self.link is not None
        self.link.send_raw(encode(*words))
        self.asks.append(ask)
        self.sent += 1

    def write_token(self) -> None:
        """Write a number, in one of three ways."""
        ledger = self.ledger
        chance = self.dice.random()
        if chance < 0.5:
            token = ledger.new_token()
            self.send(["XADD", "audit", "*", "t", token], Ask(ENTRY, token))
        elif chance < 0.75:
            token = ledger.new_token()
            if ledger.unanswered and chance < 0.65:
                token = self.dice.choice(sorted(ledger.unanswered))
            ledger.unanswered.add(token)
            words: Words = ["XADD", "audit", "IDMP", "c", token, "*", "t", token]
            self.send(words, Ask(ENTRY, -token))
        else:
            token = ledger.new_token()
            inner: list[Words] = [["SET", name.decode(), token] for name in PAIR]
            self.send(["MULTI"])
            for half in inner:
                self.send(half)
            self.send(["XADD", "audit", "*", "t", token])
            self.send(["EXEC"], Ask(BLOCK, token))

    def wait(self) -> None:
        """Ask for a confirmation."""
        if self.dice.random() < 0.6:
            self.send(["WAIT", 1, self.dice.choice((10, 300, 2000))], Ask(WAIT))
        else:
            self.send(["WAITAOF", 1, 1, self.dice.choice((300, 3000))], Ask(WAITAOF))

    # Replies

    def listen(self) -> None:
        """Handle the replies that have arrived."""
        link = self.link
        if link is None:
            return
        for raw in link.replies():
            if raw.startswith(b"-READONLY"):
                self.leave()
                return
            if not self.asks:
                self.ledger.complaints.append(f"a reply to nothing: {raw[:100]!r}")
                return
            ask = self.asks.popleft()
            if ask.kind:
                self.take(ask, parse(raw))
        if link.is_closed:
            self.leave()

    def take(self, ask: Ask, reply: object) -> None:
        """Handle one reply that matters."""
        if isinstance(reply, ReplyError) or reply is None:
            return
        if ask.kind == ADDED:
            if isinstance(reply, bytes):
                self.ids.append(reply.decode())
        elif ask.kind == ENTRY:
            assert isinstance(reply, bytes)
            self.take_id(ask.token, reply)
        elif ask.kind == BLOCK:
            assert isinstance(reply, list)
            if isinstance(reply[-1], bytes):
                self.take_id(ask.token, reply[-1])
        elif ask.kind == WAIT:
            assert isinstance(reply, int)
            self.take_count(reply >= 1, on_disk=False)
        else:
            assert isinstance(reply, list)
            self.take_count(reply[0] >= 1 and reply[1] >= 1, on_disk=True)

    def take_id(self, token: int, entry_id: bytes) -> None:
        """A number is written.  For a message that was sent again, the attempt that wrote it is not
        known, so a confirmation on this connection says nothing about it.
        """
        self.ledger.acknowledge(abs(token), entry_id)
        if token < 0:
            self.ledger.unanswered.discard(-token)
        else:
            self.written.append(token)

    def take_count(self, is_enough: bool, on_disk: bool) -> None:
        """WAIT and WAITAOF."""
        if is_enough:
            self.ledger.confirm(self.written, on_disk)
            self.written = []
