"""A cursor over the arguments of a command, for handlers that are not hot.

    args = Args(argv, 2)            # after command and key
    while args.more():
        if args.word(b"COUNT"):     # consumed if it matches, in any letter case
            count = args.integer()
        else:
            raise CommandError(SYNTAX)

Every failure raises the error that Redis would answer, so a handler never tests
an index.
"""

from __future__ import annotations

from forebay.errors import NOT_AN_INTEGER, SYNTAX, CommandError
from forebay.wire.argv import Argv


class Args:
    """The arguments from ``start`` on, taken one after the other."""

    def __init__(self, argv: Argv, start: int = 1) -> None:
        self.argv = argv
        self.at = start
        self.end = len(argv)

    def more(self) -> bool:
        """Whether an argument is left."""
        return self.at < self.end

    def left(self) -> int:
        """How many arguments are left."""
        return self.end - self.at

    def peek(self) -> bytes:
        """The next argument, without consuming it; a syntax error if there is none."""
        if self.at >= self.end:
            raise CommandError(SYNTAX)
        return self.argv[self.at]

    def next(self) -> bytes:
        """Take the next argument; a syntax error if there is none."""
        value = self.peek()
        self.at += 1
        return value

    def word(self, word: bytes) -> bool:
        """Take the next argument if it is ``word`` (upper case) in any letter case."""
        if self.at < self.end and self.argv.word(self.at, word):
            self.at += 1
            return True
        return False

    def integer(self, text: bytes = NOT_AN_INTEGER) -> int:
        """Take the next argument as a signed 64-bit number, or fail with ``text``."""
        if self.at >= self.end:
            raise CommandError(SYNTAX)
        is_number, value = self.argv.integer(self.at)
        if not is_number:
            raise CommandError(text)
        self.at += 1
        return value

    def done(self) -> None:
        """Raise a syntax error if an argument is left."""
        if self.at < self.end:
            raise CommandError(SYNTAX)


def shown(name: bytes) -> bytes:
    """A name as an error text shows it: up to its first NUL byte, as Redis does."""
    return name.split(b"\0", 1)[0]
