"""Power failures (R3): each leaves the data of one moment, and no promise is broken."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.errors import CorruptDataError
from reliability.aof_goals import power_failures
from reliability.aof_life import Life
from testkit.forgetful_disk import PAGE, ForgetfulDisk, ForgetfulFile
from testkit.recovery import Recovery

ACCIDENTS = 1500 if forebay.compiled() else 100
#: Enough for the defects below, each of which must be found.
HUNT = 60
SEED = 20261116


def test_no_accident_breaks_a_promise_or_leaves_half_a_unit(tmp_path: Path) -> None:
    outcome = power_failures(ACCIDENTS, SEED, tmp_path)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == ACCIDENTS
    # Not all of them were harmless: ends were cut, and the power failed again meanwhile.
    assert outcome.figures["tails cut"] > ACCIDENTS // 20
    assert outcome.figures["second failures"] > ACCIDENTS // 40


def test_a_life_makes_promises_and_rewrites_its_aof() -> None:
    life = Life(Random(SEED))
    life.live(60)
    names = [name for name in life.disk.files() if ".base." in name]
    assert names
    assert life.snapshots
    assert 0 < life.promised[-1][1] <= life.units
    assert life.units == len(life.pictures) - 1


# -- a page is lost, later ones are there ----------------------------------------------


class LostPage:
    """An AOF in which a unit of some pages is between two others."""

    def __init__(self, *, synced: bool) -> None:
        life = Life(Random(SEED))
        life.run("SET", "before", "1")
        ticket = life.aof.start_sync()
        assert ticket is not None
        ticket.run()
        # The thread is done, but its result is not taken yet.
        life.run("SET", "large", "x" * 9000)
        life.aof.end_sync(ticket, None)
        if synced:
            life.sync()
        life.run("SET", "after", "1")
        data = bytearray(life.disk.read(life.aof.path))
        data[PAGE : 2 * PAGE] = bytes(PAGE)
        self.disk = ForgetfulDisk(life.disk.files() | {life.aof.path: bytes(data)})


def test_a_lost_page_that_was_not_synced_is_cut_though_later_units_are_good() -> None:
    client = Recovery(LostPage(synced=False).disk).run().client
    assert [client("EXISTS", key) for key in ("before", "large", "after")] == [1, 0, 0]


def test_a_lost_page_that_was_synced_stops_the_start() -> None:
    with pytest.raises(CorruptDataError, match="it was safe on the disk"):
        Recovery(LostPage(synced=True).disk).run()


# -- the accidents find the defects they are for --------------------------------------


def forget(*arguments: object) -> None:
    """Do nothing instead of a sync."""


def rename_only(self: ForgetfulDisk, old: str, new: str) -> None:
    """A rename without the sync of its folder."""
    synced, self.sync_folder = self.sync_folder, forget  # type: ignore[method-assign]
    try:
        RENAME(self, old, new)
    finally:
        self.sync_folder = synced  # type: ignore[method-assign]


RENAME = ForgetfulDisk.rename


def test_a_sync_that_does_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForgetfulFile, "sync", forget)
    failures = power_failures(HUNT, SEED, tmp_path).failures
    assert any("promised" in failure for failure in failures)


def test_a_rename_without_a_sync_of_its_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ForgetfulDisk, "rename", rename_only)
    assert power_failures(HUNT, SEED, tmp_path).failures
