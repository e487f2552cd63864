"""One user: whether it may log in, with which passwords, and its permissions.

    user alice on sanitize-payload #5e88... ~orders:* resetchannels -@all +@stream (%R~* +get)
               |                   |        '--- the root selector ---------------' '- another
               flags               SHA-256 of each password

Sessions hold the user object itself, so a change of its rules applies to the next command of
each session.  The engine is also notified, for effects that must happen at once
(engine/access.py).

Passwords are kept as hex digits of their SHA-256, and compared in constant time.
"""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from forebay.commands.access.categories import Catalogue
from forebay.commands.access.patterns import Pattern
from forebay.commands.access.selector import ALLOWED, COMMAND, KEY, Selector
from forebay.commands.api.spec import Command
from forebay.wire.argv import Argv

DEFAULT = b"default"
#: The name of the internal user that may do everything: for a primary's stream and an AOF.
SUPERUSER = b"(superuser)"


class Denial:
    """The reason why a call is refused."""

    def __init__(self, reason: int, user: bytes, row: Command, word: bytes) -> None:
        self.reason = reason
        self.user = user
        self.row = row
        #: The key or channel that was denied.
        self.word = word

    @property
    def object(self) -> bytes:
        """The object as ACL LOG names it."""
        return self.row.full_name if self.reason == COMMAND else self.word

    def text(self, verbose: bool = False) -> bytes:
        """The text of the refusal; only ACL DRYRUN shows which key it was."""
        if self.reason == COMMAND:
            name = self.row.full_name
            return b"User %b has no permissions to run the '%b' command" % (self.user, name)
        kind = b"key" if self.reason == KEY else b"channel"
        if verbose:
            return b"User %b has no permissions to access the '%b' %b" % (
                *(self.user, self.word, kind),
            )
        return b"No permissions to access a %b" % kind


class User:
    """A name and its rights."""

    def __init__(self, name: bytes, catalogue: Catalogue, all_channels: bool) -> None:
        self.name = name
        self.enabled = False
        #: Any password is accepted.
        self.nopass = False
        self.sanitizes = True
        self.passwords: list[bytes] = []
        self.root = Selector(catalogue, all_channels)
        self.others: list[Selector] = []

    def copy(self) -> User:
        """Another user with this name and the same rules."""
        twin = User(self.name, self.root.catalogue, all_channels=False)
        twin.take(self)
        return twin

    def take(self, other: User) -> None:
        """Take over the rules of another user."""
        self.enabled, self.nopass = other.enabled, other.nopass
        self.sanitizes = other.sanitizes
        self.passwords = list(other.passwords)
        self.root = other.root.copy()
        self.others = [selector.copy() for selector in other.others]

    @property
    def selectors(self) -> list[Selector]:
        """The root, and all others."""
        return [self.root, *self.others]

    @property
    def is_free(self) -> bool:
        """Whether it may do everything, so that no check is needed."""
        return self.root.is_free

    @property
    def is_open(self) -> bool:
        """Whether a client can log in as this user without a password."""
        return self.enabled and self.nopass

    def admits(self, password: bytes) -> bool:
        """Whether this password is one of the user's."""
        if not self.enabled or self.nopass:
            return self.enabled
        given = hashed(password)
        fits = False
        for known in self.passwords:
            # No early exit: the number of passwords is no secret, but which one matches is.
            fits |= compare_digest(given, known)
        return fits

    # Asking

    def allows(self, row: Command, argv: Argv) -> bool:
        """Whether a call may run; if False, denial() gives the reason."""
        if self.root.allows(row, argv):
            return True
        for i in range(len(self.others)):
            selector = self.others[i]
            if selector.allows(row, argv):
                return True
        return False

    def denial(self, row: Command, argv: Argv) -> Denial | None:
        """Why a call is denied: the command, or the last key or channel denied by any selector."""
        if self.is_free:
            return None
        worst, last = COMMAND, 0
        blame = [0]
        for selector in self.selectors:
            found = selector.check(row, argv, blame)
            if found == ALLOWED:
                return None
            if found > worst or (found == worst and blame[0] > last):
                worst, last = found, blame[0]
        return Denial(worst, self.name, row, argv[last])

    def reads_all_keys(self, row: Command, argv: Argv) -> bool:
        """Whether one selector allows the call and reading of every key."""
        return any(
            selector.check(row, argv, [0]) == ALLOWED and selector.reads_all_keys()
            for selector in self.selectors
        )

    def channels(self) -> list[Pattern] | None:
        """All patterns of channels; None if every channel is allowed."""
        if any(selector.all_channels for selector in self.selectors):
            return None
        return [channel for selector in self.selectors for channel in selector.channels]

    # Printing

    def flags(self) -> list[bytes]:
        """The flags as ACL GETUSER lists them."""
        flags = [b"on" if self.enabled else b"off"]
        if self.nopass:
            flags.append(b"nopass")
        return [*flags, b"sanitize-payload" if self.sanitizes else b"skip-sanitize-payload"]

    def line(self) -> bytes:
        """The user as a line of a configuration or an ACL file."""
        passwords = [b"#" + known for known in self.passwords]
        others = [b"(%b)" % selector.text() for selector in self.others]
        words = [b"user", self.name, *self.flags(), *passwords, self.root.text(), *others]
        return b" ".join(words)


def hashed(password: bytes) -> bytes:
    """The stored form of a password."""
    return sha256(password).hexdigest().encode()
