"""The promises of the server: every request that was sent, and its reply.

Six connections work at once, and still the outcome is exact, because each piece of
state has only one connection that may change it:

    producer p          adds entries with tokens of its own, counts its transactions
    consumer of group g reads, acks and claims in group g; deletes entries of the
                        producers p with p % 2 == g, which no other connection deletes

So the state of a group follows from the replies on its one connection,
and a kill leaves one open question per connection: how many of the requests
in flight were done.  That number must exist (a prefix), and every detail
must agree with it.  ``judge.py`` looks for it.

Tokens describe themselves: ``p1.3.17.120`` is producer 1, cycle 3, entry 17, with
120 bytes of filler made from the token, so that a damaged entry is found too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from testkit.resp import ReplyError, encode

Id = tuple[int, int]
GroupName = tuple[str, str]

#: How far the server's clock reading may lie before a request was sent (one turn of its loop).
TURN_MS = 2000


def read_id(text: bytes) -> Id:
    """``b"5-1"`` as a pair that compares as IDs do."""
    ms, _, seq = text.partition(b"-")
    return int(ms), int(seq)


def write_id(entry: Id) -> str:
    """The pair as the protocol spells it."""
    return f"{entry[0]}-{entry[1]}"


def filler(token: str) -> bytes:
    """The bytes that belong to a token: its last number says how many."""
    size = int(token.rpartition(".")[2])
    return (token.encode() * (size // len(token) + 1))[:size]


def owner_of(token: str) -> int:
    """Which of the two groups may delete an entry with this token; neither if it is damaged."""
    number = token[1:].partition(".")[0]
    return int(number) % 2 if number.isdigit() else -1


def token_of(fields: Sequence[bytes]) -> str:
    """The token of an entry, if the entry is whole; else a text that no ledger holds."""
    if len(fields) == 4 and fields[0] == b"t" and fields[2] == b"d":
        token = fields[1].decode("ascii", "replace")
        if token.rpartition(".")[2].isdigit() and filler(token) == fields[3]:
            return token
    return f"mangled {list(fields)!r:.120}"


@dataclass(frozen=True)
class Pending:
    """One record of a pending list; the time is known to lie in a range."""

    consumer: str
    count: int
    from_ms: int
    to_ms: int


@dataclass
class GroupBook:
    """The expected state of one group."""

    last_id: Id = (0, 0)
    consumers: set[str] = field(default_factory=set)
    pending: dict[Id, Pending] = field(default_factory=dict)

    def copy(self) -> GroupBook:
        """An independent copy; records are immutable."""
        return replace(self, consumers=set(self.consumers), pending=dict(self.pending))


@dataclass
class ConsumerBook:
    """All that one consumer connection may change, on every stream."""

    number: int
    groups: dict[GroupName, GroupBook] = field(default_factory=dict)
    live: dict[str, set[Id]] = field(default_factory=dict)
    deleted: dict[str, set[Id]] = field(default_factory=dict)

    def copy(self) -> ConsumerBook:
        """An independent copy, to try a request on."""
        return ConsumerBook(
            self.number,
            {name: group.copy() for name, group in self.groups.items()},
            {key: set(ids) for key, ids in self.live.items()},
            {key: set(ids) for key, ids in self.deleted.items()},
        )


@dataclass
class Ledger:
    """All promises of a run.  ``shown`` is every entry that a reply has named since the last
    check, by a producer's XADD or a consumer's read; the rest comes from the last check."""

    shown: dict[str, dict[Id, str]]
    counters: dict[str, int] = field(default_factory=dict)
    last_id: dict[str, Id] = field(default_factory=dict)
    max_deleted: dict[str, Id] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    entries: dict[str, dict[Id, str]] = field(default_factory=dict)
    consumers: list[ConsumerBook] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    #: Errors that are no broken promise: the request was refused, and so was not done.
    tolerated: tuple[str, ...] = ()
    acknowledged: int = 0
    refused: int = 0
    #: A count in another database.
    ticks: int = 0

    def show(self, key: str, entry: Id, token: str) -> None:
        """A reply named this entry; it is a promise from now on."""
        if owner_of(token) < 0:
            self.complaints.append(f"{key} {write_id(entry)} was read {token}")
        known = self.shown[key].setdefault(entry, token)
        if known != token:
            self.complaints.append(f"{key} {write_id(entry)} is both {known} and {token}")
        if entry <= self.last_id[key] and self.entries[key].get(entry) != token:
            self.complaints.append(
                f"{key} {write_id(entry)} was given out again, for {token}: "
                f"the last ID was {write_id(self.last_id[key])}"
            )


class Request:
    """One request, or one transaction, with the number of replies it gets.  ``done_ms`` is the
    wall clock when it must have been done: at the reply, or at the kill."""

    replies = 1
    done_ms = 0

    def wire(self) -> bytes:
        """Its bytes."""
        raise NotImplementedError

    def acknowledge(self, ledger: Ledger, reply: Any) -> None:
        """Enter the reply into the ledger."""
        raise NotImplementedError


class Add(Request):
    """XADD of one entry; or several and an INCR in one transaction."""

    def __init__(self, key: str, tokens: Sequence[str], counter: str = "") -> None:
        self.key, self.tokens, self.counter = key, list(tokens), counter
        self.replies = len(tokens) + 3 if counter else 1

    def wire(self) -> bytes:
        adds = [encode("XADD", self.key, "*", "t", t, "d", filler(t)) for t in self.tokens]
        if not self.counter:
            return adds[0]
        return b"".join([encode("MULTI"), *adds, encode("INCR", self.counter), encode("EXEC")])

    def acknowledge(self, ledger: Ledger, reply: Any) -> None:
        ids = reply[:-1] if self.counter else [reply]
        for token, entry in zip(self.tokens, ids, strict=True):
            ledger.show(self.key, read_id(entry), token)
        if self.counter:
            ledger.counters[self.counter] += 1
            if reply[-1] != ledger.counters[self.counter]:
                ledger.complaints.append(f"{self.counter} is {reply[-1]} after its INCR")


class GroupRequest(Request):
    """A request of a consumer: an effect on its book, and the reply that goes with it."""

    def __init__(self, book: ConsumerBook, key: str, group: str) -> None:
        self.book, self.key, self.name = book, key, (key, group)

    def apply(self, book: ConsumerBook) -> Any:
        """Change the book as the server would; returns the expected reply."""
        raise NotImplementedError

    def acknowledge(self, ledger: Ledger, reply: Any) -> None:
        expected = self.apply(self.book)
        if reply != expected:
            ledger.complaints.append(f"{self.wire()[:200]!r}: {reply!r}, not {expected!r}")


class Ack(GroupRequest):
    """XACK of some pending entries."""

    def __init__(self, book: ConsumerBook, key: str, group: str, ids: Sequence[Id]) -> None:
        super().__init__(book, key, group)
        self.ids = ids

    def wire(self) -> bytes:
        return encode("XACK", *self.name, *map(write_id, self.ids))

    def apply(self, book: ConsumerBook) -> Any:
        pending = book.groups[self.name].pending
        return sum(pending.pop(entry, None) is not None for entry in self.ids)


class Delete(GroupRequest):
    """XDEL of entries that only this connection deletes."""

    def __init__(self, book: ConsumerBook, key: str, ids: Sequence[Id]) -> None:
        super().__init__(book, key, "")
        self.ids = ids

    def wire(self) -> bytes:
        return encode("XDEL", self.key, *map(write_id, self.ids))

    def apply(self, book: ConsumerBook) -> Any:
        found = book.live[self.key].intersection(self.ids)
        book.live[self.key] -= found
        book.deleted[self.key] |= found
        return len(found)


class Claim(GroupRequest):
    """XCLAIM to another consumer, with an explicit time and count."""

    def __init__(
        self,
        book: ConsumerBook,
        key: str,
        group: str,
        ids: Sequence[Id],
        *,
        record: Pending,
    ) -> None:
        super().__init__(book, key, group)
        self.ids, self.record = ids, record

    def wire(self) -> bytes:
        ids = map(write_id, self.ids)
        times = ("TIME", self.record.from_ms, "RETRYCOUNT", self.record.count, "JUSTID")
        return encode("XCLAIM", *self.name, self.record.consumer, 0, *ids, *times)

    def apply(self, book: ConsumerBook) -> Any:
        pending = book.groups[self.name].pending
        claimed = []
        for entry in self.ids:
            if entry in book.live[self.key]:
                pending[entry] = self.record
                claimed.append(write_id(entry).encode())
            else:
                pending.pop(entry, None)  # a claim of a deleted entry takes the record away
        return claimed


class ConsumerChange(GroupRequest):
    """XGROUP CREATECONSUMER or DELCONSUMER."""

    def __init__(
        self, book: ConsumerBook, key: str, group: str, *, consumer: str, exists: bool
    ) -> None:
        super().__init__(book, key, group)
        self.consumer, self.exists = consumer, exists

    def wire(self) -> bytes:
        verb = "CREATECONSUMER" if self.exists else "DELCONSUMER"
        return encode("XGROUP", verb, *self.name, self.consumer)

    def apply(self, book: ConsumerBook) -> Any:
        group = book.groups[self.name]
        if self.exists:
            is_new = self.consumer not in group.consumers
            group.consumers.add(self.consumer)
            return int(is_new)
        owned = [e for e, record in group.pending.items() if record.consumer == self.consumer]
        for entry in owned:
            del group.pending[entry]
        group.consumers.discard(self.consumer)
        return len(owned)


class GroupChange(GroupRequest):
    """XGROUP CREATE, SETID or DESTROY (no ID)."""

    def __init__(self, book: ConsumerBook, key: str, group: str, *, start: Id | None) -> None:
        super().__init__(book, key, group)
        self.start, self.is_new = start, self.name not in book.groups

    def wire(self) -> bytes:
        if self.start is None:
            return encode("XGROUP", "DESTROY", *self.name)
        return encode(
            "XGROUP", "CREATE" if self.is_new else "SETID", *self.name, write_id(self.start)
        )

    def apply(self, book: ConsumerBook) -> Any:
        if self.start is None:
            return int(book.groups.pop(self.name, None) is not None)
        book.groups.setdefault(self.name, GroupBook()).last_id = self.start
        return "OK"


class Read(GroupRequest):
    """XREADGROUP of new entries.  It is the last request of a pipeline, since only the reply, or
    the state found after a kill, says what it delivered."""

    def __init__(
        self,
        book: ConsumerBook,
        keys: Sequence[str],
        group: str,
        *,
        consumer: str,
        count: int,
        sent_ms: int,
    ) -> None:
        super().__init__(book, keys[0], group)
        self.keys, self.group, self.consumer = keys, group, consumer
        self.count, self.sent_ms = count, sent_ms

    def wire(self) -> bytes:
        names = ("GROUP", self.group, self.consumer, "COUNT", self.count)
        return encode("XREADGROUP", *names, "STREAMS", *self.keys, *[">"] * len(self.keys))

    def record(self) -> Pending:
        """The pending record of each delivered entry."""
        return Pending(self.consumer, 1, self.sent_ms - TURN_MS, self.done_ms)

    def deliver(self, book: ConsumerBook, key: str, ids: Sequence[Id]) -> None:
        """Enter what was delivered from one stream, in order."""
        group, record = book.groups[key, self.group], self.record()
        for entry in ids:
            group.pending[entry] = record
            group.last_id = max(group.last_id, entry)

    def acknowledge(self, ledger: Ledger, reply: Any) -> None:
        for key_bytes, entries in reply or []:
            key = key_bytes.decode()
            tokens = {read_id(entry): token_of(fields) for entry, fields in entries}
            for entry, token in tokens.items():
                ledger.show(key, entry, token)
                if owner_of(token) == self.book.number:
                    self.book.live[key].add(entry)
            self.deliver(self.book, key, list(tokens))


class Line:
    """The requests of one connection that have no reply yet, in the order they were sent."""

    def __init__(self, ledger: Ledger, book: ConsumerBook | None = None) -> None:
        self.ledger, self.book = ledger, book
        self.in_flight: deque[Request] = deque()

    def sent(self, requests: Sequence[Request]) -> None:
        """Call this before the bytes are sent: the effect of a sent request may be found."""
        self.in_flight.extend(requests)

    def answered(self, reply: Any, now_ms: int) -> None:
        """The oldest request has its reply; an unexpected error is a broken promise by itself."""
        request = self.in_flight[0]
        request.done_ms = now_ms
        if isinstance(reply, ReplyError) and str(reply).startswith(self.ledger.tolerated):
            self.ledger.refused += 1
        elif isinstance(reply, ReplyError):
            self.ledger.complaints.append(f"{request.wire()[:200]!r} was answered -{reply}")
        else:
            self.ledger.acknowledged += 1
            request.acknowledge(self.ledger, reply)
        self.in_flight.popleft()

    def ended(self, now_ms: int) -> None:
        """The server is gone: requests in flight were done before now, or never."""
        for request in self.in_flight:
            request.done_ms = now_ms
