"""A primary that is cut off from its replica (R14), once for each kind; no times are asserted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from reliability.goals import Outcome
from reliability.partition_goals import REFUSAL, Keyboard, faults_at, guarded_pair, one_partition
from testkit.nodes import REPLICATING
from testkit.resp import ReplyError

SEED = 20261120


@pytest.mark.oracle
@pytest.mark.compiled
@pytest.mark.parametrize("kind", REPLICATING)
def test_a_primary_without_its_replica_refuses_writes(kind: str, scratch: Path) -> None:
    outcome = Outcome()
    other = REPLICATING[REPLICATING.index(kind) - 1]
    with guarded_pair((kind, other), scratch, SEED) as (network, primary, replica):
        one_partition(network, primary, replica, random.Random(SEED), outcome)
    assert outcome.failures == []
    assert outcome.figures["writes_refused"] > 0


class Script:
    """A server that gives the scripted answers in turn."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)

    def __call__(self, *words: Any) -> Any:
        return self.replies.pop(0)


def test_the_keyboard_knows_what_was_taken_and_what_is_odd() -> None:
    refusal = ReplyError(REFUSAL)
    script: Any = Script(b"1-0", refusal, ReplyError("ERR what"), b"2-0")
    keyboard = Keyboard(script, "k")
    assert [keyboard.write() for _ in range(4)] == [True, False, False, True]
    assert keyboard.taken == {1, 4}
    assert keyboard.odd == ["a write was answered -ERR what"]


def test_a_write_after_a_refusal_is_found_out() -> None:
    script: Any = Script(ReplyError(REFUSAL), b"1-0")
    keyboard = Keyboard(script, "k")
    assert not keyboard.refused_throughout()


def test_lost_and_phantom_writes_are_found_out() -> None:
    keyboard = Keyboard(Script(), "k")  # type: ignore[arg-type]
    keyboard.taken = {1, 2, 3}
    replica: Any = Script([[b"1-0", [b"n", b"1"]], [b"2-0", [b"n", b"7"]]])
    lost, phantom = faults_at(replica, keyboard)
    assert "lacks 2 writes that were taken, first 2" in lost
    assert "has 1 refused writes, first 7" in phantom
