"""Moving the progress of a job: it starts again at a given time; its old checkpoint is kept.

    checkpoint/                           checkpoint.before-20261116T120000Z/   as it was
      offsets/ commits/ state/   -->      checkpoint/start.json                 where to begin

Spark's record of a query cannot be rewritten: it holds the state of windows, and sinks identify
the query by it.  So the job gets a new checkpoint.  ``start.json`` names the first ID of each
stream; it counts while the checkpoint is new, that is, until Spark has planned a batch.

For results this means: a new checkpoint is a new writer.  After a reset to an earlier time, entries
after that time are processed again and their results are written again; after a reset to a later
time, entries before it are never seen.  Windows start empty.  An archive cannot be reset: its lake
decides what it has, not a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from forebay_spark.errors import OptionError
from forebay_spark.moments import moment_ms
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.config import AnyJob
from forebay_spark.pipeline.jobs import SinkJob
from forebay_spark.pipeline.spec import FormatSink, LakeSink, Sink, offsets_json
from forebay_spark.servers import state
from forebay_spark.servers.connect import Server

START = "start.json"
OFFSETS = "offsets"


class Plan(NamedTuple):
    """The effect of a reset."""

    job: SinkJob
    checkpoint: Path
    aside: Path | None
    starts: Mapping[str, str]
    was: Mapping[str, str]

    def told(self) -> list[str]:
        """For a person."""
        lines = [
            f"{stream}: was at {self.was.get(stream, 'its beginning')}, begins at {first}"
            for stream, first in self.starts.items()
        ]
        if self.aside is not None:
            lines.append(f"{self.checkpoint} is kept as {self.aside}")
        again = " and ".join(map(_of, self.job.every_sink()))
        return [*lines, f"entries that are processed again are written again to {again}"]


def plan(job: AnyJob, moment: str, now: datetime) -> Plan:
    """The effect that it would have; OptionError if it is not possible."""
    kept = _resettable(job)
    ms = moment_ms(moment, "--to-time")
    checkpoint = kept.checkpoint_path()
    starts = dict.fromkeys(_streams(kept), f"{ms}-0")
    if "://" in checkpoint:
        raise OptionError(
            f"The checkpoint {checkpoint} is not on this machine. Give the job a new checkpoint, "
            f"and start = '{offsets_json(starts)}' in its source."
        )
    path = Path(checkpoint)
    aside = path.with_name(f"{path.name}.before-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    return Plan(kept, path, aside if path.exists() else None, starts, was_at(path))


def _resettable(job: AnyJob) -> SinkJob:
    """The job, if its checkpoint decides where it starts."""
    if isinstance(job, Archive):
        raise OptionError(
            f"The archive {job.name} continues where its lake ends, whatever its checkpoint says: "
            "so no entry is there twice. To copy entries again, archive to a new lake."
        )
    if not isinstance(job, SinkJob):
        raise OptionError(
            f"The job {job.name} keeps no checkpoint, so there is nothing to reset. "
            "Start it again; its settings say where it starts."
        )
    return job


def _streams(job: SinkJob) -> list[str]:
    """The streams of a job; for a pattern, the server lists them."""
    if job.source.pattern is None:
        return list(job.source.streams)
    with closing(Server(job.source.checked())) as server:
        return state.discover(server, job.source.pattern)


def was_at(checkpoint: Path) -> dict[str, str]:
    """The last ID of each stream that the job has planned to read."""
    folder = checkpoint / OFFSETS
    numbers = [int(file.name) for file in folder.glob("*") if file.name.isdigit()]
    if not numbers:
        return {}
    *_, last = (folder / str(max(numbers))).read_text().splitlines()
    try:
        return {stream: str(place["id"]) for stream, place in json.loads(last).items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def carry_out(plan: Plan) -> None:
    """Keep the old checkpoint aside and write down where to start."""
    if plan.aside is not None:
        plan.checkpoint.rename(plan.aside)
    plan.checkpoint.mkdir(parents=True)
    (plan.checkpoint / START).write_text(offsets_json(plan.starts))


def begun(job: AnyJob) -> AnyJob:
    """The job to start: after a reset, at the place that the reset wrote down."""
    if not isinstance(job, SinkJob) or "://" in (checkpoint := job.checkpoint_path()):
        return job
    try:
        start = (Path(checkpoint) / START).read_text()
    except OSError:
        return job
    if was_at(Path(checkpoint)):
        return job
    return replace(job, source=replace(job.source, start=start))


def _of(sink: Sink) -> str:
    if isinstance(sink, LakeSink):
        return f"the lake {sink.path}"
    if isinstance(sink, FormatSink):
        return f"{sink.format} {sink.path or ''}".rstrip()
    return f"the stream {sink.stream}" if sink.stream else "streams"
