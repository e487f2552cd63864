"""The same entries in one stream and in a thousand: the cost of a stream besides its entries.

Short streams share a task, so a thousand of them should cost little more than one.  The rest is
a page, a check and, in an archive, a file for each of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count

from bench.rows import PIPELINE, fill
from bench.spark.lines import Line, compare, warm_in_turns
from bench.spark.stage import Stage, url
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.spec import Source

STREAMS = 1000
ONE, MANY = "race:one", "race:many"
TARGET = 3.0


def streams(stage: Stage) -> list[Line]:
    """Seconds to count all entries, and to archive them."""
    entries = prepare(stage)
    patterns = {f"{STREAMS:,} streams": f"{MANY}:*", "one stream": f"{ONE}:*"}
    lakes = count()
    lines = []
    works: dict[str, Callable[[str], float]] = {
        f"count {entries:,} entries": partial(count_s, stage, entries),
        f"archive {entries:,} entries": lambda pattern: archive_s(
            stage, entries, pattern, f"{stage.folder}/many-{next(lakes)}"
        ),
    }
    for title, work in works.items():
        runs = {name: partial(work, pattern) for name, pattern in patterns.items()}
        samples = stage.samples[title] = warm_in_turns(stage.plan.rounds, runs)
        name = f"{title}, {STREAMS:,} streams"
        lines += compare(name, "s", samples, {"one stream": TARGET}, smaller_is_better=True)
    return lines


def prepare(stage: Stage) -> int:
    """Add about half of the plan's entries, twice; returns how many."""
    each = PIPELINE * max(1, stage.plan.entries // 2 // STREAMS // PIPELINE)
    fill(stage.forebay, f"{ONE}:0".encode(), each * STREAMS)
    for number in range(STREAMS):
        fill(stage.forebay, f"{MANY}:{number}".encode(), each)
    return each * STREAMS


def count_s(stage: Stage, entries: int, pattern: str) -> float:
    """Seconds of a count."""
    reader = stage.spark.read.format("forebay").options(url=url(stage.forebay))
    start = time.perf_counter()
    found = reader.option("streamsPattern", pattern).load().count()
    assert found == entries, f"{found} rows of {pattern}"
    return time.perf_counter() - start


def archive_s(stage: Stage, entries: int, pattern: str, lake: str) -> float:
    """Seconds of the whole job on an empty lake."""
    job = Archive(source=Source(pattern=pattern, url=url(stage.forebay)), lake=lake)
    start = time.perf_counter()
    flow = job.start(stage.spark)
    flow.wait()
    seconds = time.perf_counter() - start
    archived = sum(flow.counted.values())
    assert archived == entries, f"{archived} rows of {pattern} are in the lake"
    return seconds
