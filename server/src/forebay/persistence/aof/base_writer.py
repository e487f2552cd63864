"""Commands in, the text of an AOF out; a seal follows each stretch.

    *3 $3 SET ...  *3 $3 SET ...  #CRC:xxxxxxxx     one stretch, given to the sink
    *3 $3 SET ...  ...                              the next one, in the making

A base file is written once and read as a whole, so it does not need a checksum
line after every command: one for each STRETCH_BYTES locates damage well enough,
and costs a thousandth of the space.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.persistence.aof import crc32
from forebay.persistence.aof.seals import seal_line
from forebay.wire.resp_writer import RespWriter

STRETCH_BYTES = 16 << 10


class BaseWriter:
    """Collects commands in ``out`` and hands sealed stretches to the sink."""

    def __init__(self, sink: Callable[[bytes], object]) -> None:
        self.sink = sink
        self.out = RespWriter()
        self.crc = 0

    def command(self, words: list[bytes]) -> None:
        """Add one command; compiled callers may write theirs into ``out`` themselves."""
        out = self.out
        out.array(len(words))
        for word in words:
            out.bulk(word)

    def flush_if_full(self) -> bool:
        """Seal the stretch if it is long enough; call this between commands."""
        if self.out.size < STRETCH_BYTES:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Seal the stretch."""
        if self.out.size > 0:
            self.crc = crc32.update(self.crc, self.out.p, 0, self.out.size)
            self.out.raw(seal_line(self.crc))
            self.sink(self.out.take())
