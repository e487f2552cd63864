"""GETRANGE, SUBSTR, SETRANGE: parts of strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import NOT_AN_INTEGER, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

TOO_LONG = ReplyError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


@pytest.mark.parametrize("name", ["GETRANGE", "SUBSTR"])
@pytest.mark.parametrize(
    ("start", "end", "part"),
    [
        (0, 3, b"This"),
        (0, -1, b"This is a string"),
        (-3, -1, b"ing"),
        (10, 100, b"string"),
        (5, 4, b""),
        (100, 200, b""),
        (-100, 3, b"This"),
        (-1, -3, b""),
        (-100, -200, b""),
        (0, -100, b"T"),
    ],
)
def test_a_part_from_both_ends(
    client: EngineClient, name: str, start: int, end: int, part: bytes
) -> None:
    client("SET", "k", "This is a string")
    assert client(name, "k", start, end) == part


def test_a_part_of_nothing_is_empty(client: EngineClient) -> None:
    assert client("GETRANGE missing 0 -1") == b""
    client("SET", "k", "")
    assert client("GETRANGE k 0 -1") == b""


def test_getrange_reads_its_numbers_before_it_looks(client: EngineClient) -> None:
    client("RPUSH list x")
    assert client("GETRANGE list 0 x") == NOT_AN_INTEGER
    assert client("GETRANGE list 0 1") == WRONGTYPE


# SETRANGE


def test_setrange_overwrites_and_grows(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("SET k hello EX 100")
    events()
    client.effects()
    assert client("SETRANGE k 1 ipp") == 5
    assert client("GET k") == b"hippo"
    assert client("SETRANGE k 7 x") == 8
    assert client("GET k") == b"hippo\x00\x00x"
    assert client("TTL k") == 100
    assert client.effects() == [b"SETRANGE k 1 ipp".split(), b"SETRANGE k 7 x".split()]
    assert events() == [(0, "setrange", "k")] * 2


def test_setrange_of_a_missing_key_starts_with_zeros(client: EngineClient) -> None:
    events = listen(client, "EAn")
    assert client("SETRANGE k 2 ab") == 4
    assert client("GET k") == b"\x00\x00ab"
    assert events() == [(0, "new", "k"), (0, "setrange", "k")]


def test_setrange_of_nothing_does_nothing(client: EngineClient) -> None:
    assert client("SETRANGE", "k", 5, "") == 0
    client("SET k abc")
    client.effects()
    assert client("SETRANGE", "k", 5, "") == 3
    assert client("EXISTS k") == 1
    assert client.effects() == []


def test_setrange_has_limits(client: EngineClient) -> None:
    client("RPUSH list x")
    assert client("SETRANGE list -1 x") == ReplyError("ERR offset is out of range")
    assert client("SETRANGE list x x") == NOT_AN_INTEGER
    assert client("SETRANGE list 0 x") == WRONGTYPE
    client.configure(proto_max_bulk_len=10)
    assert client("SETRANGE k 8 abc") == TOO_LONG
    assert client("EXISTS k") == 0
    assert client("SETRANGE k 8 ab") == 10
    assert client("SETRANGE k 9223372036854775807 x") == TOO_LONG


def test_a_watcher_is_told_of_a_change_in_place(client: EngineClient) -> None:
    client("SET k abc")
    client("APPEND k d")
    for change in ("SETRANGE k 0 x", "APPEND k e", "SETBIT k 0 1", "BITFIELD k INCRBY u8 0 1"):
        other = client.new()
        other("WATCH k")
        client(change)
        other("MULTI")
        assert other("EXEC") is None, change


def test_a_copy_does_not_change_with_its_original(client: EngineClient) -> None:
    client("APPEND a x")
    client("APPEND a y")
    client("COPY a b")
    client("SETRANGE a 0 z")
    client("SETBIT b 0 1")
    assert client("MGET a b") == [b"zy", b"\xf8y"]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("APPEND"), st.binary(max_size=5)),
            st.tuples(st.just("SETRANGE"), st.integers(0, 12), st.binary(max_size=5)),
        ),
        max_size=12,
    )
)
def test_changes_in_place_are_those_of_a_list_of_bytes(steps: list[tuple[object, ...]]) -> None:
    client, model = EngineClient(), b""
    for name, *rest in steps:
        words = [word if isinstance(word, bytes) else str(word).encode() for word in rest]
        client(str(name), "k", *words)
        at = len(model) if name == "APPEND" else int(words[0])
        patch = words[-1]
        if patch:
            model = model.ljust(at, b"\x00")
            model = model[:at] + patch + model[at + len(patch) :]
        assert (client("GET k") or b"") == model
        assert client("STRLEN k") == len(model)
