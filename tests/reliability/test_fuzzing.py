"""Requests that no real client sends: replies stay replies, and the server stays up (R8, R20)."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

import forebay
from reliability import fuzz_goals
from reliability.fuzz.mutations import corpus, mutated
from reliability.fuzz.program import run
from reliability.fuzz.replies import BrokenReplyError, check_replies
from reliability.fuzz.words import HOSTILE, LineWriter
from reliability.goals import Outcome

COUNT = int(os.environ.get("FOREBAY_REQUESTS", 20_000 if forebay.compiled() else 3_000))


@pytest.mark.parametrize("kind", ["lines", "bytes", "echoes"])
def test_any_request_gets_replies_and_does_no_harm(kind: str) -> None:
    told = run(kind, COUNT, 8)
    assert told["faults"] == []
    assert told["n"] == COUNT
    assert int(str(told["replies"])) > COUNT // 2


@pytest.mark.compiled
def test_a_real_process_survives_them_too(scratch: Path) -> None:
    outcome = Outcome()
    fuzz_goals.over_a_socket(2_000, 8, scratch, (), outcome)
    assert outcome.failures == []


def test_all_commands_and_option_words_are_tried() -> None:
    writer = LineWriter(Random(1))
    seen = {line[0] for line in (writer.line() for _ in range(20_000))}
    assert {name[0] for name, _ in writer.rows} <= seen
    assert b"MAXLEN" in writer.tokens


def test_the_corpus_can_be_read_and_broken() -> None:
    kept, dice = corpus(), Random(1)
    assert b"*1\r\n$4\r\nPING\r\n" in kept
    assert any(b"\r\n+INJECTED" in request for request in kept)
    assert any(mutated(dice, kept[0], kept) != kept[0] for _ in range(5))


@pytest.mark.parametrize(
    "output",
    [
        b"-ERR unknown command 'a\r\n+INJECTED\r\n'\r\n",
        b"-ERR unknown command 'a\n'\r\n",
        b"+a\rb\r\n",
        b"*2\r\n+OK\r\n",
        b"$3\r\nabcd\r\n",
        b"?\r\n",
    ],
)
def test_output_with_a_line_that_is_not_the_servers_is_noticed(output: bytes) -> None:
    with pytest.raises(BrokenReplyError):
        check_replies(output)


def test_a_bulk_string_may_hold_anything() -> None:
    for word in HOSTILE:
        assert check_replies(b"*1\r\n$%d\r\n%b\r\n" % (len(word), word)) == 1
