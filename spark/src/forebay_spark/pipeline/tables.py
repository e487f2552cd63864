"""The lakes that a job fills, in a few numbers: for its reports, and so for the console.

They need a read of the table's log, so they are read only now and then, after a batch and outside
it, never for each batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.errors import ConnectorError
from forebay_spark.lake import log
from forebay_spark.lake.lake import Lake
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.jobs import SinkJob
from forebay_spark.pipeline.spec import Job, LakeSink

Numbers = dict[str, Any]
#: With more streams than this, a report leaves out how far each is: a report is small.
MOST_CUTS = 100


class Tables:
    """The lakes of one job; a call gives the numbers of each."""

    def __init__(self, job: Job) -> None:
        self._lakes = list(lakes_of(job))

    def __call__(self) -> Iterator[Numbers]:
        """Size, files and last commit; a lake that cannot be read now is left out."""
        for lake in self._lakes:
            try:
                yield numbers(lake)
            except ConnectorError:
                continue


def lakes_of(job: Job) -> Iterator[Lake]:
    """The lakes that a job writes to."""
    if isinstance(job, Archive):
        yield Lake(job.lake, job.lake_options)
    elif isinstance(job, SinkJob):
        for sink in job.every_sink():
            if isinstance(sink, LakeSink):
                yield Lake(sink.path, sink.options)


def numbers(lake: Lake) -> Numbers:
    """One lake as it is now."""
    snapshot = lake.snapshot()
    sizes = pa.table(snapshot.table.get_add_actions())["size_bytes"]
    moment = log.moment_of(lake.place, snapshot.version)
    cuts = {stream: str(cut.id) for stream, cut in snapshot.cuts.items()}
    return {
        "lake": lake.root,
        "version": snapshot.version,
        "files": len(sizes),
        "bytes": pc.sum(sizes).as_py() or 0,
        "committed_ms": int(moment.timestamp() * 1000),
        **({"cuts": json.dumps(cuts)} if len(cuts) <= MOST_CUTS else {}),
    }
