"""A lake as an archive job makes it, but without Spark's JVM: its tasks, its commit, its report."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import redis
from pyspark.sql.types import StructField, StructType

from forebay_spark.ids import FIRST, EntryId, parse
from forebay_spark.lake.changes import Change
from forebay_spark.lake.lake import About, Lake
from forebay_spark.lake.transactions import Cut, of_cuts
from forebay_spark.options import STREAM, read_options
from forebay_spark.pipeline.archive import Archive, about_archive
from forebay_spark.pipeline.direct_write import Landing, land_task
from forebay_spark.pipeline.spec import Source
from forebay_spark.pipeline.tables import Tables
from forebay_spark.read.offsets import Piece, Position
from forebay_spark.read.reading import Part, Task
from forebay_spark.values.entry_columns import completed_schema, dated_schema
from forebay_spark.values.schema import SPECIAL

ABOUT_ENTRIES = [
    StructField(name, SPECIAL[name]) for name in ("_stream", "_id", "_timestamp", "_seq")
]


def typed(fields: StructType) -> About:
    """An archive with columns for fields; to read DDL would take a JVM."""
    entry = completed_schema(StructType([*ABOUT_ENTRIES, *fields]))
    return About(dated_schema(entry), ("_stream", "_date"), entry)


class Archived:
    """A stream that is copied to a lake whenever a test says so."""

    def __init__(
        self, client: redis.Redis, folder: Path, stream: str, fields: StructType | None = None
    ) -> None:
        port = client.connection_pool.connection_kwargs["port"]
        self.client = client
        self.stream = stream
        self.source = Source(url=f"redis://127.0.0.1:{port}", streams=(stream,))
        self.lake = Lake(str(folder))
        self.about = about_archive(self.source) if fields is None else typed(fields)
        self.lake.create(self.about)
        self.done: EntryId = FIRST

    def run(self) -> None:
        """A batch: everything that is in the stream and not in the lake."""
        known: Any = self.client.xinfo_stream(self.stream)
        end = parse(known["last-generated-id"])
        options = read_options(self.source.texts(), STREAM)
        assert self.about.entry is not None
        plan = Landing(self.about.entry, options, self.lake.place, self.about.partitions)
        part = Part(self.stream, Piece(self.done, end, None), Position(self.done, None))
        files = land_task(plan, Task([part])).files
        said = of_cuts({self.stream: Cut(end, None)})
        self.lake.commit(lambda _: Change(files, said))
        self.done = end

    def told(self) -> dict[str, str]:
        """The job's report about its lake."""
        job = Archive(source=self.source, lake=self.lake.root)
        (numbers,) = Tables(job)()
        return {name: str(value) for name, value in numbers.items()}

    def tell(self, **other: str) -> Any:
        """Put that report where the console looks; ``other`` replaces fields, "" drops one."""
        told = {"pipeline": "archive", "event": "lake", **self.told(), **other}
        words = chain(*((name, text) for name, text in told.items() if text))
        return self.client.execute_command("XADD", "forebay:pipelines", "*", *words)
