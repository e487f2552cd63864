"""FB.COLUMNS returns in columns what XRANGE returns in entries."""

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


def columns(client: EngineClient, key: str, *args: Any) -> list[Any]:
    """The answer of FB.COLUMNS: the number of entries, and the parts of the block."""
    block = client("FB.COLUMNS", key, *args)
    assert isinstance(block, bytes), block
    count, number, *lengths = words(block[: 16 + 8 * words(block[8:16], 8)[0]], 8)
    at, parts = 16 + 8 * number, []
    for length in lengths:
        end = at + length
        parts.append(block[at:end])
        at = end + -end % 8
        assert not any(block[end:at])
    assert at == len(block)
    return [count, *parts]


def texts(offsets: bytes, data: bytes) -> list[bytes]:
    edges = words(offsets, 4)
    assert edges[0] == 0
    assert edges[-1] == len(data)
    return [data[low:high] for low, high in pairwise(edges)]


def as_entries(reply: list[Any]) -> list[tuple[bytes, list[bytes]]]:
    """A reply with TIMES and without FIELDS, turned back into entries."""
    count, last, ms, seq, pairs, key_offsets, keys, value_offsets, values = reply
    ids = [b"%d-%d" % pair for pair in zip(words(ms, 8), words(seq, 8), strict=True)]
    assert len(ids) == count
    assert last == (ids[-1] if ids else b"")
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
    if not valid:
        return list(found)
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
    assert as_entries(columns(client, "s", "-", "+", "TIMES")) == want


@pytest.mark.parametrize("width", [5_000, 9_000, 30_000])
@pytest.mark.parametrize("widths_after", [(), (1,), (3, 20_000)])
def test_entries_of_many_fields_come_whole(width: int, widths_after: tuple[int, ...]) -> None:
    client = filled(
        [[(b"f%d" % at, b"%d" % at) for at in range(n)] for n in (1, width, width, *widths_after)]
    )
    whole = [(entry_id, flat) for entry_id, flat in client("XRANGE", "s", "-", "+")]
    assert as_entries(columns(client, "s", "-", "+", "TIMES")) == whole
    assert as_entries(columns(client, "s", "2", "3", "TIMES")) == whole[1:3]
    assert as_column(*columns(client, "s", "-", "+", "FIELDS", 1, f"f{width - 1}")[2:])[1] == (
        b"%d" % (width - 1)
    )


@given(ENTRIES, st.lists(NAMES, min_size=1, max_size=3, unique=True), st.integers(1, 12))
def test_a_column_holds_the_last_value_of_its_field_or_nothing(
    entries: list[list[tuple[bytes, bytes]]], names: list[bytes], node_entries: int
) -> None:
    client = filled(entries, stream_node_max_entries=node_entries)
    reply = columns(client, "s", "-", "+", "FIELDS", len(names), *names)
    assert reply[0] == len(entries)
    for i, name in enumerate(names):
        want = [dict(pairs).get(name) for pairs in entries]
        assert as_column(*reply[2 + 3 * i : 5 + 3 * i]) == want


@given(ENTRIES, st.booleans())
def test_ids_come_as_text_and_as_numbers_if_asked_for(
    entries: list[list[tuple[bytes, bytes]]], as_map: bool
) -> None:
    client = filled(entries)
    form = () if as_map else ("FIELDS", 1, "a")
    count, last, *parts = columns(client, "s", "-", "+", *form)
    ids = [entry_id for entry_id, _ in client("XRANGE", "s", "-", "+")]
    assert (count, last) == (len(ids), ids[-1] if ids else b"")
    with_ids = columns(client, "s", "-", "+", "IDS", *form)
    assert [*with_ids[:2], *with_ids[4:]] == [count, last, *parts]
    assert texts(*with_ids[2:4]) == ids
    with_both = columns(client, "s", "-", "+", "IDS", "TIMES", *form)
    assert [*with_both[:2], *with_both[4:]] == with_ids
    halves = zip(words(with_both[2], 8), words(with_both[3], 8), strict=True)
    assert [b"%d-%d" % pair for pair in halves] == ids


EDGES_MS = [0, 1, 9, 9_999, 10_000, 10_001, 99_999, 100_000, 1_700_000_009_999, 1_700_000_010_000]


@pytest.mark.parametrize("ms", [*EDGES_MS, (1 << 64) - 10_001, (1 << 64) - 1])
def test_an_id_has_all_its_digits_whatever_its_neighbours_are(ms: int) -> None:
    client = EngineClient()
    for entry_id in (f"{ms}-1", f"{ms}-18446744073709551615"):
        client("XADD", "s", entry_id, "f", "v")
    before = [low for low in EDGES_MS if low < ms]
    for low in before:
        client("XADD", "t", f"{low}-1", "f", "v")
    client("XADD", "t", f"{ms}-1", "f", "v")
    for key in ("s", "t"):
        want = [entry_id for entry_id, _ in client("XRANGE", key, "-", "+")]
        assert texts(*columns(client, key, "-", "+", "IDS", "FIELDS", 0)[2:]) == want


def test_a_validity_comes_only_if_an_entry_lacks_the_field() -> None:
    client = filled([[(b"a", b"%d" % i), (b"b", b"x")] for i in range(20)])
    everywhere = columns(client, "s", "-", "+", "FIELDS", 2, "a", "b")
    assert (everywhere[4], everywhere[7]) == (b"", b"")
    client("XADD", "s", "99-1", "a", "1")
    not_everywhere = columns(client, "s", "-", "+", "FIELDS", 2, "a", "b")
    assert (not_everywhere[4], not_everywhere[7]) == (b"", b"\xff\xff\x0f")


@pytest.mark.parametrize("node_entries", [0, 100, 127, 128, 129])
def test_runs_of_any_length_are_written_whole(node_entries: int) -> None:
    long = b"x" * 5000
    values = [b"%d" % i if i % 7 else long[: i * 3] for i in range(1000)]
    client = filled(
        [[(b"a", value), (b"b", b"-5"), (b"a", b"again")] for value in values],
        stream_node_max_entries=node_entries,
        stream_node_max_bytes=0,
    )
    client("XADD", "s", "5000-0", "b", "7")
    reply = columns(client, "s", "-", "+", "FIELDS", 2, "a", "b")
    assert as_column(*reply[2:5]) == [b"again"] * 1000 + [None]
    assert as_column(*reply[5:8]) == [b"-5"] * 1000 + [b"7"]
    want = [(entry_id, flat) for entry_id, flat in client("XRANGE", "s", "-", "+")]
    assert as_entries(columns(client, "s", "-", "+", "TIMES")) == want


NUMBERS = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1).map(lambda n: b"%d" % n),
    st.integers(-300, 300).map(lambda n: b"%d" % n),
    st.decimals(-1000, 1000, places=3).map(lambda d: str(d).encode()),
    st.from_regex(rb"\A-?[0-9]{1,16}(\.[0-9]{1,16})?\Z"),
)
ODD = [
    b"",
    b"-",
    b".",
    b"1.",
    b".5",
    b"-.5",
    b"+1",
    b"1e3",
    b"1.2.3",
    b"0x1",
    b" 1",
    b"nan",
    b"1_0",
]
WHOLE_FORMS = {1: "<b", 2: "<h", 4: "<i", 8: "<q"}
LONG_ODD = [b"123456789012345.6", b"0.1234567890123456", b"9007199254740993", b"x" * 100]


def as_numbers(
    letter: str, rows: int, offsets: bytes, data: bytes, valid: bytes
) -> list[int | float | None]:
    """One column of numbers: doubles, or whole ones of any width."""
    assert offsets == b""
    form = "<d" if letter == "d" else WHOLE_FORMS[len(data) // rows]
    found = [number for (number,) in struct.iter_unpack(form, data)]
    return [n if not valid or valid[i // 8] >> i % 8 & 1 else None for i, n in enumerate(found)]


@given(st.lists(st.one_of(st.none(), NUMBERS), max_size=40), st.integers(1, 12), st.booleans())
def test_numbers_are_those_that_the_texts_say(
    values: list[bytes | None], node_entries: int, as_doubles: bool
) -> None:
    entries = [[(b"n", value)] if value else [(b"m", b"")] for value in values]
    client = filled(entries, stream_node_max_entries=node_entries)
    letter, convert = ("d", float) if as_doubles else ("i", int)
    reply = columns(client, "s", "-", "+", "FIELDS", 2, "m", "n", "KINDS", f"t{letter}")
    if reply[5]:
        assert as_column(*reply[5:8]) == values
        limit = 1 << 53
        assert any(
            value is not None and (not as_doubles or len(value) > 15 or abs(float(value)) > limit)
            for value in values
        )
        return
    want = [None if value is None else convert(value) for value in values]
    assert not values or as_numbers(letter, len(values), *reply[5:8]) == want
    assert as_column(*reply[2:5]) == [b"" if value is None else None for value in values]


@pytest.mark.parametrize("odd", [*ODD, *LONG_ODD])
def test_a_value_that_is_no_short_number_makes_all_of_them_text(odd: bytes) -> None:
    values = [b"1", b"2.5", b"300", odd, b"-7"]
    client = filled([[(b"n", value), (b"w", b"5")] for value in values])
    reply = columns(client, "s", "-", "+", "FIELDS", 2, "n", "w", "KINDS", "di")
    assert as_column(*reply[2:5]) == values
    assert as_numbers("i", 5, *reply[5:8]) == [5] * 5


EDGES = [0, *(edge for bits in (7, 15, 31, 63) for edge in ((1 << bits) - 1, -1 << bits))]


@given(
    st.lists(st.sampled_from([*EDGES, *(edge + (edge > 0) - (edge < 0) for edge in EDGES[:-2])])),
    st.integers(1, 12),
    st.booleans(),
)
def test_whole_numbers_take_as_many_bytes_as_the_longest_one_needs(
    numbers: list[int], node_entries: int, alike: bool
) -> None:
    entries = [[(b"n", b"%d" % n), *([] if alike else [(b"%d" % n, b"")])] for n in numbers]
    client = filled([*entries, [(b"m", b"")]], stream_node_max_entries=node_entries)
    rows = len(numbers) + 1
    reply = columns(client, "s", "-", "+", "FIELDS", 1, "n", "KINDS", "i")
    assert as_numbers("i", rows, *reply[2:5]) == [*numbers, None]
    needed = max((n.bit_length() if n >= 0 else (~n).bit_length() for n in numbers), default=0)
    assert len(reply[3]) == rows * next(size for size in WHOLE_FORMS if needed < 8 * size)


def test_wide_numbers_late_in_a_long_answer_make_the_earlier_ones_wider() -> None:
    numbers = [i % 100 for i in range(3000)] + [1 << 14] + [1 << 40] * 3
    client = filled([[(b"n", b"%d" % n)] for n in numbers])
    reply = columns(client, "s", "-", "+", "FIELDS", 1, "n", "KINDS", "i")
    assert as_numbers("i", len(numbers), *reply[2:5]) == numbers


@pytest.mark.parametrize(
    "number", [b"-0", b"-0.0", b"0.1", b"-12.50", b"007.25", b"999999999999999"]
)
def test_a_double_is_the_one_next_to_what_is_written(number: bytes) -> None:
    reply = columns(filled([[(b"n", number)]]), "s", "-", "+", "FIELDS", 1, "n", "KINDS", "d")
    assert reply[3] == struct.pack("<d", float(number))


def test_several_columns_may_turn_out_to_be_text() -> None:
    client = filled([[(b"a", b"1"), (b"b", b"2")], [(b"a", b"x"), (b"b", b"2")]])
    client("XADD", "s", "9-0", "b", "y")
    reply = columns(client, "s", "-", "+", "FIELDS", 2, "a", "b", "KINDS", "id")
    assert as_column(*reply[2:5]) == [b"1", b"x", None]
    assert as_column(*reply[5:8]) == [b"2", b"2", b"y"]


def test_entries_of_very_many_fields_are_read_too() -> None:
    many = [(b"f%d" % i, b"%d" % i) for i in range(9000)]
    client = filled([many] * 3)
    reply = columns(client, "s", "-", "+", "FIELDS", 1, "f8999")
    assert as_column(*reply[2:5]) == [b"8999"] * 3


def test_entries_with_the_same_fields_send_their_keys_once() -> None:
    client = filled(
        [[(b"a", b"%d" % i), (b"b", b"x")] for i in range(20)], stream_node_max_entries=3
    )
    alike = columns(client, "s", "-", "+")
    assert (alike[2], alike[4]) == (b"", b"ab")
    client("XADD", "s", "99-1", "b", "x", "a", "1")
    assert columns(client, "s", "-", "+")[4] == b"ab" * 20 + b"ba"


def test_bounds_and_count_are_those_of_xrange() -> None:
    client = filled([[(b"f", b"%d" % i)] for i in range(20)])
    for words_ in (("(3-2", "9"), ("5", "+", "COUNT", 3), ("-", "(4-0"), ("-", "+", "COUNT", 0)):
        want = client("XRANGE", "s", *words_) or []
        got = as_entries(columns(client, "s", *words_, "TIMES"))
        assert got == [tuple(entry) for entry in want]


def test_a_missing_stream_has_no_rows() -> None:
    client = EngineClient()
    assert columns(client, "s", "-", "+")[0] == 0
    reply = columns(client, "s", "-", "+", "FIELDS", 1, "f")
    assert reply == [0, b"", struct.pack("<i", 0), b"", b""]


def test_no_fields_at_all_may_be_wanted() -> None:
    client = filled([[(b"f", b"v")], [(b"g", b"w")]])
    reply = columns(client, "s", "-", "+", "IDS", "FIELDS", 0)
    assert (reply[0], texts(*reply[2:])) == (2, [b"1-0", b"2-1"])


def test_a_long_answer_ends_early_behind_a_whole_entry() -> None:
    client = filled([[(b"f", b"x" * 100_000)] for _ in range(400)], stream_node_max_bytes=0)
    reply = columns(client, "s", "-", "+", "FIELDS", 1, "f")
    rows = reply[0]
    assert 300 < rows < 400
    assert len(reply[3]) == rows * 100_000
    rest = columns(client, "s", b"(" + reply[1], "+", "FIELDS", 1, "f")
    assert rest[0] == 400 - rows


def test_an_answer_ends_before_an_entry_that_would_repeat_long_keys_too_often() -> None:
    client = filled([[(b"k" * 100_000, b"")] for _ in range(400)])
    client("XADD", "s", "999-0", "other", "")
    reply = columns(client, "s", "-", "+")
    assert (reply[0], len(reply[4])) == (400, 100_000)
    assert as_entries(columns(client, "s", "(400-0", "+", "TIMES")) == [(b"999-0", [b"other", b""])]


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
        ("KINDS",),
        ("KINDS", "t"),
        ("FIELDS", "1", "a", "KINDS", "x"),
        ("FIELDS", "1", "a", "KINDS", "tt"),
    ],
)
def test_a_wrong_option_is_refused(words_: tuple[str, ...]) -> None:
    client = filled([[(b"f", b"v")]])
    assert isinstance(client("FB.COLUMNS", "s", "-", "+", *words_), ReplyError)


def test_a_key_of_another_type_is_refused() -> None:
    client = EngineClient()
    client("SET", "k", "v")
    assert str(client("FB.COLUMNS", "k", "-", "+")).startswith("WRONGTYPE")
