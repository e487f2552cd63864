"""What a user may see: asked from the server as that user, then remembered for a while.

    XINFO GROUPS orders     answered: all facts about it may be shown
    XLEN orders             answered: its name and its length, nothing else

The poller sees what its own user sees, and viewers may have fewer rights.  The console asks twice
a minute for each name, and once a second for names on a screen.  When one answer differs from the
last, all are forgotten and asked again: the user's rights have changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from enum import IntEnum

from forebay.cli.remote.link import Link, Refusal
from forebay.cli.remote.refusals import sentence
from forebay.cli.remote.server import Server
from forebay_console.asking.lists import Lists

REMEMBERED_S = 30.0
ON_SCREEN_S = 1.0
#: How long to remember whether INFO is permitted: its answer is long.
COMMAND_S = 5.0


class Sight(IntEnum):
    """How much of a stream may be seen."""

    NOTHING = 0
    LENGTH = 1
    ALL = 2


class Permits:
    """What one user may see; shared by the user's sessions."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Sight, float]] = {}
        self._info: tuple[str | None, float] = (None, float("-inf"))
        self._lock = threading.Lock()
        self.lists = Lists()

    def of(
        self, server: Server, names: Iterable[bytes], remembered_s: float = REMEMBERED_S
    ) -> dict[bytes, Sight]:
        """How much of these streams may be seen."""
        listed, now_s = list(names), time.monotonic()
        with self._lock:
            known = self._known
            unknown = [n for n in listed if n not in known or known[n][1] + remembered_s < now_s]
            found = sights(server.link, unknown)
            if any(name in known and known[name][0] is not sight for name, sight in found.items()):
                self._known = known = {}
                self.lists = Lists()
                found = sights(server.link, listed)
            known |= {name: (sight, now_s) for name, sight in found.items()}
            if len(known) > 4 * len(listed) + 1000:
                self._known = {name: known[name] for name in listed}
            return {name: known[name][0] for name in listed}

    def why_no_info(self, server: Server) -> str | None:
        """Why INFO may not be seen, in a sentence; None if it may."""
        with self._lock:
            why, at_s = self._info
            if at_s + COMMAND_S < time.monotonic():
                reply = server.link.ask("INFO", "server")
                is_no = isinstance(reply, Refusal)
                why = sentence(server.link, ("INFO",), reply) if is_no else None
                self._info = why, time.monotonic()
            return why


def sights(link: Link, names: list[bytes]) -> dict[bytes, Sight]:
    """Ask the server."""
    replies = link.ask_all([("XINFO", "GROUPS", name) for name in names])
    found = dict.fromkeys(names, Sight.ALL)
    refused = [name for name, reply in zip(names, replies, strict=True) if is_refused(reply)]
    lengths = link.ask_all([("XLEN", name) for name in refused])
    for name, reply in zip(refused, lengths, strict=True):
        found[name] = Sight.NOTHING if is_refused(reply) else Sight.LENGTH
    return found


def is_refused(reply: object) -> bool:
    """Whether the server did not permit it; a missing key or another type does not count."""
    return isinstance(reply, Refusal) and reply.code in ("NOPERM", "NOAUTH")
