"""The copy of all data on its way to a replica: where it begins and where it ends.

    $1048576 CRLF  <1,048,576 bytes>                      from a file: its size is known
    $EOF:<40 bytes> CRLF  <bytes> <the same 40 bytes>     straight from a child: a mark ends it

Between the answer to PSYNC and the first line the primary sends empty lines as keepalives.
The mark is searched for at the end of the received bytes: the primary sends nothing after it
until it gets an ACK.
"""

from __future__ import annotations

from forebay.replication.handshake import Refused, shown

MARK_BYTES = 40
EOF_HEAD = b"$EOF:"


class Copy:
    """Takes the bytes of one copy; ``take`` says which of them belong to the file."""

    def __init__(self, head: bytes) -> None:
        #: -1 until the mark is found, if there is one.
        self.size = -1
        self.mark = b""
        self.received = 0
        self.is_done = False
        #: The last received bytes, which may be the mark.
        self.tail = b""
        if head.startswith(EOF_HEAD) and len(head) == len(EOF_HEAD) + MARK_BYTES:
            self.mark = head[len(EOF_HEAD) :]
        elif head[:1] == b"$" and head[1:].isdigit():
            self.size = int(head[1:])
            self.is_done = self.size == 0
        else:
            raise Refused(f"instead of a copy of its data the primary sends {shown(head)}")

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """The part of the bytes that belongs to the file, and the bytes after the copy."""
        if not self.mark:
            mine = data[: self.size - self.received]
            self.received += len(mine)
            self.is_done = self.received == self.size
            return mine, data[len(mine) :]
        joined = self.tail + data
        if joined.endswith(self.mark):
            self.is_done = True
            self.tail = b""
            mine = joined[:-MARK_BYTES]
        else:
            self.tail = joined[-MARK_BYTES:]
            mine = joined[: -len(self.tail)] if self.tail else b""
        self.received += len(mine)
        if self.is_done:
            self.size = self.received
        return mine, b""


def head_of_file(size: int) -> bytes:
    """The line before a copy of known size."""
    return b"$%d\r\n" % size


def head_of_stream(mark: bytes) -> bytes:
    """The line before a copy that a mark ends."""
    return EOF_HEAD + mark + b"\r\n"
