"""A task reads its piece: in pages, over broken connections, and always all of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
import pytest

from forebay_spark import ids
from forebay_spark.errors import DataLossError, ServerError
from forebay_spark.ids import FIRST
from forebay_spark.options import BATCH
from forebay_spark.read import reading
from forebay_spark.read.batch import BatchReader
from forebay_spark.read.decode import Decoder
from forebay_spark.read.offsets import Piece, Position
from forebay_spark.read.page_requests import ColumnsForm, RangeForm
from forebay_spark.read.pages import Page
from forebay_spark.read.reading import Part, Reader, Task
from forebay_spark.servers.connect import Server
from forebay_spark.values.schema import PLAIN, columns_of
from spark.tests.support.spark_streams import Target, numbers_of


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages so small that a few hundred entries are many."""
    monkeypatch.setattr(reading, "FIRST_PAGE_ENTRIES", 4)
    for form in (ColumnsForm, RangeForm):
        monkeypatch.setattr(form, "most_entries", 50)


def pages(
    target: Target, entry_ids: list[str], counted: bool = True, **given: object
) -> Iterator[Page]:
    """Read a whole stream, planned when it had these entries."""
    options = target.options(BATCH, streams="s", **given)
    end = ids.parse(entry_ids[-1])
    piece = Piece(FIRST, end, len(entry_ids) if counted else None)
    form = ColumnsForm(columns_of(PLAIN)) if target.name == "forebay" else RangeForm()
    reader = Reader(Server(options), options, form)
    return (page for _, page in reader.pages([Part("s", piece, Position(FIRST, 0))]))


def read_ids(found: Iterator[Page]) -> list[str]:
    return [entry_id for page in found for entry_id in page.ids().to_pylist()]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 44, 500])
@pytest.mark.parametrize("counted", [True, False])
def test_every_entry_is_read_once_and_in_order(target: Target, count: int, counted: bool) -> None:
    entry_ids = target.add("s", count)
    assert read_ids(pages(target, entry_ids, counted)) == entry_ids


def test_what_is_added_after_the_end_is_not_read(target: Target) -> None:
    entry_ids = target.add("s", 20)
    target.add("s", 20)
    assert read_ids(pages(target, entry_ids)) == entry_ids


def test_pages_grow_up_to_the_size_that_was_asked_for(target: Target) -> None:
    entry_ids = target.add("s", 100, text="x" * 1000)
    sizes = [page.rows for page in pages(target, entry_ids, pageBytes=10_000)]
    assert sizes[0] == 4 and max(sizes) <= 10 and sum(sizes) == 100


def test_entries_larger_than_a_page_come_one_by_one(target: Target) -> None:
    entry_ids = target.add("s", 8, text="x" * 1000)
    assert [p.rows for p in pages(target, entry_ids, pageBytes=10)] == [4, 1, 1, 1, 1]


def test_long_names_count_although_they_are_sent_once(target: Target) -> None:
    entry_ids = target.add("s", 100, **{"n" * 1000: "1"})
    sizes = [page.rows for page in pages(target, entry_ids, pageBytes=10_000)]
    assert sizes[0] == 4 and max(sizes) <= 10 and sum(sizes) == 100


def test_reading_goes_on_over_a_new_connection(target: Target) -> None:
    entry_ids = target.add("s", 500)
    found = pages(target, entry_ids)
    read = next(found).ids().to_pylist()
    for page in found:
        read += page.ids().to_pylist()
        target.client.client_kill_filter(_type="normal", skipme=True)
    assert read == entry_ids


def check_that_trimming_ahead_is_found(target: Target, counted: bool) -> None:
    entry_ids = target.add("s", 300)
    found = pages(target, entry_ids, counted)
    next(found)
    target.trim("s", entry_ids[200])
    with pytest.raises(DataLossError, match="trimmed"):
        list(found)


def test_trimming_ahead_of_a_running_task_is_found(target: Target) -> None:
    check_that_trimming_ahead_is_found(target, counted=True)


def test_trimming_ahead_of_a_task_without_a_count_is_found(counting_target: Target) -> None:
    check_that_trimming_ahead_is_found(counting_target, counted=False)


@pytest.mark.parametrize("counted", [True, False])
def test_trimming_behind_a_running_task_is_no_loss(target: Target, counted: bool) -> None:
    entry_ids = target.add("s", 300)
    found = pages(target, entry_ids, counted)
    read = next(found).ids().to_pylist()
    target.trim("s", read[-1])
    assert read + read_ids(found) == entry_ids


def test_a_deleted_entry_is_found_missing_at_the_end(target: Target) -> None:
    entry_ids = target.add("s", 300)
    found = pages(target, entry_ids)
    next(found)
    target.client.xdel("s", entry_ids[250])
    with pytest.raises(DataLossError, match="gave 299 of 300 entries"):
        list(found)


def test_deletes_on_purpose_are_no_fault_of_the_task(target: Target) -> None:
    entry_ids = target.add("s", 300)
    found = pages(target, entry_ids, failOnDeletes=False)
    next(found)
    target.client.xdel("s", entry_ids[250])
    assert len(read_ids(found)) == 296 - 1


@pytest.mark.parametrize("counted", [True, False])
def test_a_stream_deleted_under_a_task_is_loss(target: Target, counted: bool) -> None:
    entry_ids = target.add("s", 300)
    found = pages(target, entry_ids, counted)
    next(found)
    target.client.delete("s")
    with pytest.raises(DataLossError):
        list(found)


def test_more_entries_than_were_counted_are_a_sign_of_loss(target: Target) -> None:
    target.add_at("s", ["1-0", "2-0", "3-0"])
    found = pages(target, ["1-0", "3-0"])
    with pytest.raises(DataLossError, match=r"gave 3 entries .* but 2 were added"):
        list(found)


def test_the_rest_is_read_if_loss_is_allowed(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    entry_ids = target.add("s", 300)
    target.trim("s", entry_ids[200])
    with caplog.at_level(logging.WARNING, "forebay_spark"):
        assert read_ids(pages(target, entry_ids, failOnDataLoss=False)) == entry_ids[200:]
    assert "gave 100 of 300 entries" in caplog.text


def test_a_key_of_another_type_fails_in_one_sentence(target: Target) -> None:
    target.client.set("s", "text")
    with pytest.raises(ServerError, match=r"The key 's' at .* is not a stream"):
        list(pages(target, ["5-5"]))


def test_short_streams_share_a_task_and_give_all_their_entries_in_order(target: Target) -> None:
    counts = [1, 3, 60, 4, 0, 7, 120, 5, 5, 5, 5, 5, 5, 2]
    numbers: list[int] = []
    for at, count in enumerate(counts):
        target.add(f"s{at:02}", count, first=1000 * at)
        numbers += range(1000 * at, 1000 * at + count)
    options = target.options(BATCH, streamsPattern="s*")
    reader = BatchReader(PLAIN, options)
    (task,) = reader.partitions()
    assert isinstance(task, Task) and len(task.parts) == len([c for c in counts if c])
    batches = list(reader.read(task))
    assert sorted(numbers_of(batches)) == numbers
    assert len(batches) == 1
    seen = [stream for stream, _ in reading.read_parts(PLAIN, options, task)]
    assert [key for key, _ in groupby(seen)] == [part.stream for part in task.parts]


def test_batches_of_many_streams_are_joined_up_to_a_bound_of_rows_and_bytes() -> None:
    small = pa.RecordBatch.from_pydict({"a": ["x" * 100] * 600})
    large = pa.RecordBatch.from_pydict({"a": ["x" * reading.BATCH_BYTES]})
    assert [b.num_rows for b in reading.joined([small] * 40)] == [10_200, 10_200, 3600]
    assert [b.num_rows for b in reading.joined([large] * 3)] == [1, 1, 1]


@pytest.mark.parametrize("counted", [True, False])
def test_a_task_of_many_streams_goes_on_over_new_connections(target: Target, counted: bool) -> None:
    wanted: list[int] = []
    parts = []
    for at in range(30):
        entry_ids = target.add(f"s{at}", at + 1, first=1000 * at)
        wanted += range(1000 * at, 1000 * at + at + 1)
        piece = Piece(FIRST, ids.parse(entry_ids[-1]), at + 1 if counted else None)
        parts.append(Part(f"s{at}", piece, Position(FIRST, 0), entry_bytes=5))
    options = target.options(BATCH, streams="s0")
    decoder = Decoder(PLAIN, options)
    reader = Reader(Server(options), options, RangeForm())
    read = []
    for part, page in reader.pages(parts):
        read.append(decoder.batch(part.stream, page))
        target.client.client_kill_filter(_type="normal", skipme=True)
    assert numbers_of(read) == wanted


def test_a_stream_that_is_gone_or_short_does_not_disturb_the_others_of_its_task(
    counting_target: Target,
) -> None:
    target = counting_target
    for stream in "abcd":
        target.add(stream, 5, first=ord(stream) * 10)
    options = target.options(BATCH, streams="a,b,c,d", failOnDataLoss=False)
    reader = BatchReader(PLAIN, options)
    (task,) = reader.partitions()
    target.client.delete("b")
    target.client.xdel("c", target.ids("c")[2])
    read = numbers_of(reader.read(task))
    assert sorted(read) == [*range(970, 975), 990, 991, 993, 994, *range(1000, 1005)]
