"""The endless read, called as Spark calls it but without Spark."""

from __future__ import annotations

import json
import logging
import pickle
from itertools import chain
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

from forebay_spark.errors import DataLossError, OptionError
from forebay_spark.options import STREAM
from forebay_spark.read.micro_batch import MicroBatchReader
from forebay_spark.values.schema import PLAIN
from spark.tests.support.spark_streams import Target, numbers_of, read_tasks
from testkit.waiting import wait_until

Offset = dict[str, Any]


class Query:
    """A streaming query: keeps the log of offsets as Spark's checkpoint does."""

    def __init__(self, target: Target, **given: Any) -> None:
        self.target = target
        self.given = dict(given)
        if "streamsPattern" not in given:
            self.given.setdefault("streams", "s")
        if not any(name.startswith("starting") for name in given):
            self.given.setdefault("startingOffsets", "earliest")
        self.log: list[Offset] = []
        self.restart()

    def restart(self) -> None:
        """A new driver that knows only the log."""
        self.reader = MicroBatchReader(PLAIN, self.target.options(STREAM, **self.given))

    def available_now(self) -> list[list[int]]:
        """Run with Trigger.AvailableNow until nothing is left."""
        self.reader.prepareForTriggerAvailableNow()
        return self.run()

    def run(self) -> list[list[int]]:
        """Run batches until nothing is new; returns the numbers that each has read."""
        batches = []
        while self.plan():
            batches.append(self.read(-1))
        return batches

    def plan(self) -> bool:
        """Ask for the next batch and log it; returns whether there is one."""
        start = self.log[-1] if self.log else self.reader.initialOffset()
        limit = self.reader.getDefaultReadLimit()
        end = through_json(self.reader.latestOffset(start, limit))
        if json.dumps(end) == json.dumps(start):
            return False
        self.log.append(end)
        return True

    def read(self, index: int) -> list[int]:
        """Run a batch of the log, in workers."""
        index %= len(self.log)
        start = self.log[index - 1] if index else self.reader.initialOffset()
        tasks = self.reader.partitions(start, self.log[index])
        worker = pickle.loads(pickle.dumps(self.reader))
        return numbers_of(read_tasks(worker, pickle.loads(pickle.dumps(tasks))))


def flat(batches: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(batches))


def through_json(offset: Offset) -> Offset:
    loaded: Offset = json.loads(json.dumps(offset))
    return loaded


def test_a_stream_is_read_once_in_order_and_then_there_is_nothing(target: Target) -> None:
    target.add("s", 100)
    query = Query(target)
    assert query.run() == [list(range(100))]
    assert query.run() == []
    target.add("s", 5, first=100)
    assert query.run() == [list(range(100, 105))]


def test_without_a_start_only_what_comes_later_is_read(target: Target) -> None:
    target.add("s", 10)
    query = Query(target, startingOffsets="latest")
    query.log.append(query.reader.initialOffset())
    assert query.run() == []
    target.add("s", 3, first=10)
    assert query.run() == [[10, 11, 12]]


def test_the_first_batch_is_the_same_though_spark_asks_for_latest_again(target: Target) -> None:
    target.add("s", 10)
    query = Query(target, startingOffsets="latest")
    start = query.reader.initialOffset()
    target.add("s", 5, first=10)
    query.log.append(query.reader.latestOffset(start, ReadAllAvailable()))
    target.add("s", 5, first=15)
    assert query.read(0) == [10, 11, 12, 13, 14]
    query.restart()
    assert query.read(0) == [10, 11, 12, 13, 14]
    assert query.run() == [[15, 16, 17, 18, 19]]


def test_latest_means_the_same_at_every_trigger_until_there_is_a_batch(target: Target) -> None:
    target.add("s", 10)
    query = Query(target, startingOffsets="latest")
    assert query.run() == []
    target.add("s", 3, first=10)
    assert query.run() == [[10, 11, 12]]


@pytest.mark.parametrize("parts", [1, 3])
def test_a_limit_is_obeyed_to_the_entry(target: Target, parts: int) -> None:
    target.add("s", 100)
    query = Query(target, maxEntriesPerTrigger=30, minPartitions=parts)
    assert [len(batch) for batch in query.run()] == [30, 30, 30, 10]
    assert len(query.reader.partitions({}, query.log[0])) == parts


def test_an_engine_that_wants_everything_gets_it(target: Target) -> None:
    ids = target.add("s", 100)
    query = Query(target, maxEntriesPerTrigger=30)
    assert query.reader.getDefaultReadLimit() == ReadMaxRows(30)
    end = query.reader.latestOffset(query.reader.initialOffset(), ReadAllAvailable())
    assert end["s"]["id"] == ids[-1]


def test_a_replay_is_the_same_task_for_task_whatever_the_options_say(target: Target) -> None:
    target.add("s", 100)
    query = Query(target, maxEntriesPerTrigger=40, minPartitions=4)
    query.plan()
    before = [t.parts for t in query.reader.partitions({}, query.log[0])]
    query.given |= {"minPartitions": 1, "maxEntriesPerTrigger": 7}
    query.restart()
    target.add("s", 50)
    assert [t.parts for t in query.reader.partitions({}, query.log[0])] == before
    assert query.read(0) == list(range(40))


def test_available_now_ends_at_what_was_there(target: Target) -> None:
    target.add("s", 50)
    query = Query(target, maxEntriesPerTrigger=20)
    query.reader.prepareForTriggerAvailableNow()
    target.add("s", 50, first=50)
    assert flat(query.run()) == list(range(50))
    assert flat(query.available_now()) == list(range(50, 100))


def test_new_streams_of_a_pattern_are_picked_up_from_their_beginning(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebay_spark.read.micro_batch.DISCOVERY_PAUSE_S", 0.0)
    monkeypatch.setattr("forebay_spark.read.micro_batch.DISCOVERY_SHARE", 0)
    query = Query(target, streamsPattern="s:*", startingOffsets="latest")
    target.add("s:a", 3)
    query.log.append(query.reader.initialOffset())
    target.add("s:b", 3, first=10)
    target.add("other", 3)
    assert query.run() == [[10, 11, 12]]
    target.add("s:a", 1, first=3)
    target.add("s:c", 1, first=20)
    assert query.run() == [[3, 20]]
    assert set(query.log[-1]) == {"s:a", "s:b", "s:c"}


def test_a_named_stream_may_come_into_being_later(target: Target) -> None:
    query = Query(target, streams="s,t")
    assert query.run() == []
    target.add("t", 2)
    assert query.run() == [[0, 1]]


def test_a_stream_that_comes_later_begins_where_it_was_wished(target: Target) -> None:
    query = Query(target, streams="s,t", startingOffsets='{"s": "7-0", "t": "latest"}')
    assert query.run() == []
    target.add_at("s", ["6-0", "7-0", "8-0"])
    target.add_at("t", ["1-0", "2-0"])
    (batch,) = query.run()
    assert sorted(batch) == [0, 1, 1, 2]


def test_a_stream_that_is_no_longer_named_is_left_where_it_is(target: Target) -> None:
    target.add("s", 5)
    target.add("t", 5, first=10)
    query = Query(target, streams="s,t")
    query.run()
    query.given["streams"] = "s"
    query.restart()
    target.add("s", 1, first=5)
    target.client.delete("t")
    assert query.run() == [[5]]
    assert "t" in query.log[-1]


def test_a_start_may_lie_in_the_future(target: Target) -> None:
    target.add_at("s", ["5-0", "6-0"])
    query = Query(target, startingOffsets='{"s": "8-0"}')
    assert query.run() == []
    target.add_at("s", ["7-0", "8-0", "9-0"])
    assert query.run() == [[1, 2]]


def test_a_start_may_be_a_moment(target: Target) -> None:
    target.add_at("s", ["5-0", "6-0", "6-1", "7-0"])
    query = Query(target, startingTimestamp=6)
    assert query.run() == [[1, 2, 3]]


def test_trimming_what_was_read_is_no_loss(target: Target) -> None:
    ids = target.add("s", 100)
    query = Query(target)
    query.run()
    target.trim("s", ids[-1])
    target.add("s", 5, first=100)
    assert query.run() == [list(range(100, 105))]


@pytest.mark.parametrize("limit", [None, 10])
def test_trimming_what_was_not_read_fails_the_query(
    counting_target: Target, limit: int | None
) -> None:
    counting_target.add("s", 100)
    query = Query(counting_target, **({"maxEntriesPerTrigger": limit} if limit else {}))
    query.plan()
    query.read(0)
    new = counting_target.add("s", 100, first=100)
    counting_target.trim("s", new[50])
    with pytest.raises(DataLossError, match="trimmed past the reader"):
        query.run()


def test_a_planned_batch_that_is_trimmed_before_it_runs_fails(target: Target) -> None:
    ids = target.add("s", 100)
    query = Query(target)
    query.plan()
    target.trim("s", ids[1])
    with pytest.raises(DataLossError, match=r"1 entries after|gave 99 of 100"):
        query.read(0)


def test_the_exact_rest_is_read_if_loss_is_allowed(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    ids = target.add("s", 100)
    query = Query(target, failOnDataLoss=False)
    query.plan()
    target.trim("s", ids[60])
    with caplog.at_level(logging.WARNING, "forebay_spark"):
        assert query.read(0) == list(range(60, 100))
    assert "60 entries after" in caplog.text or "gave 40 of 100" in caplog.text
    target.add("s", 3, first=100)
    assert query.run() == [[100, 101, 102]]


def test_deleting_an_unread_entry_fails_the_query_unless_allowed(counting_target: Target) -> None:
    counting_target.add("s", 10)
    query = Query(counting_target)
    query.run()
    new = counting_target.add("s", 10, first=10)
    counting_target.client.xdel("s", new[5])
    with pytest.raises(DataLossError, match="Set failOnDeletes to false"):
        query.run()
    query = Query(counting_target, failOnDeletes=False)
    assert flat(query.run()) == [n for n in range(20) if n != 15]


def test_entries_deleted_before_the_query_are_nobodys_loss(target: Target) -> None:
    ids = target.add("s", 20)
    target.client.xdel("s", ids[3], ids[15])
    query = Query(target, maxEntriesPerTrigger=5)
    expected = [n for n in range(20) if n not in (3, 15)]
    assert flat(query.run()) == expected


def test_a_stream_that_was_flushed_fails_the_query(target: Target) -> None:
    target.add("s", 100)
    query = Query(target)
    query.run()
    target.client.flushall()
    with pytest.raises(DataLossError, match=r"is gone"):
        query.run()


def test_a_stream_that_was_flushed_and_filled_again_fails_the_query(
    counting_target: Target,
) -> None:
    counting_target.add("s", 100)
    query = Query(counting_target)
    query.run()
    counting_target.client.flushall()
    counting_target.add("s", 5)
    with pytest.raises(DataLossError, match=r"has counted|ends at"):
        query.run()


def test_a_stream_that_was_made_anew_with_more_entries_than_were_read_fails_the_query(
    counting_target: Target,
) -> None:
    counting_target.add("s", 10)
    query = Query(counting_target)
    query.run()
    counting_target.add("s", 5)
    counting_target.client.delete("s")
    counting_target.add("s", 30)
    with pytest.raises(DataLossError, match="it was deleted and created again"):
        query.run()
    query.given["failOnDataLoss"] = False
    query.restart()
    assert flat(query.run()) == list(range(30))


def test_ids_that_went_back_fail_the_query_or_start_anew(target: Target) -> None:
    target.add_at("s", ["100-0", "200-0"])
    query = Query(target)
    query.run()
    target.client.delete("s")
    target.add_at("s", ["50-0", "60-0", "70-0"])
    with pytest.raises(DataLossError, match="ends at 70-0 but was read up to 200-0"):
        query.run()
    query.given["failOnDataLoss"] = False
    query.restart()
    assert query.run() == [[0, 1, 2]]
    target.add_at("s", ["80-0"])
    assert query.run() == [[0]]


def test_the_group_follows_what_is_committed_and_no_further(target: Target) -> None:
    ids = target.add("s", 25)
    query = Query(target, group="g", maxEntriesPerTrigger=10)
    query.plan()
    query.read(0)
    assert target.client.xinfo_groups("s")[0]["last-delivered-id"].decode() < ids[0]
    query.run()
    (group,) = target.client.xinfo_groups("s")
    assert group["last-delivered-id"].decode() == ids[-1]
    assert group["consumers"] == 0
    if "lag" in group:  # counted by Redis 7.0 and later
        assert (group["entries-read"], group["lag"]) == (25, 0)


def test_a_group_with_consumers_of_its_own_is_not_moved(target: Target) -> None:
    target.add("s", 5)
    target.client.xgroup_create("s", "workers", id="0")
    target.client.xreadgroup("workers", "ann", {"s": ">"}, count=2)
    before = target.client.xinfo_groups("s")
    with pytest.raises(OptionError, match=r"has consumers .* Name a group of its own"):
        Query(target, group="workers").run()
    assert target.client.xinfo_groups("s") == before


def test_progress_shows_the_newest_entries(counting_target: Target) -> None:
    ids = counting_target.add("s", 25)
    query = Query(counting_target, maxEntriesPerTrigger=10)
    query.plan()
    assert query.reader.reportLatestOffset() == {"s": {"id": ids[-1], "n": 25}}


def test_records_that_spark_skipped_are_read_all_the_same(target: Target) -> None:
    target.add("s", 30)
    query = Query(target, maxEntriesPerTrigger=10)
    query.run()
    tasks = query.reader.partitions(query.log[0], query.log[2])
    assert numbers_of(read_tasks(query.reader, tasks)) == list(range(10, 30))


def test_a_limit_is_shared_among_streams(target: Target) -> None:
    target.add("s", 90)
    target.add("t", 10, first=1000)
    query = Query(target, streams="s,t", maxEntriesPerTrigger=20)
    batches = query.run()
    assert all(len(batch) <= 20 for batch in batches)
    assert sorted(flat(batches)) == [*range(90), *range(1000, 1010)]
    assert any(n >= 1000 for n in batches[0])


def test_each_stream_begins_at_its_own_moment(target: Target) -> None:
    target.add_at("s", ["5-0", "6-0", "7-0"])
    target.add_at("t", ["5-0", "6-0", "7-0"])
    moments = '{"s": 6, "t": "1970-01-01T00:00:00.007Z"}'
    query = Query(target, streams="s,t", startingOffsetsByTimestamp=moments)
    (batch,) = query.run()
    assert sorted(batch) == [1, 2, 2]


def test_a_batch_waits_until_enough_entries_are_there(target: Target) -> None:
    query = Query(target, minEntriesPerTrigger=10, maxEntriesPerTrigger=25)
    target.add("s", 9)
    assert query.run() == []
    target.add("s", 1, first=9)
    assert query.run() == [list(range(10))]
    target.add("s", 30, first=10)
    assert [len(batch) for batch in query.run()] == [25]
    assert flat(query.available_now()) == list(range(35, 40))


def test_entries_wait_no_longer_than_they_may(target: Target) -> None:
    query = Query(target, minEntriesPerTrigger=10, maxTriggerDelay="300ms")
    target.add("s", 3)
    assert query.run() == []
    wait_until("the entries have waited long enough", query.plan)
    assert query.read(-1) == [0, 1, 2]


def test_a_batch_has_about_as_many_bytes_as_it_may(target: Target) -> None:
    target.add("s", 60, text="x" * 1000)
    target.add("t", 60, text="x" * 100)
    query = Query(target, streams="s,t", maxBytesPerTrigger=10_000)
    assert query.reader.getDefaultReadLimit() == ReadMaxBytes(10_000)
    sizes = [len(batch) for batch in query.run()]
    assert sum(sizes) == 120 and len(sizes) >= 6 and max(sizes) <= 40
    both = Query(target, streams="s,t", maxBytesPerTrigger=10_000, maxEntriesPerTrigger=5)
    assert both.plan() and len(both.read(0)) <= 5


def test_a_pattern_leaves_out_what_the_connector_keeps_for_itself(target: Target) -> None:
    for stream in ("s", "forebay:pipelines", "forebay:replay:s"):
        target.add(stream, 1)
    assert set(Query(target, streamsPattern="*").reader.initialOffset()) == {"s"}
    own = Query(target, streamsPattern="forebay:p*").reader.initialOffset()
    assert set(own) == {"forebay:pipelines"}
