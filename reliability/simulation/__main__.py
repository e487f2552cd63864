"""``python -m reliability.simulation SEED``: one seed again, with its story.

    python -m reliability.simulation SEED [--operations N]             what happened, in words
    python -m reliability.simulation SEED --count N --stories FOLDER   one JSON line for each seed;
                                                                       stories of broken ones

The order in which Python iterates over a set depends on a hash seed that each process chooses.
So this program runs itself again with a fixed hash seed: then SEED decides everything.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from reliability.goals import Outcome
from reliability.simulation.invariants import BrokenError
from reliability.simulation.world import World

OPERATIONS = 2000


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("--operations", type=int, default=OPERATIONS)
    parser.add_argument("--count", type=int, default=0, help="so many seeds, from this one on")
    parser.add_argument("--stories", type=Path, default=None, help="a folder for them")
    return parser.parse_args()


def live(seed: int, operations: int) -> tuple[World, Outcome, str]:
    """Run one seed; returns the world, its counters, and what was broken."""
    outcome = Outcome()
    world = World(seed, outcome)
    broken = ""
    try:
        world.run(operations)
    except BrokenError as error:
        broken = str(error)
    finally:
        world.cluster.close()
    return world, outcome, broken


def story(world: World) -> str:
    """The events and the logs of the servers, in order of time."""
    lines = list(world.cluster.events)
    for node in world.cluster.nodes:
        lines += node.lines
    return "\n".join(sorted(lines, key=lambda line: int(line.split()[0])))


def tell_one(seed: int, operations: int) -> int:
    """Print the story of one seed for a person."""
    world, outcome, broken = live(seed, operations)
    if broken:
        print(f"{story(world)}\nBROKEN: {broken}")
    print(f"seed {seed}: digest {world.cluster.digest:08x}, {outcome.figures}")
    return 1 if broken else 0


def tell_many(first: int, count: int, operations: int, stories: Path | None) -> int:
    """Print one JSON line for each seed, for a program."""
    for seed in range(first, first + count):
        world, outcome, broken = live(seed, operations)
        if broken and stories is not None:
            (stories / f"{seed}.txt").write_text(f"{story(world)}\nBROKEN: {broken}\n")
        facts = {"seed": seed, "broken": broken, "figures": outcome.figures}
        print(json.dumps(facts), flush=True)
    return 0


def main() -> int:
    """Run what was asked for; 1 if a single seed broke something."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        words = [sys.executable, "-m", "reliability.simulation", *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | {"PYTHONHASHSEED": "0"})
    options = arguments()
    if options.count:
        return tell_many(options.seed, options.count, options.operations, options.stories)
    return tell_one(options.seed, options.operations)


if __name__ == "__main__":
    raise SystemExit(main())
