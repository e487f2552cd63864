"""Keyspace events: which ones are published, and on which channels."""

from __future__ import annotations

import pytest

from forebay.commands.api import notify_flags
from server.tests.support.keyspace_events import listen
from testkit.engine_client import EngineClient


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
        ("xEKn", "xnKE"),
        ("EmKcon", "nocKEm"),
        ("KEAon", "AnoKE"),
        ("VITSaKh", "haKSTIV"),
        ("mE", "Em"),
    ],
)
def test_letters_are_shown_in_one_order(letters: str, shown: str) -> None:
    flags = notify_flags.parse(letters)
    assert flags is not None
    assert notify_flags.text(flags) == shown


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("SET a 2", ["overwritten"]),
        ("SET l 2", ["overwritten", "type_changed"]),
        ("SET none 2", []),
        ("SETEX l 100 2", ["overwritten", "type_changed"]),
        ("RENAME b a", ["overwritten"]),
        ("RENAME l a", ["overwritten", "type_changed"]),
        ("RENAME l none", []),
        ("COPY b a REPLACE", ["overwritten"]),
        ("COPY l a REPLACE", ["overwritten", "type_changed"]),
        ("COPY l a", []),
        ("INCR a", []),
        ("APPEND a x", []),
    ],
)
def test_a_key_that_is_overwritten_is_told_and_so_is_a_new_type(
    command: str, expected: list[str]
) -> None:
    client = EngineClient()
    client("MSET a 1 b 2")
    client("RPUSH l x")
    told = listen(client, "Eoc")
    client(command)
    assert [event for _, event, _ in told()] == expected


def test_a_restored_key_is_told_as_overwritten_after_the_command() -> None:
    client = EngineClient()
    client("RPUSH l x")
    client("SET a 1")
    payload = client("DUMP l")
    told = listen(client, "Egoc")
    client("RESTORE", "a", "0", payload, "REPLACE")
    assert [event for _, event, _ in told()] == ["restore", "overwritten", "type_changed"]


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
    assert (stats.keyspace_hits - hits, stats.keyspace_misses - misses) == (1, 1)
    assert events() == [(0, "keymiss", "gone")]


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("XACK {} g 1-1", 1),
        ("XACKDEL {} g IDS 1 1-1", 1),
        ("XREAD STREAMS {} 0", 2),
        ("XREAD STREAMS {} $", 2),
        ("XPENDING {} g", 1),
        ("XDEL {} 1-1", 0),
    ],
)
def test_a_command_counts_each_look_at_a_stream_as_a_hit_or_a_miss(
    command: str, looks: int
) -> None:
    client = EngineClient()
    events = listen(client, "Em")
    client("XADD s 1-1 f v")
    client("XGROUP CREATE s g 0")
    client.engine.stats.reset()
    client(command.format("s"))
    client(command.format("gone"))
    stats = client.engine.stats
    assert (stats.keyspace_hits, stats.keyspace_misses) == (looks, looks)
    assert events() == [(0, "keymiss", "gone")] * looks
