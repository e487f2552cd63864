"""R25: long histories of producers and consumers, while nodes are killed, paused and cut off.

A history has some ten thousand operations and one to three strikes at random nodes.  The checker
looks for lost, doubled, out-of-order and phantom entries, deliveries and acknowledgements; the
states of all nodes are compared at the end.  The sets take turns, one history each.
"""

from __future__ import annotations

import random
from pathlib import Path

from reliability.failover_goals import play
from reliability.fair_rounds import Strikes
from reliability.goals import Outcome
from reliability.replicated_set import WAYS, ReplicatedSet, replicated_set
from testkit.nodes import mixed_trio, trios

OPERATIONS = 60_000
STRIKES_MAX = 3


def histories(n: int, seed: int, scratch: Path) -> Outcome:
    """R25: ``n`` histories, shared among all sets."""
    return histories_of(n, seed, scratch, OPERATIONS)


def histories_of(n: int, seed: int, scratch: Path, operations: int) -> Outcome:
    """The same with histories of another length."""
    outcome = Outcome()
    sets = {**trios(), "mixed": mixed_trio(0)}
    for number, (name, kinds) in enumerate(sets.items()):
        share = (n + number) // len(sets)
        if share == 0:
            continue
        dice = random.Random(f"{seed} {name}")
        with replicated_set(kinds, scratch / name, seed) as nodes:
            rounds = [some_strikes(nodes, dice) for _ in range(share)]
            play(nodes, rounds, seed, name, outcome, operations=operations)
    return outcome


def some_strikes(nodes: ReplicatedSet, dice: random.Random) -> Strikes:
    """One to three strikes, half of them at the current primary."""
    return [
        (dice.choice(WAYS), dice.choice((None, dice.choice(nodes.nodes))))
        for _ in range(dice.randint(1, STRIKES_MAX))
    ]
