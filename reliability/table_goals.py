"""R30: tables are read while jobs change the lake and the server under them.

    two writers      entries 0, 1, 2 ... to a few streams each, and a new stream now and then
    an archive       to a lake every second, and then off the server (trim)
    a compactor      small files become large ones, again and again
    two readers      hot and cold as one table: how many entries has each stream?

A writer notes each entry before it sends it and after the server has acknowledged it.  So for each
stream of each table three things must hold, whatever was committed, merged or trimmed meanwhile:

- its entries are 0 ... k-1, each once;
- ``acknowledged before the read <= k <= sent before its end``;
- no later table of the same reader has less.

A read that fails is a broken promise too.  At the end the table has all entries ever sent.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from forebay_spark import table
from forebay_spark.lake.lake import Lake
from forebay_spark.lake.upkeep import compact
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.flow import Flow
from forebay_spark.pipeline.spec import Source
from forebay_spark.runtime.session import session
from reliability.goals import Outcome
from reliability.processes import start
from testkit import small_spark
from testkit.servers import ServerProcess, worker_path

WRITERS, READERS = 2, 2
PATTERN = "soak:*"
#: A writer adds to this many streams at a time; now and then a new one replaces the oldest.
STREAMS, NEW_STREAM_S = 3, 4.0
MOST_ENTRIES, WRITE_EVERY_S = 20, 0.05
COMPACT_EVERY_S = 2.0
ARCHIVE_EVERY = "1 second"
LOOK_EVERY_S = 0.2

Counts = Mapping[str, int]


@dataclass
class Soak:
    """The state that all writers, readers and jobs share."""

    spark: SparkSession
    url: str
    lake: str
    outcome: Outcome
    end: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    sent: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)


def tables_that_move(n: int, seed: int, scratch: Path) -> Outcome:
    """R30: ``n`` reads."""
    outcome = Outcome()
    with _spark() as spark:
        server = start("forebay", scratch / "server", "--appendonly", "no")
        try:
            soak(spark, server, scratch / "lake", outcome, n, seed)
        finally:
            server.kill()
    return outcome


@contextmanager
def _spark() -> Iterator[SparkSession]:
    settings = {**small_spark.SETTINGS, "spark.executorEnv.PYTHONPATH": worker_path()}
    small_spark.use()
    spark = session("soak", "local[2]", settings, quiet=True)
    try:
        yield spark
    finally:
        spark.stop()


def soak(
    spark: SparkSession, server: ServerProcess, lake: Path, outcome: Outcome, n: int, seed: int
) -> None:
    """Run all of them until this many tables were read, and count the entries at the end."""
    known = Soak(spark, f"redis://127.0.0.1:{server.port}", str(lake), outcome)
    source = Source(url=known.url, pattern=PATTERN)
    flow = Archive(
        source=source, lake=known.lake, trim=Trim(), trigger=ARCHIVE_EVERY, name="soak"
    ).start(spark)
    with ThreadPoolExecutor() as pool:
        parts: list[Callable[[], None]] = [Writer(known, i, seed).run for i in range(WRITERS)]
        parts += [Reader(known).run for _ in range(READERS)]
        futures = [pool.submit(part) for part in (*parts, lambda: merge_again_and_again(known))]
        _wait(known, flow, futures, n)
    _judge_end(known, flow)


def _wait(known: Soak, flow: Flow, futures: list[Future[None]], n: int) -> None:
    """Wait until this many tables were read, or a part has stopped."""
    while known.outcome.n < n and flow.query.isActive:
        if any(future.done() for future in futures):
            break
        time.sleep(LOOK_EVERY_S)
    known.end.set()
    for future in futures:
        error = future.exception()
        if error is not None:
            known.outcome.failures.append(f"one part ended with {type(error).__name__}: {error}")


def _judge_end(known: Soak, flow: Flow) -> None:
    """The archive is whole to its last entry, and so is the table."""
    outcome = known.outcome
    try:
        flow.finish()
        flow.wait()
        outcome.failures += differences(counted(known), known.sent, known.sent)
    except Exception as error:  # noqa: BLE001
        outcome.failures.append(f"the end: {type(error).__name__}: {error}")
    with redis.Redis.from_url(known.url) as client:
        left = sum(int(client.xlen(stream)) for stream in known.sent)
    entries = sum(known.sent.values())
    outcome.figures |= {"entries": entries, "streams": len(known.sent), "trimmed": entries - left}
    outcome.figures["versions"] = Lake(known.lake).snapshot().version


class Writer:
    """Adds numbered entries to its streams."""

    def __init__(self, known: Soak, number: int, seed: int) -> None:
        self._known = known
        self._number = number
        self._dice = random.Random(f"{seed} {number}")
        self._streams: list[str] = []
        self._made = 0

    def run(self) -> None:
        """Add entries until the end."""
        next_stream_s = 0.0
        with redis.Redis.from_url(self._known.url) as client:
            while not self._known.end.is_set():
                if time.monotonic() >= next_stream_s:
                    next_stream_s = time.monotonic() + NEW_STREAM_S
                    self._streams = [*self._streams[1 - STREAMS :], self._new_stream()]
                self._add(client, self._dice.choice(self._streams))
                self._known.end.wait(WRITE_EVERY_S)

    def _new_stream(self) -> str:
        self._made += 1
        return f"soak:{self._number}:{self._made}"

    def _add(self, client: redis.Redis, stream: str) -> None:
        """Add some entries at once; noted before they are sent and after the acknowledgement."""
        known, first = self._known, self._known.sent.get(stream, 0)
        end = first + self._dice.randint(1, MOST_ENTRIES)
        known.sent[stream] = end
        pipeline = client.pipeline(transaction=False)
        for n in range(first, end):
            pipeline.xadd(stream, {"n": n})
        pipeline.execute()
        known.acknowledged[stream] = end


class Reader:
    """Reads tables, and compares each with the entries that must and can be in it."""

    def __init__(self, known: Soak) -> None:
        self._known = known
        self._before: dict[str, int] = {}

    def run(self) -> None:
        """Read tables until the end, or until something is wrong."""
        while not self._known.end.is_set():
            at_least = {**self._before, **self._known.acknowledged}
            for stream, count in self._before.items():
                at_least[stream] = max(at_least[stream], count)
            found = counted(self._known)
            wrong = differences(found, at_least, dict(self._known.sent))
            with self._known.lock:
                self._known.outcome.n += 1
            if wrong:
                raise AssertionError("; ".join(wrong))
            self._before = {stream: count for stream, (count, _, _) in found.items()}


Found = Mapping[str, tuple[int, int, int]]


def counted(known: Soak) -> Found:
    """For each stream of the table: entries, different numbers, the highest number."""
    frame = table(known.spark, pattern=PATTERN, lake=known.lake, url=known.url)
    n = F.col("fields")["n"].cast("int")
    rows: list[Any] = (
        frame.groupBy("stream").agg(F.count("*"), F.countDistinct(n), F.max(n)).collect()
    )
    return {stream: (entries, numbers, highest) for stream, entries, numbers, highest in rows}


def differences(found: Found, at_least: Counts, at_most: Counts) -> list[str]:
    """The faults of a table, one sentence for each stream."""
    wrong = []
    for stream in sorted({*found, *at_least}):
        entries, numbers, highest = found.get(stream, (0, 0, -1))
        if not entries == numbers == highest + 1:
            wrong.append(f"{stream} has {entries} entries, {numbers} numbers up to {highest}")
        low, high = at_least.get(stream, 0), at_most.get(stream, 0)
        if not low <= entries <= high:
            wrong.append(f"{stream} has {entries} entries, not {low} to {high}")
    return wrong


def merge_again_and_again(known: Soak) -> None:
    """Compact the lake while others write and read it."""
    while not known.end.wait(COMPACT_EVERY_S):
        done = compact(Lake(known.lake))
        known.outcome.count("files merged", max(0, done.files_before - done.files_after))
