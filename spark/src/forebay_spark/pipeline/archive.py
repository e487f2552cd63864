"""The archive job: streams to a lake, every entry once, and then removed from the server.

    stream --> micro-batch --> files of the lake --> commit with the new cuts --> trim

The tasks that read the entries also write the files (direct_write.py).

Rows are the entries as the source delivers them: the plain columns, or those of a schema, always
with the columns about the entry itself (``_stream``, ``_id``, ``_timestamp``, ``_seq``).  They are
split by stream and by day (UTC), or by other columns.  The lake remembers how entries were read, so
that a table can read hot ones in the same way.

The lake decides what is archived, not the checkpoint: see ranges.py.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import AtomicType, BinaryType, StructType

from forebay_spark.errors import OptionError
from forebay_spark.lake import stores, transactions
from forebay_spark.lake.changes import Change
from forebay_spark.lake.lake import CHECKPOINTS, About, Lake, Snapshot
from forebay_spark.lake.transactions import Cut
from forebay_spark.pipeline import ranges, settings
from forebay_spark.pipeline.checkpoint import open_checkpoint
from forebay_spark.pipeline.direct_write import Landed, Landing, land
from forebay_spark.pipeline.evolution import ADD, FIXED, new_fields, roomy
from forebay_spark.pipeline.flow import Flow, Settings
from forebay_spark.pipeline.settings import setting
from forebay_spark.pipeline.spec import Job, Source, offsets_json
from forebay_spark.pipeline.trim import now_ms, trim_streams
from forebay_spark.read import loss
from forebay_spark.read.offsets import Position
from forebay_spark.read.reading import tasks_of
from forebay_spark.servers import state
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Server
from forebay_spark.values.entry_columns import EntryColumns, dated_schema, entry_schema
from forebay_spark.values.exact import refuses_loss

_LOG = logging.getLogger("forebay_spark")
BYTES = BinaryType()
#: Options that change how an entry becomes a row; the lake must remember them.
READING = (
    "mode",
    "timestampFormat",
    "decodeField",
    "decodeAs",
    "decodeSchema",
    "decodeMessage",
)


@dataclass(frozen=True)
class Trim:
    """Whether and how to remove archived entries."""

    keep_ms: int | None = None


def _trim(value: object, where: str) -> Trim | None:
    """``trim = true``, or ``trim = "1 hour"`` to keep that much on the server."""
    if isinstance(value, Trim):
        return value
    if isinstance(value, bool):
        return Trim() if value else None
    return Trim(settings.duration(value, where))


@dataclass(frozen=True, kw_only=True)
class Archive(Job):
    """Streams to a lake."""

    lake: str = setting(settings.text, "the folder or URL of the lake")
    name: str = setting(settings.text, "name of the job", default="archive")
    trim: Trim | None = setting(_trim, "true, or how long archived entries stay", default=None)
    partitions: tuple[str, ...] | None = setting(
        settings.texts, "columns to split by; stream and date if not given", default=None
    )
    schema_evolution: str = setting(
        settings.one_of(FIXED, ADD), "add: new fields become columns", default=FIXED
    )
    lake_options: Mapping[str, str] = setting(
        settings.mapping, "keys and endpoints of an object store", default_factory=dict
    )

    def start(self, spark: SparkSession) -> Flow:
        """Start; the returned flow can be waited for and stopped."""
        return Archiver(spark, self).start()


def about_archive(
    source: Source, partitions: tuple[str, ...] | None = None, evolution: str = FIXED
) -> About:
    """The description of an archive."""
    entry = entry_schema(source.schema)
    if evolution == ADD:
        entry = roomy(entry)
    names = EntryColumns(entry)
    columns = dated_schema(entry)
    chosen = (names.stream, names.date) if partitions is None else partitions
    for name in chosen:
        if name not in columns.fieldNames():
            raise OptionError(
                f"The archive is to be split by {name!r}, but it has only the columns "
                f"{', '.join(columns.fieldNames())}. Correct partitions."
            )
        if not isinstance(columns[name].dataType, AtomicType) or columns[name].dataType == BYTES:
            raise OptionError(
                f"The archive is to be split by {name!r}, whose values cannot be the name of a "
                "folder. Choose a column of text, numbers or dates."
            )
    reading = {name: source.options[name] for name in READING if name in source.options}
    return About(columns, chosen, entry, reading)


class Archiver:
    """One archive job at work."""

    def __init__(self, spark: SparkSession, job: Archive) -> None:
        self._spark = spark
        self._job = job
        self._options = job.source.checked()
        self._about = about_archive(job.source, job.partitions, job.schema_evolution)
        self._grows = job.schema_evolution == ADD
        self._entry = self._about.entry or StructType()
        self._refuse_loss()
        self._told: set[str] = set()
        self._lake = Lake(job.lake, job.lake_options)
        self._checkpoint = open_checkpoint(
            spark, job.checkpoint or f"{self._lake.root}/{CHECKPOINTS}/{job.name}"
        )

    def _refuse_loss(self) -> None:
        """OptionError if trimming could remove entries that the lake lacks."""
        why = refuses_loss(self._entry, self._options.mode) if self._job.trim else None
        if why:
            raise OptionError(why)

    def start(self) -> Flow:
        """Create the lake if needed, check that nothing is lost, and start at the cuts."""
        made = self._lake.create(self._about, may_have_grown=self._grows)
        self._entry = made.about.entry or self._entry
        # Other jobs may keep other streams in the same lake.
        cuts = {s: cut for s, cut in made.cuts.items() if state.is_read(self._options, s)}
        self._check_loss(cuts)
        self.trim()
        starts = {stream: f"({cut.id}" for stream, cut in cuts.items()}
        source = self._job.source
        frame = source.stream(
            self._spark, self._entry, offsets_json(starts) if starts else source.start
        )
        common = Settings(self._job.name, self._checkpoint.root, self._job.trigger)
        return Flow(frame, self.write, common, at_end=self.trim)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write one micro-batch: files, commit, trim; return its number of rows."""
        spans = self._checkpoint.spans_of(batch)
        cuts = self._lake.snapshot().cuts
        todo = ranges.plan(cuts, spans, allow_gaps=not self._job.source.fail_on_data_loss)
        rows = 0
        if todo is not None:
            landed = self._land(frame.sparkSession, todo)
            if self._has_grown(landed):
                landed = self._land(frame.sparkSession, todo)
            self._commit(landed, todo, cuts)
            rows = landed.rows
        self.trim()
        return rows

    def _land(self, spark: SparkSession, todo: ranges.Todo) -> Landed:
        """The files of a batch, safe on disk."""
        with closing(Server(self._options, met=True)) as server:
            helper = Helper(server, self._options)
            tasks = tasks_of(todo.spans, server, helper, self._options)
        place, partitions = self._lake.place, self._about.partitions
        plan = Landing(self._entry, self._options, place, partitions, self._grows)
        return land(spark, tasks, plan)

    def _has_grown(self, landed: Landed) -> bool:
        """Whether the table has new columns for values that had none; then all is written again."""
        fields = new_fields(self._entry, landed.samples)
        if not fields:
            return False
        self._entry = self._lake.grow(fields).about.entry or self._entry
        stores.remove(self._lake.place, [file.path for file in landed.files])
        return True

    def _commit(self, landed: Landed, todo: ranges.Todo, cuts: Mapping[str, Cut]) -> None:
        def decide(snapshot: Snapshot) -> Change:
            if any(snapshot.cuts.get(stream) != cuts.get(stream) for stream in todo.cuts):
                stores.remove(self._lake.place, [file.path for file in landed.files])
                raise OptionError(
                    f"Another archive job writes the same streams to {self._lake.root}. "
                    "Stop one of the two."
                )
            told = {"forebay.job": self._job.name}
            if landed.left:
                told["forebay.left"] = json.dumps(landed.left)
            return Change(landed.files, transactions.of_cuts(todo.cuts), told)

        self._lake.commit(decide)
        self._tell(landed.left)

    def _tell(self, left: Counter[str]) -> None:
        """Report for each name once that the schema has no column for its values."""
        news = [f"{name} ({count})" for name, count in left.items() if name not in self._told]
        if news:
            _LOG.warning(
                "Values that the schema lacks or cannot read are kept in the column _rest of %s: "
                "%s. forebay pipeline infer proposes a schema.",
                self._lake.root,
                ", ".join(news),
            )
        self._told.update(left)

    def trim(self) -> None:
        """Remove entries that are in the lake and that neither Spark nor a group still needs."""
        if self._job.trim is None:
            return
        keep_ms = self._job.trim.keep_ms
        oldest_kept_ms = None if keep_ms is None else now_ms() - keep_ms
        cuts, done = self._lake.snapshot().cuts, self._checkpoint.committed()
        bounds = {stream: min(cuts[stream].id, done[stream]) for stream in cuts if stream in done}
        with closing(Server(self._options)) as server:
            trim_streams(server, bounds, self._job.source.group, oldest_kept_ms)

    def _check_loss(self, cuts: Mapping[str, Cut]) -> None:
        """A new checkpoint has no counts, but the lake does: is all after the cut still there?"""
        with closing(Server(self._options)) as server:
            found = state.fetch_all(server, cuts)
        for stream, cut in cuts.items():
            now = found.get(stream)
            place = Position(cut.id, cut.n)
            lost = loss.went_back(stream, place, now) or (now and loss.trimmed(stream, place, now))
            if lost:
                loss.report(lost, self._options)
