"""``make bench``: every row on redis-server and on Forebay, taking turns, in one run.

    python -m bench.run [--quick] [--only WORD] [--peer PATH] [--peers redis,forebay] [--no-extras]

Prints each row when it is done, then latency, restarts, memory, saving, growth and the
structures, and writes bench/out/*.json.  A full run also writes docs/measurements.md and the
ten rows of README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import durability, growth, latency, replication, report, structures
from bench.load import Sample
from bench.peers import Peer, logging, machine, running, running_tls, use_peer
from bench.report import Line
from bench.rows import ROWS, TLS_ROWS, Row, fill

#: ``--only saving``: just the times of XADD while the data is saved.
SAVING = "saving"
#: ``--only replica``: the rows of replication.py.
REPLICA = "replica"
#: A message on its way through the server; rows begin with it.
DELIVERY = "delivery to a blocked group reader"


@dataclass(frozen=True)
class Plan:
    """How long to measure: a full run is for the pages, a quick one for the developer."""

    rounds: int
    seconds: float
    latency_s: float
    memory_entries: int
    growth_sizes: tuple[int, ...]
    structure_ids: int
    restart_entries: int
    saved_sizes: tuple[int, ...]


FULL = Plan(
    rounds=5,
    seconds=1.0,
    latency_s=4.0,
    memory_entries=1_000_000,
    growth_sizes=(1000, 10_000, 100_000, 1_000_000, 10_000_000),
    structure_ids=1_000_000,
    restart_entries=1_000_000,
    saved_sizes=(1_000_000, 10_000_000),
)
QUICK = Plan(
    rounds=3,
    seconds=0.25,
    latency_s=1.0,
    memory_entries=200_000,
    growth_sizes=(1000, 10_000, 100_000),
    structure_ids=100_000,
    restart_entries=200_000,
    saved_sizes=(200_000,),
)


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    parser.add_argument("--only", default="", help="rows whose name has this word")
    parser.add_argument("--peer", default="", help="the server to compare with, a path")
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


def measure_delivery(peers: list[Peer], plan: Plan, policy: str = "") -> list[Line]:
    """Delivery to one blocked reader of a group, at 10 k messages a second."""
    p50: dict[str, list[float]] = {peer.name: [] for peer in peers}
    p99: dict[str, list[float]] = {peer.name: [] for peer in peers}
    cpu: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for _ in range(plan.rounds):
        for peer in peers:
            run = latency.deliver(peer, plan.latency_s / 2, consumers=1, count=100)
            p50[peer.name].append(latency.percentile(run.times_us, 0.5))
            p99[peer.name].append(latency.percentile(run.times_us, 0.99))
            cpu[peer.name].append(run.cpu_us)
    title = f"{DELIVERY}, {policy}" if policy else DELIVERY
    return [
        both_figures(f"{title}, p50", "us", (1.0, 0.8), p50),
        both_figures(f"{title}, p99", "us", (1.0, 0.8), p99),
        both_figures(f"{title}, CPU a message", "us", (1.0, 0.8), cpu),
    ]


def both_figures(
    name: str, unit: str, targets: tuple[float, float], values: dict[str, list[float]]
) -> Line:
    """A line where smaller is better."""
    redis, forebay = (median(values.get(peer) or [0.0]) for peer in ("redis", "forebay"))
    return Line(name, unit, redis, forebay, *targets, smaller_is_better=True)


def measure_memory(names: list[str], plan: Plan) -> list[Line]:
    """Resident bytes of servers that never held anything else."""
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


def measure_restarts(names: list[str], plan: Plan) -> list[Line]:
    """Loading a long stream from the AOF, and from a snapshot."""
    lines = []
    for source, snapshot, targets in (("AOF", False, (0.5, 0.15)), ("snapshot", True, (2.0, 1.0))):
        with tempfile.TemporaryDirectory(prefix="fb-bench-") as root:
            seconds = {
                name: [durability.restart_s(name, Path(root), plan.restart_entries, snapshot, 3)]
                for name in names
            }
        title = f"load {plan.restart_entries:,} entries from the {source}"
        lines.append(both_figures(title, "s", targets, seconds))
    return lines


def measure_replicas(names: list[str], plan: Plan) -> list[Line]:
    """The cost of a replica for its primary, and how soon the replica has everything."""
    found: dict[str, dict[str, list[float]]] = {}

    def note(row: str, name: str, value: float) -> None:
        found.setdefault(row, {}).setdefault(name, []).append(value)

    for name in names:
        with replication.linked(name, pinned=True) as pair:
            extra = replication.extra_cpu_percent(pair, plan.seconds, plan.rounds)
            note("extra", name, extra)
        with replication.linked(name, pinned=False) as pair:
            note("full", name, replication.full_sync_s(pair, plan.restart_entries, plan.rounds))
        with replication.linked(name, pinned=False) as pair:
            note("apply", name, replication.apply_rate(pair, plan.restart_entries, plan.rounds))
        with replication.linked(name, pinned=False) as pair:
            note("wait", name, replication.confirmed_us(pair, plan.latency_s))
    rate = {name: median(values) for name, values in found["apply"].items()}
    return [
        both_figures("a replica: CPU of XADD f4 P16, more", "%", (1.0, 0.5), found["extra"]),
        both_figures(
            f"a replica: full sync of {plan.restart_entries:,} entries",
            "s",
            (1.0, 0.5),
            found["full"],
        ),
        Line(
            "a replica: applying XADD f4",
            "ops",
            rate.get("redis", 0.0),
            rate.get("forebay", 0.0),
            1.0,
            2.0,
        ),
        both_figures("a replica: XADD f4 and WAIT 1, p50", "us", (1.0, 0.8), found["wait"]),
    ]


def show_saving(names: list[str], plan: Plan) -> dict[str, Any]:
    """Does XADD stay as quick while the data is saved and the AOF rewritten?"""
    shown: dict[str, Any] = {}
    for size in plan.saved_sizes:
        for name in names:
            with running([name], *logging("everysec"), pinned=False) as peers:
                fill(peers[0], b"race:saved", size)
                states = durability.while_saving(peers[0], plan.latency_s / 2)
            print(f"\n{name}: XADD of one client, 1,000 a second, beside {size:,} entries")
            print("\n".join(f"  {state.line()}" for state in states))
            shown[f"{name} {size}"] = [state.line() for state in states]
    return shown


def show_histograms(peers: list[Peer], plan: Plan) -> dict[str, list[str]]:
    """Ten consumers with COUNT 10000, in buckets of a millisecond."""
    shown = {}
    for peer in peers:
        run = latency.deliver(peer, plan.latency_s, consumers=10, count=10_000)
        shown[peer.name] = latency.histogram(run.times_us)
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


def chosen(rows: list[Row], word: str) -> list[Row]:
    """The rows whose name contains the word."""
    return [row for row in rows if word.lower() in row.name.lower()]


class Bench:
    """One run: what was asked for, and the lines so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.plan = QUICK if options.quick else FULL
        self.names: list[str] = options.peers.split(",")
        self.word: str = options.only
        self.whole = not options.only and not options.no_extras
        self.for_pages = (
            self.whole and not options.quick and set(self.names) == {"redis", "forebay"}
        )
        self.facts: dict[str, str] = {}
        self.lines: list[Line] = []
        self.more: dict[str, Any] = {}

    @property
    def wants_delivery(self) -> bool:
        """Whether the rows of latency.py are asked for, by name or with all others."""
        return self.whole or (bool(self.word) and self.word.lower() in DELIVERY)

    def add(self, lines: list[Line]) -> None:
        """Show the lines, and keep them."""
        self.lines.extend(lines)
        for line in lines:
            print(report.console(line), flush=True)

    def run(self) -> None:
        """Measure all that was asked for."""
        self.in_memory()
        self.over_tls()
        for policy, rows in durability.LOGGED.items():
            logged = chosen(rows, self.word)
            delivers = policy == "everysec" and self.wants_delivery
            if logged or delivers:
                with running(self.names, *logging(policy)) as peers:
                    for row in logged:
                        self.add([measure(row, peers, self.plan)])
                    if delivers:
                        self.add(measure_delivery(peers, self.plan, policy))
        if self.whole:
            self.add(measure_restarts(self.names, self.plan))
            self.add(measure_memory(self.names, self.plan))
        if self.whole or self.word == REPLICA:
            self.add(measure_replicas(self.names, self.plan))
        if self.for_pages:
            report.write_pages(self.lines, self.facts)
        if self.whole:
            self.pictures()
        elif self.word == SAVING:
            self.more[SAVING] = show_saving(self.names, self.plan)
        print(f"\nwritten: {report.write_json(self.lines, self.facts, self.more)}")

    def in_memory(self) -> None:
        """The rows of the table and the latency of a delivery, with nothing kept on disk."""
        with running(self.names) as peers:
            self.facts = machine() | dict(peer.identity() for peer in peers)
            print(report.told(self.facts))
            for row in chosen(ROWS, self.word):
                self.add([measure(row, peers, self.plan)])
            if self.wants_delivery:
                self.add(measure_delivery(peers, self.plan))
            if self.whole:
                self.more["histogram"] = show_histograms(peers, self.plan)

    def over_tls(self) -> None:
        """Rows over TLS, if both servers can speak it."""
        rows = chosen(TLS_ROWS, self.word)
        if rows:
            with running_tls(self.names) as peers:
                for row in rows:
                    self.add([measure(row, peers, self.plan)])

    def pictures(self) -> None:
        """The reports that need more than a line of the table."""
        self.more[SAVING] = show_saving(self.names, self.plan)
        self.more["growth"] = show_growth(self.names, self.plan)
        if "forebay" in self.names:
            self.more["structures"] = show_structures(self.plan)


def main() -> None:
    """Run what was asked for."""
    options = arguments()
    if options.peer:
        use_peer(options.peer)
    Bench(options).run()


if __name__ == "__main__":
    main()
