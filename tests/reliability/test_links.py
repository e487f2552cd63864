"""Links of replication that are cut under load (R12), a few times for each pair of servers.

``python -m reliability.run --only R12`` does the same a few hundred times.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reliability.goals import Outcome
from reliability.link_goals import (
    LARGE_BACKLOG,
    SMALL_BACKLOG,
    Pair,
    cut_again_and_again,
    linked,
    miss_much,
    sync_again_and_again,
)
from testkit.nodes import pairs

pytestmark = [pytest.mark.oracle, pytest.mark.compiled]

SEED = 20261120
CUTS, SYNCS = 6, 2


@pytest.mark.parametrize("kinds", pairs(), ids="->".join)
def test_a_cut_costs_a_partial_resync_and_nothing_else(
    kinds: tuple[str, str], scratch: Path
) -> None:
    outcome = Outcome()
    with linked(kinds, scratch, SEED, repl_backlog_size=LARGE_BACKLOG) as pair:
        cut_again_and_again(pair, CUTS, Random(SEED), outcome)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.figures[f"{pair.name}_partial"] >= CUTS


@pytest.mark.parametrize("kinds", pairs(), ids="->".join)
def test_a_full_sync_brings_everything(kinds: tuple[str, str], scratch: Path) -> None:
    outcome = Outcome()
    with linked(kinds, scratch, SEED, repl_backlog_size=SMALL_BACKLOG) as pair:
        sync_again_and_again(pair, SYNCS, Random(SEED), outcome)
    assert outcome.failures == [], f"seed {SEED}"


# -- the harness finds what it looks for ------------------------------------------------


def test_a_full_sync_after_a_cut_is_found_out(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def miss_too_much(pair: Pair, dice: Random) -> None:
        miss_much(pair)

    monkeypatch.setattr("reliability.link_goals.CUTS", (miss_too_much,))
    outcome = Outcome()
    with linked(("redis", "redis"), scratch, SEED, repl_backlog_size=SMALL_BACKLOG) as pair:
        cut_again_and_again(pair, 3, Random(SEED), outcome)
    assert len(outcome.failures) == 1
    assert "cut 0 (miss_too_much): a full sync" in outcome.failures[0]


def test_a_replica_that_diverges_is_found_out(scratch: Path) -> None:
    outcome = Outcome()
    with linked(("redis", "redis"), scratch, SEED) as pair:
        pair.replica("CONFIG", "SET", "replica-read-only", "no")
        pair.replica("SADD", "behind the primary's back", "x")
        cut_again_and_again(pair, 1, Random(SEED), outcome)
    assert len(outcome.failures) == 1
    assert "1 keys are on one side only" in outcome.failures[0]


def test_a_full_sync_that_never_comes_is_found_out(scratch: Path) -> None:
    with (
        linked(("redis", "redis"), scratch, SEED, repl_backlog_size=LARGE_BACKLOG) as pair,
        pytest.raises(AssertionError, match="was not full"),
    ):
        sync_again_and_again(pair, 1, Random(SEED), Outcome())
