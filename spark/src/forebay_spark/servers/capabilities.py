"""Whether the server helps: cuts ranges by count and sends columns, as Forebay does.

The driver asks once per query, with a real call.  If the server does not know the command, or does
not let this user call it, it is read like any other Redis.  The answer decides how a range is split
(splitting.py) and, through each task, how it is read (page_requests.py).
"""

from __future__ import annotations

import redis

from forebay_spark.errors import OptionError
from forebay_spark.options import COLUMNS, RANGE, Options
from forebay_spark.servers.connect import Server

#: Refusals that mean: do without. The second and third are for users without the right.
UNHELPFUL = ("unknown command", "NOPERM", "no permissions")


class Helper:
    """Whether the server cuts ranges and sends columns; asked once, with a real call."""

    def __init__(self, server: Server, options: Options) -> None:
        self._server = server
        self._wish = options.fetch
        self._helps: bool | None = False if self._wish == RANGE else None

    def helps(self, stream: str) -> bool:
        """Whether it helps; OptionError if it does not but the options demand it."""
        if self._helps is None:
            (reply,) = self._server.link(stream).call_all([("FB.SPLIT", stream, 1, 1, 1)])
            self._helps = not _is_refusal(reply)
            if self._wish == COLUMNS and not self._helps:
                raise OptionError(
                    f"The server at {self._server.where} does not send columns ({reply}), but "
                    "option fetch is columns. Set it to auto or range."
                )
        return self._helps


def _is_refusal(reply: object) -> bool:
    return isinstance(reply, redis.exceptions.ResponseError) and any(
        word in str(reply) for word in UNHELPFUL
    )
