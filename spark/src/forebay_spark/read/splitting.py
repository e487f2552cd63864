"""Finding the n-th entry after an ID, with the help of the server or without it.

Forebay cuts a range by count in one call, FB.SPLIT, without looking at the entries.
Stock Redis cannot count entries between IDs without sending them, so there a limit
costs a walk over the limited entries; only their IDs are kept.  Both know exact counts,
and cut at real entries, so tasks can check that they got all.
"""

from __future__ import annotations

from forebay_spark import ids
from forebay_spark.ids import EntryId
from forebay_spark.read.offsets import Piece
from forebay_spark.servers.capabilities import Helper
from forebay_spark.servers.connect import Link, Server

WALK_PAGE = 2000


class AskingSplitter:
    """Lets the server count if it can, and walks if it cannot."""

    def __init__(self, server: Server, helper: Helper) -> None:
        self._server = server
        self._helper = helper
        self._walking = WalkingSplitter(server)

    def is_cheap(self, stream: str) -> bool:
        """See planning.Splitter."""
        return self._helper.helps(stream)

    def split(
        self, stream: str, start: EntryId, end: EntryId, limit: int | None, parts: int
    ) -> list[Piece]:
        """See planning.Splitter."""
        if limit is not None and not self._helper.helps(stream):
            return self._walking.split(stream, start, end, limit, parts)
        most = () if limit is None else ("COUNT", limit)
        found = self._server.link(stream).call(
            "FB.SPLIT", stream, f"({start}", str(end), parts, *most
        )
        pieces: list[Piece] = []
        for _first, last, count in found:
            pieces.append(Piece(pieces[-1].end if pieces else start, ids.parse(last), count))
        if not pieces:
            return [Piece(start, end, 0)]
        if limit is None or sum(piece.entries or 0 for piece in pieces) < limit:
            pieces[-1] = pieces[-1]._replace(end=end)
        return pieces


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
