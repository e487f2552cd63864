"""``make bench``: every row on redis-server and on Forebay, taking turns, in one run.

    python -m bench.run [--quick] [--only WORD] [--peers redis,forebay] [--no-extras]

Prints each row as it is done, then latency, memory, growth and the structures,
writes bench/out/*.json, and after a full run the table in README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import growth, latency, report, structures
from bench.load import Sample
from bench.peers import Peer, machine, running
from bench.report import Line
from bench.rows import ROWS, Row


@dataclass(frozen=True)
class Plan:
    """How long to look: a full run is for the README, a quick one for the desk."""

    rounds: int
    seconds: float
    latency_s: float
    memory_entries: int
    growth_sizes: tuple[int, ...]
    structure_ids: int


FULL = Plan(5, 1.0, 4.0, 1_000_000, (1000, 10_000, 100_000, 1_000_000, 10_000_000), 1_000_000)
QUICK = Plan(3, 0.25, 1.0, 200_000, (1000, 10_000, 100_000), 100_000)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    parser.add_argument("--only", default="", help="rows whose name has this word")
    parser.add_argument("--peers", default="redis,forebay")
    parser.add_argument("--no-extras", action="store_true", help="only the table's rows")
    return parser.parse_args()


def measure(row: Row, peers: list[Peer], plan: Plan) -> Line:
    """One row, the peers taking turns."""
    samples: dict[str, list[Sample]] = {peer.name: [] for peer in peers}
    for _ in range(plan.rounds):
        for peer in peers:
            samples[peer.name].append(row.run(peer, plan.seconds))
    return report.line_of(row.name, row.unit, (row.first, row.then), samples)


def measure_latency(peers: list[Peer], plan: Plan) -> list[Line]:
    """Delivery to one blocked reader of a group, at 10 k messages a second."""
    p50: dict[str, list[float]] = {peer.name: [] for peer in peers}
    p99: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for _ in range(plan.rounds):
        for peer in peers:
            times = latency.delivery_us(peer, plan.latency_s / 2, consumers=1, count=100)
            p50[peer.name].append(latency.percentile(times, 0.5))
            p99[peer.name].append(latency.percentile(times, 0.99))
    return [
        both_figures("delivery to a blocked group reader, p50", "us", (1.0, 0.8), p50),
        both_figures("delivery to a blocked group reader, p99", "us", (1.0, 0.8), p99),
    ]


def both_figures(
    name: str, unit: str, targets: tuple[float, float], values: dict[str, list[float]]
) -> Line:
    """A line where smaller is better."""
    redis, forebay = (median(values.get(peer) or [0.0]) for peer in ("redis", "forebay"))
    return Line(name, unit, redis, forebay, *targets, smaller_is_better=True)


def measure_memory(names: list[str], plan: Plan) -> list[Line]:
    """Resident bytes on servers that have held nothing else."""
    entry: dict[str, list[float]] = {}
    pending: dict[str, list[float]] = {}
    with running(names) as peers:
        for peer in peers:
            per_entry, per_pending = growth.memory_per_entry(peer, plan.memory_entries)
            entry[peer.name], pending[peer.name] = [per_entry], [per_pending]
    return [
        both_figures("memory of an entry", "bytes", (1.1, 0.9), entry),
        both_figures("memory of a pending entry", "bytes", (0.6, 0.4), pending),
    ]


def show_histograms(peers: list[Peer], plan: Plan) -> dict[str, list[str]]:
    """Ten consumers with COUNT 10000, in buckets of a millisecond."""
    shown = {}
    for peer in peers:
        times = latency.delivery_us(peer, plan.latency_s, consumers=10, count=10_000)
        shown[peer.name] = latency.histogram(times)
        print(f"\n{peer.name}: 10 k messages/s, ten consumers of a group, COUNT 10000")
        print("\n".join(f"  {line}" for line in shown[peer.name]))
    return shown


def show_growth(names: list[str], plan: Plan) -> dict[str, Any]:
    """Cost per operation as the stream grows."""
    costs: dict[str, Any] = {name: {} for name in names}
    with running(names) as peers:
        for size in plan.growth_sizes:
            for peer in peers:
                costs[peer.name][size] = growth.cost_us(peer, size, plan.seconds)
    print("\nCPU microseconds per operation on streams of growing length")
    for name, by_size in costs.items():
        print(f"  {name:8} " + "".join(f"{size:>12,}" for size in by_size))
        for operation in next(iter(by_size.values())):
            figures = "".join(f"{cost[operation]:12.2f}" for cost in by_size.values())
            print(f"    {operation:24}{figures}")
    return costs


def show_structures(plan: Plan) -> list[dict[str, Any]]:
    """Rax and its rivals, each in a process of its own."""
    print(f"\nan ordered map of {plan.structure_ids:,} stream IDs")
    results = []
    for name in structures.NAMES:
        command = [sys.executable, "-m", "bench.structures", name, str(plan.structure_ids)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result: dict[str, Any] = json.loads(done.stdout)
        results.append(result)
        print(
            f"  {name:16} {result['bytes_per_id']:7.1f} bytes an ID"
            f"   insert {result['insert_ns']:6} ns   find {result['find_ns']:6} ns"
        )
    return results


def main() -> None:
    """Run what was asked for."""
    options = arguments()
    plan = QUICK if options.quick else FULL
    names = options.peers.split(",")
    rows = [row for row in ROWS if options.only.lower() in row.name.lower()]
    whole = not options.only and not options.no_extras
    lines: list[Line] = []
    more: dict[str, Any] = {}

    def add(new: list[Line]) -> None:
        lines.extend(new)
        for line in new:
            print(report.console(line), flush=True)

    with running(names) as peers:
        facts = machine() | {peer.name: peer.version() for peer in peers}
        print(", ".join(f"{k} {v}" for k, v in facts.items()))
        for row in rows:
            add([measure(row, peers, plan)])
        if whole:
            add(measure_latency(peers, plan))
            more["histogram"] = show_histograms(peers, plan)
    if whole:
        add(measure_memory(names, plan))
        more["growth"] = show_growth(names, plan)
        if "forebay" in names:
            more["structures"] = show_structures(plan)
    print(f"\nwritten: {report.write_json(lines, facts, more)}")
    if whole and not options.quick and set(names) == {"redis", "forebay"}:
        report.write_readme(lines, facts)


if __name__ == "__main__":
    main()
