"""Finding the n-th entry after an ID, on a server that has no command for it.

Stock Redis cannot count entries between IDs without sending them, so a limit costs a
walk over the limited entries, pages of which are thrown away but for their IDs.  The
walk knows exact counts, and its cuts are at real entries, so tasks can check that
they got all.
"""

from __future__ import annotations

from forebay_spark import ids
from forebay_spark.connect import Link, Server
from forebay_spark.ids import EntryId
from forebay_spark.offsets import Piece

WALK_PAGE = 2000


class WalkingSplitter:
    """Counts entries by reading them; works on every server of the family."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def split(
        self, stream: str, start: EntryId, end: EntryId, limit: int, parts: int
    ) -> list[Piece]:
        """Pieces of ``limit / parts`` entries; see planning.Splitter."""
        link = self._server.link(stream)
        pieces: list[Piece] = []
        left, parts_left = limit, parts
        while left > 0:
            wanted = -(-left // parts_left)
            piece = self._walk(link, stream, pieces[-1].end if pieces else start, end, wanted)
            pieces.append(piece)
            if piece.end == end:
                return pieces
            left -= wanted
            parts_left -= 1
        return pieces

    def _walk(self, link: Link, stream: str, start: EntryId, end: EntryId, wanted: int) -> Piece:
        """Up to ``wanted`` entries after ``start``; ends at ``end`` if there are no more."""
        at, seen = start, 0
        while seen < wanted:
            count = min(WALK_PAGE, wanted - seen)
            entries = link.call("XRANGE", stream, f"({at}", str(end), "COUNT", count)
            seen += len(entries)
            if len(entries) < count:
                return Piece(start, end, seen)
            at = ids.parse(entries[-1][0])
        return Piece(start, at, seen)
