"""Groups that are copied with their stream: position, consumers, and pending entries.

    XSETID ... ENTRIESADDED MAXDELETEDID      the counters from which lag is made
    XGROUP CREATE | SETID ... ENTRIESREAD     the group, at its last delivered ID
    XGROUP CREATECONSUMER                     its consumers
    XCLAIM ... TIME RETRYCOUNT FORCE JUSTID   pending entries, with owner, time and count
    XNACK ... RETRYCOUNT FORCE                the same for released entries (Redis 8.8)
    XACK                                      entries that are no longer pending at the source

Servers before 7.0 have no counters; they get the rest.  Pending records of deleted entries cannot
be copied; they are counted and reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from forebay.cli.remote.facts import GroupFacts, consumers_of, groups_of, stream_of
from forebay.cli.remote.link import Refusal, Word
from forebay.cli.remote.refusals import refused
from forebay.cli.remote.server import Server

PAGE = 1000
#: The consumer that gets released entries, on a server that has no XNACK.
NOBODY = b"released"


class Carrier:
    """Copies the groups of one stream to another."""

    def __init__(self, source: Server, stream: bytes, target: Server, to: bytes) -> None:
        self.source, self.stream = source, stream
        self.target, self.to = target, to
        self.groups = self.pending = self.left_behind = 0

    def run(self) -> None:
        """Copy all groups, then the counters."""
        facts = stream_of(self.source, self.stream)
        for group in groups_of(self.source, self.stream):
            self._carry_group(group)
            self.groups += 1
        counters: list[Word] = []
        if facts.added is not None and facts.max_deleted_id is not None:
            counters = ["ENTRIESADDED", facts.added, "MAXDELETEDID", facts.max_deleted_id]
        if self.target.ask("EXISTS", self.to):
            self._ask_with(["XSETID", self.to, facts.last_id], counters)
        for group in groups_of(self.source, self.stream):
            self._set_place(group)

    def _carry_group(self, group: GroupFacts) -> None:
        words = ("XGROUP", "CREATE", self.to, group.name, group.last_id, "MKSTREAM")
        reply = self.target.link.ask(*words)
        is_there = isinstance(reply, Refusal) and reply.code == "BUSYGROUP"
        if isinstance(reply, Refusal) and not is_there:
            raise refused(self.target.link, words, reply)
        consumers = consumers_of(self.source, self.stream, group.name)
        self.target.ask_all(
            [("XGROUP", "CREATECONSUMER", self.to, group.name, each.name) for each in consumers]
        )
        wanted: set[bytes] = set()
        for page in self._pages(self.source, self.stream, group.name):
            wanted.update(row[0] for row in page)
            self._claim(group.name, page)
        if is_there:
            self._acknowledge(group.name, wanted)

    def _set_place(self, group: GroupFacts) -> None:
        """Set the position of a group, after the counters of the stream: they limit it."""
        read: list[Word] = [] if group.read is None else ["ENTRIESREAD", group.read]
        self._ask_with(["XGROUP", "SETID", self.to, group.name, group.last_id], read)

    def _ask_with(self, words: list[Word], more: list[Word]) -> None:
        """Send a command with words that an older server may not know; if so, without them."""
        reply = self.target.link.ask(*words, *more)
        if isinstance(reply, Refusal):
            self.target.ask(*words)

    @staticmethod
    def _pages(server: Server, stream: bytes, group: bytes) -> Iterator[list[Sequence[Any]]]:
        start = "-"
        while page := server.ask("XPENDING", stream, group, start, "+", PAGE):
            yield page
            start = f"({page[-1][0].decode()}"

    def _claim(self, group: bytes, page: Sequence[Sequence[Any]]) -> None:
        now_ms = self.source.now_ms()
        commands: list[Sequence[Word]] = []
        for entry_id, owner, idle_ms, deliveries in page:
            head = ("XCLAIM", self.to, group, owner or NOBODY, 0, entry_id)
            at_ms = max(1, now_ms - idle_ms)
            commands.append(
                (*head, "TIME", at_ms, "RETRYCOUNT", deliveries, "FORCE", "JUSTID")
                if owner
                else self._release(group, entry_id, deliveries, head)
            )
        for reply in self.target.ask_all(commands):
            is_taken = bool(reply)
            self.pending += is_taken
            self.left_behind += not is_taken

    def _release(
        self, group: bytes, entry_id: bytes, deliveries: int, head: Sequence[Word]
    ) -> Sequence[Word]:
        """Copy entries without an owner: without one there too, or with the consumer NOBODY."""
        known = self.target.link.ask("COMMAND", "INFO", "XNACK")
        if isinstance(known, list) and known and known[0]:
            numbered = ("IDS", 1, entry_id, "RETRYCOUNT", deliveries, "FORCE")
            return ("XNACK", self.to, group, "FAIL", *numbered)
        return (*head, "TIME", 1, "RETRYCOUNT", deliveries, "FORCE", "JUSTID")

    def _acknowledge(self, group: bytes, wanted: set[bytes]) -> None:
        """On a repeated copy: acknowledge what was acknowledged at the source since."""
        for page in self._pages(self.target, self.to, group):
            done = [row[0] for row in page if row[0] not in wanted]
            if done:
                self.target.ask("XACK", self.to, group, *done)
