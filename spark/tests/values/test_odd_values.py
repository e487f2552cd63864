"""Bad values in a page: found together, and judged as if each were alone."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO
from forebay_spark.values.values import FITS_NOT, Flat, _cast

UTC_TIME = pa.timestamp("us", "UTC")

KINDS = [
    *((kind, ISO) for kind in (pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64())),
    *((pa.decimal128(*digits), ISO) for digits in ((10, 2), (5, 0), (3, 3), (38, 18))),
    *((kind, ISO) for kind in (pa.bool_(), pa.date32(), pa.string(), pa.binary(), UTC_TIME)),
    (pa.timestamp("us"), ISO),
    (UTC_TIME, EPOCH_S),
    (UTC_TIME, EPOCH_MS),
]


def odd_texts() -> list[bytes]:
    """Some thousands of texts that are nearly numbers, times and words."""
    signs, cores = ("", "-", "+", "--", " "), ("0", "007", "12", "1.5", ".5", "5.", ".", "", "1e3")
    tails = ("", " ", "\n", "e", "e5", "E-2", "f", "L", "_0", ",5", "\0")
    numbers = ["".join(parts) for parts in product(signs, cores, tails)]
    words = (
        "true TRUE True tRuE t yes on null nan NaN -nan +inf inf Infinity -INFINITY infinit 0x1F"
    )
    edges = [
        str(sign * 2**bits + off)
        for bits in (7, 15, 31, 63, 64)
        for off in (-1, 0, 1)
        for sign in (1, -1)
    ]
    digits = ["9" * n for n in range(1, 45)] + ["0" * n + "1" for n in (5, 20, 40)]
    days = [
        f"{y}-{m}-{d}"
        for y, m, d in product(
            ("2026", "26", "0000", "9999", "12026", "-001"),
            ("01", "2", "13", "00"),
            ("1", "28", "29", "30", "31", "32"),
        )
    ]
    clocks = (
        "",
        "T",
        " ",
        "T12",
        "T12:00",
        " 23:59:60",
        "T24:00:00",
        "T12:00:00",
        "T12:00:00.5",
        "T12:00:00,5",
        "T12:00:00.1234567890",
    )
    zones = ("", "Z", "z", " Z", "+01", "+0100", "+01:00", "-25:00", "UTC", "+1")
    times = [
        f"{day}{clock}{zone}"
        for day, clock, zone in product(
            ("2026-01-31", "2026-02-30", "2026-1-31", "20260131"), clocks, zones
        )
    ]
    alone = [clock + zone for clock, zone in product(("12:00", "12:00:00.25", "25:00:00"), zones)]
    texts = [
        *numbers,
        *words.split(),
        "0X1f",
        "0x",
        "-0x8",
        "0xGG",
        *edges,
        *digits,
        *days,
        *times,
        *alone,
    ]
    raw = [text.encode() for text in texts]
    return [*raw, b"\xff", b"1\xff", b"\xed\xa0\x80", "\uff11".encode(), "é".encode()]


ODD = odd_texts()


def plain(array: pa.Array) -> list[str]:
    """Values for comparison; Python has no year 0, and a NaN does not equal itself."""
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return list(map(repr, array.to_pylist()))


def alone(kind: pa.DataType, timestamp_format: str, text: bytes | None) -> tuple[str, bool]:
    """The result of the cast for one value, and whether the value is bad."""
    try:
        return plain(_cast(kind, timestamp_format)(pa.array([text], pa.binary())))[0], False
    except FITS_NOT:
        return repr(None), True


@pytest.mark.parametrize(("kind", "timestamp_format"), KINDS, ids=str)
def test_odd_values_are_judged_as_the_cast_judges_each_alone(
    kind: pa.DataType, timestamp_format: str
) -> None:
    page = random.Random(4).sample(ODD, len(ODD))
    truth = [alone(kind, timestamp_format, text) for text in page]
    array, bad = Flat(kind, timestamp_format).tolerant(pa.array(page, pa.binary()))
    assert [page[row] for row in bad] == [
        t for t, (_, is_bad) in zip(page, truth, strict=True) if is_bad
    ]
    assert plain(array) == [value for value, _ in truth]
    assert array.type == kind


@given(st.data())
def test_any_page_of_any_type_is_judged_value_by_value(data: st.DataObject) -> None:
    kind, timestamp_format = data.draw(st.sampled_from(KINDS))
    one = st.none() | st.sampled_from(ODD) | st.binary(max_size=6)
    page = data.draw(st.lists(one, max_size=20))
    truth = [alone(kind, timestamp_format, text) for text in page]
    array, bad = Flat(kind, timestamp_format).tolerant(pa.array(page, pa.binary()))
    assert bad == [row for row, (_, is_bad) in enumerate(truth) if is_bad]
    assert plain(array) == [value for value, _ in truth]


def test_a_decimal_too_large_is_bad_and_not_another_number() -> None:
    page = [b"9" * 30, b"1e30", b"-9e37", b"1e2", None]
    array, bad = Flat(pa.decimal128(38, 18), ISO).tolerant(pa.array(page, pa.binary()))
    assert array.to_pylist() == [None, None, None, Decimal(100), None]
    assert bad == [0, 1, 2]
