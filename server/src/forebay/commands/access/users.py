"""All users of a server by name.

The user ``default`` always exists: every new connection belongs to it, and keeps it until
AUTH.  The directive ``requirepass`` is a password of ``default``.

A change is made to a copy, which replaces the user only if every word is a valid rule:
all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forebay.commands.access import rules
from forebay.commands.access.categories import Catalogue
from forebay.commands.access.rules import RuleError
from forebay.commands.access.user import DEFAULT, SUPERUSER, User

EVERYTHING = (b"+@all", b"~*", b"&*", b"on", b"nopass")
NOT_LOADED = (
    "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)


class Users:
    """All users by name."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        #: acl-pubsub-default: whether a new user may use all channels.
        self.all_channels = False
        self.default = self.new(DEFAULT, EVERYTHING)
        self.superuser = self.new(SUPERUSER, EVERYTHING)
        self.by_name: dict[bytes, User] = {DEFAULT: self.default}

    def new(self, name: bytes, words: Iterable[bytes] = ()) -> User:
        """A user that is not registered."""
        user = User(name, self.catalogue, self.all_channels)
        for word in words:
            rules.apply(user, word, self.all_channels)
        return user

    def get(self, name: bytes) -> User | None:
        """The user of this name."""
        return self.by_name.get(name)

    def names(self) -> list[bytes]:
        """All names, in order."""
        return sorted(self.by_name)

    def lines(self) -> list[bytes]:
        """All users as lines of a file, in order."""
        return [self.by_name[name].line() for name in self.names()]

    def changed(self, name: bytes, words: Sequence[bytes]) -> User:
        """The user that the rules would make; RuleError says what is wrong with them."""
        present = self.get(name)
        user = self.new(name) if present is None else present.copy()
        for word in rules.merged(words):
            try:
                rules.apply(user, word, self.all_channels)
            except RuleError as error:
                shown = word.decode("utf-8", "surrogateescape")
                raise RuleError(f"Error in ACL SETUSER modifier '{shown}': {error}") from None
        return user

    def declare(self, name: bytes, words: Iterable[bytes]) -> None:
        """Make a user from scratch, also ``default``; the caller has checked the rules."""
        user = self.new(name, words)
        present = self.by_name.setdefault(name, user)
        if present is not user:
            present.take(user)

    def set_password(self, password: bytes) -> None:
        """``requirepass``; with an empty one no password is needed."""
        user = self.default
        rules.apply(user, b"resetpass", self.all_channels)
        rules.apply(user, b">" + password if password else b"nopass", self.all_channels)

    # Files

    def read_lines(self, lines: Sequence[bytes], source: str) -> dict[bytes, User]:
        """The users of an ACL file; RuleError names all lines that are wrong."""
        found: dict[bytes, User] = {}
        wrong: list[str] = []
        for number, line in enumerate(lines, 1):
            words = line.strip(b" \t\r\n").split(b" ")
            if words != [b""]:
                wrong += self._read_line(words, f"{source}:{number}", number, found)
        if wrong:
            raise RuleError("".join(wrong) + NOT_LOADED)
        if DEFAULT not in found:
            found[DEFAULT] = self.new(DEFAULT, EVERYTHING)
        return found

    def _read_line(
        self, words: list[bytes], where: str, number: int, found: dict[bytes, User]
    ) -> list[str]:
        """Add one user; returns the error, if any."""
        if words[0] != b"user" or len(words) < 2:
            return [f"{where} should start with user keyword followed by the username. "]
        name = words[1].decode("utf-8", "surrogateescape")
        if rules.has_blanks(words[1]):
            return [f"'{where}: username '{name}' contains invalid characters. "]
        if words[1] in found:
            return [f"WARNING: Duplicate user '{name}' found on line {number}. "]
        user = found[words[1]] = self.new(words[1])
        try:
            merged = rules.merged(words[2:])
        except RuleError:
            return [f"{where}: Unmatched parenthesis in selector definition."]
        return self._apply_all(user, merged, where)

    def _apply_all(self, user: User, words: list[bytes], where: str) -> list[str]:
        """Apply all words; report only the first syntax error, since a word may hold a secret."""
        wrong: list[str] = []
        told = False
        for word in words:
            try:
                rules.apply(user, word.strip(b"\t\r\n"), self.all_channels)
            except RuleError as error:
                if str(error) == rules.UNKNOWN:
                    shown = word.decode("utf-8", "surrogateescape")
                    wrong.append(f"{where}: Error in applying operation '{shown}': {error}. ")
                elif not told:
                    wrong.append(f"{where}: {error}. ")
                    told = True
        return wrong

    def exchange(self, found: dict[bytes, User]) -> None:
        """Replace all users by these; ``default`` stays the same object, with other rules."""
        self.default.take(found[DEFAULT])
        self.by_name = {**found, DEFAULT: self.default}
