"""``make bench-spark``: the connector in a real Spark, every ratio measured in one run.

    python -m bench.spark.run [--quick] [--only WORD]

Prints each line as it is done, writes bench/out/spark-*.json with the figures of every round,
and after a full run the table in docs/spark.md.  redis-server, Forebay and Spark share the
machine, as they would on a developer's machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pyspark

from bench import report
from bench.peers import machine
from bench.spark import jobs, lake, many, memory, reads, records, triggers
from bench.spark.lines import Line, table
from bench.spark.stage import FULL, MASTER, QUICK, Stage, on_stage

MEASUREMENTS: dict[str, Callable[[Stage], list[Line]]] = {
    "read plain": reads.plain,
    "read typed": reads.typed,
    "records": records.records,
    "archive": jobs.archive,
    "micro-batch": triggers.micro_batches,
    "sink": jobs.sink,
    "many streams": many.streams,
    "lake": lake.lake,
    "memory": memory.memory,
}


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the entries")
    parser.add_argument("--only", default="", help=f"one of: {', '.join(MEASUREMENTS)}")
    return parser.parse_args()


def write_page(lines: list[Line], facts: dict[str, str]) -> None:
    """The table in docs/spark.md."""
    note = (
        "Medians of interleaved runs; Spark and both servers share the machine. "
        f"{report.told(facts)}. A ratio is the first figure divided by the second; each is of "
        "one run in one session, so it holds where the figures themselves do not."
    )
    report.write_between_markers(report.ROOT / "docs" / "spark.md", note, table(lines))


def main() -> None:
    """Run what was asked for."""
    options = arguments()
    chosen = {name: run for name, run in MEASUREMENTS.items() if options.only.lower() in name}
    if not chosen:
        raise SystemExit(f"bench: nothing is called {options.only!r}: {', '.join(MEASUREMENTS)}")
    lines: list[Line] = []
    with on_stage(QUICK if options.quick else FULL) as stage:
        facts = machine() | dict(peer.identity() for peer in (stage.redis, stage.forebay))
        facts |= {"pyspark": pyspark.__version__, "master": MASTER}
        print(report.told(facts))
        print(f"{stage.plan.entries:,} entries, medians of {stage.plan.rounds} rounds")
        for run in chosen.values():
            for line in run(stage):
                lines.append(line)
                print(line.console(), flush=True)
        more = {"samples": stage.samples, "cpu_us": stage.cpu_us}
        written = report.write_json(lines, facts, more, "spark")
    if not options.quick and not options.only:
        write_page(lines, facts)
    print(f"\nwritten: {written}")


if __name__ == "__main__":
    main()
