"""Entries from server to server: two connections, reads and writes at the same time.

    source   [page 1][page 2][page 3]            asked for before page 1 is sent on
    relay            [ 1 ]   [ 2 ]   [ 3 ]       replies into commands (relay.py)
    target                   [ 1 ]   [ 2 ]       answers are read when they are needed

A page is about a megabyte, so that each server has work while we talk to the other one.  The
answers to XADD are only counted: an ID holds no line end, so two lines are one answer, and a line
that begins with a dash is an error.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.cli.copying.relay import Relay
from forebay.cli.output import text_of
from forebay.cli.remote.link import Link, Refusal, packed
from forebay.cli.remote.refusals import RefusedError, refused
from forebay.errors import ProtocolError

FIRST_PAGE = 200
PAGE_BYTES = 1 << 20
LONGEST_PAGE = 50_000
#: With less room for received bytes, a call is not worth it.
LEAST_ROOM = 1 << 16
LINES_A_REPLY = 2
PATIENCE_S = 60.0
TOO_SMALL = "ERR The ID specified in XADD is equal or smaller"

Tell = Callable[[int], None]


class Pump:
    """Copies one stream to another."""

    def __init__(self, source: Link, stream: bytes, target: Link, to: bytes) -> None:
        self.source, self.stream = source, stream
        self.target, self.to = target, to
        self.relay = Relay(to)
        self.answers = Answers(target, to)
        self.in_flight = 0

    def run(self, after: str, last_id: str, tell: Tell) -> int:
        """Copy the entries after one ID, up to and including another; how many.

        ``tell`` is called after each page, with the number so far.
        """
        self.source.socket.settimeout(PATIENCE_S)
        self.target.socket.settimeout(PATIENCE_S)
        copied, count = 0, FIRST_PAGE
        self._ask(after, last_id, count)
        while count:
            self._receive()
            relay, asked = self.relay, count
            count = next_count(relay) if relay.entries == asked else 0
            if count:
                self._ask(relay.last_id.decode(), last_id, count)
            copied += self._send()
            tell(copied)
        self.answers.wait(0)
        return copied

    def _ask(self, after: str, last_id: str, count: int) -> None:
        words = ("XRANGE", self.stream, f"({after}", last_id, "COUNT", count)
        self.source.send(packed(words))

    def _receive(self) -> None:
        relay = self.relay
        relay.begin()
        try:
            while not relay.is_whole():
                with relay.room(LEAST_ROOM) as room:
                    got = self.source.receive_into(room)
                relay.came(got)
        except ProtocolError:
            raise self.source.not_our_protocol() from None
        if relay.refusal:
            refusal = Refusal(relay.refusal.decode("utf-8", "replace"))
            raise refused(self.source, ("XRANGE", self.stream), refusal)

    def _send(self) -> int:
        entries = self.relay.entries
        if not entries:
            return 0
        # The answers to the page before may still be on their way.
        self.answers.wait(self.in_flight)
        self.in_flight = entries * LINES_A_REPLY
        with self.relay.commands() as commands:
            self.target.send(commands)
        self.answers.lines += entries * LINES_A_REPLY
        return entries


def next_count(relay: Relay) -> int:
    """How many entries make a page, if they are like those of the last one."""
    return max(1, min(LONGEST_PAGE, PAGE_BYTES * relay.entries // relay.page_bytes))


class Answers:
    """The target's answers to XADD; ``lines`` of them are missing."""

    def __init__(self, link: Link, stream: bytes) -> None:
        self.link = link
        self.stream = stream
        self.lines = 0
        self.end = b"\r\n"
        self.room = bytearray(LEAST_ROOM)

    def wait(self, most: int) -> None:
        """Read answers until at most ``most`` lines are missing."""
        with memoryview(self.room) as room:
            while self.lines > most:
                data = self.end + room[: self.link.receive_into(room)]
                at = data.find(b"\r\n-")
                if at >= 0:
                    raise self._refused(data[at + 3 :].partition(b"\r")[0])
                self.lines -= data.count(b"\n", len(self.end))
                self.end = data[-2:]

    def _refused(self, line: bytes) -> RefusedError:
        refusal = Refusal(line.decode("utf-8", "replace"))
        if refusal.startswith(TOO_SMALL):
            return RefusedError(
                f"another client adds to {text_of(self.stream)} at {self.link.address} meanwhile, "
                "so its IDs are no longer those of the source; stop that, or copy to another stream"
            )
        return refused(self.link, ("XADD", self.stream), refusal)
