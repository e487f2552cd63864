"""The pending entries against a plain dictionary, step by step."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forebay import compiled
from forebay.core.check import check_pending
from forebay.core.pel import Pending

Id = tuple[int, int]
parts = st.integers(0, 6) | st.integers(2**64 - 3, 2**64 - 1)
ids = st.tuples(parts, parts)
times = st.integers(0, 5) | st.just(2**45 - 1)
counts = st.integers(0, 3) | st.sampled_from([2**32 - 2, 2**32 - 1, 2**32, 2**63 - 2, 2**63 - 1])


class Record:
    """The model's record of one pending entry."""

    def __init__(self, owner_no: int, order: tuple[int, ...], deliveries: int) -> None:
        self.owner_no = owner_no
        self.order = order
        self.deliveries = deliveries


class PendingModel(RuleBasedStateMachine):
    """Random additions, deliveries, releases and removals, compared after each step."""

    @initialize(owners=st.integers(1, 3))
    def begin(self, owners: int) -> None:
        self.pending = Pending()
        self.model: dict[Id, Record] = {}
        self.serial = 0
        self.owners = [self.pending.open_owner() for _ in range(owners)]

    def order(self, key: Id, owner_no: int, time_ms: int) -> tuple[int, ...]:
        self.serial += 1
        return (1, time_ms, self.serial) if owner_no else (0, self.serial)

    def someone(self, choice: int) -> int:
        return ([0, *self.owners])[choice % (len(self.owners) + 1)]

    @rule(key=ids, choice=st.integers(0, 3), time_ms=times, n=counts)
    def add(self, key: Id, choice: int, time_ms: int, n: int) -> None:
        if key in self.model:
            return
        owner_no = self.someone(choice)
        slot = self.pending.add(*key, owner_no, time_ms, n)
        assert self.pending.find(*key) == slot
        self.model[key] = Record(owner_no, self.order(key, owner_no, time_ms), n)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        self.pending.remove(self.pending.find(*key))
        del self.model[key]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), choice=st.integers(0, 3), time_ms=times)
    def give(self, data: st.DataObject, choice: int, time_ms: int) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        owner_no = self.someone(choice)
        self.pending.give(self.pending.find(*key), owner_no, time_ms)
        self.model[key].owner_no = owner_no
        self.model[key].order = self.order(key, owner_no, time_ms)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), n=st.none() | counts)
    def count(self, data: st.DataObject, n: int | None) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        slot, record = self.pending.find(*key), self.model[key]
        if n is None:
            self.pending.count_delivery(slot)
            record.deliveries = min(record.deliveries + 1, 2**63 - 1)
        else:
            self.pending.set_deliveries(slot, n)
            record.deliveries = n

    @rule(choice=st.integers(0, 3))
    def replace_owner(self, choice: int) -> None:
        number = self.owners.pop(choice % len(self.owners))
        doomed = [key for key, record in self.model.items() if record.owner_no == number]
        assert self.pending.close_owner(number) == len(doomed)
        for key in doomed:
            del self.model[key]
        self.owners.append(self.pending.open_owner())

    @rule(key=ids)
    def look(self, key: Id) -> None:
        rest = sorted(k for k in self.model if k >= key)
        assert (self.pending.find(*key) >= 0) == (key in self.model)
        assert self.id_of(self.pending.seek(*key)) == (rest[0] if rest else None)

    def id_of(self, slot: int) -> Id | None:
        return (self.pending.id_ms(slot), self.pending.id_seq(slot)) if slot >= 0 else None

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "pending"):
            return
        pending, model = self.pending, self.model
        check_pending(pending)
        slot, walked = pending.first(), []
        while slot >= 0:
            walked.append(self.id_of(slot))
            record = model[pending.id_ms(slot), pending.id_seq(slot)]
            assert pending.owner_no(slot) == record.owner_no
            assert pending.deliveries(slot) == record.deliveries
            slot = pending.after(slot)
        assert walked == sorted(model)
        assert self.id_of(pending.last()) == (walked[-1] if walked else None)
        slot, walked = pending.oldest(), []
        while slot >= 0:
            walked.append(self.id_of(slot))
            slot = pending.after_by_time(slot)
        assert walked == sorted(model, key=lambda key: model[key].order)


TestPendingModel = PendingModel.TestCase
TestPendingModel.settings = settings(max_examples=60, stateful_step_count=40)


@settings(max_examples=15 if compiled() else 4)
@given(st.integers(0, 2**32), st.integers(600, 3000))
def test_thousands_of_entries_stay_in_order(seed: int, n: int) -> None:
    """Enough for chunks to be cut and merged, slots to be chained, pages to be added."""
    rnd = Random(seed)
    pending = Pending()
    owners = [pending.open_owner() for _ in range(3)]
    numbers = list(range(n))
    rnd.shuffle(numbers)
    for number in numbers:
        pending.add(1, number, owners[number % 3], number // 7, 1)
    check_pending(pending)
    for number in rnd.sample(numbers, n // 2):
        pending.give(pending.find(1, number), owners[number % 2], n)
    check_pending(pending)
    gone = rnd.sample(numbers, n - n // 20)
    for number in gone:
        pending.remove(pending.find(1, number))
    check_pending(pending)
    left = sorted(set(numbers) - set(gone))
    assert [pending.id_seq(slot) for slot in pending.by_id.slots()] == left
    for number in range(n, 2 * n):
        pending.add(1, number, owners[0], 2 * n, 1)
    check_pending(pending)
    for number in left + list(range(n, 2 * n)):
        pending.remove(pending.first())
        assert pending.find(1, number) == -1
    check_pending(pending)
    assert pending.count == 0
