"""LCS: the longest common subsequence of two strings."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.strings.lcs import common_length, common_parts
from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX
from testkit.engine_client import EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("MSET a ohmytext b mynewtext")
    client("RPUSH list x")
    return client


def test_the_string_its_length_and_where_it_lies(client: EngineClient) -> None:
    assert client("LCS a b") == b"mytext"
    assert client("LCS a b LEN") == 6
    parts = [[[4, 7], [5, 8], 4], [[2, 3], [0, 1], 2]]
    assert client("LCS a b IDX WITHMATCHLEN") == [b"matches", parts, b"len", 6]
    bare = [part[:2] for part in parts]
    assert client("LCS a b idx minmatchlen -1") == [b"matches", bare, b"len", 6]
    assert client("LCS a b IDX MINMATCHLEN 4") == [b"matches", bare[:1], b"len", 6]
    client("HELLO 3")
    assert client("LCS a b IDX MINMATCHLEN 5") == {b"matches": [], b"len": 6}


def test_a_missing_key_is_an_empty_string(client: EngineClient) -> None:
    assert client("LCS a missing") == b""
    assert client("LCS missing missing LEN") == 0
    assert client("LCS a missing IDX") == [b"matches", [], b"len", 0]


def test_errors(client: EngineClient) -> None:
    not_strings = ReplyError("ERR The specified keys must contain string values")
    assert client("LCS a list FOO") == not_strings
    assert client("LCS a b FOO LEN IDX") == SYNTAX
    assert client("LCS a b MINMATCHLEN") == SYNTAX
    assert client("LCS a b MINMATCHLEN x") == NOT_AN_INTEGER
    assert client("LCS a b LEN IDX") == ReplyError(
        "ERR If you want both the length and indexes, please just use IDX."
    )


def test_strings_whose_table_would_be_too_large_are_refused(client: EngineClient) -> None:
    client.configure(proto_max_bulk_len=4 * 9 * 10)
    assert client("LCS a b LEN") == 6
    client("APPEND a x")
    assert client("LCS a b LEN") == ReplyError(
        "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
    )


SHORT = st.text("abc", max_size=12).map(str.encode)


@given(SHORT, SHORT)
def test_it_is_common_and_as_long_as_can_be(a: bytes, b: bytes) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        if a[i] == b[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    parts = list(common_parts(a, b))
    assert sum(size for _, _, size in parts) == common_length(a, b) == longest(0, 0)
    a_end, b_end = len(a), len(b)
    for a_to, b_to, size in parts:
        assert a_to <= a_end and b_to <= b_end
        assert a[a_to - size : a_to] == b[b_to - size : b_to]
        a_end, b_end = a_to - size, b_to - size
