"""A start on the files of an earlier server (R29), with few entries and no time limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from reliability.recovery_goals import recover

ENTRIES = 3000
SEED = 20261116


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["aof", "rdb"])
@pytest.mark.parametrize("kind", ["forebay", "redis"])
def test_everything_is_there_after_a_restart(kind: str, form: str, scratch: Path) -> None:
    _, faults = recover(kind, form, ENTRIES, SEED, scratch)
    assert faults == []
