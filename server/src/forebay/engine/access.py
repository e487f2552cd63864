"""Users and sessions: the user of a session, its permissions, and the effects of a change.

    AUTH, HELLO       session.user = the user object, not its name
    gate RESTRICTED   its user has restrictions: the dispatcher checks them
    gate UNAUTHENTICATED   it has not logged in, and ``default`` is not open

A change of a user applies from the next command on: the rules are checked for each command,
again for each command of EXEC, and again when a waiting client is woken.  Some effects cannot
wait for the next command: clients of a deleted user are closed at once, and so are clients that
listen to a channel that their user may no longer use.

Our link to a primary, and an AOF being read, have no user: they may do everything.
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
    """The users of one engine, and the user of each session."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.users = Users(Catalogue(engine.commands))
        self.log = AccessLog()
        #: The last ``requirepass`` that was applied.
        self.password = b""

    def refresh_settings(self) -> None:
        """Apply settings that CONFIG SET may have changed."""
        settings = self.engine.settings
        self.users.all_channels = settings.acl_pubsub_default == "allchannels"
        if settings.requirepass != self.password:
            self.password = settings.requirepass
            self.users.set_password(self.password)
            self.refresh(self.users.default)

    # Sessions

    def arrive(self, session: Session) -> None:
        """Set up a session that is new, or that sent RESET."""
        session.user = self.users.default
        session.authenticated = self.users.default.is_open
        self.set_gates(session)

    def set_free(self, session: Session) -> None:
        """Set up a session that may do everything, whatever the users are."""
        session.user = self.users.superuser
        session.authenticated = True
        self.set_gates(session)

    def log_in(self, session: Session, name: bytes, password: bytes, command: bytes) -> bool:
        """Log the session in as this user; false if the password is wrong."""
        user = self.users.get(name)
        if user is None or not user.admits(password):
            self.note(session, AUTH, command, name)
            return False
        self.become(session, user)
        return True

    def log_in_by_certificate(self, session: Session, name: bytes) -> bool:
        """Log a client in by the user name in its verified certificate; false if there is no such
        user, or it may not log in: then the session is treated like any other.
        """
        user = self.users.get(name)
        if user is None or not user.enabled:
            self.note(session, CERTIFICATE, b"", name)
            return False
        self.become(session, user)
        return True

    def become(self, session: Session, user: User) -> None:
        """Give the session to this user."""
        session.user = user
        session.authenticated = True
        self.set_gates(session)

    def set_gates(self, session: Session) -> None:
        """Set the gate bits that depend on the session's user."""
        is_stranger = not session.authenticated and not self.users.default.is_open
        session.set_gate(gates.UNAUTHENTICATED, is_stranger)
        session.set_gate(gates.RESTRICTED, not session.user.is_free)

    def refresh(self, user: User) -> None:
        """The rules of a user have changed."""
        for session in self.engine.sessions:
            if session.user is user or user is self.users.default:
                self.set_gates(session)

    def expel(self, session: Session) -> None:
        """Its user was deleted, or lost rights: close the session; until then it has no rights."""
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
        """ACL DELUSER; how many existed."""
        gone = [user for name in names if (user := self.users.by_name.pop(name, None)) is not None]
        for session in self.engine.sessions:
            if session.user in gone:
                self.expel(session)
        return len(gone)

    def exchange(self, found: dict[bytes, User]) -> None:
        """ACL LOAD: replace all users; a session moves to the new user of the same name."""
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
        """Close sessions that listen to channels their user may no longer use."""
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
        """The same for a queued command, which was allowed when it was queued."""
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
        """Add an entry to ACL LOG."""
        engine = self.engine
        engine.stats.denied[reason] = engine.stats.denied.get(reason, 0) + 1
        context = context or (TOPLEVEL if session.queue is None else MULTI)
        now_ms = engine.ctx.now_ms
        client = line_of(session, now_ms).rstrip(b"\n")
        entry = Entry(0, reason, context, what, name, client, now_ms, now_ms)
        self.log.add(entry, engine.settings.acllog_max_len)


class NoFile:
    """The ACL file of an engine without one."""

    path = ""

    def read(self) -> list[bytes]:
        """Never called: there is no path."""
        return []

    def write(self, lines: list[bytes]) -> None:
        """The same."""


def lost_channels(old: User, new: User) -> list[Pattern] | None:
    """The channels that are still allowed, if fewer than before; None if none was lost."""
    allowed = new.channels()
    if allowed is None:
        return None
    before = old.channels()
    names = {pattern.text for pattern in allowed}
    if before is not None and all(pattern.text in names for pattern in before):
        return None
    return allowed


def hears_more(session: Session, allowed: list[Pattern]) -> bool:
    """Whether a session has subscribed to something that is not among these."""
    return any(not is_heard(allowed, name, is_pattern=True) for name in session.patterns) or any(
        not is_heard(allowed, name, is_pattern=False)
        for name in (*session.channels, *session.shard_channels)
    )
