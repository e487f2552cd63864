"""SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP: strings as arrays of bits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

BAD_OFFSET = ReplyError("ERR bit offset is not an integer or out of range")
BAD_BIT = ReplyError("ERR bit is not an integer or out of range")


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("RPUSH list x")
    client.effects()
    return client


def bits_of(text: bytes) -> list[int]:
    """The bits of a string, by the simplest method."""
    return [byte >> (7 - i) & 1 for byte in text for i in range(8)]


# SETBIT, GETBIT


def test_a_bit_is_set_and_the_string_grows_to_hold_it(client: EngineClient) -> None:
    events = listen(client, "EAn")
    assert client("SETBIT k 9 1") == 0
    assert client("GET k") == b"\x00\x40"
    assert client("SETBIT k 9 0") == 1
    assert [client("GETBIT", "k", i) for i in (8, 9, 1000)] == [0, 0, 0]
    assert client.effects() == [b"SETBIT k 9 1".split(), b"SETBIT k 9 0".split()]
    assert events() == [(0, "new", "k"), (0, "setbit", "k"), (0, "setbit", "k")]


def test_a_bit_that_is_as_it_was_is_no_change(client: EngineClient) -> None:
    client("SET k a")
    watcher = client.new()
    watcher("WATCH k")
    client.effects()
    events = listen(client)
    assert client("SETBIT k 1 1") == 1
    assert (client.effects(), events()) == ([], [])
    watcher("MULTI")
    assert watcher("EXEC") == []
    client("SETBIT k 15 0")
    assert (client.effects(), events()) == ([b"SETBIT k 15 0".split()], [(0, "setbit", "k")])


def test_errors_of_setbit_come_in_their_order(client: EngineClient) -> None:
    for offset in ("x", "-1", "4294967296", "#1"):
        assert client("SETBIT", "list", offset, "2") == BAD_OFFSET
        assert client("GETBIT", "list", offset) == BAD_OFFSET
    for bit in ("2", "-1", "x"):
        assert client("SETBIT", "list", "0", bit) == BAD_BIT
    assert client("SETBIT list 0 1") == WRONGTYPE
    assert client("GETBIT list 0") == WRONGTYPE


# BITCOUNT, BITPOS


@given(
    st.binary(max_size=4),
    st.integers(-40, 40),
    st.integers(-40, 40),
    st.sampled_from(["BIT", "BYTE", ""]),
    st.booleans(),
)
def test_counting_and_finding_agree_with_a_list_of_bits(
    text: bytes, start: int, end: int, unit: str, bit: bool
) -> None:
    client = EngineClient()
    client("SET", "k", text)
    bits = bits_of(text)
    size = len(bits) if unit == "BIT" else len(text)
    first, last = (max(i + size, 0) if i < 0 else i for i in (start, end))
    places = range(first, min(last, size - 1) + 1)
    if unit != "BIT":
        places = range(8 * places.start, 8 * places.stop)
    words = [start, end, *([unit] if unit else [])]
    counted = 0 if end < start < 0 else sum(bits[i] for i in places)
    assert client("BITCOUNT", "k", *words) == counted
    found = [i for i in places if bits[i] == bit]
    assert client("BITPOS", "k", int(bit), *words) == (found[0] if found else -1)


@given(st.binary(min_size=1, max_size=4), st.booleans())
def test_without_an_end_zeros_follow_the_string(text: bytes, bit: bool) -> None:
    client = EngineClient()
    client("SET", "k", text)
    bits = [*bits_of(text), 0]
    expected = bits.index(bit) if bit in bits else -1
    assert client("BITPOS", "k", int(bit)) == expected
    assert client("BITPOS", "k", int(bit), 0) == expected
    assert client("BITCOUNT k") == sum(bits)


def test_large_strings_are_walked_in_steps(client: EngineClient) -> None:
    size = 200_000
    client("SETRANGE", "k", size - 1, "\x01")
    assert client("BITPOS k 1") == 8 * size - 1
    assert client("BITCOUNT k") == 1
    client("SET", "k", b"\xff" * size)
    assert client("BITPOS k 0") == 8 * size
    assert client("BITPOS k 0 0 -1") == -1
    assert client("BITCOUNT k 1 -2 BIT") == 8 * size - 2


def test_a_missing_string_is_all_zeros(client: EngineClient) -> None:
    assert client("BITCOUNT missing 0 -1 BIT") == 0
    assert [client("BITPOS", "missing", bit) for bit in (0, 1)] == [0, -1]


def test_errors_of_bitcount_and_bitpos(client: EngineClient) -> None:
    assert client("BITCOUNT list 0") == SYNTAX
    assert client("BITCOUNT list 0 1 FOO") == SYNTAX
    assert client("BITCOUNT list 0 1 BIT x") == SYNTAX
    assert client("BITCOUNT list x y FOO") == NOT_AN_INTEGER
    assert client("BITCOUNT list") == WRONGTYPE
    assert client("BITPOS list 2 x") == ReplyError("ERR The bit argument must be 1 or 0.")
    assert client("BITPOS list x") == NOT_AN_INTEGER
    assert client("BITPOS list 1 0 x FOO") == SYNTAX
    assert client("BITPOS list 1 0 x BIT") == NOT_AN_INTEGER
    assert client("BITPOS list 1 0 0 BIT x") == SYNTAX
    assert client("BITPOS list 1") == WRONGTYPE


# BITOP


def combine(name: str, bits: list[int]) -> int:
    """One bit of the result, by the definition of the operation."""
    first, *rest = bits
    return {
        "AND": all(bits),
        "OR": any(bits),
        "XOR": sum(bits) % 2 == 1,
        "NOT": not first,
        "DIFF": first and not any(rest),
        "DIFF1": not first and any(rest),
        "ANDOR": first and any(rest),
        "ONE": sum(bits) == 1,
    }[name]


@given(
    st.sampled_from(["AND", "OR", "XOR", "NOT", "DIFF", "DIFF1", "ANDOR", "ONE"]),
    st.lists(st.binary(max_size=3), min_size=2, max_size=4),
)
def test_bitop_combines_bit_by_bit(name: str, texts: list[bytes]) -> None:
    client = EngineClient()
    texts = texts[:1] if name == "NOT" else texts
    for i, text in enumerate(texts):
        client("SET", f"k{i}", text)
    size = max(map(len, texts))
    columns = zip(*(bits_of(text.ljust(size, b"\x00")) for text in texts), strict=True)
    expected = [int(combine(name, list(column))) for column in columns]
    assert client("BITOP", name, "to", *(f"k{i}" for i in range(len(texts)))) == size
    assert bits_of(client("GET to") or b"") == expected


def test_bitop_overwrites_its_target_whatever_it_was(client: EngineClient) -> None:
    client("SET a abc")
    client("EXPIRE list 100")
    client.effects()
    events = listen(client, "EAn")
    assert client("BITOP or list a missing") == 3
    assert client("GET list") == b"abc"
    assert client("TTL list") == -1
    assert client.effects() == [b"BITOP or list a missing".split()]
    assert events() == [(0, "set", "list")]


def test_bitop_of_nothing_deletes_its_target(client: EngineClient) -> None:
    events = listen(client)
    assert client("BITOP AND list missing") == 0
    assert client("EXISTS list") == 0
    assert client.effects() == [b"BITOP AND list missing".split()]
    assert events() == [(0, "del", "list")]
    assert client("BITOP AND list missing") == 0
    assert client.effects() == []


def test_errors_of_bitop(client: EngineClient) -> None:
    assert client("BITOP FOO to list") == SYNTAX
    assert client("BITOP NOT to list list") == ReplyError(
        "ERR BITOP NOT must be called with a single source key."
    )
    for name in ("DIFF", "DIFF1", "ANDOR"):
        assert client("BITOP", name.lower(), "to", "list") == ReplyError(
            f"ERR BITOP {name} must be called with at least two source keys."
        )
    assert client("BITOP ONE to missing list") == WRONGTYPE
