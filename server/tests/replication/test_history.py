"""Names and lengths of streams: which replicas may continue, and where."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.replication.history import NO_ID, History, Position, parse_position

A, B, C = "a" * 40, "b" * 40, "c" * 40


def test_a_promoted_replica_shares_the_old_stream_up_to_its_promotion() -> None:
    history = History(A, 850)
    history.rename(B)
    assert history.shares(A, 850)
    assert not history.shares(A, 851)
    assert history.shares(B, 10_000)
    assert not history.shares(C, 0)


def test_only_one_older_name_is_remembered() -> None:
    history = History(A, 10)
    history.rename(B)
    history.offset = 20
    history.rename(C)
    assert not history.shares(A, 5)
    assert history.shares(B, 20)


def test_a_new_stream_shares_nothing_with_one_that_has_no_name() -> None:
    history = History(A, 10)
    history.restart(B)
    assert not history.shares(NO_ID, 0)
    assert history.oldest_name() == B


def test_a_stream_that_was_only_renamed_goes_by_its_older_name() -> None:
    history = History(A, 10)
    history.rename(B)
    assert history.oldest_name() == A
    history.offset += 1
    assert history.oldest_name() == B


@given(st.integers(0, 1 << 62), st.integers(0, 15))
def test_a_place_is_read_back_from_its_line(offset: int, db_index: int) -> None:
    position = Position(A, offset, db_index)
    line = position.line()
    assert line.startswith(b"#REPL:")
    assert line.endswith(b"\r\n")
    assert parse_position(line.removeprefix(b"#REPL:")) == position


@given(st.binary(max_size=60))
def test_a_line_that_names_no_place_is_none(text: bytes) -> None:
    assert parse_position(text) is None


def test_a_place_with_a_number_that_is_none_is_none() -> None:
    assert parse_position(b":".join([A.encode(), b"x", b"0"])) is None
    assert parse_position(b":".join([A.encode(), b"1"])) is None
