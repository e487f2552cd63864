"""Memory and open files of a server that runs for hours of its own time do not grow (R23)."""

from __future__ import annotations

from pathlib import Path

import pytest

from reliability.goals import Outcome
from reliability.soak_goals import Hour, judge, slope_of, soak

MB = 1 << 20


@pytest.mark.compiled
def test_an_hour_leaves_nothing_behind(scratch: Path) -> None:
    outcome = soak(1, 23, scratch)
    assert outcome.failures == []
    assert outcome.figures["rewrites"] == outcome.figures["snapshots"] == 1


def test_memory_that_grows_by_the_hour_is_noticed() -> None:
    outcome = Outcome()
    judge([Hour((40 + 2 * n) * MB, 12, 0) for n in range(8)], outcome)
    assert len(outcome.failures) == 1 and "memory grows" in outcome.failures[0]


def test_memory_that_only_wavers_is_not() -> None:
    outcome = Outcome()
    judge([Hour((40 + n % 2) * MB, 12, 0) for n in range(8)], outcome)
    assert outcome.failures == []


def test_a_file_that_stays_open_is_noticed() -> None:
    outcome = Outcome()
    judge([Hour(40 * MB, 12 + n, 0) for n in range(8)], outcome)
    assert outcome.failures == ["open files went from 15 to 19"]


def test_the_slope_of_a_straight_line_is_its_own() -> None:
    assert slope_of([5, 8, 11, 14]) == 3
