"""Which streams a user may see: asked of the server once, then remembered for a while.

The poller sees what its own user sees, and viewers may have fewer rights.  ``XLEN`` as the viewer
is the cheapest question whose answer tells.  It is asked for each name twice a minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import Server
from forebay_console.asking.lists import Lists

REMEMBERED_S = 30.0


class Permits:
    """What one user may see."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[bool, float]] = {}
        self.lists = Lists()

    def of(self, server: Server, names: Iterable[bytes]) -> list[bytes]:
        """Those of the names that may be seen, in their order."""
        listed, now_s = list(names), time.monotonic()
        known = self._known
        unknown = [one for one in listed if one not in known or known[one][1] < now_s]
        replies = server.link.ask_all([("XLEN", name) for name in unknown])
        for name, reply in zip(unknown, replies, strict=True):
            is_refused = isinstance(reply, Refusal) and reply.code in ("NOPERM", "NOAUTH")
            known[name] = (not is_refused, now_s + REMEMBERED_S)
        if len(known) > 4 * len(listed) + 1000:
            self._known = {name: known[name] for name in listed}
        return [name for name in listed if known[name][0]]
