"""The latest bytes of the stream of changes, for replicas that reconnect and for slow ones.

    blocks    [ 64 KiB ][ 64 KiB ][ 64 KiB .... ]
              ^first            ^a replica       ^end
              <---- at least ``size`` bytes ---->

All replicas read from here, each from its own place, so that a change is stored only once for
all of them.  Bytes before both ``end - size`` and the slowest replica are released, a block at
a time.

Rules
  1. Places are offsets of the stream (history.py): the first byte of a stream is at 0.
  2. ``first`` is the first byte that a reconnecting replica may ask for: the last ``size``
     bytes, or more while a slow replica needs more of them.
"""

from __future__ import annotations

from collections import deque

from forebay import mem

BLOCK_BYTES = 64 << 10


class Block:
    """A stretch of the stream."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.data = bytearray()

    def end(self) -> int:
        """The offset after its last byte."""
        return self.start + len(self.data)


class Backlog:
    """A window on the end of the stream."""

    def __init__(self, size: int, offset: int) -> None:
        self.size = size
        #: The last block, which grows.
        self.last = Block(offset)
        self.blocks: deque[Block] = deque([self.last])
        self.end = offset
        #: The first byte that may be requested.
        self.first = offset

    def append(self, src: mem.Source, at: int, n: int) -> None:
        """Append n bytes to the stream."""
        if len(self.last.data) >= BLOCK_BYTES:
            self.last = Block(self.end)
            self.blocks.append(self.last)
        mem.extend(self.last.data, src, at, n)
        self.end += n

    def has(self, offset: int) -> bool:
        """Whether the stream can be sent from this offset on."""
        return self.first <= offset <= self.end

    def release(self, needed: int) -> None:
        """Release bytes that neither a replica at ``needed`` nor a reconnecting one needs."""
        self.first = max(self.first, min(needed, self.end - self.size))
        while len(self.blocks) > 1 and self.blocks[0].end() <= self.first:
            self.blocks.popleft()

    def block_at(self, offset: int) -> Block:
        """The block with the byte after an offset; most replicas are near the end."""
        if self.last.start <= offset:
            return self.last
        i = len(self.blocks) - 1
        while self.blocks[i].start > offset:
            i -= 1
        return self.blocks[i]

    @property
    def held_bytes(self) -> int:
        """Memory in use, roughly."""
        return self.end - self.blocks[0].start
