"""INCRBYFLOAT: sums in 80-bit floating point, printed as Redis prints them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.strings import long_double
from server.tests.support.keyspace_events import listen
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

NOT_A_FLOAT = ReplyError("ERR value is not a valid float")
INFINITE = ReplyError("ERR increment would produce NaN or Infinity")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


# The answers of redis-server 8.6.3 on x86-64.
@pytest.mark.parametrize(
    ("before", "increment", "after"),
    [
        ("1", "1", "2"),
        ("1.5", "1.5", "3"),
        ("0.1", "0.2", "0.3"),
        ("3.0e3", "200", "3200"),
        ("1", "-1.1", "-0.1"),
        ("0", "-0.0", "0"),
        ("0", "1e-17", "0.00000000000000001"),
        ("0", "5.0e-18", "0"),
        ("0", "-4e-18", "0"),
        ("10.5", "0.1", "10.6"),
        ("17179869184", "1.5", "17179869185.5"),
        ("1e20", "1", "100000000000000000000"),
        ("99999999999999999999999", "1", "100000000000000000000000"),
        ("18446744073709551616", "1", "18446744073709551616"),
        ("18446744073709551615", "0.5", "18446744073709551616"),
        ("300.1", "0.2", "300.30000000000000002"),
        ("0", "1e-4940", "0"),
        ("0x1.8p1", "0x.8", "3.5"),
        ("+.5", "5.", "5.5"),
        ("0", "1e00000000000000000005", "100000"),
        ("0", "0e99999999999999999999", "0"),
    ],
)
def test_the_sum_has_the_digits_of_redis(
    client: EngineClient, before: str, increment: str, after: str
) -> None:
    client("SET", "k", before)
    assert client("INCRBYFLOAT", "k", increment) == after.encode()
    assert client("GET", "k") == after.encode()


def test_a_missing_number_is_zero(client: EngineClient) -> None:
    assert client("INCRBYFLOAT k 1.50") == b"1.5"


def test_it_is_propagated_as_the_sum_and_keeps_the_time(client: EngineClient) -> None:
    client("SET k 1 EX 100")
    client.effects()
    events = listen(client)
    client("INCRBYFLOAT k 0.5")
    assert client.effects() == [b"SET k 1.5 KEEPTTL".split()]
    assert events() == [(0, "incrbyfloat", "k")]
    assert client("TTL k") == 100


@pytest.mark.parametrize(
    "text",
    ["", "x", " 1", "1 ", "1e", ".", "0x", "nan", "1_0", "1e4933", "1e-5000", "1e999999", "1\x00"],
)
def test_what_is_no_number_is_refused(client: EngineClient, text: str) -> None:
    assert client("INCRBYFLOAT", "missing", text) == NOT_A_FLOAT
    client("SET", "k", text)
    assert client("INCRBYFLOAT k 1") == NOT_A_FLOAT
    assert client("EXISTS missing") == 0


@pytest.mark.parametrize(("before", "by"), [("inf", "1"), ("1", "-Infinity"), ("1e4932",) * 2])
def test_a_sum_without_end_is_refused(client: EngineClient, before: str, by: str) -> None:
    client("SET", "k", before)
    assert client("INCRBYFLOAT", "k", by) == INFINITE
    assert client("INCRBYFLOAT", "k", "x") == NOT_A_FLOAT


def test_the_type_is_looked_at_before_the_number(client: EngineClient) -> None:
    client("RPUSH list x")
    assert client("INCRBYFLOAT list x") == WRONGTYPE


def test_the_largest_numbers_are_printed_in_full(client: EngineClient) -> None:
    assert len(client("INCRBYFLOAT k 1e4932")) == 4933
    assert client("INCRBYFLOAT k -1e4932") == b"0"
    assert client("INCRBYFLOAT", "k", "9" * 4930)[:4] == b"1000"


@given(*[st.decimals(-4, 4, places=12)] * 2)
def test_short_decimal_numbers_are_added_exactly(a: Decimal, b: Decimal) -> None:
    terms = [long_double.parse(format(number, "f").encode()) for number in (a, b)]
    total = long_double.text_of(long_double.rounded(sum(terms, long_double.ZERO)))
    assert Decimal(total.decode()) == a + b


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_every_double_is_one_of_the_numbers(value: float) -> None:
    assert float(long_double.parse(repr(value).encode())) == pytest.approx(value, rel=1e-15)
    assert long_double.parse(value.hex().encode()) == value
