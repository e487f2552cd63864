"""Client side caching: who has read which key, and who must hear that it changed.

    a read of a tracking client --remember--> table     key    -> numbers of clients
    a change of a key           --changed---> message to each of them; the key leaves the table
    BCAST: a change             --changed---> prefixes  prefix -> clients, keys changed in this turn
    the end of a turn           --tick------> one message for each prefix and client

Databases know of it only while somebody tracks (``Database.tracker``): off, it costs one look
at a field for each change.  Sessions that track have a bit in their gate.

Rules
  1. A key is announced once: whoever wants to hear of the next change reads it again.
  2. A client's own changes are announced after the reply to the command that made them.
  3. RESP3 clients get a push; RESP2 clients hear nothing, unless they redirect to a client
     that is subscribed: it gets a message on CHANNEL.
  4. Clients that went are found in the table only when a key is announced, as clearing up after
     each would cost a walk.  A key never lists more than TWICE as many as there are.
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
# Keys that are announced in one go because there are too many of them.
EVICTED_AT_ONCE = 1000
TWICE = 2
# A key that so few clients have read is not looked through for those that went.
FEW_CLIENTS = 16
# What only runs others; those are looked at one by one.
SCRIPTS = frozenset([b"eval_ro", b"evalsha_ro"])


class Turn(Protocol):
    """Of the engine: whose command runs, and whether tick() has to be called."""

    has_news: bool

    def running(self) -> Session | None: ...


class Prefix:
    """The clients in BCAST mode with one prefix, and what changed under it in this turn."""

    def __init__(self) -> None:
        self.clients: dict[Session, None] = {}
        #: With the client that changed the key last; NOLOOP leaves out its own.
        self.keys: dict[bytes, Session | None] = {}


class Tracking:
    """All that clients have cached, as far as they said so."""

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
        #: Keys that the running client has changed itself; None stands for all keys.
        self.own: list[bytes | None] = []

    # Who tracks

    def start(self, session: Session, tracked: Tracked, prefixes: list[bytes]) -> None:
        """Track for this client from now on; who tracks already keeps its prefixes."""
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
        """Track no longer for this client; what it has read is remembered until that changes."""
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
        """The client is gone; after the last one there is nobody to tell anything."""
        if session.tracked is not None:
            self.stop(session)
            if not self.clients:
                self.forget_table()
                self.listen()

    def listen(self) -> None:
        """Hear of changes if there is anybody to tell."""
        tracker = self if self.clients or self.table else None
        for db in self.keyspace.databases:
            db.tracker = tracker

    def forget_table(self) -> None:
        """No client holds any key."""
        self.table = {}
        self.items = 0

    # What they read

    def ran(self, session: Session, row: Command | None, argv: Argv) -> None:
        """A command of a tracking client is over; it may have been refused (None)."""
        tracked = session.tracked
        if tracked is None:
            return
        if row is not None:
            self.remember(session, row, argv)
        is_client = row is not None and row.full_name.startswith(b"client|")
        if tracked.caching and not is_client and not session.gate & gates.IN_MULTI:
            tracked.caching = False

    def remember(self, session: Session, row: Command, argv: Argv) -> None:
        """A client has read these keys, and may keep what it got."""
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

    # What changes

    def changed(self, key: bytes) -> None:
        """A key has a new value, or is gone."""
        if self.prefixes:
            running = self.turn.running()
            for prefix, state in self.prefixes.items():
                if key.startswith(prefix):
                    state.keys[key] = running
                    self.turn.has_news = True
        if key in self.table:
            self.announce(key)

    def announce(self, key: bytes) -> None:
        """Tell all who have read it."""
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
        """All keys of one database at least are gone: nothing that anybody has cached holds."""
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
        # A writer is made, so that the engine comes back to us.
        self.pubsub.output(session)

    def send_own(self, session: Session) -> None:
        """The command is answered: tell its client what it has changed."""
        keys, self.own = self.own, []
        tracked = session.tracked
        if tracked is not None:
            for key in keys:
                self.send(session, tracked, null_of(session) if key is None else array_of([key]))

    def tick(self) -> None:
        """The end of a turn: what is told once for all commands of it."""
        self.turn.has_news = False
        self.make_room()
        for _, state in sorted(self.prefixes.items()):
            if state.keys:
                keys, state.keys = state.keys, {}
                self.broadcast(state, keys)

    def broadcast(self, state: Prefix, keys: dict[bytes, Session | None]) -> None:
        """Tell the clients of a prefix what changed under it."""
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
        """One message to a tracking client, or to the one to which it redirects."""
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
        """Nobody is there to whom messages are redirected."""
        tracked.is_broken = True
        if session.out.resp > 2:
            out = self.pubsub.output(session)
            out.push(2)
            out.bulk(b"tracking-redir-broken")
            out.integer(tracked.redirect)


def keys_of(row: Command, argv: Argv) -> list[bytes]:
    """The keys of a call; none if its words make no sense."""
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
