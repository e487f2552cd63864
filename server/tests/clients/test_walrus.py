"""walrus: the programs of its guide to streams, on Forebay and on redis-server.

Its containers are redis-py under other names, so both servers must give them the same replies.  Its
lock is a pair of scripts that Forebay knows; its arrays, its compare-and-set and its rate limit are
Lua scripts that Forebay does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import redis
import walrus

NEW_YEAR = datetime(2026, 1, 1)


@pytest.fixture(params=["forebay", "redis"])
def db(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A walrus database on each server in turn, empty."""
    server = request.getfixturevalue(f"{request.param}_server")
    with walrus.Database(port=server.port) as found:
        yield found


def test_a_stream_is_added_to_sliced_cut_and_waited_for(db: Any) -> None:
    stream = db.Stream("stream-a")
    first, second, third = (stream.add({"message": f"message {n}"}) for n in (1, 2, 3))
    assert len(stream) == 3
    assert [entry_id for entry_id, _ in stream] == [first, second, third]
    assert stream[second::1] == [(second, {b"message": b"message 2"})]
    assert stream[third] == (third, {b"message": b"message 3"})
    assert stream.revrange(count=1)[0][0] == third
    del stream[second]
    assert stream[second] is None
    assert stream.read(count=1, last_id=first)[0][0] == third
    assert stream.read(block=1, last_id=third) == []
    assert stream.trim(1, approximate=False) == 1
    assert stream.info()["length"] == 1
    assert stream.set_id("9999999999999-0")
    assert stream.info()["last-generated-id"] == b"9999999999999-0"


def test_a_group_over_several_streams_is_read_claimed_and_acknowledged(db: Any) -> None:
    streams = ["stream-a", "stream-b", "stream-c"]
    for name in streams:
        db.Stream(name).add({"data": name})
    group = db.consumer_group("cg-abc", streams)
    assert group.create() == dict.fromkeys(streams, True)
    assert group.create() == dict.fromkeys(streams, False)
    assert [len(entries) for _, entries in group.read()] == [1, 1, 1]
    assert not group.read(block=1)
    (pending,) = group.stream_a.pending()
    assert pending["consumer"] == b"cg-abc.c1"
    other = group.consumer("cg-abc.c2")
    assert other.stream_a.claim(pending["message_id"])[0][1] == {b"data": b"stream-a"}
    assert group.stream_a.pending(consumer="cg-abc.c1") == []
    assert other.stream_a.ack(pending["message_id"]) == 1
    assert group.stream_b.autoclaim("cg-abc.c2", 0)[1][0][1] == {b"data": b"stream-b"}
    assert other.stream_b.delete_consumer() == 1
    assert group.stream_a.pending() == []
    assert [row["name"] for row in group.stream_a.consumers_info()] == [b"cg-abc.c1", b"cg-abc.c2"]
    group.reset()
    assert [len(entries) for _, entries in group.read(count=1)] == [1, 1, 1]
    assert group.destroy() == dict.fromkeys(streams, 1)


def test_a_group_is_created_where_there_is_no_stream_yet(db: Any) -> None:
    group = db.consumer_group("late", ["nowhere"])
    assert group.create() == {"nowhere": True}
    assert not group.read(block=1)
    db.Stream("nowhere").add({"n": 1})
    assert group.nowhere.read(block=100)[0][1] == {b"n": b"1"}


def test_a_time_series_is_written_and_read_by_dates(db: Any) -> None:
    series = db.time_series("demo-ts", ["s1", "s2"])
    series.create()
    for hour in range(6):
        stream = series.s1 if hour % 2 else series.s2
        moment = NEW_YEAR + timedelta(hours=hour)
        assert stream.add({"hour": hour}, id=moment) == (moment, 0)
    assert [one.timestamp.hour for one in series.read()] == [0, 1, 2, 3, 4, 5]
    later = series.s1[NEW_YEAR + timedelta(hours=2) :]
    assert [(one.timestamp.hour, one.data) for one in later] == [
        (3, {"hour": "3"}),
        (5, {"hour": "5"}),
    ]
    assert [moment.hour for (moment, _), *_ in series.s2.pending()] == [0, 2, 4]
    assert series.s2.ack(NEW_YEAR, (NEW_YEAR + timedelta(hours=2), 0)) == 2
    assert len(series.s2.pending()) == 1
    assert series.s1.get(NEW_YEAR + timedelta(hours=1)).data == {"hour": "1"}


def test_its_lock_is_taken_handed_over_and_given_back(db: Any) -> None:
    lock, rival = db.lock("lock", ttl=10_000), db.lock("lock", ttl=10_000)
    assert lock.acquire(block=False)
    assert not rival.acquire(block=False)
    assert not rival.release()
    assert lock.release()
    with rival:
        assert not lock.acquire(block=False)
    assert db.exists("lock:lock") == 0


def test_a_script_of_its_own_that_is_no_lock_is_refused_with_a_reason(forebay_server: Any) -> None:
    with (
        walrus.Database(port=forebay_server.port) as db,
        pytest.raises(redis.ResponseError, match="is not supported: there is no Lua"),
    ):
        db.cas("key", "old", "new")
