"""The comparison itself: it must find every difference, and accept only the listed ones."""

from __future__ import annotations

from testkit.compat.differ import first_difference
from testkit.compat.differences import ROWS
from testkit.compat.replies import parse
from testkit.compat.scripts import ScriptWriter

PENDING = b"*1\r\n*4\r\n$3\r\n1-1\r\n$1\r\nc\r\n:%d\r\n:%d\r\n"


def test_a_single_byte_is_a_difference() -> None:
    found = first_difference(
        [["XLEN", "s"], ["XLEN", "s"]], [b":1\r\n"] * 2, [b":1\r\n", b":2\r\n"]
    )
    assert found is not None
    assert found.index == 1
    assert "XLEN s" in str(found)


def test_null_and_null_array_are_not_the_same() -> None:
    assert first_difference([["XREAD"]], [b"*-1\r\n"], [b"$-1\r\n"]) is not None


def test_idle_times_are_masked_but_delivery_counts_are_not() -> None:
    script = [["XPENDING", "s", "g", "-", "+", "10"]]
    assert first_difference(script, [PENDING % (5, 1)], [PENDING % (7, 1)]) is None
    assert first_difference(script, [PENDING % (5, 1)], [PENDING % (5, 2)]) is not None


def test_replies_inside_a_transaction_are_masked_by_their_own_commands() -> None:
    script = [["MULTI"], ["XPENDING", "s", "g", "-", "+", "10"], ["XLEN", "s"], ["EXEC"]]
    head = [b"+OK\r\n", b"+QUEUED\r\n", b"+QUEUED\r\n"]
    first, second = (b"*2\r\n" + PENDING % (idle, 1) for idle in (5, 9))
    assert first_difference(script, [*head, first + b":1\r\n"], [*head, second + b":1\r\n"]) is None
    assert first_difference(script, [*head, first + b":1\r\n"], [*head, first + b":2\r\n"])


def test_every_listed_difference_says_since_when_and_why() -> None:
    assert all(row.since and row.why for row in ROWS)


def test_a_seed_gives_the_same_script_again() -> None:
    first, second = (ScriptWriter(5, deletes=True).script(50, 2) for _ in range(2))
    assert first == second


def test_a_tree_keeps_the_type_of_each_reply() -> None:
    tree = parse(b"*3\r\n:1\r\n$-1\r\n%1\r\n+a\r\n_\r\n")
    assert [item.kind for item in tree.items] == [":", "$", "%"]
    assert tree != parse(b"*3\r\n:1\r\n*-1\r\n%1\r\n+a\r\n_\r\n")
