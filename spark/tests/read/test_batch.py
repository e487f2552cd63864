"""The bounded read and its filters, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringContains,
)

from forebay_spark.errors import DataLossError, OptionError, ServerError
from forebay_spark.ids import FIRST, EntryId
from forebay_spark.options import BATCH, read_options
from forebay_spark.read import batch, filters
from forebay_spark.read.batch import BatchReader, FilteringReader
from forebay_spark.read.offsets import Position
from forebay_spark.servers.state import StreamState
from forebay_spark.values.schema import PLAIN
from spark.tests.support.spark_streams import Target, batch_options, numbers_of, read_tasks

NAMES = {"_timestamp": "timestamp", "_id": "id", "_stream": "stream"}
IDS = ["5-0", "6-0", "6-1", "7-0", "10-0"]


def read(target: Target, *conditions: Filter, **given: Any) -> list[int]:
    options = target.options(BATCH, **{"streams": "s", "pushFilters": bool(conditions), **given})
    reader = batch.reader(PLAIN, options)
    if conditions:
        assert isinstance(reader, FilteringReader)
        assert list(reader.pushFilters(list(conditions))) == list(conditions)
    return numbers_of(read_tasks(reader, reader.partitions()))


def test_everything_is_read_unless_said_otherwise(target: Target) -> None:
    target.add("s", 100)
    for parts in (1, 2, 7):
        assert read(target, minPartitions=parts) == list(range(100))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"startingOffsets": '{"s": "6-0"}'}, [1, 2, 3, 4]),
        ({"startingOffsets": '{"s": "(6-0"}'}, [2, 3, 4]),
        ({"endingOffsets": '{"s": "6-1"}'}, [0, 1, 2]),
        ({"endingOffsets": '{"s": "6"}'}, [0, 1, 2]),
        ({"startingTimestamp": 6, "endingTimestamp": 7}, [1, 2]),
        ({"startingOffsetsByTimestamp": '{"s": 6}', "endingTimestamp": 7}, [1, 2]),
        ({"endingOffsetsByTimestamp": '{"s": "1970-01-01T00:00:00.007Z"}'}, [0, 1, 2]),
        ({"startingOffsets": "latest"}, []),
        ({"startingOffsets": '{"s": "7-0"}', "endingOffsets": '{"s": "6-0"}'}, []),
        ({"startingOffsets": '{"s": "99-0"}'}, []),
    ],
)
def test_a_range_is_said_by_ids_or_by_time(
    target: Target, given: dict[str, Any], expected: list[int]
) -> None:
    target.add_at("s", IDS)
    for parts in (1, 3):
        assert read(target, minPartitions=parts, **given) == expected


@pytest.mark.parametrize("chosen", [{"streams": "s,t"}, {"streamsPattern": "[st]"}])
@pytest.mark.parametrize(
    ("option", "at"),
    [
        ("startingOffsets", '"5-0"'),
        ("endingOffsets", '"5-0"'),
        ("startingOffsetsByTimestamp", "5"),
        ("endingOffsetsByTimestamp", "5"),
    ],
)
def test_an_offset_of_a_stream_that_is_not_read_is_refused(
    option: str, at: str, chosen: dict[str, str]
) -> None:
    given = {**chosen, option: f'{{"s": {at}, "orders": {at}}}'}
    with pytest.raises(OptionError, match=rf"{option} names the stream 'orders'.*not read"):
        batch.reader(PLAIN, read_options(given, BATCH))


def test_many_streams_are_read_by_name_or_pattern(target: Target) -> None:
    target.add("a", 2)
    target.add("b", 2, first=10)
    assert read(target, streams="a,b") == [0, 1, 10, 11]
    options = target.options(BATCH, streamsPattern="[ab]")
    reader = BatchReader(PLAIN, options)
    assert numbers_of(read_tasks(reader, reader.partitions())) == [0, 1, 10, 11]


def test_a_missing_stream_is_named(target: Target) -> None:
    with pytest.raises(ServerError, match="There is no stream 's' at"):
        read(target)


def test_an_empty_stream_has_no_rows(target: Target) -> None:
    target.add("s", 3)
    target.client.xtrim("s", maxlen=0, approximate=False)
    assert read(target) == []


def test_deleted_entries_are_not_missed(target: Target) -> None:
    ids = target.add("s", 20)
    target.client.xdel("s", ids[4])
    assert read(target) == [n for n in range(20) if n != 4]


def check_that_trimming_is_found(target: Target, parts: int) -> None:
    ids = target.add("s", 100)
    options = target.options(BATCH, streams="s", minPartitions=parts)
    reader = BatchReader(PLAIN, options)
    tasks = reader.partitions()
    target.trim("s", ids[10])
    with pytest.raises(DataLossError):
        read_tasks(reader, tasks)


def test_trimming_between_plan_and_read_is_found(target: Target) -> None:
    check_that_trimming_is_found(target, parts=1)


def test_trimming_before_pieces_without_a_count_is_found(counting_target: Target) -> None:
    check_that_trimming_is_found(counting_target, parts=3)


def test_filters_are_taken_if_that_was_asked_for() -> None:
    plain = batch.reader(PLAIN, batch_options())
    assert type(plain).pushFilters is DataSourceReader.pushFilters
    assert isinstance(batch.reader(PLAIN, batch_options(pushFilters=True)), FilteringReader)


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([GreaterThanOrEqual(("timestamp",), moment(6))], [1, 2, 3, 4]),
        ([LessThanOrEqual(("timestamp",), moment(6))], [0, 1, 2]),
        ([EqualTo(("timestamp",), moment(7))], [3]),
        ([GreaterThan(("timestamp",), moment(6)), LessThan(("timestamp",), moment(8))], [1, 2, 3]),
        ([EqualTo(("stream",), "t")], []),
        ([In(("stream",), ("s", "t"))], [0, 1, 2, 3, 4]),
        ([StringContains(("id",), "6")], [0, 1, 2, 3, 4]),
    ],
)
def test_conditions_on_time_and_stream_make_the_range_smaller(
    target: Target, conditions: list[Filter], expected: list[int]
) -> None:
    target.add_at("s", IDS)
    assert read(target, *conditions) == expected


IDENTIFIERS = st.builds(EntryId, st.integers(0, 1200), st.integers(0, 12))


@given(
    st.sets(IDENTIFIERS, min_size=1, max_size=12),
    st.lists(
        st.tuples(
            st.sampled_from([GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, EqualTo]),
            IDENTIFIERS,
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_a_condition_on_ids_never_cuts_off_a_row_that_spark_would_keep(
    entries: set[EntryId], conditions: list[tuple[type, EntryId]]
) -> None:
    ordered = sorted(entries)
    now = StreamState(len(ordered), ordered[0], ordered[-1], len(ordered), FIRST)
    bounds = filters.bounds_of([c(("id",), str(i)) for c, i in conditions], NAMES)
    start, end = bounds.narrow(
        Position(ordered[0].before(), 0), Position(ordered[-1], len(ordered)), now
    )
    compare = {
        GreaterThan: str.__gt__,
        GreaterThanOrEqual: str.__ge__,
        LessThan: str.__lt__,
        LessThanOrEqual: str.__le__,
        EqualTo: str.__eq__,
    }
    for entry in ordered:
        if all(compare[c](str(entry), str(i)) for c, i in conditions):
            assert entry == FIRST or start.id < entry <= end.id
