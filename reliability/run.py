"""``python -m reliability.run``: try to break the promises; one JSON line for each goal.

    python -m reliability.run [--only R1,R5] [--full] [--seed N] [--times 0.1] [--out lines.jsonl]

Progress and failures go to standard error, the lines to standard output (and to
``--out``).  The default numbers suit a pull request; ``--full`` takes those of a nightly
run, ``--times`` scales either.  Exit code 1 if any goal was missed, 2 if the command line is
wrong.  The seed is printed: the same seed gives the same random numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import forebay
from bench.peers import machine
from reliability.goals import GOALS, Goal, Outcome

#: This many failures are shown in full; the rest are counted.
SHOWN_FAILURES = 5


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="R1,R5", help="these goals alone")
    parser.add_argument("--full", action="store_true", help="the numbers of a night")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run")
    parser.add_argument("--times", type=float, default=1.0, help="scale the number of attempts")
    parser.add_argument("--out", type=Path, default=None, help="append the lines to this file too")
    return parser.parse_args()


def chosen(only: str) -> list[Goal]:
    """The goals to try; an unknown name ends the run."""
    names = [name.strip().upper() for name in only.split(",") if name.strip()]
    unknown = set(names) - {goal.id for goal in GOALS}
    if unknown:
        known = " ".join(goal.id for goal in GOALS)
        sys.stderr.write(f"no goal {', '.join(sorted(unknown))}; there are: {known}\n")
        raise SystemExit(2)
    return [goal for goal in GOALS if not names or goal.id in names]


def attempt(goal: Goal, n: int, seed: int) -> tuple[Outcome, float]:
    """Run one goal in a scratch directory of its own, which stays if a promise was broken."""
    scratch = Path(tempfile.mkdtemp(prefix=f"fb-{goal.id.lower()}-"))
    begin = time.monotonic()
    outcome = goal.function()(n, seed, scratch)
    if outcome.failures:
        sys.stderr.write(f"{goal.id}: the files are kept in {scratch}\n")
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    return outcome, time.monotonic() - begin


def line_of(goal: Goal, seed: int, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """One goal as the JSON line."""
    return {
        "id": goal.id,
        "seed": seed,
        "n": outcome.n,
        "failures": len(outcome.failures),
        "seconds": round(seconds, 1),
        "machine": machine() | {"forebay": "compiled" if forebay.compiled() else "interpreted"},
        "figures": outcome.figures,
        "first_failures": outcome.failures[:SHOWN_FAILURES],
    }


def main() -> int:
    """Run what was asked for; 1 if a promise was broken."""
    options = arguments()
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    broken = False
    for goal in chosen(options.only):
        n = max(1, round((goal.full if options.full else goal.quick) * options.times))
        sys.stderr.write(f"{goal.id}: {n} {goal.unit}, seed {seed}: {goal.promise}\n")
        outcome, seconds = attempt(goal, n, seed)
        text = json.dumps(line_of(goal, seed, outcome, seconds), sort_keys=False)
        print(text, flush=True)
        if options.out is not None:
            with options.out.open("a") as out:
                out.write(text + "\n")
        for failure in outcome.failures[:SHOWN_FAILURES]:
            sys.stderr.write(f"  BROKEN: {failure}\n")
        broken = broken or bool(outcome.failures)
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
