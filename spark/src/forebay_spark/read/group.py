"""The consumer group that mirrors the progress of a query.

With the option ``group``, the group's last-delivered ID follows the commits of Spark.
Then XINFO GROUPS shows the lag, and trimming that respects groups keeps entries that
the query has not read.  The group belongs to the query alone.  A group with
consumers is refused, because moving it would disturb them.
"""

from __future__ import annotations

import logging

from forebay_spark.errors import OptionError, ServerError
from forebay_spark.read import offsets
from forebay_spark.read.offsets import Json, Position
from forebay_spark.servers.connect import Server

_LOG = logging.getLogger("forebay_spark")


class Mirror:
    """Moves one group of each stream."""

    def __init__(self, server: Server, group: str | None) -> None:
        self._server = server
        self._group = group
        self._told: dict[str, Position] = {}

    def move(self, committed: Json) -> None:
        """Move the group of each stream to the committed position, if it has changed."""
        if self._group is None:
            return
        for stream, record in committed.items():
            position = offsets.position(record)
            if stream not in self._told:
                self._refuse_shared(stream)
            if self._told.get(stream) != position and self._set(stream, position):
                self._told[stream] = position

    def _refuse_shared(self, stream: str) -> None:
        """OptionError if the group has consumers: moving it would skip their entries."""
        replies = self._server.link(stream).call_all([("XINFO", "GROUPS", stream)])
        for reply in replies[0] if isinstance(replies[0], list) else ():
            group = dict(zip(reply[0::2], reply[1::2], strict=True))
            if group[b"name"] == str(self._group).encode() and group[b"consumers"]:
                raise OptionError(
                    f"Group {self._group!r} of stream {stream!r} has consumers that read through "
                    "it, but the option group moves it past entries. Name a group of its own."
                )

    def _set(self, stream: str, position: Position) -> bool:
        """Create or move the group; a failure is logged and does not stop the query."""
        place = [str(position.id)]
        if position.n is not None:
            place += ["ENTRIESREAD", str(position.n)]
        link = self._server.link(stream)
        try:
            try:
                link.call("XGROUP", "SETID", stream, str(self._group), *place)
            except ServerError as error:
                if "NOGROUP" not in str(error):
                    raise
                link.call("XGROUP", "CREATE", stream, str(self._group), *place)
        except ServerError as error:
            _LOG.warning("Group %s of %s was not moved: %s", self._group, stream, error)
            return False
        return True
