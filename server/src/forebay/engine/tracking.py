"""Client side caching: which clients have read which key, and must be notified of its change.

    a read of a tracking client --remember--> table     key    -> numbers of clients
    a change of a key           --changed---> message to each of them; the key leaves the table
    BCAST: a change             --changed---> prefixes  prefix -> clients, keys changed in this turn
    the end of a turn           --tick------> one message for each prefix and client

Databases call it only while a client tracks (``Database.tracker``); otherwise it costs one test
of a field for each change.  Sessions that track have a bit in their gate.

Rules
  1. A key is announced once: to be notified of the next change, a client must read it again.
  2. A client's own changes are announced after the reply to the command that made them.
  3. RESP3 clients get a push; RESP2 clients get nothing, unless they redirect to a client that
     is subscribed: it gets a message on CHANNEL.
  4. Closed clients are removed from the table only when a key is announced, since a cleanup for
     each would cost a walk over the table.  A key never lists more than TWICE as many clients
     as exist.
  5. Above tracking-table-max-keys the oldest keys are announced as if they had changed.
"""

from __future__ import annotations

from typing import Protocol

from forebay.commands.api import gates
from forebay.commands.api.session import Session, Tracked
from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import READONLY, Command
from forebay.core.keyspace import Keyspace
from forebay.engine.pubsub import Pubsub
from forebay.engine.sessions import Sessions
from forebay.errors import CommandError
from forebay.wire.argv import Argv
from forebay.wire.resp_writer import RespWriter

CHANNEL = b"__redis__:invalidate"
# The maximum number of keys to announce at once because the table is too large.
EVICTED_AT_ONCE = 1000
TWICE = 2
# With this few readers a key is not searched for closed clients.
FEW_CLIENTS = 16
# Commands that only run others, which are looked at one by one.
SCRIPTS = frozenset([b"eval_ro", b"evalsha_ro"])


class Turn(Protocol):
    """What it needs of the engine: the running session, and a flag to call tick()."""

    has_news: bool

    def running(self) -> Session | None: ...


class Prefix:
    """The clients in BCAST mode with one prefix, and the changes under it in this turn."""

    def __init__(self) -> None:
        self.clients: dict[Session, None] = {}
        #: With the client that changed the key last; NOLOOP excludes its own changes.
        self.keys: dict[bytes, Session | None] = {}


class Tracking:
    """All keys that tracking clients may have cached."""

    def __init__(
        self, keyspace: Keyspace, sessions: Sessions, pubsub: Pubsub, settings: Settings, turn: Turn
    ) -> None:
        self.keyspace = keyspace
        self.sessions = sessions
        self.pubsub = pubsub
        self.settings = settings
        self.turn = turn
        self.clients: dict[Session, None] = {}
        self.table: dict[bytes, dict[int, None]] = {}
        self.items = 0
        self.prefixes: dict[bytes, Prefix] = {}
        #: Keys that the running client has changed itself; None means all keys.
        self.own: list[bytes | None] = []

    # Tracking clients

    def start(self, session: Session, tracked: Tracked, prefixes: list[bytes]) -> None:
        """Track for this client; a client that already tracks keeps its prefixes."""
        if session.tracked is not None:
            tracked.prefixes = session.tracked.prefixes
            tracked.caching = session.tracked.caching
        session.tracked = tracked
        session.set_gate(gates.TRACKING, on=True)
        self.clients[session] = None
        if tracked.bcast:
            for prefix in prefixes or [b""]:
                self.prefixes.setdefault(prefix, Prefix()).clients[session] = None
                tracked.prefixes[prefix] = None
        self.listen()

    def stop(self, session: Session) -> None:
        """Stop tracking for this client; its keys stay in the table until they change."""
        tracked = session.tracked
        if tracked is None:
            return
        for prefix in tracked.prefixes:
            listeners = self.prefixes[prefix].clients
            del listeners[session]
            if not listeners:
                del self.prefixes[prefix]
        session.tracked = None
        session.set_gate(gates.TRACKING, on=False)
        del self.clients[session]
        self.listen()

    def drop(self, session: Session) -> None:
        """The client is closed; after the last one there is no tracking."""
        if session.tracked is not None:
            self.stop(session)
            if not self.clients:
                self.forget_table()
                self.listen()

    def listen(self) -> None:
        """Register with the databases if any client tracks."""
        tracker = self if self.clients or self.table else None
        for db in self.keyspace.databases:
            db.tracker = tracker

    def forget_table(self) -> None:
        """No client has cached any key."""
        self.table = {}
        self.items = 0

    # Reads

    def ran(self, session: Session, row: Command | None, argv: Argv) -> None:
        """A command of a tracking client has ended; it may have been refused (None)."""
        tracked = session.tracked
        if tracked is None:
            return
        if row is not None:
            self.remember(session, row, argv)
        is_client = row is not None and row.full_name.startswith(b"client|")
        if tracked.caching and not is_client and not session.gate & gates.IN_MULTI:
            tracked.caching = False

    def remember(self, session: Session, row: Command, argv: Argv) -> None:
        """A client has read these keys, and may cache their values."""
        tracked = session.tracked
        if not row.flags & READONLY or row.name in SCRIPTS or tracked is None or tracked.bcast:
            return
        if (tracked.optin and not tracked.caching) or (tracked.optout and tracked.caching):
            return
        for key in keys_of(row, argv):
            self.note(key, session.id)
        self.make_room()

    def note(self, key: bytes, number: int) -> None:
        """One client has read one key."""
        numbers = self.table.get(key)
        if numbers is None:
            numbers = self.table[key] = {}
        elif len(numbers) > max(FEW_CLIENTS, TWICE * len(self.clients)):
            self.items -= len(numbers)
            numbers = {n: None for n in numbers if self.sessions.get(n) is not None}
            self.items += len(numbers)
            self.table[key] = numbers
        if number not in numbers:
            numbers[number] = None
            self.items += 1

    def make_room(self) -> None:
        """Announce the oldest keys if there are more than the settings allow."""
        most = self.settings.tracking_table_max_keys
        if most == 0:
            return
        for _ in range(EVICTED_AT_ONCE):
            if len(self.table) <= most:
                return
            self.announce(next(iter(self.table)))
        self.turn.has_news = True

    # Changes

    def changed(self, key: bytes) -> None:
        """A key has a new value, or was deleted."""
        if self.prefixes:
            running = self.turn.running()
            for prefix, state in self.prefixes.items():
                if key.startswith(prefix):
                    state.keys[key] = running
                    self.turn.has_news = True
        if key in self.table:
            self.announce(key)

    def announce(self, key: bytes) -> None:
        """Notify all clients that have read it."""
        numbers = self.table.pop(key)
        self.items -= len(numbers)
        running = self.turn.running()
        for number in sorted(numbers):
            session = self.sessions.get(number)
            tracked = None if session is None else session.tracked
            if session is None or tracked is None or tracked.bcast:
                continue
            if session is not running:
                self.send(session, tracked, array_of([key]))
            elif not tracked.noloop:
                self.keep_for_later(session, key)

    def flushed(self) -> None:
        """All keys of at least one database are gone: everything cached is invalid."""
        running = self.turn.running()
        for session in sorted(self.clients, key=lambda each: each.id):
            tracked = session.tracked
            if session is running:
                self.keep_for_later(session, None)
            elif tracked is not None:
                self.send(session, tracked, null_of(session))
        self.forget_table()

    def keep_for_later(self, session: Session, key: bytes | None) -> None:
        """Rule 2."""
        self.own.append(key)
        # Make a writer, so that the engine calls us again.
        self.pubsub.output(session)

    def send_own(self, session: Session) -> None:
        """The command is answered: notify its client of its own changes."""
        keys, self.own = self.own, []
        tracked = session.tracked
        if tracked is not None:
            for key in keys:
                self.send(session, tracked, null_of(session) if key is None else array_of([key]))

    def tick(self) -> None:
        """The end of a turn: send the messages that cover all its commands."""
        self.turn.has_news = False
        self.make_room()
        for _, state in sorted(self.prefixes.items()):
            if state.keys:
                keys, state.keys = state.keys, {}
                self.broadcast(state, keys)

    def broadcast(self, state: Prefix, keys: dict[bytes, Session | None]) -> None:
        """Notify the clients of a prefix of the changes under it."""
        everything = array_of(sorted(keys))
        for session in list(state.clients):
            tracked = session.tracked
            assert tracked is not None
            if not tracked.noloop:
                self.send(session, tracked, everything)
                continue
            others = [key for key in sorted(keys) if keys[key] is not session]
            if others:
                self.send(session, tracked, array_of(others))

    # Messages

    def send(self, session: Session, tracked: Tracked, keys: bytes) -> None:
        """Send one message to a tracking client, or to the client to which it redirects."""
        target: Session | None = session
        if tracked.redirect:
            target = self.sessions.get(tracked.redirect)
        if target is None:
            self.tell_broken(session, tracked)
        elif target.out.resp > 2:
            out = self.pubsub.output(target)
            out.push(2)
            out.bulk(b"invalidate")
            out.raw(keys)
        elif tracked.redirect and target.subscriptions():
            out = self.pubsub.output(target)
            out.push(3)
            out.bulk(b"message")
            out.bulk(CHANNEL)
            out.raw(keys)

    def tell_broken(self, session: Session, tracked: Tracked) -> None:
        """The client to which messages are redirected does not exist."""
        tracked.is_broken = True
        if session.out.resp > 2:
            out = self.pubsub.output(session)
            out.push(2)
            out.bulk(b"tracking-redir-broken")
            out.integer(tracked.redirect)


def keys_of(row: Command, argv: Argv) -> list[bytes]:
    """The keys of a call; none if it cannot be parsed."""
    words = argv.list()
    try:
        return [words[at] for at in row.keys.positions(words)]
    except CommandError:
        return []


def array_of(keys: list[bytes]) -> bytes:
    """Names of keys as an array."""
    out = RespWriter()
    out.array(len(keys))
    for key in keys:
        out.bulk(key)
    return out.take()


def null_of(session: Session) -> bytes:
    """All keys."""
    return b"_\r\n" if session.out.resp > 2 else b"$-1\r\n"
