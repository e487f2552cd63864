"""CRC-32 as in zlib: reflected, polynomial 04C11DB7, chained by its last value.

Sixteen bytes a step.  TABLE holds sixteen tables of 256 cells: table k gives
the effect of a byte on the checksum when k more bytes follow it.  So sixteen
independent look-ups replace sixteen that wait for each other.

    crc32(a + b) == update(update(0, a), b)

The AOF checks every record with it; zlib itself is faster only from some
hundred bytes on, and a call into it makes objects.
"""

from __future__ import annotations

from array import array

from forebay import mem

#: The polynomial, its bits in reverse.
POLYNOMIAL = 0xEDB88320


def make_table() -> array[int]:
    """Table 0 byte by byte, each next one from the one before."""
    table = array("I", bytes(4 * 16 * 256))
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ POLYNOMIAL if crc & 1 else crc >> 1
        table[byte] = crc
    for at in range(256, 16 * 256):
        crc = table[at - 256]
        table[at] = table[crc & 255] ^ (crc >> 8)
    return table


TABLE = make_table()


def update(crc: int, p: mem.Source, at: int, end: int) -> int:
    """The checksum of the bytes covered by ``crc``, followed by p[at:end]."""
    t = mem.cells(TABLE)
    crc = crc ^ mem.U32_MAX
    while end - at >= 16:
        a = mem.get_le(p, at, 8) ^ crc
        b = mem.get_le(p, at + 8, 8)
        # The look-ups that depend on the last value are last: the others do not wait for it.
        crc = (
            t[b >> 56]
            ^ t[256 + ((b >> 48) & 255)]
            ^ t[512 + ((b >> 40) & 255)]
            ^ t[768 + ((b >> 32) & 255)]
            ^ t[1024 + ((b >> 24) & 255)]
            ^ t[1280 + ((b >> 16) & 255)]
            ^ t[1536 + ((b >> 8) & 255)]
            ^ t[1792 + (b & 255)]
            ^ t[2048 + (a >> 56)]
            ^ t[2304 + ((a >> 48) & 255)]
            ^ t[2560 + ((a >> 40) & 255)]
            ^ t[2816 + ((a >> 32) & 255)]
            ^ t[3072 + ((a >> 24) & 255)]
            ^ t[3328 + ((a >> 16) & 255)]
            ^ t[3584 + ((a >> 8) & 255)]
            ^ t[3840 + (a & 255)]
        )
        at += 16
    if end - at >= 8:
        a = mem.get_le(p, at, 8) ^ crc
        crc = (
            t[a >> 56]
            ^ t[256 + ((a >> 48) & 255)]
            ^ t[512 + ((a >> 40) & 255)]
            ^ t[768 + ((a >> 32) & 255)]
            ^ t[1024 + ((a >> 24) & 255)]
            ^ t[1280 + ((a >> 16) & 255)]
            ^ t[1536 + ((a >> 8) & 255)]
            ^ t[1792 + (a & 255)]
        )
        at += 8
    while at < end:
        crc = t[(crc ^ p[at]) & 255] ^ (crc >> 8)
        at += 1
    return crc ^ mem.U32_MAX


def checksum(data: bytes, seed: int = 0) -> int:
    """The same, of an object."""
    return update(seed, data, 0, len(data))
