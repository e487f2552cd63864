"""The one that asks: a thread with one connection, a round each second.

    INFO, TIME                          how the server is
    a piece of SCAN                     new streams; after a whole walk, those that have gone
    XINFO STREAM, XINFO GROUPS          first for what somebody looks at, then for the next of all
    XRANGE (last + COUNT 1              the age of the next entry, for groups that have not all
    MEMORY USAGE                        now and then

A round asks about MOST_STREAMS streams, whatever their number: with ten thousand of them, those
on a screen are new each second, and the others are a few seconds old.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from forebay.cli.remote.facts import NO_ID, GroupFacts, StreamFacts, every_group, id_key, ms_of
from forebay.cli.remote.facts import stream_facts as facts_of_reply
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import NotReachedError, RefusedError, Server
from forebay_console.servers.links import Links
from forebay_console.watch.board import LARGE, Board, Watched, WatchedGroup
from forebay_console.watch.curves import Curve
from forebay_console.watch.walk import Walk

log = logging.getLogger(__name__)

#: Streams a round; up to four questions each, of about 3 microseconds of the server: below one
#: per cent of a core.
MOST_STREAMS = 600
ROUND_S = 1.0
#: How long a stream is of interest after somebody has looked at it.
LOOKED_S = 5.0
MEMORY_EVERY_S = 30.0
#: Replies of XINFO with large entries come as seldom as if each second had so many bytes.
HEAVY_BYTES_A_S = 1 << 20
INFO_CURVES = {
    "commands": "instantaneous_ops_per_sec",
    "memory": "used_memory",
    "clients": "connected_clients",
    "unsynced": "aof_unsynced_bytes",
}


class Poller:
    """Fills a board until it is stopped."""

    def __init__(self, links: Links, board: Board, tell: Callable[[], None]) -> None:
        """``tell`` is called after each round, in the thread of the poller."""
        self._links = links
        self._board = board
        self._tell = tell
        self._walk = Walk()
        self._looked: dict[bytes, float] = {}
        self._queue: list[bytes] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="console-poller", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._stop.set()
        self._thread.join()

    def look_at(self, names: Iterable[bytes]) -> None:
        """Somebody has these on a screen."""
        until_s = time.monotonic() + LOOKED_S
        for name in names:
            self._looked[name] = until_s

    def _run(self) -> None:
        while not self._stop.is_set():
            begun_s = time.monotonic()
            self.round()
            self._stop.wait(max(0.05, ROUND_S - (time.monotonic() - begun_s)))

    def round(self) -> None:
        """Ask once; a server that is away is trouble, and the next round may find it back."""
        board = self._board
        try:
            with self._links.lent() as server:
                self._ask_server(server)
                self._ask_streams(server)
            board.server.trouble = None
        except (NotReachedError, RefusedError) as error:
            board.server.trouble = str(error)
        board.version += 1
        self._tell()

    def _ask_server(self, server: Server) -> None:
        found, at_s = self._board.server, time.monotonic()
        found.info = server.info()
        found.now_ms = server.now_ms()
        for name, field in INFO_CURVES.items():
            value = found.info.get(field)
            if value is not None:
                curve = found.curves.setdefault(name, Curve(*LARGE))
                curve.push(at_s, float(value))

    def _ask_streams(self, server: Server) -> None:
        board = self._board
        self._queue += [name for name in self._walk.step(server) if name not in board.streams]
        for name in self._walk.gone(board.streams):
            board.streams.pop(name, None)
        board.is_whole = (self._walk.is_whole and not self._queue) or board.is_whole
        chosen = self._chosen()
        self._note_streams(server, chosen)
        with_groups = [
            name for name in chosen if name in board.streams and board.streams[name].facts.groups
        ]
        self._note_groups(server, with_groups)
        self._note_memory(server, chosen)

    def _chosen(self) -> list[bytes]:
        """Whom to ask about now: what is looked at, what is new, then the next of all."""
        now_s = time.monotonic()
        self._looked = {n: until_s for n, until_s in self._looked.copy().items() if until_s > now_s}
        found = dict.fromkeys(self._looked)
        if not self._queue:
            self._queue = list(self._board.streams)
        while self._queue and len(found) < MOST_STREAMS:
            found[self._queue.pop()] = None
        return [name for name in found if self._is_rested(name, now_s)]

    def _is_rested(self, name: bytes, now_s: float) -> bool:
        known = self._board.streams.get(name)
        return known is None or known.rest_until_s <= now_s

    def _note_streams(self, server: Server, names: list[bytes]) -> None:
        replies = server.link.ask_all([("XINFO", "STREAM", name) for name in names])
        now_s = time.monotonic()
        for name, reply in zip(names, replies, strict=True):
            if isinstance(reply, Refusal):
                self._board.streams.pop(name, None)
                continue
            facts = facts_of_reply(name, reply)
            watched = self._board.streams.get(name)
            if watched is None:
                watched = self._board.streams[name] = Watched(facts, now_s)
            else:
                note_stream(watched, facts, now_s)
            watched.rest_until_s = now_s + entry_bytes(reply) / HEAVY_BYTES_A_S

    def _note_groups(self, server: Server, names: list[bytes]) -> None:
        found: dict[bytes, dict[bytes, GroupFacts]] = {name: {} for name in names}
        for facts in every_group(server, names):
            found[facts.stream][facts.name] = facts
        now_s = time.monotonic()
        late: list[tuple[Watched, WatchedGroup]] = []
        for name, groups in found.items():
            watched = self._board.streams[name]
            note_groups(watched, groups, now_s)
            late += [(watched, group) for group in watched.groups.values()]
        self._note_ages(server, late, now_s)

    def _note_ages(
        self, server: Server, pairs: list[tuple[Watched, WatchedGroup]], now_s: float
    ) -> None:
        waiting = [pair for pair in pairs if is_waiting(*pair)]
        for _, group in pairs:
            group.behind_ms = 0
        replies = server.link.ask_all(
            [
                ("XRANGE", one.facts.stream, f"({one.facts.last_id}", "+", "COUNT", 1)
                for _, one in waiting
            ]
        )
        for (_, group), reply in zip(waiting, replies, strict=True):
            if reply and not isinstance(reply, Refusal):
                group.behind_ms = max(0, self._board.server.now_ms - ms_of(reply[0][0].decode()))
        for _, group in pairs:
            group.behind_curve.push(now_s, group.behind_ms)

    def _note_memory(self, server: Server, names: list[bytes]) -> None:
        now_s, streams = time.monotonic(), self._board.streams
        due = [
            streams[name]
            for name in names
            if name in streams and streams[name].memory_at_s + MEMORY_EVERY_S < now_s
        ]
        asked = [("MEMORY", "USAGE", watched.facts.name) for watched in due]
        for watched, reply in zip(due, server.link.ask_all(asked), strict=True):
            watched.memory_at_s = now_s
            watched.memory_bytes = reply if isinstance(reply, int) else None


def note_stream(watched: Watched, facts: StreamFacts, now_s: float) -> None:
    """New facts of a stream, and the rate since the last."""
    before, seconds = watched.facts, now_s - watched.at_s
    if facts.added is not None and before.added is not None and seconds > 0:
        watched.in_rate = max(0, facts.added - before.added) / seconds
        watched.curve.push(now_s, watched.in_rate)
    watched.facts, watched.at_s = facts, now_s


def note_groups(watched: Watched, groups: dict[bytes, GroupFacts], now_s: float) -> None:
    """New facts of the groups of a stream."""
    fresh: dict[bytes, WatchedGroup] = {}
    for name, facts in groups.items():
        group = watched.groups.get(name) or WatchedGroup(facts, now_s)
        before, seconds = group.facts, now_s - group.at_s
        if facts.read is not None and before.read is not None and seconds > 0:
            group.out_rate = max(0, facts.read - before.read) / seconds
        group.facts, group.at_s = facts, now_s
        group.lag_curve.push(now_s, facts.lag)
        fresh[name] = group
    watched.groups = fresh


def is_waiting(watched: Watched, group: WatchedGroup) -> bool:
    """Whether a group has something to come."""
    newest = watched.facts.newest_id or NO_ID
    return id_key(group.facts.last_id) < id_key(newest)


def entry_bytes(reply: list[object]) -> int:
    """How much of a reply of XINFO STREAM is its two entries."""
    return sum(
        len(word)
        for part in reply
        if isinstance(part, list) and len(part) == 2 and isinstance(part[1], list)
        for word in part[1]
    )
