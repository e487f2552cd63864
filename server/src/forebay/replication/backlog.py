"""The latest bytes of the stream of changes, for replicas that come back and for slow ones.

    blocks    [ 64 KiB ][ 64 KiB ][ 64 KiB .... ]
              ^first            ^a replica       ^end
              <---- at least ``size`` bytes ---->

All replicas read from here, each from its own place, so that a change is kept once however
many they are.  What lies before both ``end - size`` and the slowest replica is let go, a block
at a time.

Rules
  1. Places are offsets of the stream (history.py): the first byte of a stream is at 0.
  2. ``first`` is where the bytes begin that a replica that comes back may ask for: the last
     ``size`` ones, or more while a slow replica needs more of them.
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
        #: The block that grows, which is the last one.
        self.last = Block(offset)
        self.blocks: deque[Block] = deque([self.last])
        self.end = offset
        #: Where the bytes begin that may be asked for.
        self.first = offset

    def append(self, src: mem.Source, at: int, n: int) -> None:
        """The stream grows by n bytes."""
        if len(self.last.data) >= BLOCK_BYTES:
            self.last = Block(self.end)
            self.blocks.append(self.last)
        mem.extend(self.last.data, src, at, n)
        self.end += n

    def has(self, offset: int) -> bool:
        """Whether the stream can be sent from there on."""
        return self.first <= offset <= self.end

    def release(self, needed: int) -> None:
        """Let go of what nobody needs: neither a replica at ``needed`` nor a come-back."""
        self.first = max(self.first, min(needed, self.end - self.size))
        while len(self.blocks) > 1 and self.blocks[0].end() <= self.first:
            self.blocks.popleft()

    def block_at(self, offset: int) -> Block:
        """The block that holds the byte after an offset; most replicas are near the end."""
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
