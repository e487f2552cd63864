"""R24: many seeds of the simulation (simulation/), on all cores.

A seed is a life of some servers with their disks and their network, with accidents, until
all is quiet again; simulation/invariants.py has the conditions.  A seed that breaks one
breaks it again in every run:

    python -m reliability.simulation SEED
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reliability.goals import Outcome
from testkit.places import ROOT

OPERATIONS = 2000
#: Seeds of one process; then the next one gets its turn.
BATCH = 25
#: Runs with neighbouring seeds share no simulation.
SEEDS_OF_A_RUN = 1_000_000


def simulations(n: int, seed: int, scratch: Path) -> Outcome:
    """``n`` seeds with the number of operations that a goal asks for."""
    return simulate(n, seed, scratch, OPERATIONS)


def simulate(n: int, seed: int, scratch: Path, operations: int) -> Outcome:
    """``n`` seeds; one sentence for each that broke something."""
    outcome = Outcome()
    first = seed * SEEDS_OF_A_RUN
    batches = [(first + at, min(BATCH, n - at)) for at in range(0, n, BATCH)]
    for facts in run_all(batches, scratch, operations):
        outcome.n += 1
        for name, count in facts["figures"].items():
            outcome.count(name, count)
        if facts["broken"]:
            outcome.failures.append(f"seed {facts['seed']}: {facts['broken']}")
    return outcome


def run_all(
    batches: list[tuple[int, int]], scratch: Path, operations: int
) -> Iterator[dict[str, Any]]:
    """Some processes at a time, each with a batch of seeds."""
    cores = os.cpu_count() or 1
    for at in range(0, len(batches), cores):
        processes = [start(*batch, scratch, operations) for batch in batches[at : at + cores]]
        for process in processes:
            out, _ = process.communicate()
            if process.returncode != 0:
                raise RuntimeError(f"a simulation ended with exit code {process.returncode}")
            yield from map(json.loads, out.splitlines())


def start(first: int, count: int, scratch: Path, operations: int) -> subprocess.Popen[str]:
    """One process."""
    words = [sys.executable, "-m", "reliability.simulation", str(first), "--count", str(count)]
    words += ["--operations", str(operations), "--stories", str(scratch)]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
