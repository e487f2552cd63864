"""Sets of three nodes under three real Sentinels, struck a few times (R13, R25).

``python -m reliability.run --only R13,R13-MIXED,R25`` does the same for hours.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reliability.failover_goals import figures
from reliability.fair_rounds import Metronome, fair_round
from reliability.history_goals import histories_of
from reliability.replicated_set import ISOLATE, KILL, NAME, PAUSE, replicated_set
from reliability.set_round import Result, Round
from reliability.set_traffic import Client
from testkit.nodes import REPLICATING, mixed_trio
from testkit.resp import ReplyError
from testkit.waiting import wait_until

pytestmark = [pytest.mark.oracle, pytest.mark.compiled]

SEED = 20261120
OPERATIONS = 3000


def test_a_mixed_set_survives_the_loss_of_its_primary(scratch: Path) -> None:
    with replicated_set(mixed_trio(), scratch, SEED) as nodes:
        result = fair_round(nodes, 0, SEED, [(way, None) for way in (KILL, ISOLATE)])
    assert result.faults == [], f"seed {SEED}"
    assert len(result.switch_s) == 2
    assert result.confirmed > 0


def test_a_set_of_ours_survives_the_loss_of_a_replica(scratch: Path) -> None:
    with replicated_set((REPLICATING[-1],) * 3, scratch, SEED) as nodes:
        result = fair_round(nodes, 0, SEED, [(KILL, nodes.replicas()[0])])
    assert result.faults == [], f"seed {SEED}"
    assert result.switch_s == []


def test_a_history_with_a_primary_that_stops_is_sound(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reliability.history_goals.some_strikes", lambda *_: [(PAUSE, None)])
    outcome = histories_of(1, SEED, scratch, OPERATIONS)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.figures["mixed_operations"] >= OPERATIONS
    assert outcome.figures["mixed_switches"] == 1


def test_what_was_not_confirmed_would_be_missed(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If clients take every write for confirmed, a partition loses some of the writes."""
    monkeypatch.setattr(Client, "is_confirmed", lambda self, reply: True)
    monkeypatch.setattr(Round, "confirmed_after", lambda self, moment_s: moment_s)
    with replicated_set(("redis",) * 3, scratch, SEED) as nodes:
        result = Round(nodes, 0, SEED).play([(ISOLATE, None)])
    assert any(fault.startswith("lost: ") for fault in result.faults)


def test_a_node_that_differs_or_is_gone_is_found_out(scratch: Path) -> None:
    with replicated_set(("redis",) * 3, scratch, SEED) as nodes:
        assert nodes.difference() == ""
        assert nodes.accidents() == []
        replica = nodes.replicas()[0]
        replica("CONFIG", "SET", "replica-read-only", "no")
        replica("SET", "behind the primary's back", "x")
        assert "1 keys are on one side only" in nodes.difference()
        replica.kill()
        assert len(nodes.accidents()) == 1


class EarlyRound(Round):
    """A round before which the Sentinels promote a node on request, not because of a strike."""

    def prepare(self) -> None:
        super().prepare()
        sentinels = self.nodes.sentinels
        mark = sentinels.mark()
        wait_until("a Sentinel takes the order", self.order)
        sentinels.wait_for("+switch-master", mark)
        self.nodes.settle()

    def order(self) -> bool:
        """Ask for a failover; it is refused while the replicas of the last one are not known."""
        try:
            self.nodes.sentinels.ask(0, "SENTINEL", "FAILOVER", NAME)
        except ReplyError:
            return False
        return True


def test_a_switch_that_nobody_asked_for_is_a_fault_unless_the_machine_stood_still(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with replicated_set(("redis",) * 3, scratch, SEED) as nodes:
        with monkeypatch.context() as patch:
            patch.setattr("reliability.fair_rounds.Round", EarlyRound)
            result = fair_round(nodes, 0, SEED, [])
            assert any("1 switches that nobody asked for" in fault for fault in result.faults)
            patch.setattr("reliability.fair_rounds.STALL_S", -1.0)
            patch.setattr("reliability.fair_rounds.ATTEMPTS", 1)
            with pytest.raises(RuntimeError, match="stood still"):
                fair_round(nodes, 1, SEED, [])
        result = fair_round(nodes, 2, SEED, [])
        assert result.faults == []


def test_the_metronome_notices_a_process_that_stood_still() -> None:
    with Metronome() as metronome:
        wait_until("the first beat", lambda: metronome.longest_s > 0)
        ours = os.getpid()
        subprocess.run(["sh", "-c", f"kill -STOP {ours}; sleep 0.6; kill -CONT {ours}"], check=True)
    assert metronome.longest_s > 0.5


def test_figures_need_enough_switches() -> None:
    few = [Result(confirmed=2, switch_s=[1.0], outage_s=[2.0])]
    assert figures(few) == {
        "operations": 0,
        "confirmed": 2,
        "forgotten": 0,
        "switches": 1,
        "repeated": 0,
    }
    many = [Result(switch_s=[float(n)], outage_s=[2.0]) for n in range(1, 21)]
    shown = figures(many)
    assert (shown["switch_p50_s"], shown["outage_p50_s"]) == (10.5, 2.0)
    assert shown["switch_p95_s"] >= 19
