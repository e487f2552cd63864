"""Comments with the position in a primary's stream after a unit: an AOF knows its last one."""

from __future__ import annotations

import pytest

from forebay.persistence.files import Disk
from forebay.replication.history import Position, parse_position
from server.tests.support.aof_files import ONE, THREE, TWO, aof_in_memory, load, seal_all

HERE = Position("a" * 40, 1000)
LATER = Position("a" * 40, 1234, 3)
ELSEWHERE = Position("b" * 40, 7)


def place_of(disk: Disk) -> Position | None:
    """The position of the data that the AOF holds."""
    text = load(disk, "data")[1].position
    return None if text is None else parse_position(text)


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ([seal_all()], None),
        ([seal_all(ONE, TWO)], None),
        ([seal_all(ONE + HERE.line())], HERE),
        ([seal_all(ONE + HERE.line(), TWO + LATER.line())], LATER),
        # Later units have no position in that stream.
        ([seal_all(ONE + HERE.line(), TWO)], None),
        ([seal_all(ONE + HERE.line()), seal_all(TWO)], None),
        # A Redis, or an unknown program, has appended to the file.
        ([seal_all(ONE + HERE.line()) + ONE], None),
        ([seal_all(ONE + HERE.line()), ONE + LATER.line()], None),
        # Files without a unit change nothing.
        ([seal_all(ONE + HERE.line()), b""], HERE),
        ([seal_all(ONE + HERE.line()), seal_all(), b""], HERE),
        ([seal_all(ONE + HERE.line()), seal_all(TWO + ELSEWHERE.line())], ELSEWHERE),
        ([seal_all(ONE + b"#REPL:nonsense\r\n")], None),
    ],
)
def test_the_place_is_that_of_the_last_unit_if_it_names_one(
    files: list[bytes], place: Position | None
) -> None:
    assert place_of(aof_in_memory(*files)) == place


def test_an_aof_cut_at_any_byte_stands_where_its_last_whole_record_leads_to() -> None:
    records = [(ONE, HERE), (TWO, ELSEWHERE), (THREE, LATER)]
    texts = [seal_all(*(unit + at.line() for unit, at in records[:n])) for n in range(4)]
    for size in range(len(texts[0]), len(texts[-1]) + 1):
        whole = max(n for n in range(4) if len(texts[n]) <= size)
        wanted = records[whole - 1][1] if whole else None
        assert place_of(aof_in_memory(texts[-1][:size])) == wanted
