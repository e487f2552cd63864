"""Options: parsed by the table, refused with one sentence."""

from __future__ import annotations

import pickle

import pytest

from forebay_spark.errors import OptionError
from forebay_spark.options import BATCH, STREAM, TABLE, WRITE, read_options


def refusal(where: str, **given: str) -> str:
    with pytest.raises(OptionError) as caught:
        read_options(given, where)
    return str(caught.value)


def test_names_are_taken_in_any_letter_case() -> None:
    options = read_options({"STREAMS": "a, b,a", "maxentriespertrigger": "10"}, STREAM)
    assert options.names == ("a", "b")
    assert options.maxEntriesPerTrigger == 10


def test_the_argument_of_load_names_streams_too() -> None:
    assert read_options({"path": "orders"}, BATCH).names == ("orders",)


def test_what_spark_adds_for_itself_is_passed_over() -> None:
    read_options({"streams": "s", "checkpointLocation": "/x"}, STREAM)


def test_options_travel_to_workers() -> None:
    options = read_options({"streams": "s"}, BATCH)
    assert pickle.loads(pickle.dumps(options)).names == ("s",)


def test_an_unknown_option_is_refused_with_a_guess() -> None:
    assert refusal(BATCH, streems="x") == (
        "There is no option streems for a batch read. Did you mean streams?"
    )


def test_an_unknown_option_like_nothing_else_is_refused_with_a_list() -> None:
    assert "There are: decodeAs," in refusal(BATCH, zzz="x")


def test_an_option_of_another_use_is_refused_with_its_use() -> None:
    assert refusal(BATCH, streams="s", group="g") == (
        "Option group has no meaning for a batch read. It is for a streaming read."
    )


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("maxEntriesPerTrigger", "0", "a whole number from 1 on"),
        ("maxEntriesPerTrigger", "many", "a whole number from 1 on"),
        ("failOnDataLoss", "perhaps", "true or false"),
        ("mode", "LENIENT", "PERMISSIVE or DROPMALFORMED or FAILFAST"),
        ("startingTimestamp", "noon", "2026-01-31T12:00:00Z"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_what_can(
    name: str, value: str, hint: str
) -> None:
    text = refusal(STREAM, streams="s", **{name: value})
    assert name in text and repr(value) in text and hint in text


def test_a_moment_is_milliseconds_or_iso_in_utc() -> None:
    for text in ("86400000", "1970-01-02", "1970-01-02T00:00:00Z", "1970-01-02T01:00:00+01:00"):
        options = read_options({"streams": "s", "startingTimestamp": text}, BATCH)
        assert options.startingTimestamp == 86_400_000


def test_streams_or_a_pattern_but_not_both_and_not_neither() -> None:
    assert "Give either streams" in refusal(BATCH)
    assert "Give either streams" in refusal(BATCH, streams="a", streamsPattern="a*")


def test_two_places_to_begin_or_end_are_one_too_many() -> None:
    both = {"startingOffsets": "earliest", "startingTimestamp": "1"}
    assert "where to begin" in refusal(STREAM, streams="s", **both)
    ends = {"endingOffsets": "latest", "endingTimestamp": "1"}
    assert "where to end" in refusal(BATCH, streams="s", **ends)


def test_every_option_has_a_place_and_a_summary() -> None:
    assert len({option.name.lower() for option in TABLE}) == len(TABLE)
    for option in TABLE:
        assert option.where and option.summary and set(option.where) <= {BATCH, STREAM, WRITE}
