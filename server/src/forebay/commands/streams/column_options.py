"""What FB.COLUMNS is asked for after the range: COUNT, IDS, FIELDS, in any order."""

from __future__ import annotations

from forebay.commands.streams.parsing import integer
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

FIRST_OPTION = 4


class ColumnOptions:
    """The options: COUNT (-1: none), IDS, and FIELDS (not given: all, as a map)."""

    def __init__(self, argv: Argv) -> None:
        self.count = -1
        self.with_ids = False
        self.as_map = True
        self.names: list[bytes] = []
        at = FIRST_OPTION
        while at < argv.n:
            at = self.read(argv, at)

    def read(self, argv: Argv, at: int) -> int:
        """One option; the index after it."""
        if argv.word(at, b"IDS"):
            self.with_ids = True
            return at + 1
        if at + 1 >= argv.n:
            raise CommandError(SYNTAX)
        if argv.word(at, b"COUNT"):
            self.count = max(0, integer(argv, at + 1))
            return at + 2
        if argv.word(at, b"FIELDS"):
            number = integer(argv, at + 1)
            if number < 0 or number > argv.n - at - 2:
                raise CommandError(b"ERR FIELDS needs a number and as many names")
            self.as_map = False
            self.names = [argv[i] for i in range(at + 2, at + 2 + number)]
            if len(set(self.names)) < number:
                raise CommandError(b"ERR FIELDS names a field twice")
            return at + 2 + number
        raise CommandError(SYNTAX)
