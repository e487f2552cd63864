"""Lengths, numbers and strings of an RDB file: written as in Redis, and always checked."""

from __future__ import annotations

import pytest

from forebay.errors import CorruptDataError
from forebay.persistence.rdb import crc64
from forebay.persistence.rdb.reader import RdbReader, read_bytes
from forebay.persistence.rdb.writer import RdbWriter
from testkit.rdb_files import Source

#: How many bytes the writer gathers before it calls its sink.
PIECE = 1 << 20
LENGTHS = [
    (0, "00"),
    (63, "3f"),
    (64, "4040"),
    (16383, "7fff"),
    (16384, "8000004000"),
    (2**32 - 1, "80ffffffff"),
    (2**32, "810000000100000000"),
    (2**64 - 1, "81ffffffffffffffff"),
]
STRINGS = [
    (b"", "00"),
    (b"a", "0161"),
    (b"7", "c007"),
    (b"-128", "c080"),
    (b"128", "c18000"),
    (b"-32768", "c10080"),
    (b"32768", "c200800000"),
    (b"-2147483648", "c200000080"),
    (b"2147483648", "0a32313437343833363438"),
    (b"007", "03303037"),
    (b"-0", "022d30"),
    (b"+1", "022b31"),
]


def written(data: object) -> bytes:
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append)
    writer.length(data) if isinstance(data, int) else writer.string(data)
    writer.flush()
    return b"".join(pieces)


@pytest.mark.parametrize(("value", "text"), LENGTHS)
def test_lengths_take_as_few_bytes_as_they_can(value: int, text: str) -> None:
    assert written(value).hex() == text
    assert read_bytes(written(value), len(written(value))).length() == value


@pytest.mark.parametrize(("value", "text"), STRINGS)
def test_strings_that_are_short_integers_are_stored_as_such(value: bytes, text: str) -> None:
    assert written(value).hex() == text
    assert read_bytes(written(value), len(written(value))).string() == value


def test_long_strings_are_compressed_where_that_is_shorter() -> None:
    data = written(b"word " * 100)
    assert data[0] == 0xC3 and len(data) < 30
    assert read_bytes(data, len(data)).string() == b"word " * 100
    assert written(b"x" * 20) == b"\x14" + b"x" * 20, "up to twenty bytes are left alone"
    assert len(written(bytes(range(256)))) == 258, "so is what does not get shorter"


def test_numbers_have_their_byte_order() -> None:
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append)
    writer.le64(2**63 + 1)
    writer.le32(258)
    writer.entry_id(1, 2**64 - 1)
    writer.flush()
    data = b"".join(pieces)
    assert data.hex() == "0100000000000080" + "02010000" + "0000000000000001" + "f" * 16
    reader = read_bytes(data, len(data))
    assert (reader.le(8), reader.le(4), reader.be64(), reader.be64()) == (
        2**63 + 1, 258, 1, 2**64 - 1,
    )  # fmt: skip


def test_the_sink_gets_large_pieces_and_the_checksum_covers_them_all() -> None:
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append, compress=False)
    for i in range(1000):
        writer.string(b"%04d" % i * 300)
    assert writer.written == 1000 * 1202
    writer.finish()
    assert len(pieces) == 3 and PIECE - 1300 < len(pieces[0]) <= PIECE
    data = b"".join(pieces)
    assert int.from_bytes(data[-8:], "little") == crc64.update(0, data, 0, len(data) - 8)


def test_a_window_slides_over_a_file_that_is_larger() -> None:
    pieces: list[bytes] = []
    writer = RdbWriter(pieces.append, compress=False)
    words = [b"%d" % i * (i % 97) * 10 for i in range(600)] + [b"y" * 1_200_000, b"end"]
    for word in words:
        writer.string(word)
    writer.finish()
    data = b"".join(pieces)
    reader = RdbReader(Source(data).read, len(data))
    assert [reader.string() for _ in words] == words
    assert reader.sum_up() == reader.le(8)
    assert reader.left() == 0 and reader.offset == len(data)


def test_strings_can_be_stepped_over() -> None:
    data = written(b"12") + written(b"word " * 100) + written(b"plain") + written(b"next")
    reader = read_bytes(data, len(data))
    for _ in range(3):
        reader.skip_string()
    assert reader.string() == b"next"


@pytest.mark.parametrize(
    "data",
    [
        "",
        "40",
        "800000",
        "81000000",
        "82",
        "bf",
        "c0",
        "c100",
        "c4",
        "ff",
        "05616263",
        "8100ffffffffffffff",
        "81ffffffffffffffff",
        "c3",
        "c30a05",
        "c3028100ffffffffffffff0061",
        "c30281ffffffffffffffff0061",
        "c304050261626300",
    ],
)
def test_what_runs_out_or_makes_no_sense_is_refused_with_an_offset(data: str) -> None:
    raw = bytes.fromhex(data)
    for method in ("string", "skip_string"):
        if method == "skip_string" and data.startswith("c3") and len(raw) > 5:
            continue  # a skipped string is not expanded
        with pytest.raises(CorruptDataError, match=r"at offset \d+"):
            getattr(read_bytes(raw, len(raw)), method)()


def test_a_count_is_compared_with_the_bytes_that_are_left() -> None:
    data = written(5) + bytes(20)
    assert read_bytes(data, len(data)).count(4) == 5
    with pytest.raises(CorruptDataError, match="5 items cannot be in what is left, at offset 0"):
        read_bytes(data, len(data)).count(5)


def test_negative_times_are_refused() -> None:
    with pytest.raises(CorruptDataError, match="a time is negative, at offset 0"):
        read_bytes(b"\xff" * 8, 8).time_ms()


def test_a_file_that_is_shorter_than_it_said_is_refused() -> None:
    reader = RdbReader(Source(b"abc").read, 100)
    with pytest.raises(CorruptDataError, match="shorter"):
        reader.raw(3)
