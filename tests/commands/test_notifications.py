"""Keyspace events: which are published, and on which channels."""

from __future__ import annotations

import pytest

from forebay.commands import notify_flags
from tests.support.engine_client import EngineClient
from tests.support.keyspace_events import listen


def listening(letters: str) -> tuple[EngineClient, EngineClient]:
    flags = notify_flags.parse(letters)
    assert flags is not None
    client = EngineClient(notify_flags=flags)
    listener = client.new()
    listener.send("PSUBSCRIBE *")
    listener.messages()
    return client, listener


def events(listener: EngineClient) -> list[tuple[bytes, bytes]]:
    return [(channel, message) for _, _, channel, message in listener.messages()]


def test_an_event_is_told_under_its_key_and_under_its_name() -> None:
    client, listener = listening("KEt")
    client("XADD s 1-1 f v")
    assert events(listener) == [
        (b"__keyspace@0__:s", b"xadd"),
        (b"__keyevent@0__:xadd", b"s"),
    ]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("Kt", [(b"__keyspace@0__:s", b"xadd")]),
        ("Et", [(b"__keyevent@0__:xadd", b"s")]),
        ("K$", []),
        ("t", []),
        ("KA", [(b"__keyspace@0__:s", b"xadd")]),
        ("Kn", [(b"__keyspace@0__:s", b"new")]),
        ("", []),
    ],
)
def test_only_what_is_switched_on_is_told(
    letters: str, expected: list[tuple[bytes, bytes]]
) -> None:
    client, listener = listening(letters)
    client("XADD s 1-1 f v")
    assert events(listener) == expected


def test_the_database_is_part_of_the_channel() -> None:
    client, listener = listening("Kg")
    client("SELECT 3")
    client("SET a 1")
    client("DEL a")
    assert events(listener) == [(b"__keyspace@3__:a", b"del")]


def test_an_expired_key_is_told_wherever_it_is_removed() -> None:
    client, listener = listening("Ex")
    client("SET a 1 PX 10")
    client.now_ms += 11
    client("GET a")
    client("SELECT 2")
    client("SET b 1 PX 10")
    client("SELECT 0")
    client.sleep(50)
    assert events(listener) == [
        (b"__keyevent@0__:expired", b"a"),
        (b"__keyevent@2__:expired", b"b"),
    ]


@pytest.mark.parametrize(
    ("letters", "shown"),
    [
        ("", ""),
        ("KEA", "AKE"),
        ("Kg$lshzxetd", "AK"),
        ("tE", "tE"),
        ("xEKn", "xKEn"),
        ("mE", "Em"),
    ],
)
def test_letters_are_shown_in_one_order(letters: str, shown: str) -> None:
    flags = notify_flags.parse(letters)
    assert flags is not None
    assert notify_flags.text(flags) == shown


def test_an_unknown_letter_is_refused() -> None:
    assert notify_flags.parse("KEq") is None


def test_a_stream_that_is_read_but_not_there_is_a_miss() -> None:
    client = EngineClient()
    events = listen(client, "Em")
    stats = client.engine.services.stats
    client("XADD s 1-1 f v")
    hits, misses = stats.keyspace_hits, stats.keyspace_misses
    client("XLEN s")
    client("XRANGE gone - +")
    client("XREAD STREAMS gone 0")
    assert (stats.keyspace_hits - hits, stats.keyspace_misses - misses) == (1, 2)
    assert events() == [(0, "keymiss", "gone")] * 2
