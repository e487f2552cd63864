"""The stage of every measurement: both servers, one Spark session, a folder, and how much to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.peers import Peer, running
from bench.rows import STREAM, fill
from bench.spark.lines import Samples
from bench.spark.sources import ConstSource, TupleSource
from forebay_spark.runtime.session import session
from testkit.servers import worker_path

MASTER = "local[2]"
SETTINGS = {
    # The rows that are written from memory must fit into it.
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
PARTITIONS = 2


@dataclass(frozen=True)
class Plan:
    """How much to do: a full run is for the documentation, a quick one for the developer."""

    rounds: int
    entries: int
    micro_batches: int
    memory_entries: tuple[int, int]
    landed_entries: tuple[int, int]
    large_entries: tuple[int, int]
    sink_rows: int
    lake_version: int
    lake_files: tuple[int, ...]


FULL = Plan(
    rounds=3,
    entries=2_000_000,
    micro_batches=40,
    memory_entries=(200_000, 2_000_000),
    landed_entries=(600_000, 2_000_000),
    large_entries=(100, 500),
    sink_rows=500_000,
    lake_version=10_000,
    lake_files=(2_000, 10_000),
)
QUICK = Plan(
    rounds=3,
    entries=200_000,
    micro_batches=15,
    memory_entries=(200_000, 400_000),
    landed_entries=(600_000, 1_000_000),
    large_entries=(100, 200),
    sink_rows=50_000,
    lake_version=1_000,
    lake_files=(2_000,),
)


@dataclass
class Stage:
    """Where one run takes place."""

    plan: Plan
    redis: Peer
    forebay: Peer
    folder: Path
    samples: dict[str, Samples] = field(default_factory=dict)
    cpu_us: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)

    @cached_property
    def spark(self) -> SparkSession:
        """The session, started by the first measurement that needs one."""
        os.environ["PYTHONPATH"] = worker_path()
        return new_session()

    @contextmanager
    def other_session(self, **settings: str) -> Iterator[None]:
        """Another session with these settings, in the same warm JVM."""
        self.spark.stop()
        self.spark = new_session(settings)
        yield
        self.spark.stop()
        self.spark = new_session()

    @cached_property
    def jvm_pid(self) -> int:
        """The process of the session."""
        jvm = self.spark._jvm
        assert jvm is not None
        return int(jvm.java.lang.ProcessHandle.current().pid())

    def read(self, peer: Peer, form: str = "forebay", **options: Any) -> DataFrame:
        """The bench's stream on one of the servers, as a table."""
        schema = options.pop("schema", None)
        reader = self.spark.read.format(form).options(
            url=url(peer), streams=STREAM.decode(), minPartitions=PARTITIONS, **options
        )
        return (reader if schema is None else reader.schema(schema)).load()

    def prepare(self, peer: Peer) -> None:
        """Make the stream that is read, once, with the length of the plan."""
        if peer.command("XLEN", STREAM) != self.plan.entries:
            peer.command("DEL", STREAM)
            fill(peer, STREAM, self.plan.entries)

    def close(self) -> None:
        """Stop Spark, if it was started."""
        if "spark" in self.__dict__:
            self.spark.stop()


def new_session(settings: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """A session with the sources of the bench."""
    spark = session("bench", MASTER, {**SETTINGS, **settings})
    for source in (ConstSource, TupleSource):
        spark.dataSource.register(source)
    return spark


def url(peer: Peer) -> str:
    """Where the connector finds a server."""
    return f"redis://127.0.0.1:{peer.port}"


@contextmanager
def on_stage(plan: Plan) -> Iterator[Stage]:
    """Servers and a folder for one run; everything is removed afterwards."""
    with (
        TemporaryDirectory(prefix="fb-bench-") as folder,
        running(["redis", "forebay"], pinned=False) as (redis, forebay),
    ):
        stage = Stage(plan, redis, forebay, Path(folder))
        try:
            yield stage
        finally:
            stage.close()
