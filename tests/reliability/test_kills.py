"""Real servers under load, killed or stopped and started again (R1, R2, R28), in small numbers.

``python -m reliability.run --only R1,R2,R28`` does the same a few hundred times.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reliability.goals import Outcome
from reliability.kill_goals import Loop, always, everysec_and_no, graceful_stops
from testkit.servers import ServerProcess

SEED = 20261116


def test_kill_with_always_loses_nothing(scratch: Path) -> None:
    outcome = always(3, SEED, scratch)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == 3
    assert outcome.figures["acknowledged"] > 0


@pytest.mark.compiled
def test_kill_with_everysec_and_no_loses_nothing(scratch: Path) -> None:
    outcome = everysec_and_no(4, SEED, scratch)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == 4


@pytest.mark.compiled
def test_a_stop_loses_nothing_and_is_clean(scratch: Path) -> None:
    outcome = graceful_stops(3, SEED, scratch)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == 3


@pytest.mark.oracle
@pytest.mark.compiled
def test_redis_passes_the_same_judge(scratch: Path) -> None:
    outcome = Outcome()
    Loop("redis", "always", scratch / "redis", outcome).run(3, SEED)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == 3


@pytest.mark.compiled
def test_a_server_that_forgets_is_found_out(scratch: Path) -> None:
    def lose_the_aof(server: ServerProcess) -> list[str]:
        server.kill()
        shutil.rmtree(server.directory / "appendonlydir")
        return []

    outcome = Outcome()
    Loop("forebay", "always", scratch / "f", outcome, end=lose_the_aof).run(3, SEED)
    assert outcome.n == 1
    assert any("orders is gone" in failure for failure in outcome.failures)
