"""The state of one client, for the whole life of its connection.

    server   addresses, byte counters, ``link`` (its connection; opaque here)
    HELLO    ``out.resp``, name, user (commands/access/user.py)
    gate     bits of ``gates``: why the dispatcher must check more; nearly always 0
    MULTI    queue of (row, arguments), whether it failed, the WATCHed keys
    pub/sub  channels, patterns and shard channels
    tracked  how it is notified of changes to keys that it has cached, or None
    blocked  what it waits for, or None; while it waits, none of its commands run

A session has no behaviour of its own: commands and engine change it.  Code that
writes to ``out`` outside the client's own call must announce it with
``engine.touched``; otherwise the server would not know that there is something
to send.
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
    """The wait of a client: the fields that code outside engine/blocking.py uses."""

    kind: int
    row: Command | None
    spent_us: int


class Peer(Protocol):
    """A replica: the fields that commands use."""

    is_attached: bool
    #: Why its link ends, if the replica is at fault.
    fault: str


class Tracked:
    """How a client tracks the keys that it has cached (CLIENT TRACKING)."""

    def __init__(self) -> None:
        self.bcast = False
        #: OPTIN: only keys of commands after CLIENT CACHING YES; OPTOUT: all but those after
        #: CACHING NO.
        self.optin = False
        self.optout = False
        #: NOLOOP: it is not notified of its own changes.
        self.noloop = False
        #: The command before was CLIENT CACHING.
        self.caching = False
        #: The number of the client that gets the messages; 0 if it is this one.
        self.redirect = 0
        #: That client did not exist when there was something to send.
        self.is_broken = False
        self.prefixes: dict[bytes, None] = {}


class Watch:
    """One key that one session WATCHes; the database reports changes to it."""

    def __init__(self, session: Session, db: Database, key: bytes, expired: bool) -> None:
        self.session = session
        self.db = db
        self.key = key
        #: The key existed but had expired when WATCH saw it: its later removal is no change.
        self.expired = expired

    def invalidate(self) -> None:
        """The value changed: EXEC must fail."""
        if self.expired and self.key not in self.db.values:
            self.expired = False
        else:
            self.session.watch_broken = True

    def exchange(self, was_there: bool, is_past: bool) -> None:
        """SWAPDB replaced the key's value by another, or by none.

        A key that was missing or expired when WATCH saw it may become an expired one: for
        every reader that is the same.
        """
        if is_past and (self.expired or not was_there):
            self.expired = True
        else:
            self.invalidate()


class Session:
    """All state of one client."""

    def __init__(self, number: int, db: Database, pool: WriterPool, now_ms: int = 0) -> None:
        self.id = number
        self.db = db
        self.out = RespWriter(2, pool)
        self.gate = 0
        self.name = b""
        #: Its user; the engine sets it (engine/access.py).
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
        #: Its commands come from an AOF or a primary, where all checks were made.
        self.is_replaying = False
        #: A replica, as the primary sees it (replication/peers.py); None for a client.
        self.peer: Peer | None = None
        #: It is our own link to a primary.
        self.is_primary = False
        #: The end of the stream of changes after its last write: WAIT waits for this offset.
        self.wrote_at = 0
        #: The server will look at it: engine/sessions.py.
        self.is_touched = False
        #: Send the content of ``out``, then close.
        self.closing = False
        #: The server's connection; no code below the server looks into it.
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
        #: Push messages that arrived while its own command ran; sent after the reply.
        self.pushes: RespWriter | None = None
        #: How it tracks keys; None if it does not.
        self.tracked: Tracked | None = None
        #: Set while the client waits.
        self.blocked: Wait | None = None
        #: Its last wait, if it was served and may wait in the same way again.
        self.waited: Wait | None = None

    def set_gate(self, bit: int, on: bool) -> None:
        """Set or clear one bit of ``gate``."""
        self.gate = self.gate | bit if on else self.gate & ~bit

    def subscriptions(self) -> int:
        """The number of channels, patterns and shard channels."""
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
