"""A real redis-server and Forebay give the same replies to the same commands (R9)."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay
from reliability.differential_goals import replies, script_of

COUNT = 6_000 if forebay.compiled() else 1_500


@pytest.mark.oracle
def test_replies_are_the_same_byte_for_byte(scratch: Path) -> None:
    outcome = replies(COUNT, 9, scratch)
    assert outcome.failures == []
    assert outcome.n >= COUNT
    assert set(outcome.figures) == {"streams", "keys", "strings", "lists_and_sets"}


def test_every_kind_of_script_is_played_in_both_protocols() -> None:
    scripts = [script_of(number) for number in range(8)]
    assert {(kind, script[0][1]) for script, kind in scripts} == {
        (kind, protocol)
        for kind in ("streams", "keys", "strings", "lists_and_sets")
        for protocol in ("2", "3")
    }
