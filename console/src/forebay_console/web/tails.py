"""Live tails: one reader for each watched stream, however many viewers it has.

    XREAD BLOCK 1000 STREAMS orders 5-0   -->  every viewer's queue  -->  server-sent events

A viewer that does not keep up loses entries and learns how many; neither the reader nor the others
wait for it.  A reader ends shortly after its last viewer has left.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import Any

from forebay.cli.remote.facts import stream_of
from forebay.cli.remote.refusals import RefusedError
from forebay.cli.remote.server import NotReachedError
from forebay_console.servers.links import Links
from forebay_console.servers.shown import size_of
from forebay_console.views.entries import told

log = logging.getLogger(__name__)

BLOCK_S = 1.0
COUNT = 100
#: The most entries that wait for a viewer, and their most bytes.
MOST_WAITING, MOST_BYTES = 500, 4 << 20


class Viewer:
    """The entries that wait for one browser."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque()
        self._bytes = 0
        self._left_out = 0
        self._trouble: str | None = None
        self._ready = asyncio.Event()
        self._lock = threading.Lock()

    def offer(self, size: int, entry: dict[str, Any]) -> None:
        """One more entry, from the reader's thread."""
        with self._lock:
            self._trouble = None
            self._waiting.append((size, entry))
            self._bytes += size
            while len(self._waiting) > MOST_WAITING or self._bytes > MOST_BYTES:
                self._bytes -= self._waiting.popleft()[0]
                self._left_out += 1
        self._loop.call_soon_threadsafe(self._ready.set)

    def complain(self, trouble: str) -> None:
        """Say why no entries arrive."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._loop.call_soon_threadsafe(self._ready.set)

    async def take(self) -> dict[str, Any]:
        """All entries since the last call, and the trouble that prevents more."""
        await self._ready.wait()
        self._ready.clear()
        with self._lock:
            found = [entry for _, entry in self._waiting]
            left_out, self._left_out, self._bytes = self._left_out, 0, 0
            self._waiting.clear()
        return {"entries": found, "left_out": left_out, "trouble": self._trouble}


class Tail:
    """The reader of one stream, as one user."""

    def __init__(self, links: Links, stream: bytes) -> None:
        self._links = links
        self._stream = stream
        self.viewers: set[Viewer] = set()
        self._thread = threading.Thread(target=self._run, name="console-tail", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def _run(self) -> None:
        last = ""
        while self.viewers:
            try:
                with self._links.lent() as server:
                    last = last or stream_of(server, self._stream).last_id
                    while self.viewers:
                        words = ("COUNT", COUNT, "BLOCK", int(BLOCK_S * 1000), "STREAMS")
                        reply = server.ask("XREAD", *words, self._stream, last, wait_s=BLOCK_S)
                        for entry in reply[0][1] if reply else ():
                            last = entry[0].decode()
                            self._offer(entry)
            except (NotReachedError, RefusedError) as error:
                log.debug("tail of %r: %s", self._stream, error)
                for viewer in list(self.viewers):
                    viewer.complain(str(error))
                threading.Event().wait(BLOCK_S)

    def _offer(self, entry: Any) -> None:
        size, shown = size_of(entry[1]), told(entry)
        for viewer in list(self.viewers):
            viewer.offer(size, shown)


class Tails:
    """All readers, by user and stream."""

    def __init__(self) -> None:
        self._tails: dict[tuple[str, bytes], Tail] = {}

    def join(self, user: str, links: Links, stream: bytes) -> tuple[Tail, Viewer]:
        """Watch a stream."""
        tail = self._tails.get((user, stream))
        is_new = tail is None or not tail.viewers
        if tail is None or is_new:
            tail = self._tails[(user, stream)] = Tail(links, stream)
        viewer = Viewer()
        tail.viewers.add(viewer)
        if is_new:
            tail.start()
        return tail, viewer

    def leave(self, tail: Tail, viewer: Viewer) -> None:
        """Watch no longer."""
        tail.viewers.discard(viewer)
        self._tails = {key: one for key, one in self._tails.items() if one.viewers}
