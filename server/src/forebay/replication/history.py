"""The stream of changes that the data belongs to, and the offset of the data in it.

    replid   forty hex digits, new whenever a server begins to accept writes of its own
    offset   bytes of the stream so far; the data contains all of them and nothing after
    replid2  the stream that this one continues: it is the same up to ``second_offset``

    primary A:  A ----------------> 900 (dead)
    replica:    A ------> 850, promoted:  B 850 ---->      replid B, replid2 A up to 850
    another:    A ----> 800  asks for A from 801: the promoted one says CONTINUE B

Rules
  1. An offset counts the bytes so far.  On the wire PSYNC names the next byte instead, which is
     one more, and so does INFO for ``second_repl_offset`` and the start of the backlog.
  2. A new name is chosen whenever the bytes that follow may differ from those of any other
     server with the old name.
"""

from __future__ import annotations

from typing import NamedTuple

#: The name of no stream.
NO_ID = "0" * 40
NOWHERE = -1
#: The stream does not say which database it last selected.
NO_DATABASE = -1


class Position(NamedTuple):
    """A place in a stream: everything that a replica needs to ask for the rest."""

    replid: str
    offset: int
    #: The database that the stream has selected at this place.
    db_index: int = 0

    def line(self) -> bytes:
        """As the AOF stores it: a comment of the unit that led to this place."""
        return b"#REPL:%b:%d:%d\r\n" % (self.replid.encode(), self.offset, self.db_index)


def parse_position(text: bytes) -> Position | None:
    """The place that such a comment names, without its head; None if it names none."""
    words = text.strip().split(b":")
    if len(words) != 3 or len(words[0]) != len(NO_ID):
        return None
    try:
        return Position(words[0].decode("ascii"), int(words[1]), int(words[2]))
    except ValueError:
        return None


class History:
    """The names of the stream, and its length."""

    def __init__(self, replid: str, offset: int = 0) -> None:
        self.replid = replid
        self.offset = offset
        self.replid2 = NO_ID
        self.second_offset = NOWHERE

    def rename(self, replid: str) -> None:
        """Continue under another name: from here on the stream is our own."""
        self.replid2 = self.replid
        self.second_offset = self.offset
        self.replid = replid

    def restart(self, replid: str) -> None:
        """Begin a stream that continues no other; the offset goes on, so that it never repeats."""
        self.replid = replid
        self.replid2 = NO_ID
        self.second_offset = NOWHERE

    def adopt(self, replid: str, offset: int) -> None:
        """Take over the stream of a primary, as of a full copy of its data."""
        self.restart(replid)
        self.offset = offset

    def oldest_name(self) -> str:
        """The oldest name of the stream at the place of the data, which others may know: a stream
        that was only renamed counts as the one before.
        """
        return self.replid2 if self.offset == self.second_offset else self.replid

    def shares(self, replid: str, offset: int) -> bool:
        """Whether this stream and that one are the same up to this offset."""
        if replid == self.replid:
            return True
        return replid == self.replid2 != NO_ID and offset <= self.second_offset
