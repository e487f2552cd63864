"""The heap of deadlines."""

from __future__ import annotations

from forebay.engine.deadlines import LATEST_MS, Deadlines


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


def test_when_the_clock_is_set_everything_is_as_far_ahead_as_before() -> None:
    deadlines = Deadlines()
    for at_ms, what in ((LATEST_MS - 5, "never"), (1_000, "b"), (400, "a")):
        deadlines.add(at_ms, what)
    deadlines.shift(100)
    assert deadlines.next_ms() == 500
    deadlines.shift(-600)
    assert deadlines.pop_due(0) == ["a"]
    assert deadlines.pop_due(499) == []
    assert deadlines.pop_due(500) == ["b"]
    assert deadlines.pop_due(LATEST_MS - 601) == []
    assert deadlines.pop_due(LATEST_MS) == ["never"]
