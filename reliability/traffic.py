"""The load of the kill loop: four producers, the consumers of two groups, each a thread.

A thread owns one socket and one line of the ledger.  It enters the next requests,
sends them as a pipeline, enters each reply, and ends when the server is gone.
It has its own random numbers, so a seed repeats the plan (but not the moment of the
kill, which depends on the machine).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

from reliability.ledger import (
    Ack,
    Add,
    Claim,
    ConsumerBook,
    ConsumerChange,
    Delete,
    GroupChange,
    Id,
    Ledger,
    Line,
    Pending,
    Read,
    Request,
)
from testkit.resp import RawClient, parse

KEYS = ("orders", "clicks")
PRODUCERS = 4
CONSUMERS = ("ann", "bob")
PIPELINE_MAX = 64
REFUSED_PAUSE_S = 0.02
#: Mostly small; now and then larger than a page, so that a record lies across two.
FILLER_SIZES = (0, 5, 5, 40, 40, 200, 200, 5000)


def group_name(number: int) -> str:
    """The group that one consumer connection owns."""
    return f"group{number}"


def side_group_name(number: int) -> str:
    """A group that is created and destroyed again and again."""
    return f"side{number}"


def counter_name(producer: int) -> str:
    """The counter of a producer's transactions."""
    return f"count{producer}"


def now_ms() -> int:
    """The wall clock, which server and harness share."""
    return time.time_ns() // 1_000_000


class Connection(threading.Thread):
    """One connection that works until the server is gone, or until it must stop."""

    def __init__(self, client: RawClient, line: Line, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self.client, self.line, self.dice = client, line, dice
        self.stop_asked = threading.Event()
        self.broken: BaseException | None = None

    def pipeline(self) -> list[Request]:
        """The next requests."""
        raise NotImplementedError

    def run(self) -> None:
        """Send and read until the end; errors except a lost connection are kept for the loop."""
        try:
            while not self.stop_asked.is_set():
                self.round()
        except (OSError, EOFError):
            pass
        except BaseException as error:  # noqa: BLE001 - the thread has nobody to tell
            self.broken = error
        finally:
            self.client.close()

    def round(self) -> None:
        """One pipeline there and back; after a refusal it does not ask again at once."""
        refused, requests = self.line.ledger.refused, self.pipeline()
        self.line.sent(requests)
        self.client.send(b"".join(request.wire() for request in requests))
        for request in requests:
            reply = parse(self.client.read_many(request.replies)[-1])
            self.line.answered(reply, now_ms())
        if self.line.ledger.refused > refused:
            self.stop_asked.wait(REFUSED_PAUSE_S)


class Producer(Connection):
    """Adds entries; a tenth of the pipelines are transactions."""

    def __init__(
        self, client: RawClient, line: Line, dice: random.Random, *, number: int, cycle: int
    ) -> None:
        super().__init__(client, line, dice)
        self.number, self.cycle, self.count = number, cycle, 0

    def token(self) -> str:
        """A name that is used once."""
        self.count += 1
        return f"p{self.number}.{self.cycle}.{self.count}.{self.dice.choice(FILLER_SIZES)}"

    def pipeline(self) -> list[Request]:
        dice = self.dice
        if dice.random() < 0.1:
            tokens = [self.token() for _ in range(dice.randint(2, 5))]
            return [Add(dice.choice(KEYS), tokens, counter_name(self.number))]
        size = dice.choice((1, 1, 4, dice.randint(1, PIPELINE_MAX), PIPELINE_MAX))
        return [Add(dice.choice(KEYS), [self.token()]) for _ in range(size)]


class Consumer(Connection):
    """Reads, acks, claims, deletes and changes its groups; a read ends each pipeline."""

    def __init__(self, client: RawClient, line: Line, dice: random.Random) -> None:
        super().__init__(client, line, dice)
        assert line.book is not None
        self.book: ConsumerBook = line.book

    def pipeline(self) -> list[Request]:
        dice = self.dice
        read = Read(
            self.book,
            KEYS,
            group_name(self.book.number),
            consumer=dice.choice(CONSUMERS),
            count=dice.randint(1, 100),
            sent_ms=now_ms(),
        )
        return [*self.changes(dice.choice(KEYS)), read]

    def changes(self, key: str) -> Iterator[Request]:
        """Some requests of a consumer between reads, in an order that makes each result certain."""
        dice, book, group = self.dice, self.book, group_name(self.book.number)
        pending = book.groups[key, group].pending
        if dice.random() < 0.3:
            yield from self.claim(key, group, list(pending))
        if dice.random() < 0.8:
            yield Ack(book, key, group, _some(dice, list(pending), 0.6) or [(1, 1)])
        if dice.random() < 0.3 and (mine := _some(dice, sorted(book.live[key]), 0.2)):
            yield Delete(book, key, mine)
        if dice.random() < 0.05 and book.live[key]:
            yield GroupChange(book, key, group, start=dice.choice(sorted(book.live[key])))
        if dice.random() < 0.1:
            side = (key, side_group_name(book.number))
            start = None if side in book.groups else (0, 0)
            yield GroupChange(book, *side, start=start)
        if dice.random() < 0.05:
            consumer = dice.choice(CONSUMERS)
            for exists in (False, True):
                yield ConsumerChange(book, key, group, consumer=consumer, exists=exists)

    def claim(self, key: str, group: str, pending: list[Id]) -> Iterator[Request]:
        """A claim of entries that only this connection changes."""
        gone = self.book.live[key] | self.book.deleted[key]
        ids = _some(self.dice, [entry for entry in pending if entry in gone], 0.3)
        if ids:
            time_ms = now_ms() - self.dice.randint(0, 100_000)
            record = Pending(self.dice.choice(CONSUMERS), self.dice.randint(1, 9), time_ms, time_ms)
            yield Claim(self.book, key, group, ids, record=record)


def _some(dice: random.Random, items: list[Id], share: float) -> list[Id]:
    return [item for item in items if dice.random() < share]


def prepare(client: RawClient) -> Ledger:
    """Make the streams and groups of a new run; returns their ledger."""
    books = [ConsumerBook(number) for number in range(2)]
    ledger = Ledger({key: {} for key in KEYS}, consumers=books)
    for producer in range(PRODUCERS):
        ledger.counters[counter_name(producer)] = 0
    for key in KEYS:
        ledger.entries[key], ledger.added[key] = {}, 0
        ledger.last_id[key] = ledger.max_deleted[key] = (0, 0)
        for book in books:
            group = group_name(book.number)
            book.live[key], book.deleted[key] = set(), set()
            assert client("XGROUP", "CREATE", key, group, 0, "MKSTREAM") == "OK"
            GroupChange(book, key, group, start=(0, 0)).apply(book)
    restore_consumers(client, ledger)
    return ledger


def restore_consumers(client: RawClient, ledger: Ledger) -> None:
    """A kill may happen between the deletion and the creation of a consumer: make it again.

    A read would do so too, but whether a read that delivers nothing leaves a trace in the AOF is
    not the same in all versions of Redis.
    """
    for book in ledger.consumers:
        for key in KEYS:
            for consumer in CONSUMERS:
                group = group_name(book.number)
                request = ConsumerChange(book, key, group, consumer=consumer, exists=True)
                client.send(request.wire())
                request.acknowledge(ledger, parse(client.read()))


def trim(client: RawClient, ledger: Ledger, key: str, keep: int) -> None:
    """Trim a stream while no connection works, and update the ledger."""
    removed = client("XTRIM", key, "MAXLEN", keep)
    entries = sorted(ledger.entries[key])
    gone = entries[: max(0, len(entries) - keep)]
    if removed != len(gone):
        ledger.complaints.append(f"XTRIM {key} MAXLEN {keep} of {len(entries)}: {removed!r}")
    for entry in gone:
        del ledger.entries[key][entry]
    for book in ledger.consumers:
        book.live[key].difference_update(gone)


def start_traffic(
    clients: list[RawClient], ledger: Ledger, dice: random.Random, cycle: int
) -> list[Connection]:
    """All connections at work; the first ones are the producers."""
    connections: list[Connection] = []
    for number, client in enumerate(clients):
        own = random.Random(dice.getrandbits(64))
        if number < PRODUCERS:
            connections.append(Producer(client, Line(ledger), own, number=number, cycle=cycle))
        else:
            line = Line(ledger, ledger.consumers[number - PRODUCERS])
            connections.append(Consumer(client, line, own))
    for connection in connections:
        connection.start()
    return connections
