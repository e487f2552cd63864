"""Users at the gates: who a session is, whether a command is its to run, and what a change undoes.

    AUTH, HELLO       session.user = the user itself, not its name
    gate RESTRICTED   its user may not do everything: the dispatcher asks the user
    gate UNAUTHENTICATED   it has not logged in, and ``default`` is not open

A user that is changed is held to it from the next command on: rules are asked for each command,
again for each command of EXEC, and again when a client that waited is woken.  What cannot wait
for a next command is done at once: clients of a user that is gone are closed, and so are those
that hear a channel which their user may hear no longer.

Our link to a primary, and an AOF that is read, are nobody's: they may do everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forebay.commands.access.categories import Catalogue
from forebay.commands.access.log import (
    AUTH,
    CERTIFICATE,
    MULTI,
    SCRIPT,
    TOPLEVEL,
    AccessLog,
    Entry,
)
from forebay.commands.access.patterns import Pattern
from forebay.commands.access.selector import CHANNEL, COMMAND, KEY, is_heard
from forebay.commands.access.user import Denial, User
from forebay.commands.access.users import Users
from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.spec import Command
from forebay.commands.clients.client_line import line_of
from forebay.wire.argv import Argv

if TYPE_CHECKING:
    from forebay.engine.engine import Engine

REASONS = {COMMAND: b"command", KEY: b"key", CHANNEL: b"channel"}
AT_EXEC = (
    b"NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "
    b"call. This command is no longer allowed for the following reason: "
)
EXEC_REASONS = {
    COMMAND: b"no permission to execute the command or subcommand",
    KEY: b"no permission to touch the specified keys",
    CHANNEL: b"no permission to access one of the channels used as arguments",
}


class Access:
    """The users of one engine, and its sessions as theirs."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.users = Users(Catalogue(engine.commands))
        self.log = AccessLog()
        #: ``requirepass`` as it was taken over last.
        self.password = b""

    def refresh_settings(self) -> None:
        """Take over what CONFIG SET may have changed."""
        settings = self.engine.settings
        self.users.all_channels = settings.acl_pubsub_default == "allchannels"
        if settings.requirepass != self.password:
            self.password = settings.requirepass
            self.users.set_password(self.password)
            self.refresh(self.users.default)

    # Sessions

    def arrive(self, session: Session) -> None:
        """A session that has said nothing yet, or RESET."""
        session.user = self.users.default
        session.authenticated = self.users.default.is_open
        self.set_gates(session)

    def set_free(self, session: Session) -> None:
        """A session that may do everything whatever users there are."""
        session.user = self.users.superuser
        session.authenticated = True
        self.set_gates(session)

    def log_in(self, session: Session, name: bytes, password: bytes, command: bytes) -> bool:
        """From now on the session is this user's; false if the password is not."""
        user = self.users.get(name)
        if user is None or not user.admits(password):
            self.note(session, AUTH, command, name)
            return False
        self.become(session, user)
        return True

    def log_in_by_certificate(self, session: Session, name: bytes) -> bool:
        """The certificate of a client, which was examined, has the name of a user; false if there
        is no such user, or it may not log in: then the session is that of any other client.
        """
        user = self.users.get(name)
        if user is None or not user.enabled:
            self.note(session, CERTIFICATE, b"", name)
            return False
        self.become(session, user)
        return True

    def become(self, session: Session, user: User) -> None:
        """The session is this user's."""
        session.user = user
        session.authenticated = True
        self.set_gates(session)

    def set_gates(self, session: Session) -> None:
        """What the dispatcher must know of the session's user."""
        is_stranger = not session.authenticated and not self.users.default.is_open
        session.set_gate(gates.UNAUTHENTICATED, is_stranger)
        session.set_gate(gates.RESTRICTED, not session.user.is_free)

    def refresh(self, user: User) -> None:
        """The rules of a user have changed."""
        for session in self.engine.sessions:
            if session.user is user or user is self.users.default:
                self.set_gates(session)

    def expel(self, session: Session) -> None:
        """Its user is gone, or less than it was: the session ends, and is nobody until then."""
        session.user = self.users.default
        session.authenticated = False
        self.set_gates(session)
        self.engine.kill(session)

    # Users

    def set_user(self, name: bytes, words: Sequence[bytes]) -> None:
        """ACL SETUSER; raises RuleError and changes nothing if one of the rules is wrong."""
        changed = self.users.changed(name, words)
        user = self.users.get(name)
        if user is None:
            self.users.by_name[name] = changed
            return
        self.expel_listeners(user, changed)
        user.take(changed)
        self.refresh(user)

    def delete_users(self, names: Iterable[bytes]) -> int:
        """ACL DELUSER; how many there were."""
        gone = [user for name in names if (user := self.users.by_name.pop(name, None)) is not None]
        for session in self.engine.sessions:
            if session.user in gone:
                self.expel(session)
        return len(gone)

    def exchange(self, found: dict[bytes, User]) -> None:
        """ACL LOAD: have these users; a session stays with the new user of its name."""
        before = {session: session.user for session in self.engine.sessions}
        lost = {
            name: lost_channels(old, found[name])
            for name, old in self.users.by_name.items()
            if name in found
        }
        self.users.exchange(found)
        for session, user in before.items():
            new = user if user is self.users.superuser else self.users.get(user.name)
            if new is None:
                self.expel(session)
                continue
            session.user = new
            heard = lost.get(user.name)
            if heard is not None and hears_more(session, heard):
                self.expel(session)
        for session in before:
            self.set_gates(session)

    def expel_listeners(self, user: User, changed: User) -> None:
        """End those who hear what their user may no longer hear."""
        allowed = lost_channels(user, changed)
        if allowed is None:
            return
        for session in self.engine.sessions:
            if session.user is user and hears_more(session, allowed):
                self.expel(session)

    # Refusing

    def refusal(self, session: Session, row: Command, argv: Argv) -> bytes | None:
        """Why the user of the session may not run this now; None if it may."""
        denial = session.user.denial(row, argv)
        if denial is None:
            return None
        session.last = row
        self.deny(session, denial, TOPLEVEL if session.queue is None else MULTI)
        return b"NOPERM " + denial.text()

    def refusal_at_exec(self, session: Session, row: Command, argv: Argv) -> bytes | None:
        """The same for a command that was queued when it was allowed."""
        denial = session.user.denial(row, argv)
        if denial is None:
            return None
        self.deny(session, denial, MULTI)
        return AT_EXEC + EXEC_REASONS[denial.reason]

    def refusal_in_script(self, session: Session, row: Command, argv: Argv) -> bytes | None:
        """The same for a command that a script runs."""
        denial = session.user.denial(row, argv)
        if denial is None:
            return None
        self.deny(session, denial, SCRIPT)
        return b"ERR ACL failure in script: " + denial.text()

    def deny(self, session: Session, denial: Denial, context: bytes) -> None:
        """Count and note a refusal."""
        self.note(session, REASONS[denial.reason], denial.object, session.user.name, context)

    def note(
        self, session: Session, reason: bytes, what: bytes, name: bytes, context: bytes = b""
    ) -> None:
        """One more entry of ACL LOG."""
        engine = self.engine
        engine.stats.denied[reason] = engine.stats.denied.get(reason, 0) + 1
        context = context or (TOPLEVEL if session.queue is None else MULTI)
        now_ms = engine.ctx.now_ms
        client = line_of(session, now_ms).rstrip(b"\n")
        entry = Entry(0, reason, context, what, name, client, now_ms, now_ms)
        self.log.add(entry, engine.settings.acllog_max_len)


class NoFile:
    """The ACL file of an engine that has none."""

    path = ""

    def read(self) -> list[bytes]:
        """Nobody asks: there is no path."""
        return []

    def write(self, lines: list[bytes]) -> None:
        """The same."""


def lost_channels(old: User, new: User) -> list[Pattern] | None:
    """What may still be heard, if that is less than before; None if nothing is lost."""
    allowed = new.channels()
    if allowed is None:
        return None
    before = old.channels()
    names = {pattern.text for pattern in allowed}
    if before is not None and all(pattern.text in names for pattern in before):
        return None
    return allowed


def hears_more(session: Session, allowed: list[Pattern]) -> bool:
    """Whether a session has subscribed to what is not among these."""
    return any(not is_heard(allowed, name, is_pattern=True) for name in session.patterns) or any(
        not is_heard(allowed, name, is_pattern=False)
        for name in (*session.channels, *session.shard_channels)
    )
