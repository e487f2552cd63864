"""The record of a link: since when it is up or down, how long it was away, how many attempts."""

from __future__ import annotations

from forebay.replication.link_record import NEVER, LinkRecord, seconds_since


def test_a_link_that_never_was_up_is_down_since_never() -> None:
    record = LinkRecord()
    record.follow(1000)
    record.tried(1000)
    record.tried(2000)
    assert (record.attempts, record.all_attempts) == (2, 2)
    assert seconds_since(record.down_since_ms, 5000) == NEVER
    assert record.away_ms(5000) == 4000


def test_attempts_are_counted_anew_after_a_link_was_up() -> None:
    record = LinkRecord()
    record.follow(0)
    record.tried(0)
    record.up(500)
    assert (record.attempts, record.all_attempts) == (1, 1)
    assert seconds_since(record.up_since_ms, 3600) == 3
    record.down(4000)
    record.tried(4000)
    assert (record.attempts, record.all_attempts) == (1, 2)
    assert seconds_since(record.down_since_ms, 6500) == 2
    record.up(7000)
    assert record.away_ms(9000) == 500 + 3000


def test_another_primary_begins_a_new_count_and_the_time_away_goes_on() -> None:
    record = LinkRecord()
    record.follow(0)
    record.tried(0)
    record.up(0)
    record.stopped(1000)
    assert record.down_since_ms == NEVER
    record.follow(2000)
    record.tried(2000)
    assert (record.attempts, record.all_attempts) == (1, 1)
    record.up(3000)
    assert record.away_ms(9000) == 2000


def test_a_link_that_is_lost_soon_again_and_again_is_tried_later_each_time() -> None:
    record = LinkRecord()
    now_ms, pauses = 0, []
    for _ in range(8):
        record.tried(now_ms)
        record.up(now_ms)
        now_ms += 10
        record.down(now_ms)
        pauses.append(record.pause_ms(100, 1000))
    assert pauses == [0, 100, 200, 400, 800, 1000, 1000, 1000]
    record.up(now_ms)
    record.down(now_ms + 1000)
    assert record.pause_ms(100, 1000) == 0
