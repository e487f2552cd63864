"""One client's state, from the first byte to the last.

    server   addresses, counters of bytes, ``link`` (its connection; unknown here)
    HELLO    ``out.resp``, name, user (commands/access/user.py)
    gate     bits of ``gates``: why the dispatcher must look closer; 0 nearly always
    MULTI    queue of (row, arguments), whether it went wrong, what is WATCHed
    pub/sub  channels, patterns and shard channels
    tracked  how it wants to hear of changes to keys that it has cached, or None
    blocked  what it waits for, or None; while it waits, no command of it is run

A session has no behaviour of its own: commands and engine change it.  Whatever
is written to ``out`` outside of the client's own call must be announced with
``engine.touched``, or the server would not know that there is something to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from forebay.commands.api import gates
from forebay.core.keyspace import Database
from forebay.wire.resp_writer import RespWriter, WriterPool

if TYPE_CHECKING:
    from forebay.commands.access.user import User
    from forebay.commands.api.spec import Command
    from forebay.wire.argv import Argv


class Wait(Protocol):
    """What a client waits for, as far as others than engine/blocking.py look into it."""

    kind: int
    row: Command | None
    spent_us: int


class Peer(Protocol):
    """A replica, as far as commands look into it."""

    is_attached: bool
    #: Why its link ends, if it is to blame.
    fault: str


class Tracked:
    """How a client tracks the keys that it has cached (CLIENT TRACKING)."""

    def __init__(self) -> None:
        self.bcast = False
        #: Only keys of commands after CLIENT CACHING YES; all but those after CACHING NO.
        self.optin = False
        self.optout = False
        #: It does not want to hear of its own changes.
        self.noloop = False
        #: CLIENT CACHING was the command before.
        self.caching = False
        #: The number of the client that gets the messages; 0 if it is this one.
        self.redirect = 0
        #: That client was gone when there was something to tell.
        self.is_broken = False
        self.prefixes: dict[bytes, None] = {}


class Watch:
    """One key that one session WATCHes; the database tells it of changes."""

    def __init__(self, session: Session, db: Database, key: bytes, expired: bool) -> None:
        self.session = session
        self.db = db
        self.key = key
        #: The key was there but past its time when WATCH saw it: that it is
        #: removed later on is no change.
        self.expired = expired

    def invalidate(self) -> None:
        """The value changed: EXEC must fail."""
        if self.expired and self.key not in self.db.values:
            self.expired = False
        else:
            self.session.watch_broken = True

    def exchange(self, was_there: bool, is_past: bool) -> None:
        """SWAPDB put another value, or none, in the place of the key's.

        One that was gone, or past its time when WATCH saw it, may become one past its time:
        for every reader that is the same.
        """
        if is_past and (self.expired or not was_there):
            self.expired = True
        else:
            self.invalidate()


class Session:
    """All that the server knows of one client."""

    def __init__(self, number: int, db: Database, pool: WriterPool, now_ms: int = 0) -> None:
        self.id = number
        self.db = db
        self.out = RespWriter(2, pool)
        self.gate = 0
        self.name = b""
        #: Whose it is; the engine sets it (engine/access.py).
        self.user: User = None  # type: ignore[assignment]
        self.authenticated = True
        self.addr = b""
        self.laddr = b""
        self.fd = -1
        self.lib_name = b""
        self.lib_ver = b""
        self.created_ms = now_ms
        self.active_ms = now_ms
        #: The row of the latest command; CLIENT LIST prints its name.
        self.last: Command | None = None
        self.calls = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.query_bytes = self.query_room = 0
        self.no_evict = self.no_touch = False
        #: Its commands come from an AOF or a primary, which have decided already.
        self.is_replaying = False
        #: A replica, as the primary knows it (replication/peers.py); None for a client.
        self.peer: Peer | None = None
        #: It is our own link to a primary.
        self.is_primary = False
        #: Where the stream of changes was after its last write: what WAIT waits for.
        self.wrote_at = 0
        #: The server is going to look at it: engine/sessions.py.
        self.is_touched = False
        #: Answer what is in ``out``, then close.
        self.closing = False
        #: The server's connection; nobody below the server looks into it.
        self.link: object = None
        self.queue: list[tuple[Command, Argv]] | None = None
        self.queue_bytes = 0
        self.queue_flags = 0
        self.queue_broken = False
        self.watched: dict[tuple[int, bytes], Watch] = {}
        self.watch_broken = False
        self.channels: dict[bytes, None] = {}
        self.patterns: dict[bytes, None] = {}
        self.shard_channels: dict[bytes, None] = {}
        #: Push messages that came while its own command ran; sent after the reply.
        self.pushes: RespWriter | None = None
        #: How it tracks keys; None if it does not.
        self.tracked: Tracked | None = None
        #: Set while the client waits.
        self.blocked: Wait | None = None
        #: What it waited for the last time, if it was served and may wait so again.
        self.waited: Wait | None = None

    def set_gate(self, bit: int, on: bool) -> None:
        """Raise or clear one bit of ``gate``."""
        self.gate = self.gate | bit if on else self.gate & ~bit

    def subscriptions(self) -> int:
        """Channels, patterns and shard channels together."""
        return len(self.channels) + len(self.patterns) + len(self.shard_channels)

    def refresh_subscribed(self) -> None:
        """After any change of subscriptions or protocol: is the RESP2 subscribed mode on?"""
        self.set_gate(gates.SUBSCRIBED, self.out.resp == 2 and self.subscriptions() > 0)

    def forget_queue(self) -> None:
        """Leave MULTI."""
        self.queue = None
        self.queue_bytes = 0
        self.queue_flags = 0
        self.queue_broken = False
        self.set_gate(gates.IN_MULTI, on=False)

    def unwatch(self) -> None:
        """Stop watching all keys."""
        for watch in self.watched.values():
            watchers = watch.db.watchers[watch.key]
            del watchers[watch]
            if not watchers:
                del watch.db.watchers[watch.key]
        self.watched.clear()
        self.watch_broken = False
