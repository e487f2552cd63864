"""The checker of histories: a correct history passes, and each kind of lie is found.

A model of a set with one primary makes the histories: a list of entries, a group, and a failover
that forgets everything that was not confirmed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from copy import deepcopy

import pytest

from reliability.history import (
    CONFIRMED,
    DONE,
    REFUSED,
    UNKNOWN,
    Ack,
    Add,
    FinalGroup,
    FinalStream,
    History,
    Read,
)
from reliability.history_checker import check
from reliability.ledger import Id


class Model:
    """One stream and one group of a set; the clock ticks with every operation."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.now_s = 0.0
        self.last_ms = 0
        self.history = History()
        self.entries: list[tuple[Id, str]] = []
        #: How many of the entries the group has read.
        self.read_count = 0
        self.pending: list[Id] = []
        self.keep()

    def tick(self) -> float:
        self.now_s += self.dice.random()
        return self.now_s

    def keep(self) -> None:
        """The replica has everything now."""
        self.kept = (len(self.entries), self.read_count, list(self.pending))

    def outcome(self) -> str:
        """How an operation ends; a confirmation covers all operations before it."""
        outcome = self.dice.choice((UNKNOWN, DONE, CONFIRMED, CONFIRMED))
        if outcome == CONFIRMED:
            self.keep()
        return outcome

    def add(self) -> None:
        op = Add("p", "s", self.tick(), token=f"p0.{len(self.history.adds)}.0")
        self.history.adds.append(op)
        if self.dice.random() < 0.1:
            op.end(self.tick(), REFUSED)
            return
        self.last_ms += 1
        self.entries.append(((self.last_ms, 0), op.token))
        outcome = self.outcome()
        if outcome != UNKNOWN:
            op.id = (self.last_ms, 0)
            op.end(self.tick(), outcome)

    def read(self) -> None:
        op = Read("c", "s", self.tick(), group="g")
        self.history.reads.append(op)
        new = self.entries[self.read_count : self.read_count + self.dice.randint(1, 5)]
        self.read_count += len(new)
        self.pending += [entry for entry, _ in new]
        outcome = self.outcome()
        if outcome != UNKNOWN:
            op.entries = new
            op.end(self.tick(), outcome)

    def claim(self) -> None:
        op = Read("c", "s", self.tick(), group="g", is_claim=True)
        self.history.reads.append(op)
        known = self.entries[max(0, self.read_count - 50) : self.read_count]
        op.entries = [entry for entry in known if entry[0] in self.pending][:5]
        op.end(self.tick(), self.dice.choice((DONE, CONFIRMED)))

    def ack(self) -> None:
        ids = self.dice.sample(self.pending, min(len(self.pending), 3))
        if not ids:
            return
        op = Ack("c", "s", self.tick(), group="g", ids=ids)
        self.history.acks.append(op)
        self.pending = [entry for entry in self.pending if entry not in ids]
        outcome = self.outcome()
        if outcome != UNKNOWN:
            op.count = len(ids)
            op.end(self.tick(), outcome)

    def fail_over(self) -> None:
        """The replica has the confirmed operations, and nothing else."""
        count, self.read_count, pending = self.kept
        del self.entries[count:]
        self.pending = list(pending)

    def run(self, steps: int) -> History:
        moves = [self.add] * 6 + [self.read, self.read, self.claim, self.ack, self.ack]
        for _ in range(steps):
            self.dice.choice(moves)()
            if self.dice.random() < 0.02:
                self.fail_over()
        last_id = self.entries[self.read_count - 1][0] if self.read_count else (0, 0)
        group = FinalGroup(last_id, set(self.pending))
        self.history.final = {"s": FinalStream(self.entries, {"g": group})}
        return self.history


@pytest.mark.parametrize("seed", range(20))
def test_a_true_history_with_failovers_has_no_faults(seed: int) -> None:
    history = Model(seed).run(2000)
    verdict = check(history)
    assert verdict.faults == []
    assert verdict.forgotten > 0
    assert history.confirmed() > 0


def test_a_long_history_is_judged_in_one_pass() -> None:
    """Sixty thousand operations; a checker that compares all pairs would never end."""
    history = Model(1).run(40_000)
    assert len(history) > 60_000
    assert check(history).faults == []


# -- lies -----------------------------------------------------------------------------


def final(history: History) -> FinalStream:
    return history.final["s"]


def group(history: History) -> FinalGroup:
    return final(history).groups["g"]


def there(history: History) -> set[str]:
    return {token for _, token in final(history).entries}


def lose_an_entry(history: History) -> str:
    add = next(a for a in reversed(history.adds) if a.outcome == CONFIRMED)
    final(history).entries = [e for e in final(history).entries if e[1] != add.token]
    return f"lost: s {add.id[0]}-0, {add.token}, was confirmed"


def double_an_entry(history: History) -> str:
    token = final(history).entries[3][1]
    final(history).entries.append(((10**9, 0), token))
    return f"doubled: s {token} is at"


def move_an_entry(history: History) -> str:
    token = next(a.token for a in history.adds if a.was_answered and a.token in there(history))
    entries = final(history).entries
    at = next(i for i, entry in enumerate(entries) if entry[1] == token)
    entries[at] = ((entries[at][0][0], 7), token)
    return f"moved: s {token} was said to be"


def invent_an_entry(history: History) -> str:
    final(history).entries.append(((10**9, 0), "p9.9.0"))
    return "phantom: s 1000000000-0 holds p9.9.0, which nobody sent"


def keep_a_refused_entry(history: History) -> str:
    refused = next(a for a in history.adds if a.outcome == REFUSED)
    final(history).entries.append(((10**9, 0), refused.token))
    return f"{refused.token}, was refused to its sender"


def swap_two_entries(history: History) -> str:
    """The server gave a later entry the lower ID, and all replies say so."""
    kept = there(history)
    answered = [a for a in history.adds if a.was_answered and a.token in kept]
    first, second = next((a, b) for a, b in itertools.pairwise(answered) if a.ended_s < b.began_s)
    first.id, second.id = second.id, first.id
    ids = {first.token: first.id, second.token: second.id}
    entries = [(ids.get(token, entry), token) for entry, token in final(history).entries]
    final(history).entries = sorted(entries)
    return f"out of order: s {first.token} ended before {second.token} began"


def answer_out_of_order(history: History) -> str:
    entries = final(history).entries
    entries[2], entries[3] = entries[3], entries[2]
    return "out of order: s "


def deliver_a_stranger(history: History) -> str:
    read = next(r for r in history.reads if r.entries)
    read.entries[0] = (read.entries[0][0], "mangled")
    return "was delivered with mangled, which nobody sent"


def lose_what_was_delivered(history: History) -> str:
    read = next(r for r in history.reads if r.outcome == CONFIRMED and r.entries)
    final(history).entries = [e for e in final(history).entries if e != read.entries[0]]
    return "was delivered and confirmed, and is None"


def deliver_twice(history: History) -> str:
    read = next(r for r in history.reads if r.outcome == CONFIRMED and r.entries)
    again = deepcopy(read)
    again.began_s, again.ended_s = 10**6, 10**6 + 1
    history.reads.append(again)
    return "was delivered as new to c after"


def deliver_backwards(history: History) -> str:
    read = next(r for r in history.reads if len(r.entries) > 1)
    read.entries.reverse()
    return "was delivered after"


def deliver_after_the_acknowledgement(history: History) -> str:
    ack = next(a for a in history.acks if a.outcome == CONFIRMED)
    token = dict(final(history).entries)[ack.ids[0]]
    back = Read("c", "s", 10**6, group="g", is_claim=True, entries=[(ack.ids[0], token)])
    back.end(10**6 + 1, CONFIRMED)
    history.reads.append(back)
    return "was delivered again after its confirmed acknowledgement"


def forget_an_acknowledgement(history: History) -> str:
    ack = next(a for a in history.acks if a.outcome == CONFIRMED)
    group(history).pending.add(ack.ids[0])
    return f"lost: the acknowledgement of s g {ack.ids[0][0]}-0 was confirmed"


def acknowledge_by_itself(history: History) -> str:
    entry = next(e for e, _ in final(history).entries if e not in group(history).pending)
    history.acks = [ack for ack in history.acks if entry not in ack.ids]
    return f"phantom: nobody acknowledged s g {entry[0]}-0"


def count_too_many_acknowledgements(history: History) -> str:
    history.acks[0].count = 9
    return "phantom: s g counted 9 of"


LIES: list[Callable[[History], str]] = [
    lose_an_entry,
    double_an_entry,
    move_an_entry,
    invent_an_entry,
    keep_a_refused_entry,
    swap_two_entries,
    answer_out_of_order,
    deliver_a_stranger,
    lose_what_was_delivered,
    deliver_twice,
    deliver_backwards,
    deliver_after_the_acknowledgement,
    forget_an_acknowledgement,
    acknowledge_by_itself,
    count_too_many_acknowledgements,
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_a_lie_is_found(lie: Callable[[History], str], seed: int) -> None:
    history = Model(seed).run(1000)
    told = lie(history)
    faults = check(history).faults
    assert any(told in fault for fault in faults), f"{told} is not among {faults[:5]}"


def test_a_failover_that_forgets_something_confirmed_is_found() -> None:
    model = Model(5)
    model.run(500)
    model.kept = (0, 0, [])
    model.fail_over()
    faults = check(model.run(500)).faults
    assert sum(fault.startswith("lost: s ") for fault in faults) > 100


def test_what_was_not_confirmed_may_be_forgotten() -> None:
    history = History()
    for number, outcome in enumerate((UNKNOWN, DONE, REFUSED)):
        add = Add("p", "s", number, token=f"p0.{number}.0", id=(number + 1, 0))
        add.end(number + 0.5, outcome)
        history.adds.append(add)
    history.final = {"s": FinalStream([], {})}
    verdict = check(history)
    assert verdict.faults == []
    assert verdict.forgotten == 1
