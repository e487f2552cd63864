"""Real workers, killed at random points (R26), in small numbers; and workers with a fault, which
must be found.

``python -m reliability.run --only R26`` does the same about fifty times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reliability.goals import Outcome
from reliability.worker_goals import KINDS, Round, killed_workers
from reliability.worker_judge import Book, Found, Note, judge
from reliability.worker_program import POISON_ATTEMPTS

SEED = 26
TOO_FEW = POISON_ATTEMPTS - 1
FAULTS = {
    "ack-first": "messages were never handled",
    "forgetful": "effects came twice or more",
    "careless": "long messages were begun again while their worker lived",
    "unburied": "poisonous messages have no dead letter",
}


@pytest.mark.oracle
@pytest.mark.compiled
def test_killed_workers_lose_nothing_and_do_nothing_twice(scratch: Path) -> None:
    outcome = killed_workers(5, SEED, scratch)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == 5
    assert outcome.figures["letters"] > 0
    assert outcome.figures["in_order"] > 0


@pytest.mark.compiled
@pytest.mark.parametrize(("sabotage", "fault"), FAULTS.items())
def test_a_worker_with_a_fault_is_found_out(scratch: Path, sabotage: str, fault: str) -> None:
    outcome = Outcome()
    program = ("tests.reliability.sabotaged_workers", sabotage)
    Round(KINDS[0], scratch / "f", outcome, program).run(3, SEED)
    assert any(fault in failure for failure in outcome.failures), outcome.failures


def note(kind: str, n: int, at_ms: int, pid: int, attempt: int = 1) -> Note:
    return Note(at_ms, kind, n, attempt, pid)


def sound() -> tuple[Book, Found]:
    """One message of each kind; the worker of the long one was killed at 50, and 8 did it."""
    book = Book({"Order": [1], "Poison": [2], "Long": [3]}, {7: 50})
    begun = [note("Order", 1, 10, 7), note("Long", 3, 20, 7), note("Long", 3, 60, 8, 2)]
    handled = [note("Order", 1, 11, 7), note("Long", 3, 90, 8, 2)]
    return book, Found(begun, handled, [1], [(2, POISON_ATTEMPTS)], 0, 0)


def test_the_judge_is_content_with_what_is_sound() -> None:
    assert judge(*sound()) == []


def test_the_judge_finds_what_is_lost_doubled_or_left() -> None:
    book, found = sound()
    found.handled, found.effects = found.handled[1:], [1, 1]
    found.letters, found.pending = [(1, 5), (2, TOO_FEW), (2, POISON_ATTEMPTS)], 1
    text = "\n".join(judge(book, found))
    for fault in (
        "1 entries are pending and 0 unread",
        "1 messages were never handled: [1]",
        "1 effects came twice or more: [1]",
        "1 poisonous messages have several letters: [2]",
        "1 messages without a fault are dead: [1]",
        f"1 letters were not written after all attempts (n, attempts): [(2, {TOO_FEW})]",
    ):
        assert fault in text


def test_a_long_message_begun_elsewhere_before_its_worker_died_is_stolen() -> None:
    book, found = sound()
    book.alive_until_ms[7] = 61
    assert judge(book, found) == [
        "1 long messages were begun again while their worker lived: ['3 of 7 by 8 after 40 ms']"
    ]


def test_nobody_is_blamed_for_a_lease_that_ran_out_while_the_server_was_away() -> None:
    book, found = sound()
    book.alive_until_ms, book.outages_ms = {}, [(30, 45)]
    assert judge(book, found) == []
    book.outages_ms = [(70, 80)]
    assert len(judge(book, found)) == 1
