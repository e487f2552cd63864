"""The judge of the soak of R30 finds each kind of wrong table."""

from __future__ import annotations

import pytest

from reliability.table_goals import Found, differences

BEFORE, SENT = {"a": 3, "b": 2}, {"a": 5, "b": 2, "c": 1}


@pytest.mark.parametrize(
    "found",
    [
        {"a": (3, 3, 2), "b": (2, 2, 1)},
        {"a": (5, 5, 4), "b": (2, 2, 1), "c": (1, 1, 0)},
    ],
)
def test_all_tables_between_before_and_after_are_right(found: Found) -> None:
    assert differences(found, BEFORE, SENT) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"a": (3, 3, 2)}, "b has 0 entries, not 2 to 2"),
        ({"a": (2, 2, 1), "b": (2, 2, 1)}, "a has 2 entries, not 3 to 5"),
        ({"a": (6, 6, 5), "b": (2, 2, 1)}, "a has 6 entries, not 3 to 5"),
        ({"a": (4, 3, 2), "b": (2, 2, 1)}, "a has 4 entries, 3 numbers up to 2"),
        ({"a": (4, 4, 4), "b": (2, 2, 1)}, "a has 4 entries, 4 numbers up to 4"),
        ({"a": (3, 3, 2), "b": (2, 2, 1), "d": (1, 1, 0)}, "d has 1 entries, not 0 to 0"),
    ],
)
def test_a_table_that_lacks_doubles_or_invents_is_wrong(found: Found, told: str) -> None:
    assert differences(found, BEFORE, SENT) == [told]
