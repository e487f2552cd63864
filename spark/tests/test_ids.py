"""IDs as values: reading, writing, ordering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark import ids
from forebay_spark.ids import FIRST, LAST, WORD_MAX, EntryId

WORDS = st.integers(0, WORD_MAX)


@given(WORDS, WORDS)
def test_an_id_survives_being_written_and_read(ms: int, seq: int) -> None:
    entry_id = EntryId(ms, seq)
    assert ids.parse(str(entry_id)) == entry_id
    assert ids.parse(str(entry_id).encode()) == entry_id
    assert ids.from_number(entry_id.number) == entry_id


@given(WORDS, WORDS)
def test_nothing_lies_between_an_id_and_the_one_before(ms: int, seq: int) -> None:
    entry_id = EntryId(ms, seq)
    assert entry_id == FIRST or entry_id.number - entry_id.before().number == 1


def test_ids_are_ordered_as_numbers_and_not_as_text() -> None:
    assert ids.parse("9-0") < ids.parse("10-0") < ids.parse("10-9") < ids.parse("10-10") < LAST


def test_a_missing_sequence_number_is_what_the_caller_says() -> None:
    assert ids.parse("5") == EntryId(5, 0)
    assert ids.parse("5", default_seq=WORD_MAX) == EntryId(5, WORD_MAX)


@pytest.mark.parametrize(
    "text", ["", "-", "1-", "-1", "a-1", "1-b", "1-2-3", "+1", " 1", "٣", "-1-1"]
)
def test_other_text_is_not_an_id(text: str) -> None:
    with pytest.raises(ValueError, match="not an ID"):
        ids.parse(text)


def test_numbers_past_64_bits_are_not_an_id() -> None:
    with pytest.raises(ValueError, match="larger than any ID"):
        ids.parse(f"{WORD_MAX + 1}-0")
