"""The wall clock is changed while the server works (R22)."""

from __future__ import annotations

from pathlib import Path

import pytest

from reliability import clock_goals
from reliability.clock_goals import clock_steps

SEED = 20261116
STEPS = 2000


def test_ids_rise_and_waits_keep_their_length_whatever_the_clock_does(tmp_path: Path) -> None:
    outcome = clock_steps(STEPS, SEED, tmp_path)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == STEPS
    assert set(outcome.figures) == {"back", "ahead", "jitter", "stopped", "running"}


def test_a_server_that_waits_by_the_wall_clock_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_goals, "DRIFT_MS", -10_000)
    assert clock_steps(50, SEED, tmp_path).failures
