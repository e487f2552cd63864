"""R13: primaries that are killed, stopped or cut off, under three real Sentinels.

Producers confirm with WAIT 1.  Nothing confirmed may be lost, the old primary comes back as a
replica, all states are equal, and Sentinel promotes a replica within seconds.  Entries that were
acknowledged but not confirmed may be lost; the figures say how many (``forgotten``).

``failovers`` strikes the primary of each set of one kind.  ``mixed_kill_list`` strikes every node
of a set of both kinds in every way, primary or not.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from reliability.fair_rounds import Strikes, fair_round
from reliability.goals import Outcome
from reliability.replicated_set import WAYS, ReplicatedSet, replicated_set
from reliability.set_round import Result
from testkit.nodes import mixed_trio, trios

#: A switch takes no longer than this, nineteen times out of twenty.
SWITCH_P95_S = 5.0
#: Fewer switches than this say nothing about the twentieth.
ENOUGH_SWITCHES = 5


def failovers(n: int, seed: int, scratch: Path) -> Outcome:
    """R13: ``n`` failovers of each set of one kind, each way in turn."""
    outcome = Outcome()
    for name, kinds in trios().items():
        rounds: list[Strikes] = [[(way, None)] for way in itertools.islice(turns(seed), n)]
        with replicated_set(kinds, scratch / name, seed) as nodes:
            play(nodes, rounds, seed, name, outcome)
    return outcome


def mixed_kill_list(n: int, seed: int, scratch: Path) -> Outcome:
    """R13 with a set of both kinds: ``n`` rounds, every node in every way again and again."""
    outcome = Outcome()
    dice = random.Random(seed)
    with replicated_set(mixed_trio(), scratch / "mixed", seed) as nodes:
        rounds: list[Strikes] = []
        while len(rounds) < n:
            every = list(itertools.product(WAYS, nodes.nodes))
            rounds += [[strike] for strike in dice.sample(every, len(every))]
        play(nodes, rounds[:n], seed, "mixed", outcome)
    return outcome


def turns(seed: int) -> itertools.cycle[str]:
    """The ways in turn, from a random start."""
    first = seed % len(WAYS)
    return itertools.cycle(WAYS[first:] + WAYS[:first])


def play(
    nodes: ReplicatedSet,
    rounds: Sequence[Strikes],
    seed: int,
    name: str,
    outcome: Outcome,
    *,
    operations: int = 0,
) -> None:
    """Play the rounds, until the first fault; each has at least this many operations."""
    results: list[Result] = []
    for number, strikes in enumerate(rounds):
        what = f"{name}, round {number} of seed {seed}, {strikes}"
        result = fair_round(nodes, number, seed, strikes, operations)
        outcome.n += 1
        results.append(result)
        if result.faults:
            outcome.failures += [f"{what}: {fault}" for fault in result.faults]
            break
    outcome.figures |= {f"{name}_{key}": value for key, value in figures(results).items()}
    slow = outcome.figures.get(f"{name}_switch_p95_s", 0.0)
    if slow > SWITCH_P95_S:
        outcome.failures.append(f"{name}: switches take up to {slow} s, target {SWITCH_P95_S} s")


def figures(results: Sequence[Result]) -> dict[str, float]:
    """The figures to show next to the promise."""
    shown: dict[str, float] = {
        "operations": sum(result.operations for result in results),
        "confirmed": sum(result.confirmed for result in results),
        "forgotten": sum(result.forgotten for result in results),
        "switches": sum(len(result.switch_s) for result in results),
        "repeated": sum(result.repeated for result in results),
    }
    for name in ("switch_s", "outage_s"):
        times = [time_s for result in results for time_s in getattr(result, name)]
        if len(times) >= ENOUGH_SWITCHES:
            kind = name.removesuffix("_s")
            shown[f"{kind}_p50_s"] = round(statistics.median(times), 2)
            shown[f"{kind}_p95_s"] = round(statistics.quantiles(times, n=20)[-1], 2)
    return shown
