"""How much data a power failure loses with ``everysec`` (R2), and with ``always``."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import forebay
from reliability import power_window
from reliability.goals import Outcome
from reliability.power_window import Past, power_losses

SEED = 20261116
LOSSES = 100 if forebay.compiled() else 15


def test_everysec_loses_two_seconds_at_most(tmp_path: Path) -> None:
    outcome = Outcome()
    power_losses(LOSSES, SEED, tmp_path, outcome)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.figures["power_losses"] == LOSSES
    assert outcome.figures["longest_loss_ms"] > 0, "no failure ever took anything"


def test_always_loses_nothing(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    past = Past(tmp_path, "always", dice)
    for at in range(past.first, len(past.disk.trace), 50):
        assert past.lose_power(at, dice) == (0, []), f"after operation {at}, seed {SEED}"


def test_a_longer_loss_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_window, "WINDOW_MS", 100)
    outcome = Outcome()
    power_losses(LOSSES, SEED, tmp_path, outcome)
    assert any("ms of the past are gone" in failure for failure in outcome.failures)
