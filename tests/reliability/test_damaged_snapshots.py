"""Snapshots with a bit flipped or an end cut off are refused with an offset (goal R6)."""

from __future__ import annotations

import os
from pathlib import Path

import forebay
from reliability import rdb_goals

COUNT = int(os.environ.get("FOREBAY_SNAPSHOTS", 2500 if forebay.compiled() else 300))


def test_no_damaged_snapshot_gets_in(tmp_path: Path) -> None:
    outcome = rdb_goals.damaged_snapshots(COUNT, 6, tmp_path)
    assert outcome.failures == []
    assert outcome.n == COUNT
