"""The handshake of a replica, for every answer of a primary."""

from __future__ import annotations

import pytest

from forebay.replication.handshake import (
    CONTINUE,
    DONE,
    FULL,
    OLD,
    Handshake,
    Refused,
    Wishes,
    command,
)
from forebay.replication.history import Position

A, B = "a" * 40, "b" * 40


def introduced(wishes: Wishes) -> tuple[Handshake, bytes, bytes]:
    """A handshake up to PSYNC: the object, the introduction, and the PSYNC request."""
    handshake = Handshake(wishes)
    assert handshake.begin() == command("PING")
    introduction = handshake.take(b"+PONG")
    question = b""
    while handshake.expected:
        assert question == b"", "nothing is asked before all answers have come"
        question = handshake.take(b"+OK")
    return handshake, introduction, question


def test_a_new_replica_introduces_itself_and_asks_for_all_data() -> None:
    _, introduction, question = introduced(Wishes(port=6380, version="8.10.0"))
    assert introduction == b"".join(
        [
            command("REPLCONF", "listening-port", "6380"),
            command("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "forebay"),
            command("REPLCONF", "version", "8.10.0"),
        ]
    )
    assert question == command("PSYNC", "?", "-1")


def test_a_replica_with_a_place_asks_for_the_byte_after_it() -> None:
    _, _, question = introduced(Wishes(port=1, position=Position(A, 100)))
    assert question == command("PSYNC", A, "101")


def test_a_failover_says_so_in_its_question() -> None:
    _, _, question = introduced(Wishes(port=1, position=Position(A, 100), failover="FAILOVER"))
    assert question == command("PSYNC", A, "101", "FAILOVER")


def test_a_user_and_a_password_come_first_and_an_address_is_announced() -> None:
    wishes = Wishes(port=1, announced_host="10.0.0.7", user="ann", password="s3cret")
    _, introduction, _ = introduced(wishes)
    assert introduction.startswith(command("AUTH", "ann", "s3cret"))
    assert command("REPLCONF", "ip-address", "10.0.0.7") in introduction
    _, introduction, _ = introduced(Wishes(port=1, password="s3cret"))
    assert introduction.startswith(command("AUTH", "s3cret"))


def test_the_stream_goes_on_under_the_name_that_the_primary_says() -> None:
    handshake, _, _ = introduced(Wishes(port=1, position=Position(A, 100)))
    assert handshake.take(b"+CONTINUE " + B.encode()) == b""
    assert (handshake.state, handshake.outcome) == (DONE, CONTINUE)
    assert (handshake.replid, handshake.offset) == (B, 100)


def test_a_primary_whose_disk_is_full_can_be_followed() -> None:
    handshake = Handshake(Wishes(port=1))
    handshake.begin()
    assert handshake.take(b"-MISCONF Errors writing to the AOF file: No space left on device")


def test_a_primary_of_old_goes_on_without_a_name() -> None:
    handshake, _, _ = introduced(Wishes(port=1, position=Position(A, 100)))
    handshake.take(b"+CONTINUE")
    assert (handshake.outcome, handshake.replid) == (CONTINUE, A)


def test_a_copy_of_all_data_is_announced_with_name_and_offset() -> None:
    handshake, _, _ = introduced(Wishes(port=1))
    handshake.take(b"+FULLRESYNC " + B.encode() + b" 77")
    assert (handshake.outcome, handshake.replid, handshake.offset) == (FULL, B, 77)


def test_a_primary_without_psync_is_asked_by_sync() -> None:
    handshake, _, _ = introduced(Wishes(port=1))
    assert handshake.take(b"-ERR unknown command 'PSYNC'") == command("SYNC")
    assert (handshake.state, handshake.outcome) == (DONE, OLD)


def test_empty_lines_are_signs_of_life_at_every_step() -> None:
    handshake = Handshake(Wishes(port=1))
    handshake.begin()
    for answer in [b"+PONG", b"+OK", b"+OK", b"+OK", b"+FULLRESYNC " + A.encode() + b" 0"]:
        assert handshake.take(b"") == b""
        handshake.take(answer)
    assert handshake.outcome == FULL


def test_a_primary_that_knows_no_version_is_followed_all_the_same() -> None:
    handshake = Handshake(Wishes(port=1))
    handshake.take(b"+PONG")
    handshake.take(b"+OK")
    handshake.take(b"+OK")
    question = handshake.take(b"-ERR Unrecognized REPLCONF option: version")
    assert question == command("PSYNC", "?", "-1")
    assert "version" in handshake.notes[0]


@pytest.mark.parametrize(
    ("wishes", "answers", "says"),
    [
        (Wishes(1), [b"-ERR go away"], "answers PING with '-ERR go away'"),
        (Wishes(1), [b"HTTP/1.1 400 Bad Request"], "answers PING with 'HTTP"),
        (Wishes(1, password="x"), [b"-NOAUTH", b"-WRONGPASS no"], "masterauth: '-WRONGPASS no'"),
        (Wishes(1), [b"-NOAUTH no", b"-NOAUTH no"], "wants a password"),
        (Wishes(1), [b"+PONG", b"+OK", b"+OK", b"+OK", b"-LOADING x"], "cannot be followed now"),
        (Wishes(1), [b"+PONG", b"+OK", b"+OK", b"+OK", b"-NOMASTERLINK x"], "followed now"),
        (Wishes(1), [b"+PONG", b"+OK", b"+OK", b"+OK", b"+FULLRESYNC"], "not understood"),
        (Wishes(1), [b"+PONG", b"+OK", b"+OK", b"+OK", b"+CONTINUE"], "do not know"),
        (Wishes(1), [b"+PONG", b"+OK", b"+OK", b"+OK", b"+NO"], "answered with '+NO'"),
        (
            Wishes(1, failover="FAILOVER"),
            [b"+PONG", b"+OK", b"+OK", b"+OK", b"-ERR PSYNC FAILOVER no"],
            "PSYNC FAILOVER no",
        ),
    ],
)
def test_a_primary_that_cannot_be_followed_is_refused_in_its_own_words(
    wishes: Wishes, answers: list[bytes], says: str
) -> None:
    handshake = Handshake(wishes)
    handshake.begin()
    with pytest.raises(Refused, match=r"primary|PSYNC") as caught:
        for answer in answers:
            handshake.take(answer)
    assert says in str(caught.value)
