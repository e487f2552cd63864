"""The three rules of loss, on hand-made states."""

from __future__ import annotations

import logging

import pytest

from forebay_spark.errors import DataLossError
from forebay_spark.ids import FIRST, EntryId
from forebay_spark.read import loss
from forebay_spark.read.offsets import Position
from forebay_spark.servers.state import StreamState
from spark.tests.support.spark_streams import stream_options


def at(ms: int) -> EntryId:
    return EntryId(ms, 0)


START, END = Position(at(10), 10), Position(at(20), 20)
#: Twenty entries were added, the ten oldest are trimmed.
NOW = StreamState(length=10, first_id=at(11), last_id=at(20), added=20, max_deleted_id=FIRST)


def check(now: StreamState | None, start: Position = START, **given: object) -> bool:
    return loss.check("s", start, END, now, stream_options(**given))


def test_trimming_what_was_read_is_no_loss() -> None:
    assert check(NOW)


def test_trimming_one_entry_more_is() -> None:
    with pytest.raises(DataLossError, match="1 entries after 10-0 are gone"):
        check(NOW._replace(length=9, first_id=at(12)))


def test_deleting_an_unread_entry_is_loss_even_while_old_ones_remain() -> None:
    now = NOW._replace(length=19, first_id=at(1), max_deleted_id=at(15))
    with pytest.raises(DataLossError, match="deleted after 10-0, up to 15-0"):
        check(now)


def test_deleting_on_purpose_can_be_allowed_and_only_makes_counts_unknown() -> None:
    now = NOW._replace(length=19, first_id=at(1), max_deleted_id=at(15))
    assert not check(now, failOnDeletes=False)


def test_what_was_deleted_before_the_query_began_is_no_loss() -> None:
    now = NOW._replace(length=19, first_id=at(1), max_deleted_id=at(15))
    assert check(now, START._replace(deleted=at(15)))


def test_deleting_what_was_read_is_no_loss() -> None:
    assert check(NOW._replace(max_deleted_id=at(10)))


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (None, "is gone"),
        (NOW._replace(last_id=at(19)), "ends at 19-0 but was read up to 20-0"),
        (NOW._replace(last_id=at(99), added=3, length=3), "has counted 3 entries but 20 were"),
    ],
)
def test_a_stream_that_went_back_is_loss(now: StreamState | None, text: str) -> None:
    with pytest.raises(DataLossError, match=text):
        check(now)


def test_a_start_that_nobody_has_seen_may_lie_in_the_future() -> None:
    assert loss.went_back("s", Position(at(99), None, seen=False), NOW) is None


def test_a_server_that_does_not_count_shows_only_what_went_back() -> None:
    old_server = NOW._replace(added=None, length=1)
    assert check(old_server)
    with pytest.raises(DataLossError):
        check(old_server._replace(last_id=at(5)))


def test_a_loss_can_be_said_in_the_log_instead(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "forebay_spark"):
        assert not check(NOW._replace(length=5), failOnDataLoss=False)
    assert "5 entries after 10-0 are gone. Continuing" in caplog.text


def test_the_message_says_what_to_do() -> None:
    with pytest.raises(DataLossError, match=r"Set failOnDataLoss to false .* to continue"):
        check(NOW._replace(length=9))


def test_a_server_that_does_not_count_says_once_that_trimming_passed_the_reader(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loss.say_unknown.cache_clear()
    uncounted = NOW._replace(added=None, first_id=at(12))
    with caplog.at_level(logging.WARNING, "forebay_spark"):
        check(NOW._replace(added=None, first_id=at(10)))
        assert not caplog.text
        assert check(uncounted) and check(uncounted)
    assert caplog.text.count("does not count entries") == 1
