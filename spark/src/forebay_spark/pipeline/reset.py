"""Moving the progress of a job: it begins anew at a moment, and what it knew is kept aside.

    checkpoint/                           checkpoint.before-20261116T120000Z/   as it was
      offsets/ commits/ state/   -->      checkpoint/start.json                 where to begin

Spark's record of a query cannot be rewritten: it holds the state of windows, and sinks know the
query by it.  So the job gets a new checkpoint.  ``start.json`` names the first ID of each
stream; it counts as long as the checkpoint is new, which is until Spark has planned a batch.

What that means for results: a new checkpoint is a new writer.  Going back, entries after the
moment are processed again and their results are written again; going forward, entries before
it are never seen.  Windows begin empty.  An archive does not have this choice: its lake says
what it has, whatever a checkpoint says.
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
    """What a reset does."""

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
        return [*lines, f"what is processed again is written again to {again}"]


def plan(job: AnyJob, moment: str, now: datetime) -> Plan:
    """What it would do; OptionError if that cannot be done."""
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
    """The job, if its checkpoint says where it begins."""
    if isinstance(job, Archive):
        raise OptionError(
            f"The archive {job.name} goes on where its lake ends, whatever its checkpoint says: "
            "that is how no entry is there twice. To copy entries again, archive to a new lake."
        )
    if not isinstance(job, SinkJob):
        raise OptionError(
            f"The job {job.name} keeps no checkpoint, so there is nothing to reset. "
            "Start it again; its settings say where it begins."
        )
    return job


def _streams(job: SinkJob) -> list[str]:
    """The streams of a job; those of a pattern are asked for."""
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
    """Keep the old checkpoint aside and leave word where to begin."""
    if plan.aside is not None:
        plan.checkpoint.rename(plan.aside)
    plan.checkpoint.mkdir(parents=True)
    (plan.checkpoint / START).write_text(offsets_json(plan.starts))


def begun(job: AnyJob) -> AnyJob:
    """The job as it is to start: where a reset has left word, at that place."""
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
