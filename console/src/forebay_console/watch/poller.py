"""The poller: a thread with one connection, a round each second, glances in between.

    a round     INFO, TIME                  the state of the server
                a piece of SCAN             new streams; after a whole walk, deleted ones
                XINFO STREAM, XINFO GROUPS  first for streams on a screen, then the next of all
                XRANGE (last + COUNT 1      the age of the next entry, for groups that wait for one
                MEMORY USAGE                now and then
    a glance    XINFO STREAM, XINFO GROUPS  for streams on a screen, nothing else

A round asks about MOST_STREAMS streams and a glance about MOST_GLANCED, however many streams and
viewers there are: with ten thousand streams, the figures on a screen are a tenth of a second old,
and the others a few seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from forebay.cli.remote.facts import NO_ID, GroupFacts, every_group, id_key, ms_of
from forebay.cli.remote.facts import stream_facts as facts_of_reply
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.refusals import RefusedError
from forebay.cli.remote.server import NotReachedError, Server
from forebay_console.servers.links import Links
from forebay_console.watch.board import LARGE, Board, Watched, WatchedGroup
from forebay_console.watch.curves import Curve
from forebay_console.watch.walk import Walk

log = logging.getLogger(__name__)

#: Streams a round; up to four questions each, about 3 microseconds of the server's time each: below
#: one per cent of a core.  New streams are asked about faster, once.
MOST_STREAMS = 600
MOST_NEW = 3_000
ROUND_S = 1.0
#: A change on a screen is seen within this time; without viewers nothing is asked.
GLANCE_S = 0.1
MOST_GLANCED = 120
#: How long a stream stays of interest after a viewer has looked at it.
LOOKED_S = 5.0
MEMORY_EVERY_S = 30.0
#: XINFO replies with large entries are rare enough to stay below this rate.
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
        self._turn = 0
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
        """Note that a viewer has these on a screen."""
        until_s = time.monotonic() + LOOKED_S
        for name in names:
            self._looked[name] = until_s

    def _run(self) -> None:
        while not self._stop.is_set():
            begun_s = time.monotonic()
            self.round()
            while not self._stop.is_set() and time.monotonic() - begun_s < ROUND_S - GLANCE_S / 2:
                glanced_s = time.monotonic()
                self.glance()
                self._stop.wait(max(0.02, GLANCE_S - (time.monotonic() - glanced_s)))

    def round(self) -> None:
        """Ask once about everything; a server that does not answer may do so in the next round."""
        board = self._board
        self._try(self._ask_round)
        board.version += 1
        board.rounds += 1
        board.tell()
        self._tell()

    def glance(self) -> None:
        """Ask about streams on a screen; their viewers get the changes."""
        before, trouble = self._board.version, self._board.server.trouble
        if self._looked and trouble is None:
            self._try(self._ask_glance)
        if (self._board.version, self._board.server.trouble) != (before, trouble):
            self._board.tell()
            self._tell()

    def _try(self, ask: Callable[[Server], None]) -> None:
        try:
            with self._links.lent() as server:
                ask(server)
            self._board.server.trouble = None
        except (NotReachedError, RefusedError) as error:
            self._board.server.trouble = str(error)

    def _ask_round(self, server: Server) -> None:
        self._ask_server(server)
        self._ask_streams(server)

    def _ask_glance(self, server: Server) -> None:
        names = self._looked_at(MOST_GLANCED)
        self._note_streams(server, names)
        self._note_groups(server, self._with_groups(names))

    def _ask_server(self, server: Server) -> None:
        found, at_s = self._board.server, time.monotonic()
        found.info = server.info()
        found.now_ms, found.at_s = server.now_ms(), at_s
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
        self._note_streams(server, chosen, is_round=True)
        self._note_ages(server, self._note_groups(server, self._with_groups(chosen), is_round=True))
        self._note_memory(server, chosen)
        for name in chosen:
            if name in board.streams:
                board.touch(board.streams[name])

    def _with_groups(self, names: Iterable[bytes]) -> list[bytes]:
        streams = self._board.streams
        return [name for name in names if name in streams and streams[name].facts.groups]

    def _chosen(self) -> list[bytes]:
        """The streams to ask about now: those on a screen, new ones, then the next of all."""
        streams, now_s = self._board.streams, time.monotonic()
        found = dict.fromkeys(self._looked_at(MOST_STREAMS))
        if not self._queue:
            self._queue = list(streams)
        while self._queue:
            most = MOST_STREAMS if self._queue[-1] in streams else MOST_NEW
            if len(found) >= most:
                break
            found[self._queue.pop()] = None
        return [name for name in found if self._is_rested(name, now_s)]

    def _looked_at(self, most: int) -> list[bytes]:
        """Streams on a screen; if they are many, another part of them each time."""
        now_s = time.monotonic()
        self._looked = {n: until_s for n, until_s in self._looked.copy().items() if until_s > now_s}
        names = [name for name in self._looked if self._is_rested(name, now_s)]
        if len(names) <= most:
            return names
        self._turn = (self._turn + most) % len(names)
        return (names + names)[self._turn : self._turn + most]

    def _is_rested(self, name: bytes, now_s: float) -> bool:
        known = self._board.streams.get(name)
        return known is None or known.rest_until_s <= now_s

    def _note_streams(self, server: Server, names: list[bytes], *, is_round: bool = False) -> None:
        replies = server.link.ask_all([("XINFO", "STREAM", name) for name in names])
        now_s, board = time.monotonic(), self._board
        for name, reply in zip(names, replies, strict=True):
            if isinstance(reply, Refusal):
                board.version += board.streams.pop(name, None) is not None
                continue
            facts = facts_of_reply(name, reply)
            watched = board.streams.get(name)
            is_other = watched is None or watched.facts != facts
            watched = watched or Watched(facts, now_s, facts.added)
            watched.facts = facts
            watched.groups = watched.groups if facts.groups else {}
            if is_other:  # set last: a viewer must not keep the old facts as new ones
                board.touch(watched)
                board.streams[name] = watched
            if is_round:
                note_rate(watched, now_s)
            watched.rest_until_s = now_s + entry_bytes(reply) / HEAVY_BYTES_A_S

    def _note_groups(
        self, server: Server, names: list[bytes], *, is_round: bool = False
    ) -> list[tuple[Watched, WatchedGroup]]:
        """Ask about the groups of these streams; return all of them."""
        found: dict[bytes, dict[bytes, GroupFacts]] = {name: {} for name in names}
        for facts in every_group(server, names):
            found[facts.stream][facts.name] = facts
        now_s, board = time.monotonic(), self._board
        noted: list[tuple[Watched, WatchedGroup]] = []
        for name, groups in found.items():
            watched = board.streams[name]
            if note_groups(watched, groups, now_s, is_round=is_round):
                board.touch(watched)
            noted += [(watched, group) for group in watched.groups.values()]
        return noted

    def _note_ages(self, server: Server, pairs: list[tuple[Watched, WatchedGroup]]) -> None:
        waiting = [group for watched, group in pairs if is_waiting(watched, group)]
        now_s, now_ms = time.monotonic(), self._board.server.now_ms
        replies = server.link.ask_all(
            [
                ("XRANGE", one.facts.stream, f"({one.facts.last_id}", "+", "COUNT", 1)
                for one in waiting
            ]
        )
        for group, reply in zip(waiting, replies, strict=True):
            is_known = bool(reply) and not isinstance(reply, Refusal)
            group.behind_ms = max(0, now_ms - ms_of(reply[0][0].decode())) if is_known else 0
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


def note_rate(watched: Watched, now_s: float) -> None:
    """The rate in since the last round that asked about the stream."""
    added, seconds = watched.facts.added, now_s - watched.at_s
    if added is not None and watched.added is not None and seconds > 0:
        watched.in_rate = max(0, added - watched.added) / seconds
        watched.curve.push(now_s, watched.in_rate)
    watched.added, watched.at_s = added, now_s


def note_groups(
    watched: Watched, groups: dict[bytes, GroupFacts], now_s: float, *, is_round: bool
) -> bool:
    """Note new facts of a stream's groups; return whether they differ from the old ones."""
    before, fresh = watched.groups, {}
    for name, facts in groups.items():
        group = before.get(name) or WatchedGroup(facts, now_s, facts.read)
        is_other = name not in before or group.facts != facts
        fresh[name] = replace(group, facts=facts) if is_other else group
        if not is_waiting(watched, fresh[name]):
            fresh[name].behind_ms = 0
        if is_round:
            note_out_rate(fresh[name], now_s)
    watched.groups = fresh
    return any(fresh.get(name) is not before.get(name) for name in {*fresh, *before})


def note_out_rate(group: WatchedGroup, now_s: float) -> None:
    """The rate out since the last round that asked about the group."""
    read, seconds = group.facts.read, now_s - group.at_s
    if read is not None and group.read is not None and seconds > 0:
        group.out_rate = max(0, read - group.read) / seconds
    group.read, group.at_s = read, now_s
    group.lag_curve.push(now_s, group.facts.lag)


def is_waiting(watched: Watched, group: WatchedGroup) -> bool:
    """Whether a group has entries left to read."""
    newest = watched.facts.newest_id or NO_ID
    return id_key(group.facts.last_id) < id_key(newest)


def entry_bytes(reply: list[object]) -> int:
    """How many bytes the two entries in a reply of XINFO STREAM have."""
    return sum(
        len(word)
        for part in reply
        if isinstance(part, list) and len(part) == 2 and isinstance(part[1], list)
        for word in part[1]
    )
