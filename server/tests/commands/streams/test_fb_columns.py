"""FB.COLUMNS says in columns what XRANGE says in entries."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testkit.engine_client import EngineClient, ReplyError

NAMES = st.sampled_from([b"a", b"b", b"12", b"-7", b"a longer name than the others"])
VALUES = st.one_of(
    st.sampled_from([b"", b"0", b"-1", b"127", b"4096", b"007", b"9223372036854775807"]),
    st.integers(-(1 << 63), (1 << 63) - 1).map(lambda n: b"%d" % n),
    st.binary(max_size=200),
)
ENTRIES = st.lists(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4), max_size=30)


def words(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def texts(offsets: bytes, data: bytes) -> list[bytes]:
    edges = words(offsets, 4)
    assert edges[0] == 0
    assert edges[-1] == len(data)
    return [data[low:high] for low, high in pairwise(edges)]


def as_entries(reply: list[Any]) -> list[tuple[bytes, list[bytes]]]:
    """A reply without FIELDS, turned back into entries."""
    count, ms, seq, pairs, key_offsets, keys, value_offsets, values = reply
    ids = [b"%d-%d" % pair for pair in zip(words(ms, 8), words(seq, 8), strict=True)]
    assert len(ids) == count
    names, edges = texts(key_offsets, keys), pairwise(words(pairs, 4))
    if not pairs:
        edges = pairwise(range(0, count * len(names) + 1, len(names)))
        names *= count
    all_pairs = list(zip(names, texts(value_offsets, values), strict=True))
    return [
        (entry_id, [word for pair in all_pairs[low:high] for word in pair])
        for entry_id, (low, high) in zip(ids, edges, strict=True)
    ]


def as_column(offsets: bytes, data: bytes, valid: bytes) -> list[bytes | None]:
    """One column of a reply with FIELDS."""
    found = texts(offsets, data)
    assert len(valid) == (len(found) + 7) // 8
    return [text if valid[i // 8] >> i % 8 & 1 else None for i, text in enumerate(found)]


def filled(entries: list[list[tuple[bytes, bytes]]], **settings: int) -> EngineClient:
    client = EngineClient(**settings)
    for i, pairs in enumerate(entries):
        client("XADD", "s", f"{i + 1}-{i % 3}", *[word for pair in pairs for word in pair])
    return client


@given(ENTRIES, st.sets(st.integers(0, 29)), st.integers(1, 12))
def test_the_map_form_holds_the_entries_of_xrange(
    entries: list[list[tuple[bytes, bytes]]], deleted: set[int], node_entries: int
) -> None:
    client = filled(entries, stream_node_max_entries=node_entries)
    for i in deleted:
        client("XDEL", "s", f"{i + 1}-{i % 3}")
    want = [(entry_id, flat) for entry_id, flat in client("XRANGE", "s", "-", "+")]
    assert as_entries(client("FB.COLUMNS", "s", "-", "+")) == want


@given(ENTRIES, st.lists(NAMES, min_size=1, max_size=3, unique=True), st.integers(1, 12))
def test_a_column_holds_the_last_value_of_its_field_or_nothing(
    entries: list[list[tuple[bytes, bytes]]], names: list[bytes], node_entries: int
) -> None:
    client = filled(entries, stream_node_max_entries=node_entries)
    reply = client("FB.COLUMNS", "s", "-", "+", "FIELDS", len(names), *names)
    assert reply[0] == len(entries)
    for i, name in enumerate(names):
        want = [dict(pairs).get(name) for pairs in entries]
        assert as_column(*reply[3 + 3 * i : 6 + 3 * i]) == want


@given(ENTRIES, st.booleans())
def test_ids_come_as_text_if_asked_for(
    entries: list[list[tuple[bytes, bytes]]], as_map: bool
) -> None:
    client = filled(entries)
    form = () if as_map else ("FIELDS", 1, "a")
    plain = client("FB.COLUMNS", "s", "-", "+", *form)
    reply = client("FB.COLUMNS", "s", "-", "+", "IDS", *form)
    assert [*reply[:3], *reply[5:]] == plain
    assert texts(*reply[3:5]) == [entry_id for entry_id, _ in client("XRANGE", "s", "-", "+")]


def test_entries_with_the_same_fields_send_their_keys_once() -> None:
    client = filled(
        [[(b"a", b"%d" % i), (b"b", b"x")] for i in range(20)], stream_node_max_entries=3
    )
    alike = client("FB.COLUMNS", "s", "-", "+")
    assert (alike[3], alike[5]) == (b"", b"ab")
    client("XADD", "s", "99-1", "b", "x", "a", "1")
    assert client("FB.COLUMNS", "s", "-", "+")[5] == b"ab" * 20 + b"ba"


def test_bounds_and_count_are_those_of_xrange() -> None:
    client = filled([[(b"f", b"%d" % i)] for i in range(20)])
    for words_ in (("(3-2", "9"), ("5", "+", "COUNT", 3), ("-", "(4-0"), ("-", "+", "COUNT", 0)):
        want = client("XRANGE", "s", *words_) or []
        got = as_entries(client("FB.COLUMNS", "s", *words_))
        assert got == [tuple(entry) for entry in want]


def test_a_missing_stream_has_no_rows() -> None:
    client = EngineClient()
    assert client("FB.COLUMNS", "s", "-", "+")[0] == 0
    reply = client("FB.COLUMNS", "s", "-", "+", "FIELDS", 1, "f")
    assert reply == [0, b"", b"", struct.pack("<i", 0), b"", b""]


def test_no_fields_at_all_may_be_wanted() -> None:
    client = filled([[(b"f", b"v")], [(b"g", b"w")]])
    reply = client("FB.COLUMNS", "s", "-", "+", "IDS", "FIELDS", 0)
    assert (reply[0], texts(*reply[3:])) == (2, [b"1-0", b"2-1"])


def test_a_long_answer_ends_early_behind_a_whole_entry() -> None:
    client = filled([[(b"f", b"x" * 100_000)] for _ in range(400)], stream_node_max_bytes=0)
    reply = client("FB.COLUMNS", "s", "-", "+", "FIELDS", 1, "f")
    rows = reply[0]
    assert 300 < rows < 400
    assert len(reply[4]) == rows * 100_000
    last = b"%d-%d" % (words(reply[1], 8)[-1], words(reply[2], 8)[-1])
    rest = client("FB.COLUMNS", "s", b"(" + last, "+", "FIELDS", 1, "f")
    assert rest[0] == 400 - rows


def test_an_answer_ends_before_an_entry_that_would_repeat_long_keys_too_often() -> None:
    client = filled([[(b"k" * 100_000, b"")] for _ in range(400)])
    client("XADD", "s", "999-0", "other", "")
    reply = client("FB.COLUMNS", "s", "-", "+")
    assert (reply[0], len(reply[5])) == (400, 100_000)
    assert as_entries(client("FB.COLUMNS", "s", "(400-0", "+")) == [(b"999-0", [b"other", b""])]


@pytest.mark.parametrize(
    "words_",
    [
        ("COUNT",),
        ("COUNT", "x"),
        ("FIELDS", "0", "a"),
        ("FIELDS", "2", "a"),
        ("FIELDS", "-1"),
        ("FIELDS", "2", "a", "a"),
        ("WHAT", "1"),
    ],
)
def test_a_wrong_option_is_refused(words_: tuple[str, ...]) -> None:
    client = filled([[(b"f", b"v")]])
    assert isinstance(client("FB.COLUMNS", "s", "-", "+", *words_), ReplyError)


def test_a_key_of_another_type_is_refused() -> None:
    client = EngineClient()
    client("SET", "k", "v")
    assert str(client("FB.COLUMNS", "k", "-", "+")).startswith("WRONGTYPE")
