"""Disks that fail under a real server (R15): each kind of fault once.

``python -m reliability.run --only R15`` does it many times, with both policies.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import forebay
from reliability.disk_goals import POLICIES, Scene
from reliability.disk_steps import ALL, every_step
from reliability.faults import (
    EarlySyncError,
    Fault,
    FullDisk,
    RenameError,
    SizeLimit,
    SyncError,
    WriteError,
    can_mount,
    can_trace,
)
from reliability.goals import Outcome

SEED = 20261116


def play(fault: type[Fault], policy: str, scratch: Path) -> Outcome:
    outcome = Outcome()
    scene = Scene("forebay", policy, fault, scratch / "scene", random.Random(SEED), outcome)
    outcome.failures = scene.play()
    return outcome


def test_no_step_of_the_disk_may_fail_unnoticed(scratch: Path) -> None:
    outcome = Outcome()
    some = ALL[:: 8 if forebay.compiled() else 24]
    every_step(some, SEED, scratch, outcome)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == len(some)
    assert outcome.figures["steps_that_failed"] >= len(some) // 2


@pytest.mark.parametrize("policy", POLICIES)
def test_an_aof_that_may_not_grow_stops_or_refuses(policy: str, scratch: Path) -> None:
    outcome = play(SizeLimit, policy, scratch)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.figures.get("ended" if policy == "always" else "refused_writes") == 1


@pytest.mark.compiled
@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_disk_stops_or_refuses(policy: str, scratch: Path) -> None:
    if not can_mount(scratch):
        pytest.skip("mounting a small file system is not permitted here")
    assert play(FullDisk, policy, scratch).failures == [], f"seed {SEED}"


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("fault", "policy"),
    [
        (WriteError, "always"),
        (WriteError, "everysec"),
        (SyncError, "always"),
        (EarlySyncError, "everysec"),
        (RenameError, "everysec"),
    ],
)
def test_a_system_call_that_fails_is_never_taken_for_a_success(
    fault: type[Fault], policy: str, scratch: Path
) -> None:
    if not can_trace():
        pytest.skip("strace is not installed, or may not trace here")
    assert play(fault, policy, scratch).failures == [], f"seed {SEED}"
