"""The judge of the kill loop works: a correct history passes, and each doctored one is caught.

The producers and consumers of the loop work on an engine in this process.
Then only a part of their requests in flight is done, as after a kill.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from reliability.found import Found, FoundStream, read_state
from reliability.judge import judge
from reliability.ledger import Add, Ledger, Line, Request, read_id
from reliability.traffic import (
    KEYS,
    PRODUCERS,
    Connection,
    Consumer,
    Producer,
    now_ms,
    prepare,
    restore_consumers,
    trim,
)
from testkit.engine_client import EngineClient
from testkit.resp import encode, parse, split_replies


class EngineConnection:
    """An EngineClient with the methods of a RawClient that the loop uses."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self.unread: list[bytes] = []

    def send(self, data: bytes) -> None:
        for command in split_replies(data):
            self.client.now_ms = now_ms()
            self.unread.append(self.client.raw(*parse(command)))

    def read(self) -> bytes:
        return self.unread.pop(0)

    def read_many(self, count: int) -> list[bytes]:
        return [self.read() for _ in range(count)]

    def __call__(self, *args: Any) -> Any:
        self.send(encode(*args))
        return parse(self.read())


class History:
    """A run of the loop's traffic on an engine, with some requests left without a reply."""

    def __init__(self, seed: int, rounds: int = 12) -> None:
        self.dice = random.Random(seed)
        self.client = EngineClient()
        self.control = EngineConnection(self.client)
        self.ledger: Ledger = prepare(self.control)  # type: ignore[arg-type]
        self.connections = list(self.connect())
        for _ in range(rounds):
            for connection in self.connections:
                connection.round()

    def connect(self) -> Iterator[Connection]:
        for number in range(PRODUCERS + 2):
            client: Any = EngineConnection(self.client.new())
            dice = random.Random(self.dice.getrandbits(64))
            if number < PRODUCERS:
                yield Producer(client, Line(self.ledger), dice, number=number, cycle=0)
            else:
                book = self.ledger.consumers[number - PRODUCERS]
                yield Consumer(client, Line(self.ledger, book), dice)

    def kill(self) -> None:
        """Every connection has sent more; the server has done the first few requests."""
        for connection in self.connections:
            requests = connection.pipeline()
            connection.line.sent(requests)
            for request in requests[: self.dice.randint(0, len(requests))]:
                connection.client.send(request.wire())
            connection.line.ended(now_ms())

    def found(self) -> Found:
        return read_state(self.control, list(KEYS), list(self.ledger.counters))  # type: ignore[arg-type]

    def lines(self) -> list[Line]:
        return [connection.line for connection in self.connections]

    def faults(self, found: Found) -> list[str]:
        return judge(deepcopy(self.ledger), self.lines(), found)


@pytest.fixture(scope="module")
def history() -> History:
    made = History(seed=7)
    made.kill()
    assert made.faults(made.found()) == []
    return made


@pytest.mark.parametrize("seed", range(8))
def test_a_true_history_passes_whatever_was_in_flight(seed: int) -> None:
    made = History(seed)
    for _ in range(4):
        made.kill()
        assert judge(made.ledger, made.lines(), made.found()) == [], f"seed {seed}"
        restore_consumers(made.control, made.ledger)  # type: ignore[arg-type]
        for key in KEYS:
            trim(made.control, made.ledger, key, made.dice.randint(0, 200))  # type: ignore[arg-type]
        made.connections = list(made.connect())
        for number, connection in enumerate(made.connections):
            if isinstance(connection, Producer):
                connection.cycle = 100 * seed + number + 1 + made.ledger.acknowledged
            connection.round()


def lose_an_entry(stream: FoundStream) -> None:
    stream.order.remove(victim := stream.order[len(stream.order) // 2])
    del stream.entries[victim]
    stream.length -= 1


def mangle_an_entry(stream: FoundStream) -> None:
    stream.entries[stream.order[3]] = "mangled"


def store_an_entry_twice(stream: FoundStream) -> None:
    entry = (stream.last_id[0] + 1, 0)
    stream.entries[entry] = stream.entries[stream.order[0]]
    stream.order.append(entry)


def invent_an_entry(stream: FoundStream) -> None:
    stream.entries[stream.last_id[0] + 1, 0] = "p0.77.1.0"


def swap_two_entries(stream: FoundStream) -> None:
    stream.order[0], stream.order[1] = stream.order[1], stream.order[0]


def step_the_last_id_back(stream: FoundStream) -> None:
    stream.last_id = stream.order[-2]


def forget_a_deletion(stream: FoundStream) -> None:
    stream.max_deleted = (0, 0)


def miscount_the_added(stream: FoundStream) -> None:
    stream.added -= 1


def miscount_the_length(stream: FoundStream) -> None:
    stream.length += 1


def a_group(stream: FoundStream) -> Any:
    return stream.groups["group0"]


def lose_a_group(stream: FoundStream) -> None:
    del stream.groups["group1"]


def bring_a_group_back(stream: FoundStream) -> None:
    stream.groups["another0"] = deepcopy(a_group(stream))


def lose_a_consumer(stream: FoundStream) -> None:
    a_group(stream).consumers.remove("ann")


def step_a_group_back(stream: FoundStream) -> None:
    a_group(stream).last_id = (1, 1)


def forget_a_delivery(stream: FoundStream) -> None:
    del a_group(stream).pending[min(a_group(stream).pending)]


def forget_an_acknowledgement(stream: FoundStream) -> None:
    a_group(stream).pending[1, 1] = ("ann", now_ms(), 1)


def give_a_pending_entry_away(stream: FoundStream) -> None:
    pending = a_group(stream).pending
    entry, (_, time_ms, count) = next(iter(pending.items()))
    pending[entry] = ("nobody", time_ms, count)


def count_a_delivery_twice(stream: FoundStream) -> None:
    pending = a_group(stream).pending
    entry, (consumer, time_ms, count) = next(iter(pending.items()))
    pending[entry] = (consumer, time_ms, count + 1)


def deliver_at_another_time(stream: FoundStream) -> None:
    pending = a_group(stream).pending
    entry, (consumer, time_ms, count) = next(iter(pending.items()))
    pending[entry] = (consumer, time_ms + 60_000, count)


def part_the_two_lists(stream: FoundStream) -> None:
    a_group(stream).faults.append("the consumers' pending lists are not the group's")


@pytest.mark.parametrize(
    ("doctor", "words"),
    [
        (lose_an_entry, "is lost"),
        (mangle_an_entry, "is mangled, not"),
        (store_an_entry_twice, "under two IDs"),
        (invent_an_entry, "came from nowhere"),
        (swap_two_entries, "IDs do not rise"),
        (step_the_last_id_back, "last ID"),
        (forget_a_deletion, "largest deleted ID"),
        (miscount_the_added, "entries-added"),
        (miscount_the_length, "length"),
        (lose_a_group, "is gone"),
        (bring_a_group_back, "is back"),
        (lose_a_consumer, "consumers ["),
        (step_a_group_back, "last ID 1-1"),
        (forget_a_delivery, "is no longer pending"),
        (forget_an_acknowledgement, "is pending again"),
        (give_a_pending_entry_away, "is pending as ('nobody'"),
        (count_a_delivery_twice, "is pending as"),
        (deliver_at_another_time, "is pending as"),
        (part_the_two_lists, "are not the group's"),
    ],
)
@pytest.mark.parametrize("key", KEYS)
def test_a_doctored_state_is_caught(
    history: History, key: str, doctor: Callable[[FoundStream], None], words: str
) -> None:
    found = history.found()
    doctor(found.streams[key])
    faults = history.faults(found)
    assert any(words in fault for fault in faults), faults


def test_a_deleted_entry_that_is_back_is_caught(history: History) -> None:
    found = history.found()
    book = history.ledger.consumers[1]
    key = max(KEYS, key=lambda name: len(book.deleted[name]))
    entry = min(book.deleted[key])
    found.streams[key].entries[entry] = (history.ledger.entries | history.ledger.shown)[key][entry]
    assert any("was deleted and is back" in fault for fault in history.faults(found))


def test_a_lost_stream_and_a_lost_count_are_caught(history: History) -> None:
    found = history.found()
    found.counters["count2"] -= 1
    assert any(fault.startswith("count2 is ") for fault in history.faults(found))
    del found.streams[KEYS[0]]
    assert history.faults(found) == [f"{KEYS[0]} is gone"]


def producer_with(requests: list[Request], done: list[int]) -> list[str]:
    """The verdict on one producer whose requests at these positions were done."""
    made = History(seed=1, rounds=2)
    line = made.connections[0].line
    line.sent(requests)
    for position in done:
        made.connections[0].client.send(requests[position].wire())
    return made.faults(made.found())


def test_only_a_prefix_of_what_was_in_flight_may_be_there() -> None:
    requests: list[Request] = [Add(KEYS[0], [f"p0.9.{i}.5"]) for i in range(4)]
    assert producer_with(requests, [0, 1]) == []
    assert producer_with(requests, []) == []
    (fault,) = producer_with(requests, [0, 2])
    assert fault == "p0.9.2.5 is there, but a request sent before it is not"


def test_half_a_transaction_is_caught() -> None:
    whole = Add(KEYS[0], ["p0.9.1.5", "p0.9.2.5"], "count0")
    assert producer_with([whole], [0]) == []
    made = History(seed=1, rounds=2)
    made.connections[0].line.sent([whole])
    made.connections[0].client.send(Add(KEYS[0], ["p0.9.1.5"]).wire())
    assert any("a transaction was torn" in fault for fault in made.faults(made.found()))


def test_an_id_that_is_given_out_again_is_a_complaint() -> None:
    made = History(seed=2, rounds=3)
    assert judge(made.ledger, made.lines(), made.found()) == []
    entry = max(made.ledger.entries[KEYS[0]])
    made.ledger.show(KEYS[0], entry, "p1.50.1.0")
    assert "was given out again" in made.faults(made.found())[0]


def test_a_reply_that_is_an_error_or_wrong_is_a_complaint() -> None:
    made = History(seed=3, rounds=1)
    line = made.connections[0].line
    line.sent([Add(KEYS[0], ["p0.9.1.5"])])
    line.answered(parse(b"-MISCONF Errors writing to the AOF file: full\r\n"), now_ms())
    assert "was answered -MISCONF" in made.faults(made.found())[0]
    assert read_id(b"5-1") == (5, 1)
