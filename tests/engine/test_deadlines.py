"""The heap of times to come."""

from __future__ import annotations

from forebay.engine.deadlines import Deadlines


def test_things_come_due_in_order_of_time_then_of_arrival() -> None:
    deadlines = Deadlines()
    for at_ms, what in ((30, "c"), (10, "a"), (30, "d"), (20, "b")):
        deadlines.add(at_ms, what)
    assert deadlines.next_ms() == 10
    assert deadlines.pop_due(9) == []
    assert deadlines.pop_due(20) == ["a", "b"]
    assert deadlines.pop_due(99) == ["c", "d"]
    assert deadlines.next_ms() == -1


def test_a_cancelled_time_never_comes() -> None:
    deadlines = Deadlines()
    first = deadlines.add(10, "a")
    deadlines.add(20, "b")
    deadlines.cancel(first)
    deadlines.cancel(first)
    assert deadlines.next_ms() == 20
    assert deadlines.pop_due(99) == ["b"]
    deadlines.cancel(first)
    assert deadlines.next_ms() == -1


def test_cancelled_times_are_swept_out() -> None:
    deadlines = Deadlines()
    for i in range(10):
        deadlines.add(1_000_000 + i, i)
    for i in range(10_000):
        deadlines.cancel(deadlines.add(2_000_000, i))
    assert len(deadlines.heap) < 200
    assert deadlines.pop_due(1_999_999) == list(range(10))
