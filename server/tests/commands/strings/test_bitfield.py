"""BITFIELD and BITFIELD_RO: numbers of any width in a string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

BAD_TYPE = ReplyError(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but"
    " i64 is."
)
BAD_OFFSET = ReplyError("ERR bit offset is not an integer or out of range")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_several_operations_are_answered_in_their_order(client: EngineClient) -> None:
    events = listen(client)
    call = "BITFIELD k SET u8 0 255 GET u4 4 INCRBY i8 #1 -3 get i8 8 GET u8 100"
    assert client(call) == [0, 15, -3, -3, 0]
    assert client("GET k") == b"\xff\xfd"
    assert client.effects() == [call.encode().split()]
    assert events() == [(0, "setbit", "k")]


def test_without_operations_nothing_happens(client: EngineClient) -> None:
    assert client("BITFIELD k") == []
    assert client("BITFIELD k OVERFLOW SAT") == []
    assert client("EXISTS k") == 0


# The answer of redis-server 8.6.3 to the second operation, and its value afterwards.
@pytest.mark.parametrize(
    ("field", "before", "change", "results"),
    [
        ("u8", 250, "INCRBY {} 0 10", [(4, 4), (255, 255), (None, 250)]),
        ("u8", 5, "INCRBY {} 0 -10", [(251, 251), (0, 0), (None, 5)]),
        ("i8", 120, "INCRBY {} 0 10", [(-126, -126), (127, 127), (None, 120)]),
        ("i8", -120, "INCRBY {} 0 -10", [(126, 126), (-128, -128), (None, -120)]),
        ("u8", 7, "SET {} 0 -1", [(7, 255), (7, 255), (None, 7)]),
        ("i8", 7, "SET {} 0 200", [(7, -56), (7, 127), (None, 7)]),
        ("i8", 7, "SET {} 0 -200", [(7, 56), (7, -128), (None, 7)]),
        ("i64", 2**63 - 1, "INCRBY {} 0 1", [(-(2**63),) * 2, (2**63 - 1,) * 2, (None, 2**63 - 1)]),
    ],
)
def test_overflow_wraps_stays_or_fails(
    client: EngineClient, field: str, before: int, change: str, results: list[tuple[object, int]]
) -> None:
    for kind, (answer, after) in zip(("WRAP", "SAT", "FAIL"), results, strict=True):
        client("BITFIELD", "k", "SET", field, 0, before)
        words = change.format(field).split()
        assert client("BITFIELD", "k", "OVERFLOW", kind, *words) == [answer]
        assert client("BITFIELD_RO", "k", "GET", field, 0) == [after]


@given(st.data())
def test_a_field_is_a_slice_of_the_bits(data: st.DataObject) -> None:
    client = EngineClient()
    width = data.draw(st.integers(1, 63))
    offset = data.draw(st.integers(0, 30))
    number = data.draw(st.integers(0, 2**width - 1))
    text = data.draw(st.binary(max_size=14))
    client("SET", "k", text)
    bits = "".join(f"{byte:08b}" for byte in text)
    end = offset + width
    bits = bits.ljust((end + 7) // 8 * 8, "0")
    assert client("BITFIELD", "k", "SET", f"u{width}", offset, number) == [int(bits[offset:end], 2)]
    bits = bits[:offset] + f"{number:0{width}b}" + bits[end:]
    assert client("GET k") == int(bits, 2).to_bytes(len(bits) // 8, "big")
    signed = number - (1 << width) if number >> (width - 1) else number
    assert client("BITFIELD_RO", "k", "GET", f"i{width}", offset) == [signed]


def test_what_fails_still_makes_room_and_a_replay_knows(client: EngineClient) -> None:
    events = listen(client, "EAn")
    assert client("BITFIELD k OVERFLOW FAIL SET u1 15 5") == [None]
    assert client("GET k") == b"\x00\x00"
    assert client.effects() == [b"BITFIELD k OVERFLOW FAIL SET u1 15 5".split()]
    assert events() == [(0, "new", "k")]
    assert client("BITFIELD k OVERFLOW FAIL SET u1 15 5") == [None]
    assert client.effects() == []


def test_errors_come_in_their_order_and_before_anything_is_done(client: EngineClient) -> None:
    client("RPUSH list x")
    client.effects()
    for field in ("u64", "i65", "u0", "x8", "i", "8", "U8"):
        assert client("BITFIELD", "list", "GET", field, "x") == BAD_TYPE
    for offset in ("x", "-1", "4294967296", "#-1", "#536870912"):
        assert client("BITFIELD", "list", "SET", "u8", offset, "x") == BAD_OFFSET
    assert client("BITFIELD list SET u8 0 x") == NOT_AN_INTEGER
    assert client("BITFIELD list SET u8 0") == SYNTAX
    assert client("BITFIELD list FOO u8 0 1") == SYNTAX
    assert client("BITFIELD list OVERFLOW x") == ReplyError("ERR Invalid OVERFLOW type specified")
    assert client("BITFIELD list GET u8 0") == WRONGTYPE
    assert client("BITFIELD list SET u8 0 1") == WRONGTYPE
    assert client("BITFIELD k SET u8 0 1 SET u8 8 x") == NOT_AN_INTEGER
    assert client("EXISTS k") == 0
    assert client.effects() == []


def test_the_read_only_form_writes_nothing(client: EngineClient) -> None:
    client("RPUSH list x")
    only_get = ReplyError("ERR BITFIELD_RO only supports the GET subcommand")
    assert client("BITFIELD_RO list GET u8 0 SET u8 0 1") == only_get
    assert client("BITFIELD_RO list GET u8 0") == WRONGTYPE
    assert client("BITFIELD_RO missing GET u8 0 GET i64 #3") == [0, 0]
