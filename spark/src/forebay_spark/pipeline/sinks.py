"""Where the rows of a micro-batch go, each sink once per batch.

    lake      files and the number of the batch in one commit of a Delta table; a batch that
              the lake already has is skipped
    stream    the connector's sink, with a name for this write (query and batch); it keeps
              repeated rows out in the server itself
    format    any other format of Spark, with that format's guarantees.  Delta gets query and
              batch in its own options, which makes it exactly once too

Spark repeats at most its last batch.  A repeated earlier batch means that the checkpoint is an old
copy, whose batches may be cut differently: it is refused.

The name of the query is the ID that Spark keeps in the checkpoint: it survives restarts, and a new
checkpoint is a new writer.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from forebay_spark.errors import OptionError, SinkError
from forebay_spark.lake import results
from forebay_spark.lake.lake import CHECKPOINTS, About, Lake
from forebay_spark.options import WRITE, read_options
from forebay_spark.pipeline.checkpoint import open_checkpoint
from forebay_spark.pipeline.spec import FormatSink, LakeSink, Sink, StreamSink
from forebay_spark.servers.connect import Server
from forebay_spark.write.delivery import MARKER_TTL_MS
from forebay_spark.write.sink import MARKER_GRACE_MS, MARKER_PREFIX, hash_tag, write_name

#: How many partitions of a batch are cleaned up; the fences of further ones expire.
FENCES = 256


def checkpoint_of(given: str | None, name: str, sinks: tuple[Sink, ...]) -> str:
    """Where a job keeps its progress: as asked, or inside its first lake."""
    if given is not None:
        return given
    lakes = [sink.path for sink in sinks if isinstance(sink, LakeSink)]
    if not lakes:
        raise OptionError(
            f"The job {name} has no checkpoint, so it would forget its progress at each start. "
            "Add checkpoint = 'some/folder' (for a cluster, one that all machines see)."
        )
    return f"{lakes[0]}/{CHECKPOINTS}/{name}"


class Sinks:
    """All sinks of one job."""

    def __init__(self, spark: SparkSession, sinks: tuple[Sink, ...], checkpoint: str) -> None:
        self._spark = spark
        self._sinks = sinks
        self._checkpoint = open_checkpoint(spark, checkpoint)

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write the rows of one batch to every sink."""
        writer = self._checkpoint.query_id()
        if len(self._sinks) > 1:
            frame = frame.persist()
        try:
            for sink in self._sinks:
                write(frame, sink, writer, batch)
        finally:
            if len(self._sinks) > 1:
                frame.unpersist()


def write(frame: DataFrame, sink: Sink, writer: str, batch: int) -> None:
    """One batch to one sink."""
    if isinstance(sink, LakeSink):
        write_lake(frame, sink, writer, batch)
    elif isinstance(sink, StreamSink):
        write_stream(frame, sink, writer, batch)
    else:
        write_format(frame, sink, writer, batch)


def write_stream(frame: DataFrame, sink: StreamSink, writer: str, batch: int) -> None:
    """Rows to a stream, fenced by the connector's sink under the name of the batch."""
    server = Server(read_options(sink.texts(), WRITE))
    newest = f"{MARKER_PREFIX}:{writer}:{sink.stream or ''}"
    try:
        link = server.link(newest)
        refuse_old_copy(int(link.call("GET", newest) or -1), batch, newest)
        rows = frame.write.format("forebay").options(**sink.texts())
        rows.option("writeId", write_id(writer, batch)).mode("append").save()
        link.call("SET", newest, batch, "PX", MARKER_TTL_MS)
        if batch and sink.stream is not None:
            forget_fences(server, sink.stream, write_id(writer, batch - 1))
    finally:
        server.close()


def refuse_old_copy(newest: int, batch: int, where: str) -> None:
    """SinkError if batches after this one were written: then this one may hold other rows."""
    if newest > batch:
        raise SinkError(
            f"Batch {batch} of this job was followed by others, up to {newest} ({where}), so its "
            "checkpoint is an old copy and rows could be lost or doubled. Restore the newest "
            "checkpoint, or start the job with a new one."
        )


def write_id(writer: str, batch: int) -> str:
    """The name of one batch, by which the connector's sink recognises it."""
    return f"{writer}-{batch}"


def forget_fences(server: Server, stream: str, name: str) -> None:
    """Let the fences of the previous batch expire soon: Spark has recorded that batch as done.

    Otherwise they would expire only after a month.  A copy of a task that Spark has given up may
    still run, so they stay a while.
    """
    tag = [f"{{{hash_tag(stream)}}}"] if server.is_cluster else []
    fence = ":".join((MARKER_PREFIX, *tag, write_name(name, stream)))
    keys = [f"{fence}:{at}" for at in range(FENCES)]
    server.link(keys[0]).call_all([("PEXPIRE", key, MARKER_GRACE_MS) for key in keys])


def write_format(frame: DataFrame, sink: FormatSink, writer: str, batch: int) -> None:
    """Another format of Spark."""
    rows = frame.write.format(sink.format).options(**sink.options)
    if sink.format == "delta":
        rows = rows.options(txnAppId=writer, txnVersion=str(batch))
    rows.mode("append").save(sink.path)


def write_lake(frame: DataFrame, sink: LakeSink, writer: str, batch: int) -> None:
    """Files and the number of the batch, in one commit."""
    lake = Lake(sink.path, sink.options)
    about = about_results(frame.schema, sink)
    newest = lake.create(about).batch_of(writer)
    refuse_old_copy(newest, batch, sink.path)
    if newest < batch:
        results.append(frame, lake, about, writer, batch)


def about_results(schema: StructType, sink: LakeSink) -> About:
    """The description of a lake of results."""
    # Spark marks event times in the metadata of a column; the lake must not keep that.
    columns = StructType([StructField(field.name, field.dataType) for field in schema])
    missing = [name for name in sink.partitions if name not in columns.fieldNames()]
    if missing:
        raise OptionError(
            f"The lake {sink.path} is split by {missing[0]!r}, but the rows have only the columns "
            f"{', '.join(columns.fieldNames())}. Correct partitions."
        )
    return About(columns, sink.partitions)
