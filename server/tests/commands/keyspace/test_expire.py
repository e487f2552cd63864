"""EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, PERSIST: set and remove expiry times."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from testkit.engine_client import START_MS, EngineClient, ReplyError

#: Each command with an amount that means the same time, 100 seconds from the start.
WHEN_MS = START_MS + 100_000
SETTERS = [
    ("EXPIRE", "100"),
    ("PEXPIRE", "100000"),
    ("EXPIREAT", str(WHEN_MS // 1000)),
    ("PEXPIREAT", str(WHEN_MS)),
]
NAMES = [name for name, _ in SETTERS]


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET a 1")
    client.effects()
    return client


@pytest.mark.parametrize(("name", "amount"), SETTERS)
def test_all_four_set_the_same_time(client: EngineClient, name: str, amount: str) -> None:
    assert client(name, "a", amount) == 1
    assert client("PEXPIRETIME a") == WHEN_MS


@pytest.mark.parametrize(("name", "amount"), SETTERS)
def test_all_four_are_propagated_as_an_absolute_time(
    client: EngineClient, name: str, amount: str
) -> None:
    client(name, "a", amount, "nx")
    assert client.effects() == [[b"PEXPIREAT", b"a", b"%d" % WHEN_MS, b"nx"]]


@pytest.mark.parametrize(("name", "amount"), SETTERS)
def test_a_missing_key_has_no_time(client: EngineClient, name: str, amount: str) -> None:
    assert client(name, "missing", amount) == 0
    assert client.effects() == []


@pytest.mark.parametrize(
    ("name", "amount"), [("EXPIRE", "-1"), ("PEXPIRE", "0"), ("EXPIREAT", "1"), ("PEXPIREAT", "-5")]
)
def test_a_time_that_is_past_deletes_the_key(client: EngineClient, name: str, amount: str) -> None:
    events = listen(client)
    assert client(name, "a", amount) == 1
    assert client("EXISTS a") == 0
    assert client.effects() == [[b"DEL", b"a"]]
    assert events() == [(0, "del", "a")]


def test_a_key_lives_until_its_time_and_not_longer(client: EngineClient) -> None:
    events = listen(client)
    client("PEXPIRE a 10")
    client.now_ms += 10
    assert client("GET a") == b"1"
    client.now_ms += 1
    client.effects()
    assert client("GET a") is None
    assert client.effects() == [[b"DEL", b"a"]]
    assert events() == [(0, "expire", "a"), (0, "expired", "a")]


# Conditions


@pytest.mark.parametrize(
    ("current", "condition", "expected"),
    [
        (None, "NX", 1), (None, "XX", 0), (None, "GT", 0), (None, "LT", 1),
        (50, "NX", 0), (50, "XX", 1), (50, "GT", 1), (50, "LT", 0),
        (100, "GT", 0), (100, "LT", 0),
        (200, "NX", 0), (200, "XX", 1), (200, "GT", 0), (200, "LT", 1),
        (50, "XX GT", 1), (None, "XX LT", 0), (50, "GT gt", 1),
    ],
)  # fmt: skip
def test_a_condition_compares_with_the_present_time(
    client: EngineClient, current: int | None, condition: str, expected: int
) -> None:
    if current is not None:
        client("EXPIRE", "a", current)
    client.effects()
    assert client(f"EXPIRE a 100 {condition}") == expected
    assert bool(client.effects()) == bool(expected)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("NX XX", "ERR NX and XX, GT or LT options at the same time are not compatible"),
        ("LT NX", "ERR NX and XX, GT or LT options at the same time are not compatible"),
        ("GT LT", "ERR GT and LT options at the same time are not compatible"),
        ("XX foo", "ERR Unsupported option foo"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_conditions_that_do_not_fit_are_refused(
    client: EngineClient, name: str, options: str, text: str
) -> None:
    assert client(f"{name} a 100 {options}") == ReplyError(text)


# Numbers


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("EXPIRE", "9223372036854775807"),
        ("EXPIRE", "9223372036854775"),
        ("EXPIRE", "-9223372036854776"),
        ("PEXPIRE", "9223372036854775807"),
        ("EXPIREAT", "9223372036854776"),
    ],
)
def test_a_time_beyond_64_bits_is_refused(client: EngineClient, name: str, amount: str) -> None:
    expected = ReplyError(f"ERR invalid expire time in '{name.lower()}' command")
    assert client(name, "a", amount) == expected
    assert client("TTL a") == -1


def test_the_largest_time_is_fine(client: EngineClient) -> None:
    assert client("PEXPIREAT a 9223372036854775807") == 1
    assert client("PEXPIRETIME a") == 9223372036854775807


@pytest.mark.parametrize("name", NAMES)
def test_a_time_is_an_integer(client: EngineClient, name: str) -> None:
    expected = ReplyError("ERR value is not an integer or out of range")
    assert client(name, "a", "1.5") == expected
    assert client(name, "missing", "x") == expected


def test_it_breaks_a_watch(client: EngineClient) -> None:
    client("WATCH a")
    client.new()("EXPIRE a 100")
    client("MULTI")
    client("PING")
    assert client("EXEC") is None


# PERSIST


def test_persist_takes_the_time_away(client: EngineClient) -> None:
    client("EXPIRE a 100")
    client.effects()
    events = listen(client)
    assert client("PERSIST a") == 1
    assert client("TTL a") == -1
    assert client.effects() == [[b"PERSIST", b"a"]]
    assert events() == [(0, "persist", "a")]


def test_persist_has_nothing_to_do_without_a_time(client: EngineClient) -> None:
    assert client("PERSIST a") == 0
    assert client("PERSIST missing") == 0
    assert client.effects() == []


def test_a_persisted_key_outlives_its_former_time(client: EngineClient) -> None:
    client("EXPIRE a 1")
    client("PERSIST a")
    client.sleep(5000)
    assert client("GET a") == b"1"
