"""CRC-64 as Redis uses it at the end of an RDB file and a DUMP payload (Jones, reflected).

    polynomial AD93D23594C935A9, bits reflected, start 0, no final xor
    update(0, b"123456789", 0, 9) == E9C6D914C4B8D9CA

Eight bytes are processed at a time: eight tables of 256 words, where table k
gives the effect of a byte on the checksum when k more bytes follow it.  One
lookup per byte, all independent of each other, so the processor does them in
parallel.
"""

from __future__ import annotations

from array import array

from forebay import mem

POLYNOMIAL = 0x95AC9329AC4BC9B5  # AD93D23594C935A9 with its bits reversed
LANES = 8
SIZE = 256


def make_table() -> array[int]:
    """Eight tables in one array: word 256*k + b is byte b with k bytes after it."""
    table = array("Q", bytes(8 * LANES * SIZE))
    for byte in range(SIZE):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ POLYNOMIAL if crc % 2 else crc >> 1
        table[byte] = crc
    for at in range(SIZE, LANES * SIZE):
        before = table[at - SIZE]
        table[at] = table[before % SIZE] ^ before >> 8
    return table


TABLE = make_table()


def update(crc: int, data: mem.Source, start: int, end: int) -> int:
    """The checksum after data[start:end], if it was ``crc`` before."""
    w = mem.words(TABLE)
    at = start
    while at + LANES <= end:
        crc = crc ^ mem.get_le(data, at, LANES)
        crc = (
            w[1792 + (crc & 255)]
            ^ w[1536 + (crc >> 8 & 255)]
            ^ w[1280 + (crc >> 16 & 255)]
            ^ w[1024 + (crc >> 24 & 255)]
            ^ w[768 + (crc >> 32 & 255)]
            ^ w[512 + (crc >> 40 & 255)]
            ^ w[256 + (crc >> 48 & 255)]
            ^ w[crc >> 56]
        )
        at += LANES
    while at < end:
        crc = w[(crc ^ data[at]) & 255] ^ crc >> 8
        at += 1
    return crc
