"""A few seeds of the simulation (R24); and it finds faults that are put in on purpose.

``python -m reliability.run --only R24`` runs hundreds of seeds.
"""

from __future__ import annotations

import pytest

import forebay
from forebay.engine.apply import Applier
from forebay.server.replication.replica import ReplicaSide
from reliability.simulation.__main__ import live
from testkit.forgetful_disk import Operation, Sync
from testkit.sim_machine import SimDisk

OPERATIONS = 600
SEEDS = range(1000, 1012)

#: Compiled methods cannot be replaced.
replaceable = pytest.mark.skipif(forebay.compiled(), reason="the fault is put into Python code")


def first_complaint() -> str:
    """The complaint of the first seed that breaks something; empty if none does."""
    return next((broken for seed in SEEDS if (broken := live(seed, OPERATIONS)[2])), "")


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_seed_breaks_nothing_and_goes_the_same_way_again(seed: int) -> None:
    first, again = live(seed, OPERATIONS), live(seed, OPERATIONS)
    assert (first[2], again[2]) == ("", "")
    assert first[0].cluster.digest == again[0].cluster.digest
    assert first[1].figures == again[1].figures


def test_a_disk_that_only_says_that_it_has_synced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SimDisk.do

    def lie(disk: SimDisk, operation: Operation) -> None:
        if not isinstance(operation, Sync):
            honest(disk, operation)

    monkeypatch.setattr(SimDisk, "do", lie)
    assert "not on two disks" in first_complaint()


@replaceable
def test_a_replica_that_leaves_out_a_unit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Applier.run_unit
    count = iter(range(1, 1 << 30))

    def forget(applier: Applier, *unit: object) -> None:
        if next(count) % 300:
            honest(applier, *unit)  # type: ignore[arg-type]

    monkeypatch.setattr(Applier, "run_unit", forget)
    assert "differ" in first_complaint()


@replaceable
def test_a_replica_that_speaks_before_its_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicaSide, "on_disk", lambda side, offset: offset)
    assert "not on two disks" in first_complaint()
