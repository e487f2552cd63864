"""Which files of a lake a scan opens, from its WHERE alone.

Spark's Parquet reader skips row groups by their times, but it opens every file to see them.  The
log of a lake knows the times of each file.  When Spark plans a scan, it asks a list of files (its
interface ``FileIndex``), and passes the conditions of that scan:

    df.where("timestamp >= ...")   scan -> listFiles(conditions) -> the files of those hours
    df                             scan -> listFiles()           -> all files
    a union of both                two scans, two questions, two answers

So the list is a Python object here, which Java calls (py4j).  Nothing is kept from one scan to the
next, and Spark checks each condition again on the rows.  The list may therefore name too many
files, but never too few.

Rule: in doubt, nothing is left out.  Only ``timestamp <=> literal`` counts, and a file without
times in the log is always read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark import java_gateway
from pyspark.sql import DataFrame

from forebay_spark.lake.changes import DataFile

EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
LOW, HIGH = ("GreaterThan", "GreaterThanOrEqual"), ("LessThan", "LessThanOrEqual")
TURNED = dict(zip((*LOW, *HIGH), (*HIGH, *LOW), strict=True))
EQUAL = ("EqualTo", "EqualNullSafe")
COMPARISONS = (*LOW, *HIGH, *EQUAL)
FAR_MS = 1 << 62
#: Spark lists the chosen files once more, which takes a tenth of the time of opening them.
MOST_LISTED = 0.9


class Hours(NamedTuple):
    """A period in milliseconds, with both ends."""

    low_ms: int = -FAR_MS
    high_ms: int = FAR_MS

    def narrowed(self, kind: str, at_ms: int) -> Hours:
        """The period that a comparison with a time leaves."""
        low = max(self.low_ms, at_ms) if kind in (*LOW, *EQUAL) else self.low_ms
        high = min(self.high_ms, at_ms) if kind in (*HIGH, *EQUAL) else self.high_ms
        return Hours(low, high)

    def touches(self, file: DataFile, time: str) -> bool:
        """Whether a file may have rows of these hours, by the log."""
        low, high = file.low.get(time), file.high.get(time)
        if low is None or high is None:
            return True
        return milliseconds(low) <= self.high_ms and milliseconds(high) >= self.low_ms


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970; a float has too few digits."""
    return (moment.astimezone(UTC) - EPOCH) // MILLISECOND


def hours_of(conditions: Any, time: str) -> Hours:
    """The period that conditions of Spark (a Seq of Expression) leave."""
    hours = Hours()
    for at in range(conditions.size()):
        hours = _narrowed(hours, conditions.apply(at), time)
    return hours


def _narrowed(hours: Hours, condition: Any, time: str) -> Hours:
    kind = _kind(condition)
    if kind not in COMPARISONS:
        return hours
    left, right = condition.left(), condition.right()
    if _kind(right) == "AttributeReference":
        kind, left, right = TURNED.get(kind, kind), right, left
    if _kind(left) != "AttributeReference" or left.name() != time or _kind(right) != "Literal":
        return hours
    micros = right.value()
    if right.dataType().typeName() != "timestamp" or micros is None:
        return hours
    latest = micros - 1 if kind == "LessThan" else micros
    return hours.narrowed(kind, latest // 1000)


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


class ScanFiles:
    """The list: all calls but one go to Spark's own list of all files."""

    class Java:
        """The Java interface that it implements."""

        implements = ("org.apache.spark.sql.execution.datasources.FileIndex",)

    def __init__(
        self,
        everything: Any,
        files: Sequence[DataFile],
        time: str,
        list_of: Callable[[list[DataFile]], Any],
    ) -> None:
        self._everything = everything
        self._files = files
        self._time = time
        self._list_of = list_of

    def listFiles(self, partition_filters: Any, data_filters: Any) -> Any:
        """The files of one scan, in folders."""
        hours = hours_of(data_filters, self._time)
        chosen = [file for file in self._files if hours.touches(file, self._time)]
        if len(chosen) > len(self._files) * MOST_LISTED:
            return self._everything.listFiles(partition_filters, data_filters)
        some = chosen or self._files[:1]  # Spark lists at least one file
        return self._list_of(list(some)).listFiles(partition_filters, data_filters)

    def rootPaths(self) -> Any:
        """Where the files are."""
        return self._everything.rootPaths()

    def inputFiles(self) -> Any:
        """The paths of all files."""
        return self._everything.inputFiles()

    def refresh(self) -> None:
        """Look at the disk again."""
        self._everything.refresh()

    def sizeInBytes(self) -> int:
        """The bytes of all files."""
        return int(self._everything.sizeInBytes())

    def partitionSchema(self) -> Any:
        """Columns whose values are in the names of folders."""
        return self._everything.partitionSchema()

    def metadataOpsTimeNs(self) -> Any:
        """How long listing took, if that is known."""
        return self._everything.metadataOpsTimeNs()

    def hashCode(self) -> int:
        """Java puts plans into maps."""
        return int(self._everything.hashCode())

    def equals(self, other: object) -> bool:
        """Each list is equal only to itself."""
        return other is self

    def toString(self) -> str:
        """For the plan that a person reads."""
        return f"{len(self._files)} files of a lake"


def pruned(
    frame: DataFrame,
    files: Sequence[DataFile],
    time: str,
    load: Callable[[list[DataFile]], DataFrame],
) -> DataFrame:
    """The rows of ``frame``, which reads ``files``; each scan opens only the files of its hours.

    If the internals of this Spark differ from those known here, scans open all files.
    """
    try:
        plan = _plan(frame)
        relation = plan.relation()
        list_of = lambda chosen: _plan(load(chosen)).relation().location()  # noqa: E731
        index = ScanFiles(relation.location(), files, time, list_of)
        _answer_java(frame.sparkSession.sparkContext._gateway)
        return _frame(frame, plan, relation, index)
    except (AttributeError, Py4JError):
        return frame


def _answer_java(gateway: Any) -> None:
    start: Any = java_gateway.ensure_callback_server_started
    start(gateway)


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _frame(frame: DataFrame, plan: Any, relation: Any, index: ScanFiles) -> DataFrame:
    spark: Any = frame.sparkSession
    spark_sql = spark._jvm.org.apache.spark.sql
    asking = spark_sql.execution.datasources.HadoopFsRelation(
        index,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession(),
    )
    copied = plan.copy(
        asking, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream()
    )
    return DataFrame(spark_sql.classic.Dataset.ofRows(spark._jsparkSession, copied), spark)
