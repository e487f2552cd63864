"""Exactly-once writes: attempts that fail, repeat, overlap and disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import redis
from pyspark.sql.pandas.types import from_arrow_schema

from forebay_spark.errors import ServerError, SinkError
from forebay_spark.options import WRITE
from forebay_spark.servers.connect import Link, Server
from forebay_spark.write import delivery
from forebay_spark.write.delivery import FenceLane, Watch
from forebay_spark.write.rows import Layout
from forebay_spark.write.sink import MARKER_GRACE_MS, BatchWriter, TaskWriter, Written, hash_tag
from spark.tests.support.cut_links import Cut, CutLink
from spark.tests.support.spark_streams import Target

MARKER = "forebay:sink:query:0"


def table(count: int, first: int = 0, **columns: Any) -> pa.RecordBatch:
    numbers = list(range(first, first + count))
    made = {name: [make(n) for n in numbers] for name, make in columns.items()}
    return pa.RecordBatch.from_pydict({"n": numbers, **made})


def write(target: Target, rows: pa.RecordBatch, batch: int = 0, **given: Any) -> Written:
    """One attempt of a task, as Spark would run it: rows arrive in small record batches."""
    options = target.options(WRITE, **{"stream": "s", "rowsPerTransaction": 10, **given})
    layout = Layout(from_arrow_schema(rows.schema), options)
    parts = (rows[i : i + 7] for i in range(0, rows.num_rows, 7))
    return TaskWriter(layout, options, "query:0", batch).write(parts)


def test_rows_are_written_in_order_and_counted(target: Target) -> None:
    assert write(target, table(25)) == Written(25, (MARKER,))
    assert target.numbers("s") == list(range(25))


def test_a_repeated_task_writes_nothing_more(target: Target) -> None:
    for _ in range(3):
        write(target, table(25))
    assert target.numbers("s") == list(range(25))


def test_the_next_batch_is_written_and_a_repetition_of_it_is_known(target: Target) -> None:
    write(target, table(25), batch=0)
    write(target, table(25, first=25), batch=1)
    write(target, table(25, first=25), batch=1)
    assert target.numbers("s") == list(range(50))


def test_a_checkpoint_that_is_an_old_copy_is_refused(target: Target) -> None:
    for batch in range(3):
        write(target, table(10, first=10 * batch), batch=batch)
    # From the old copy, batch 1 is planned again and includes later entries too.
    with pytest.raises(SinkError, match=r"Batch 1 .* up to 2, so its checkpoint is an old copy"):
        write(target, table(40, first=10), batch=1)
    assert target.numbers("s") == list(range(30))


@pytest.mark.parametrize("failing_row", [0, 5, 10, 15, 24])
def test_a_task_that_died_is_continued_where_it_stopped(target: Target, failing_row: int) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        write(target, Exploding(table(25), failing_row))
    write(target, table(25))
    assert target.numbers("s") == list(range(25))


class Exploding:
    """A table whose iteration fails at a row, as a task that runs out of memory does."""

    def __init__(self, rows: pa.RecordBatch, at: int) -> None:
        self.rows, self.at = rows, at
        self.schema = self.rows.schema
        self.num_rows = rows.num_rows

    def __getitem__(self, part: slice) -> pa.RecordBatch:
        if part.start <= self.at < part.stop:
            raise RuntimeError("boom")
        return self.rows[part]


@pytest.mark.parametrize("lose_reply", [False, True])
@pytest.mark.parametrize("use", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("given", [{}, {"idColumn": "i"}])
def test_a_connection_that_breaks_anywhere_neither_loses_nor_doubles(
    target: Target,
    cut: Cut,
    use: int,
    lose_reply: bool,
    given: dict[str, str],
) -> None:
    cut(use, lose_reply)
    write(target, table(35, i=lambda n: f"{n + 1}-0"), **given)
    assert CutLink.left == 0
    assert target.numbers("s") == list(range(35))


@pytest.mark.parametrize("lose_reply", [False, True])
@pytest.mark.parametrize("use", [1, 2, 3, 4, 5])
def test_nor_does_it_with_keys(forebay_server: Any, cut: Cut, use: int, lose_reply: bool) -> None:
    target = Target(forebay_server)
    cut(use, lose_reply)
    write(target, table(35, k=lambda n: f"key{n}"), keyColumn="k")
    assert CutLink.left == 0
    assert target.numbers("s") == list(range(35))


def test_two_attempts_at_once_write_each_row_once(target: Target) -> None:
    options = target.options(WRITE, stream="s", rowsPerTransaction=10)
    rows = table(50)
    layout = Layout(from_arrow_schema(rows.schema), options)
    other = TaskWriter(layout, options, "query:0", 0)

    def interleaved() -> Iterator[pa.RecordBatch]:
        for i in range(0, 50, 10):
            yield rows[i : i + 10]
            if i == 20:
                other.write(iter([rows]))

    TaskWriter(layout, options, "query:0", 0).write(interleaved())
    assert target.numbers("s") == list(range(50))


def attempt(target: Target, schema: pa.Schema, **given: Any) -> TaskWriter:
    options = target.options(WRITE, **{"rowsPerTransaction": 10, **given})
    return TaskWriter(Layout(from_arrow_schema(schema), options), options, "query:0", 0)


def test_a_new_connection_watches_the_marker_again(target: Target) -> None:
    rows = table(20, stream=lambda n: "s" if n < 10 else "t")

    def interleaved() -> Iterator[pa.RecordBatch]:
        yield rows[:10]
        target.client.client_kill_filter(_type="normal", skipme=True)
        attempt(target, rows.schema).write(iter([rows]))
        yield rows[10:]  # asks for the type of t first, over a new connection

    attempt(target, rows.schema).write(interleaved())
    assert target.numbers("s") + target.numbers("t") == list(range(20))


def test_lanes_that_share_a_connection_do_not_end_each_others_watch(target: Target) -> None:
    rows, more = table(10), table(10, first=10)
    options = target.options(WRITE, stream="s", rowsPerTransaction=10)
    layout = Layout(from_arrow_schema(rows.schema), options)

    def lane(link: Link, marker: str, watch: Watch) -> FenceLane:
        return FenceLane(link, "here", layout, None, 10, marker=marker, batch=0, watch=watch)

    ours, theirs = (Server(options).link("s") for _ in range(2))
    shared = Watch()
    first, second = (lane(ours, marker, shared) for marker in ("a", "b"))
    first.add(rows)
    second.add(rows)
    twin = lane(theirs, "a", Watch())
    twin.add(rows)
    twin.add(more)
    first.add(more)
    assert target.numbers("s") == [*range(10), *range(20)]


def test_rows_that_the_server_lost_after_its_reply_are_written_by_a_retry(target: Target) -> None:
    rows = table(30)

    def flushed() -> Iterator[pa.RecordBatch]:
        yield rows[:20]
        target.client.flushall()  # as a failover to a replica that did not have them
        yield rows[20:]

    with pytest.raises(ServerError, match="has lost rows that it had acknowledged"):
        attempt(target, rows.schema, stream="s").write(flushed())
    write(target, rows)
    assert target.numbers("s") == list(range(30))


def test_a_copy_of_a_task_that_outlives_its_job_writes_nothing(target: Target) -> None:
    rows = table(25)
    options = target.options(WRITE, stream="s")
    writer = BatchWriter(from_arrow_schema(rows.schema), options, overwrite=False)
    writer.commit([write(target, rows)])
    assert 0 < target.client.pttl(MARKER) <= MARKER_GRACE_MS
    write(target, rows)
    assert target.numbers("s") == list(range(25))


@pytest.mark.parametrize(
    "second", [table(25, first=1), table(25)[:24], table(12), table(0)], ids=str
)
def test_other_rows_in_a_repeated_task_are_refused(target: Target, second: pa.RecordBatch) -> None:
    write(target, table(25))
    with pytest.raises(SinkError, match=rf"brought other rows than before.*delete '{MARKER}'"):
        write(target, second)
    assert target.numbers("s") == list(range(25))
    target.client.delete(MARKER)  # as the sentence says
    write(target, second)
    assert target.numbers("s") == [*range(25), *second.column("n").to_pylist()]


def test_a_retry_cuts_chunks_as_the_first_attempt_did(target: Target) -> None:
    write(target, table(25), rowsPerTransaction=10)
    write(target, table(25), rowsPerTransaction=3)
    assert target.numbers("s") == list(range(25))


def test_at_least_once_doubles_what_is_repeated(target: Target) -> None:
    for _ in range(2):
        assert write(target, table(5), delivery="at-least-once").markers == ()
    assert target.numbers("s") == [*range(5), *range(5)]


def test_rows_with_ids_are_added_once_in_any_number_of_attempts(target: Target) -> None:
    rows = table(25, i=lambda n: f"{n + 1}-7")
    for part in (rows[:13], rows, rows[5:]):
        write(target, part, idColumn="i")
    assert target.ids("s") == [f"{n + 1}-7" for n in range(25)]


def test_an_id_out_of_order_is_refused_and_not_lost_silently(target: Target) -> None:
    target.add_at("s", ["50-0"])
    with pytest.raises(SinkError, match="must come in rising order"):
        write(target, table(3, i=lambda n: f"{n + 1}-0"), idColumn="i")


def test_an_id_out_of_order_is_not_taken_for_one_that_was_trimmed(target: Target) -> None:
    target.add_at("s", ["5-0", "50-0"])
    write(target, table(1, i=lambda _: "4-0"), idColumn="i", maxLen=2)
    with pytest.raises(SinkError, match="must come in rising order"):
        write(target, table(1, i=lambda _: "7-0"), idColumn="i", maxLen=2)


@pytest.mark.parametrize("made", ["*", "5-*", "monday"])
def test_an_id_that_is_not_the_rows_own_is_refused(target: Target, made: str) -> None:
    with pytest.raises(SinkError, match="which is not an ID"):
        write(target, table(1, i=lambda _: made), idColumn="i")


def test_an_id_that_is_there_with_other_fields_is_refused(target: Target) -> None:
    write(target, table(3, i=lambda n: f"{n + 1}-0"), idColumn="i")
    with pytest.raises(SinkError, match="must come in rising order"):
        write(target, table(3, first=5, i=lambda n: f"{n - 4}-0"), idColumn="i")


def test_keys_are_written_once_whatever_the_order(forebay_server: Any) -> None:
    target = Target(forebay_server)
    rows = table(300, k=lambda n: f"key{n}")
    write(target, rows[:200], keyColumn="k")
    write(target, rows.take(pa.array(list(range(299, -1, -1)))), keyColumn="k", batch=7)
    assert sorted(target.numbers("s")) == list(range(300))
    assert target.client.execute_command("XINFO", "GROUPS", "s") == []


def test_a_server_that_forgets_keys_is_refused(redis_target: Target) -> None:
    with pytest.raises(SinkError, match=r"does not remember keys .*leave out keyColumn"):
        write(redis_target, table(3, k=str), keyColumn="k")


@pytest.mark.parametrize("given", [{"keyColumn": "k"}, {"idColumn": "k"}])
def test_a_row_without_id_or_key_is_refused(forebay_server: Any, given: dict[str, str]) -> None:
    target = Target(forebay_server)
    rows = pa.RecordBatch.from_pydict({"n": [1], "k": pa.array([None], pa.string())})
    with pytest.raises(SinkError, match=r"has no (ID|key) in the column"):
        write(target, rows, **given)


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_key_of_another_type_is_refused_before_anything_is_written(
    target: Target, delivery: str
) -> None:
    target.client.set("s", "text")
    with pytest.raises(ServerError, match=r"The key 's' at .* is a string, not a stream"):
        write(target, table(3), delivery=delivery)
    assert target.client.keys("forebay:*") == []


def test_a_chunk_that_is_refused_in_part_is_never_taken_for_written(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery.Lane, "check_stream", lambda *_: None)
    target.client.set("t", "text")
    rows = table(6, stream=lambda n: "t" if n == 3 else "s")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        write(target, rows, stream="")
    with pytest.raises(SinkError, match="it is unknown what is written"):
        write(target, rows, stream="")


def test_streams_are_trimmed_while_they_are_written(target: Target) -> None:
    write(target, table(5000), maxLen=100)
    assert target.client.xlen("s") < 1000


def test_the_marker_shares_the_slot_of_its_stream() -> None:
    slot = redis.crc.key_slot
    for stream in ("orders", "orders:{7}", "a{b}c{d}", "a{b"):
        assert slot(f"forebay:sink:{{{hash_tag(stream)}}}:q:0".encode()) == slot(stream.encode())
    for stream in ("a}b", "{}x"):
        with pytest.raises(SinkError, match="has a brace"):
            hash_tag(stream)
