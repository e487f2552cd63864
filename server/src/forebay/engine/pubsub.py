"""Channels, patterns, and their listeners.

    channels   name    -> sessions          a message goes to the channel's sessions,
    patterns   pattern -> sessions          then to those of each pattern that matches
    shards     name    -> sessions          channels of SSUBSCRIBE: separate from the others

A message is written straight into the output of each listener.  A session that
publishes to itself gets the message after the reply of its own command, as
RESP3 clients expect: the message waits in ``session.pushes`` until the engine
is done.
"""

from __future__ import annotations

from typing import Protocol

from forebay.commands.api.glob import matches
from forebay.commands.api.notify_flags import KEYEVENT, KEYSPACE
from forebay.commands.api.session import Session
from forebay.engine.sessions import Sessions
from forebay.wire.resp_writer import RespWriter

Listeners = dict[bytes, dict[Session, None]]


class Turn(Protocol):
    """The session whose command is running, if any."""

    def running(self) -> Session | None: ...


class Pubsub:
    """All subscriptions."""

    def __init__(self, sessions: Sessions, turn: Turn) -> None:
        self.sessions = sessions
        self.turn = turn
        self.channels: Listeners = {}
        self.patterns: Listeners = {}
        self.shards: Listeners = {}

    def subscribe(self, session: Session, channel: bytes) -> bool:
        """Listen to a channel; false if it already did."""
        return enter(self.channels, session.channels, session, channel)

    def unsubscribe(self, session: Session, channel: bytes) -> bool:
        """Stop listening to a channel; false if it did not."""
        return leave(self.channels, session.channels, session, channel)

    def psubscribe(self, session: Session, pattern: bytes) -> bool:
        """Listen to all channels that match."""
        return enter(self.patterns, session.patterns, session, pattern)

    def punsubscribe(self, session: Session, pattern: bytes) -> bool:
        """Stop listening to a pattern."""
        return leave(self.patterns, session.patterns, session, pattern)

    def ssubscribe(self, session: Session, channel: bytes) -> bool:
        """Listen to a shard channel."""
        return enter(self.shards, session.shard_channels, session, channel)

    def sunsubscribe(self, session: Session, channel: bytes) -> bool:
        """Stop listening to a shard channel."""
        return leave(self.shards, session.shard_channels, session, channel)

    def drop(self, session: Session) -> None:
        """Forget all subscriptions of a session."""
        for channel in list(session.channels):
            self.unsubscribe(session, channel)
        for pattern in list(session.patterns):
            self.punsubscribe(session, pattern)
        for channel in list(session.shard_channels):
            self.sunsubscribe(session, channel)

    def spublish(self, channel: bytes, message: bytes) -> int:
        """Send a message to a shard channel; how many listeners got it."""
        return self.send(self.shards, b"smessage", channel, message)

    def send(self, listeners: Listeners, kind: bytes, channel: bytes, message: bytes) -> int:
        """Write a message to clients that subscribed to exactly this channel."""
        sessions = listeners.get(channel, {})
        for session in sessions:
            out = self.output(session)
            out.push(3)
            out.bulk(kind)
            out.bulk(channel)
            out.bulk(message)
        return len(sessions)

    def publish(self, channel: bytes, message: bytes) -> int:
        """Send a message; how many listeners got it."""
        count = self.send(self.channels, b"message", channel, message)
        for pattern, listeners in self.patterns.items():
            if matches(pattern, channel):
                for session in listeners:
                    out = self.output(session)
                    out.push(4)
                    out.bulk(b"pmessage")
                    out.bulk(pattern)
                    out.bulk(channel)
                    out.bulk(message)
                    count += 1
        return count

    def output(self, session: Session) -> RespWriter:
        """The writer for a message to this session, at this moment."""
        self.sessions.touched(session)
        if session is not self.turn.running():
            return session.out
        if session.pushes is None:
            session.pushes = RespWriter(session.out.resp, session.out.pool)
        return session.pushes

    def publish_event(self, flags: int, event: bytes, key: bytes, db_index: int) -> None:
        """Publish a keyspace event, on the channel of its key and on that of its name."""
        if not self.channels and not self.patterns:
            return
        if flags & KEYSPACE:
            self.publish(b"__keyspace@%d__:%b" % (db_index, key), event)
        if flags & KEYEVENT:
            self.publish(b"__keyevent@%d__:%b" % (db_index, event), key)

    def channel_names(self, pattern: bytes | None, shard: bool = False) -> list[bytes]:
        """The channels with listeners; if a pattern is given, those that match."""
        names = self.shards if shard else self.channels
        return [name for name in names if pattern is None or matches(pattern, name)]

    def subscribers(self, channel: bytes, shard: bool = False) -> int:
        """How many clients listen to exactly this channel."""
        return len((self.shards if shard else self.channels).get(channel, ()))

    def pattern_count(self) -> int:
        """How many different patterns have listeners."""
        return len(self.patterns)


def enter(listeners: Listeners, own: dict[bytes, None], session: Session, name: bytes) -> bool:
    """Note a subscription on both sides; false if it existed."""
    if name in own:
        return False
    own[name] = None
    listeners.setdefault(name, {})[session] = None
    return True


def leave(listeners: Listeners, own: dict[bytes, None], session: Session, name: bytes) -> bool:
    """Remove a subscription on both sides; false if it did not exist."""
    if name not in own:
        return False
    del own[name]
    del listeners[name][session]
    if not listeners[name]:
        del listeners[name]
    return True
